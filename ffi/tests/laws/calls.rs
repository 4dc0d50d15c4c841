//! [`Calls`]: the functions that both kinds of object of C have, in the words of a machine.

use std::ffi::c_char;

use kubelease_core::protocol::{Failure, Output, RequestId};
use kubelease_core::time::Now;
use kubelease_ffi::*;

use crate::http::Http;
use crate::words::agree_on_event;

pub(crate) const OK: i32 = kl_code::KL_OK as i32;
pub(crate) const STALE: i32 = kl_code::KL_ERR_STALE as i32;

/// An object of C.
pub(crate) trait Calls {
    fn poll(&mut self, now: Now) -> kl_action;

    /// Request `id` as C writes it: method, path and query, body. None where it is not in flight.
    fn request(&self, id: RequestId) -> Option<(String, String, String)>;

    /// Hands in an answer, in pieces.
    fn respond(&mut self, now: Now, id: RequestId, http: &Http) -> i32;

    fn fail(&mut self, now: Now, id: RequestId, failure: Failure) -> i32;
}

macro_rules! calls {
    (
        $object:ty: $poll:ident, $request:ident, $read:ident, $pieces:ident, $begin:ident,
        $header:ident, $body:ident, $end:ident, $error:ident
    ) => {
        impl Calls for $object {
            fn poll(&mut self, now: Now) -> kl_action {
                let mut action = unsafe { std::mem::zeroed::<kl_action>() };
                action.size = size_of::<kl_action>() as u32;
                let status = unsafe { $poll(self, &c_now(now), &raw mut action) };
                assert_eq!(status, OK);
                action
            }

            fn request(&self, id: RequestId) -> Option<(String, String, String)> {
                let mut head = unsafe { std::mem::zeroed::<kl_request>() };
                head.size = size_of::<kl_request>() as u32;
                let id = id.number();
                let status = unsafe { $request(self, id, &raw mut head) };
                if status == STALE {
                    return None;
                }
                assert_eq!(status, OK);
                let part = |part: kl_request_part, length: usize| {
                    let (mut bytes, mut written) = (vec![0; length + 1], 0);
                    let (to, room, part) = (bytes.as_mut_ptr(), bytes.len(), part as u32);
                    let status = unsafe { $read(self, id, part, 0, to, room, &raw mut written) };
                    assert_eq!((status, written), (OK, length));
                    bytes.truncate(written);
                    let mut scratch = [0; KL_PIECES_SCRATCH];
                    let (made, room) = (scratch.as_mut_ptr(), scratch.len());
                    let mut pieces = unsafe { std::mem::zeroed::<[kl_piece; 9]>() };
                    let (mut same, mut first) = (Vec::<u8>::new(), 0);
                    loop {
                        let (to, mut count) = (pieces.as_mut_ptr(), 0);
                        let status = unsafe {
                            $pieces(self, id, part, first, to, 9, made, room, &raw mut count)
                        };
                        assert_eq!(status, OK);
                        for piece in &pieces[..count] {
                            same.extend(unsafe {
                                std::slice::from_raw_parts(piece.ptr, piece.len)
                            });
                        }
                        first += count;
                        if count == 0 {
                            break;
                        }
                    }
                    assert_eq!(same, bytes);
                    String::from_utf8(bytes).unwrap()
                };
                Some((
                    text_of(head.method_name),
                    part(kl_request_part::KL_PART_TARGET, head.target_len),
                    part(kl_request_part::KL_PART_BODY, head.body_len),
                ))
            }

            fn respond(&mut self, now: Now, id: RequestId, http: &Http) -> i32 {
                let number = id.number();
                if unsafe { $begin(self, number, http.status) } != OK {
                    // A stale begin knows no time; this one does, and is stale too.
                    return self.fail(now, id, Failure::NotSent);
                }
                for (name, value) in &http.headers {
                    let (ptr, len) = (value.as_ptr().cast::<c_char>(), value.len());
                    let value = kl_str { ptr, len };
                    let status = unsafe { $header(self, number, str_of(name), value) };
                    assert_eq!(status, OK);
                }
                for piece in http.body.as_bytes().chunks(7) {
                    let (data, length) = (piece.as_ptr(), piece.len());
                    assert_eq!(unsafe { $body(self, number, data, length) }, OK);
                }
                unsafe { $end(self, number, &c_now(now)) }
            }

            fn fail(&mut self, now: Now, id: RequestId, failure: Failure) -> i32 {
                let kind = match failure {
                    Failure::NotSent => kl_transport_error::KL_TRANSPORT_NOT_SENT,
                    Failure::Unknown => kl_transport_error::KL_TRANSPORT_UNKNOWN,
                    Failure::TimedOut => kl_transport_error::KL_TRANSPORT_TIMED_OUT,
                };
                unsafe { $error(self, id.number(), kind as u32, &c_now(now)) }
            }
        }
    };
}

calls!(
    kl_elector: kl_elector_poll, kl_elector_request, kl_elector_request_read,
    kl_elector_request_pieces, kl_elector_response_begin, kl_elector_response_header,
    kl_elector_response_body, kl_elector_response_end, kl_elector_transport_error
);
calls!(
    kl_heartbeat: kl_heartbeat_poll, kl_heartbeat_request, kl_heartbeat_request_read,
    kl_heartbeat_request_pieces, kl_heartbeat_response_begin, kl_heartbeat_response_header,
    kl_heartbeat_response_body, kl_heartbeat_response_end, kl_heartbeat_transport_error
);

/// Whether C wants what Rust wants; of a request, but for what it says.
pub(crate) fn agree_on_output(action: &kl_action, output: &Output<'_>) {
    let (kind, deadline, id) = match output {
        Output::Event(event) => {
            agree_on_event(action, *event);
            (kl_action_kind::KL_ACTION_EVENT, 0, 0)
        }
        Output::Cancel(id) => (kl_action_kind::KL_ACTION_CANCEL, 0, id.number()),
        Output::Request(request) => {
            let (deadline, id) = (request.deadline.as_millis(), request.id.number());
            (kl_action_kind::KL_ACTION_SEND, deadline, id)
        }
        Output::WaitUntil(at) => (kl_action_kind::KL_ACTION_WAIT, at.as_millis(), 0),
        Output::Done => (kl_action_kind::KL_ACTION_STOPPED, KL_NEVER, 0),
    };
    let found = (action.kind, action.deadline_ms, action.request_id);
    assert_eq!(found, (kind as u32, deadline, id), "{output:?}");
}

pub(crate) fn c_now(now: Now) -> kl_now {
    let wall = now.wall.map(|wall| wall.as_unix_micros());
    kl_now {
        mono_ms: now.instant.as_millis(),
        unix_us: wall.unwrap_or(KL_WALL_UNKNOWN),
    }
}

pub(crate) fn str_of(text: &'static str) -> kl_str {
    kl_str {
        ptr: text.as_ptr().cast::<c_char>(),
        len: text.len(),
    }
}

pub(crate) fn text_of(text: kl_str) -> String {
    let bytes = unsafe { std::slice::from_raw_parts(text.ptr.cast::<u8>(), text.len) };
    String::from_utf8(bytes.to_vec()).unwrap()
}
