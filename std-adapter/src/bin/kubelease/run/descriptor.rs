//! Handing a descriptor to another process.

use core::mem::MaybeUninit;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Sends a copy of `descriptor`.
pub(super) fn send(over: &UnixStream, descriptor: impl AsFd) -> io::Result<()> {
    let descriptors = [descriptor.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    // A message needs one byte at least to carry it.
    sendmsg(
        over,
        &[IoSlice::new(b"\n")],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}

/// Takes the descriptor that [`send`] sent.
pub(super) fn receive(over: &UnixStream) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut pieces = [IoSliceMut::new(&mut byte)];
    recvmsg(over, &mut pieces, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let descriptors = ancillary.drain().filter_map(|message| {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            Some(descriptors)
        } else {
            None
        }
    });
    descriptors
        .flatten()
        .next()
        .ok_or_else(|| io::Error::other("expected a descriptor, found none"))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_descriptor_that_was_handed_over_is_the_same_pipe() {
        let (here, there) = UnixStream::pair().unwrap();
        let (mut reader, mut writer) = io::pipe().unwrap();
        send(&here, &writer).unwrap();
        let mut copy = std::fs::File::from(receive(&there).unwrap());
        copy.write_all(b"a").unwrap();
        writer.write_all(b"b").unwrap();
        drop((copy, writer));
        let mut read = String::new();
        reader.read_to_string(&mut read).unwrap();
        assert_eq!(read, "ab");
    }

    #[test]
    fn an_end_without_a_descriptor_is_an_error() {
        let (here, there) = UnixStream::pair().unwrap();
        drop(here);
        assert_eq!(
            receive(&there).unwrap_err().to_string(),
            "expected a descriptor, found none"
        );
    }
}
