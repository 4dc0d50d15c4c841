//! What came of a request: an answer in any split, or none.

use kubelease_core::protocol::{Failure, RequestId};

use crate::clock::{self, kl_now};
use crate::elector::kl_elector;
use crate::log;
use crate::object::Handle;
use crate::ptr;
use crate::status::{answer, kl_code, kl_status};
use crate::text::kl_str;

/// Why a request has no answer.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum kl_transport_error {
    /// Nothing was sent: no name, no connection, no handshake.
    KL_TRANSPORT_NOT_SENT = 1,
    /// Something may have been sent, so that a write may have been done. When in doubt, this one.
    KL_TRANSPORT_UNKNOWN = 2,
    /// It took too long; a write may have been done.
    KL_TRANSPORT_TIMED_OUT = 3,
}

/// Begins the answer to request request_id, with its status code of HTTP, 100 to 999. Where an
/// answer to it has begun already, it starts over. Leave informational answers (1xx) out.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_response_begin(
    elector: *mut kl_elector,
    request_id: u32,
    http_status: u32,
) -> kl_status {
    // SAFETY: the contract of the header.
    unsafe { begin(Handle::new(elector), request_id, http_status) }
}

/// Takes one header of the answer. Only Date and Retry-After are looked at: others may be given
/// or left out. The texts are read before the call returns.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_response_header(
    elector: *mut kl_elector,
    request_id: u32,
    name: kl_str,
    value: kl_str,
) -> kl_status {
    // SAFETY: the contract of the header.
    unsafe { header(Handle::new(elector), request_id, name, value) }
}

/// Takes the next piece of the answer's body, without any transfer coding, in any split down to
/// single bytes. The bytes are read before the call returns. What is wrong with them shows at the
/// end of the answer, as KL_EVENT_TROUBLE where it lasts; here nothing of it does.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_response_body(
    elector: *mut kl_elector,
    request_id: u32,
    data: *const u8,
    len: usize,
) -> kl_status {
    // SAFETY: the contract of the header.
    unsafe { body(Handle::new(elector), request_id, data, len) }
}

/// Ends the answer: the elector learns what it says. Poll next. An answer that broke off is no
/// answer: give kl_elector_transport_error instead.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_response_end(
    elector: *mut kl_elector,
    request_id: u32,
    now: *const kl_now,
) -> kl_status {
    // SAFETY: the contract of the header.
    unsafe { end(Handle::new(elector), request_id, now) }
}

/// Takes the news that request request_id will have no answer, or none that is whole. kind is a
/// kl_transport_error. On HTTP/1.1 end the connection. Poll next.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_transport_error(
    elector: *mut kl_elector,
    request_id: u32,
    kind: u32,
    now: *const kl_now,
) -> kl_status {
    // SAFETY: the contract of the header.
    unsafe { transport_error(Handle::new(elector), request_id, kind, now) }
}

/// # Safety
/// The contract of the header.
#[inline(never)]
pub(crate) unsafe fn begin(object: Handle, request_id: u32, http_status: u32) -> kl_status {
    answer(|| {
        if !(100..=999).contains(&http_status) {
            return Err(kl_code::KL_ERR_ARG);
        }
        let status = u16::try_from(http_status).map_err(|_| kl_code::KL_ERR_ARG)?;
        // SAFETY: passed on to the caller.
        let inner = unsafe { ptr::any(object)? };
        let id = RequestId::from_number(request_id);
        inner.session.response_begin(id, status)?;
        inner.head.tally.begun(status);
        Ok(())
    })
}

/// # Safety
/// The contract of the header.
#[inline(never)]
pub(crate) unsafe fn header(
    object: Handle,
    request_id: u32,
    name: kl_str,
    value: kl_str,
) -> kl_status {
    answer(|| {
        // SAFETY: passed on to the caller.
        let (name, value) = unsafe {
            (
                ptr::bytes(name.ptr.cast(), name.len)?,
                ptr::bytes(value.ptr.cast(), value.len)?,
            )
        };
        // SAFETY: the same.
        let inner = unsafe { ptr::any(object)? };
        let id = RequestId::from_number(request_id);
        Ok(inner.session.response_header(id, name, value)?)
    })
}

/// # Safety
/// The contract of the header.
#[inline(never)]
pub(crate) unsafe fn body(
    object: Handle,
    request_id: u32,
    data: *const u8,
    len: usize,
) -> kl_status {
    answer(|| {
        // SAFETY: passed on to the caller.
        let (piece, inner) = unsafe { (ptr::bytes(data, len)?, ptr::any(object)?) };
        let id = RequestId::from_number(request_id);
        inner.session.response_body(id, piece)?;
        Ok(())
    })
}

/// # Safety
/// The contract of the header.
#[inline(never)]
pub(crate) unsafe fn end(object: Handle, request_id: u32, now: *const kl_now) -> kl_status {
    answer(|| {
        // SAFETY: passed on to the caller.
        let (now, inner) = unsafe { (clock::now(now)?, ptr::any(object)?) };
        let id = RequestId::from_number(request_id);
        inner.session.response_end(now, id)?;
        let status = inner.head.tally.answered(now.instant.as_millis());
        // SAFETY: `inner` is not used any more.
        unsafe { log::answered(object.head(), request_id, status) };
        Ok(())
    })
}

/// # Safety
/// The contract of the header.
#[inline(never)]
pub(crate) unsafe fn transport_error(
    object: Handle,
    request_id: u32,
    kind: u32,
    now: *const kl_now,
) -> kl_status {
    answer(|| {
        let failure = match kind {
            1 => Failure::NotSent,
            2 => Failure::Unknown,
            3 => Failure::TimedOut,
            _ => return Err(kl_code::KL_ERR_ARG),
        };
        // SAFETY: passed on to the caller.
        let (now, inner) = unsafe { (clock::now(now)?, ptr::any(object)?) };
        let id = RequestId::from_number(request_id);
        inner.session.response_failed(now, id, failure)?;
        inner.head.tally.transport_failed(kind);
        // SAFETY: `inner` is not used any more.
        unsafe { log::unanswered(object.head(), request_id, kind) };
        Ok(())
    })
}
