//! [`kl_piece`]: a request as pieces that lie where they lie, for calls such as writev.

use core::mem::MaybeUninit;

use kubelease_core::protocol::RequestId;
use kubelease_core::wire::http::Tap;

use crate::elector::kl_elector;
use crate::object::Handle;
use crate::ptr::{self, Out};
use crate::status::{answer, kl_code, kl_status};

/// How many bytes of scratch kl_elector_request_pieces and kl_heartbeat_request_pieces want.
pub const KL_PIECES_SCRATCH: usize = 128;

/// A piece of a request: its first byte, and how many there are. It has the members of an iovec,
/// and never grows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kl_piece {
    /// The first byte.
    pub ptr: *const u8,
    /// How many bytes, at least one.
    pub len: usize,
}

/// Describes part (a kl_request_part) of request request_id as pieces, one behind the other,
/// without copying it: from the one with the number first on, up to capacity of them. count says
/// how many those are. It can be fewer than capacity before the end of the part, and is 0 only
/// there: go on with first + count until it is.
///
/// scratch has scratch_size bytes, at least KL_PIECES_SCRATCH; numbers and times are written there.
/// All else lies in the program, in the texts of the configuration, in its keep buffer or in the
/// object. The pieces are good until the next call that changes the object, or until it is moved
/// or scratch is written to.
///
/// As with kl_elector_request_read the pieces are the same each time.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ANSWER_BEGUN, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT,
/// KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_request_pieces(
    elector: *const kl_elector,
    request_id: u32,
    part: u32,
    first: usize,
    pieces: *mut kl_piece,
    capacity: usize,
    scratch: *mut u8,
    scratch_size: usize,
    count: *mut usize,
) -> kl_status {
    let (object, scratch) = (Handle::new(elector), (scratch, scratch_size));
    // SAFETY: the contract of the header.
    unsafe {
        list(
            object,
            request_id,
            part,
            first,
            (pieces, capacity),
            scratch,
            count,
        )
    }
}

/// One function for all objects.
///
/// # Safety
/// The contract of the header.
#[inline(never)]
pub(crate) unsafe fn list(
    object: Handle,
    request_id: u32,
    part: u32,
    first: usize,
    (pieces, capacity): (*mut kl_piece, usize),
    (scratch, scratch_size): (*mut u8, usize),
    count: *mut usize,
) -> kl_status {
    answer(|| {
        if scratch_size < KL_PIECES_SCRATCH {
            return Err(kl_code::KL_ERR_ARG);
        }
        // SAFETY: passed on to the caller.
        let (count, inner) = unsafe { (Out::new(count)?, ptr::any(object)?) };
        // SAFETY: the same.
        let pieces = unsafe { ptr::values_mut(pieces, capacity)? };
        let mut taken = Taken {
            skip: first,
            pieces,
            count: 0,
            // SAFETY: the same.
            scratch: unsafe { ptr::bytes_mut(scratch, scratch_size)? },
        };
        let id = RequestId::from_number(request_id);
        match part {
            1 => inner.session.tap_target(id, &mut taken)?,
            2 => inner.session.tap_body(id, &mut taken)?,
            _ => return Err(kl_code::KL_ERR_ARG),
        }
        count.write(taken.count);
        Ok(())
    })
}

/// The pieces that were taken so far.
struct Taken<'a> {
    skip: usize,
    pieces: &'a mut [MaybeUninit<kl_piece>],
    count: usize,
    scratch: &'a mut [u8],
}

impl Tap for Taken<'_> {
    /// Takes it if there is room.
    fn take(&mut self, run: &[u8], does_last: bool) {
        if run.is_empty() {
            return;
        }
        if self.skip > 0 {
            self.skip = self.skip.wrapping_sub(1);
            return;
        }
        let Some(place) = self.pieces.get_mut(self.count) else {
            return;
        };
        let run = if does_last {
            run
        } else {
            let scratch = core::mem::take(&mut self.scratch);
            let Some((copy, rest)) = scratch.split_at_mut_checked(run.len()) else {
                // Nothing that follows must come before it.
                self.pieces = &mut [];
                return;
            };
            for (to, from) in copy.iter_mut().zip(run) {
                *to = *from;
            }
            self.scratch = rest;
            copy
        };
        place.write(kl_piece {
            ptr: run.as_ptr(),
            len: run.len(),
        });
        self.count = self.count.wrapping_add(1);
    }
}
