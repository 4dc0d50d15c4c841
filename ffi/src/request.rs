//! [`kl_request`]: what to send, and its bytes from any offset.

use kubelease_core::protocol::RequestId;
use kubelease_core::wire::http::{Method, RequestHead};

use crate::elector::kl_elector;
use crate::object::Handle;
use crate::ptr::{self, Out, SizedOut, Versioned};
use crate::status::{answer, kl_code, kl_status};
use crate::text::kl_str;

/// Values of kl_request.method.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum kl_method {
    /// GET.
    KL_METHOD_GET = 1,
    /// POST.
    KL_METHOD_POST = 2,
    /// PUT.
    KL_METHOD_PUT = 3,
    /// PATCH.
    KL_METHOD_PATCH = 4,
    /// DELETE.
    KL_METHOD_DELETE = 5,
}

/// The two parts of a request that are read by offset.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum kl_request_part {
    /// Path and query, from the first slash on: ASCII that needs no escaping.
    KL_PART_TARGET = 1,
    /// The body.
    KL_PART_BODY = 2,
}

/// One request, but for its target and body. Set size, or begin with KL_REQUEST_INIT.
///
/// Send it as it is: Content-Type and Accept as they are here, Content-Length from body_len. Host,
/// Authorization and User-Agent are the caller's; an agent whose name begins with curl, Wget or
/// Mozilla gets longer, pretty-printed answers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kl_request {
    /// sizeof(kl_request); the caller sets it.
    pub size: u32,
    /// A kl_method.
    pub method: u32,
    /// The method as it stands in a request line. Static.
    pub method_name: kl_str,
    /// Value of Content-Type; empty where there is no body. Static.
    pub content_type: kl_str,
    /// Value of Accept. Static.
    pub accept: kl_str,
    /// Length of path and query.
    pub target_len: usize,
    /// Length of the body.
    pub body_len: usize,
}

// SAFETY: `repr(C)`, numbers and pointers only, `u32` first, and no padding: see the test of the
// header under -Wpadded.
unsafe impl Versioned for kl_request {
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Describes request request_id, that of the last KL_ACTION_SEND.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ANSWER_BEGUN, KL_ERR_ARG, KL_ERR_SIZE, KL_ERR_STORAGE,
/// KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_request(
    elector: *const kl_elector,
    request_id: u32,
    request: *mut kl_request,
) -> kl_status {
    // SAFETY: the contract of the header.
    unsafe { describe(Handle::new(elector), request_id, request) }
}

/// Writes part (a kl_request_part) of request request_id into buffer, from offset on, and says
/// how many bytes that were: fewer than capacity only at the end of the part, none past it.
///
/// The request is made from state, never consumed: it can be read in pieces of any size, again
/// after a short write, and whole once more for another connection; it is the same each time. It
/// is not NUL-terminated.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ANSWER_BEGUN, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT,
/// KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_request_read(
    elector: *const kl_elector,
    request_id: u32,
    part: u32,
    offset: usize,
    buffer: *mut u8,
    capacity: usize,
    written: *mut usize,
) -> kl_status {
    let object = Handle::new(elector);
    // SAFETY: the contract of the header.
    unsafe { read(object, request_id, part, offset, buffer, capacity, written) }
}

/// # Safety
/// The contract of the header.
#[inline(never)]
pub(crate) unsafe fn describe(
    object: Handle,
    request_id: u32,
    request: *mut kl_request,
) -> kl_status {
    answer(|| {
        // SAFETY: passed on to the caller.
        let (out, inner) = unsafe { (SizedOut::new(request)?, ptr::any(object)?) };
        let id = RequestId::from_number(request_id);
        let head = inner.session.request_head(id)?;
        write_head(&out, &head);
        Ok(())
    })
}

/// One function for all objects.
fn write_head(out: &SizedOut<kl_request>, head: &RequestHead) {
    let method = match head.method {
        Method::Get => kl_method::KL_METHOD_GET,
        Method::Post => kl_method::KL_METHOD_POST,
        Method::Put => kl_method::KL_METHOD_PUT,
        Method::Patch => kl_method::KL_METHOD_PATCH,
        Method::Delete => kl_method::KL_METHOD_DELETE,
    };
    out.write(&kl_request {
        size: out.size(),
        method: method as u32,
        method_name: ptr::view(head.method.as_str()),
        content_type: ptr::view(head.content_type.unwrap_or("")),
        accept: ptr::view(head.accept),
        target_len: head.target_length,
        body_len: head.body_length,
    });
}

/// # Safety
/// The contract of the header.
#[inline(never)]
pub(crate) unsafe fn read(
    object: Handle,
    request_id: u32,
    part: u32,
    offset: usize,
    buffer: *mut u8,
    capacity: usize,
    written: *mut usize,
) -> kl_status {
    answer(|| {
        // SAFETY: passed on to the caller.
        let (out, buffer) = unsafe { (Out::new(written)?, ptr::bytes_mut(buffer, capacity)?) };
        // SAFETY: the same.
        let inner = unsafe { ptr::any(object)? };
        let id = RequestId::from_number(request_id);
        out.write(match part {
            1 => inner.session.write_target(id, offset, buffer)?,
            2 => inner.session.write_body(id, offset, buffer)?,
            _ => return Err(kl_code::KL_ERR_ARG),
        });
        Ok(())
    })
}
