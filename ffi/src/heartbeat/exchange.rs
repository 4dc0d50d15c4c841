//! The requests of a heartbeat and what came of them: as for an elector, by the same code.

use super::kl_heartbeat;
use crate::action::{self, kl_action};
use crate::clock::kl_now;
use crate::object::Handle;
use crate::pieces::{self, kl_piece};
use crate::request::{self, kl_request};
use crate::response;
use crate::status::kl_status;
use crate::text::kl_str;

/// Says what to do next, as kl_elector_poll does. Call it after every other call that changes the
/// heartbeat, and at the instant of the last KL_ACTION_WAIT; calling it more often changes nothing.
/// Loop until KL_ACTION_WAIT or KL_ACTION_STOPPED; that takes a bounded number of calls. Works in
/// constant time.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_SIZE, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_heartbeat_poll(
    heartbeat: *mut kl_heartbeat,
    now: *const kl_now,
    action: *mut kl_action,
) -> kl_status {
    // SAFETY: the contract of the header.
    unsafe { action::poll(Handle::new(heartbeat), now, action) }
}

/// Describes request request_id, that of the last KL_ACTION_SEND. It may be about the Node, too.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ANSWER_BEGUN, KL_ERR_ARG, KL_ERR_SIZE, KL_ERR_STORAGE,
/// KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_heartbeat_request(
    heartbeat: *const kl_heartbeat,
    request_id: u32,
    request: *mut kl_request,
) -> kl_status {
    // SAFETY: the contract of the header.
    unsafe { request::describe(Handle::new(heartbeat), request_id, request) }
}

/// Writes part (a kl_request_part) of request request_id into buffer, from offset on, and says
/// how many bytes that were, as kl_elector_request_read does: fewer than capacity only at the end
/// of the part, none past it; in pieces of any size, again and again the same.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ANSWER_BEGUN, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT,
/// KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_heartbeat_request_read(
    heartbeat: *const kl_heartbeat,
    request_id: u32,
    part: u32,
    offset: usize,
    buffer: *mut u8,
    capacity: usize,
    written: *mut usize,
) -> kl_status {
    let object = Handle::new(heartbeat);
    // SAFETY: the contract of the header.
    unsafe { request::read(object, request_id, part, offset, buffer, capacity, written) }
}

/// Describes part (a kl_request_part) of request request_id as pieces, without copying it, as
/// kl_elector_request_pieces does: see there.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ANSWER_BEGUN, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT,
/// KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_heartbeat_request_pieces(
    heartbeat: *const kl_heartbeat,
    request_id: u32,
    part: u32,
    first: usize,
    pieces: *mut kl_piece,
    capacity: usize,
    scratch: *mut u8,
    scratch_size: usize,
    count: *mut usize,
) -> kl_status {
    let (object, scratch) = (Handle::new(heartbeat), (scratch, scratch_size));
    // SAFETY: the contract of the header.
    unsafe {
        pieces::list(
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

/// Begins the answer to request request_id, with its status code of HTTP, 100 to 999. Where an
/// answer to it has begun already, it starts over. Leave informational answers (1xx) out.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_heartbeat_response_begin(
    heartbeat: *mut kl_heartbeat,
    request_id: u32,
    http_status: u32,
) -> kl_status {
    // SAFETY: the contract of the header.
    unsafe { response::begin(Handle::new(heartbeat), request_id, http_status) }
}

/// Takes one header of the answer. Only Date and Retry-After are looked at: others may be given
/// or left out. The texts are read before the call returns.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_heartbeat_response_header(
    heartbeat: *mut kl_heartbeat,
    request_id: u32,
    name: kl_str,
    value: kl_str,
) -> kl_status {
    // SAFETY: the contract of the header.
    unsafe { response::header(Handle::new(heartbeat), request_id, name, value) }
}

/// Takes the next piece of the answer's body, without any transfer coding, in any split down to
/// single bytes. The bytes are read before the call returns.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_heartbeat_response_body(
    heartbeat: *mut kl_heartbeat,
    request_id: u32,
    data: *const u8,
    len: usize,
) -> kl_status {
    // SAFETY: the contract of the header.
    unsafe { response::body(Handle::new(heartbeat), request_id, data, len) }
}

/// Ends the answer: the heartbeat learns what it says. Poll next. An answer that broke off is no
/// answer: give kl_heartbeat_transport_error instead.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_heartbeat_response_end(
    heartbeat: *mut kl_heartbeat,
    request_id: u32,
    now: *const kl_now,
) -> kl_status {
    // SAFETY: the contract of the header.
    unsafe { response::end(Handle::new(heartbeat), request_id, now) }
}

/// Takes the news that request request_id will have no answer, or none that is whole. kind is a
/// kl_transport_error. On HTTP/1.1 end the connection. Poll next.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_heartbeat_transport_error(
    heartbeat: *mut kl_heartbeat,
    request_id: u32,
    kind: u32,
    now: *const kl_now,
) -> kl_status {
    // SAFETY: the contract of the header.
    unsafe { response::transport_error(Handle::new(heartbeat), request_id, kind, now) }
}
