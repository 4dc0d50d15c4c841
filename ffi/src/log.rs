//! The log hook: numbers out, no text, no formatting.

use core::ffi::c_void;

use crate::action::{kl_action, kl_action_kind};
use crate::elector::kl_elector;
use crate::event::kl_event;
use crate::object::{Handle, Head};
use crate::ptr;
use crate::status::{answer, kl_status};

/// How much a line of the log matters.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum kl_log_level {
    /// Something to look into.
    KL_LOG_WARN = 1,
    /// What an operator wants to see.
    KL_LOG_INFO = 2,
    /// Each request and each answer.
    KL_LOG_DEBUG = 3,
}

/// What a line of the log says, with its two numbers a and b. Others may come in a later version.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum kl_log_code {
    /// An event was taken; a: kl_event, b: kl_action.reason.
    KL_LOG_EVENT = 1,
    /// A request goes out; a: its id, b: its deadline.
    KL_LOG_SEND = 2,
    /// A request was given up; a: its id.
    KL_LOG_CANCEL = 3,
    /// An answer is complete; a: id of the request, b: status code.
    KL_LOG_ANSWER = 4,
    /// A request has no answer; a: its id, b: kl_transport_error.
    KL_LOG_NO_ANSWER = 5,
    /// The object has ended.
    KL_LOG_STOPPED = 6,
}

/// A log hook. level is a kl_log_level, code a kl_log_code. It is called as the last step of
/// a poll, response_end and transport_error. It must not use the same object: each call on it
/// answers KL_ERR_REENTRANT, false or what stands for none.
pub type kl_log_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, level: u32, code: u32, a: u64, b: u64)>;

/// Sets the log hook, NULL for none. user is handed to each call of it, as it is.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_set_log(
    elector: *mut kl_elector,
    log: kl_log_fn,
    user: *mut c_void,
) -> kl_status {
    // SAFETY: the contract of the header.
    unsafe { set(Handle::new(elector), log, user) }
}

/// # Safety
/// The contract of the header.
#[inline(never)]
pub(crate) unsafe fn set(object: Handle, log: kl_log_fn, user: *mut c_void) -> kl_status {
    answer(|| {
        // SAFETY: passed on to the caller.
        let inner = unsafe { ptr::any(object)? };
        inner.head.hook = Hook { call: log, user };
        Ok(())
    })
}

/// A hook and what is handed to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hook {
    call: kl_log_fn,
    user: *mut c_void,
}

impl Hook {
    pub(crate) const NONE: Self = Self {
        call: None,
        user: core::ptr::null_mut(),
    };
}

/// # Safety
/// `head` is that of a live object, and no reference into it is used after this.
pub(crate) unsafe fn action(head: *mut Head, action: &kl_action) {
    use kl_log_level::{KL_LOG_DEBUG, KL_LOG_INFO};
    let id = u64::from(action.request_id);
    let line = if action.kind == kl_action_kind::KL_ACTION_EVENT as u32 {
        let (a, b) = (u64::from(action.event), u64::from(action.reason));
        (event_level(action.event), kl_log_code::KL_LOG_EVENT, a, b)
    } else if action.kind == kl_action_kind::KL_ACTION_SEND as u32 {
        (
            KL_LOG_DEBUG,
            kl_log_code::KL_LOG_SEND,
            id,
            action.deadline_ms,
        )
    } else if action.kind == kl_action_kind::KL_ACTION_CANCEL as u32 {
        (KL_LOG_INFO, kl_log_code::KL_LOG_CANCEL, id, 0)
    } else if action.kind == kl_action_kind::KL_ACTION_STOPPED as u32 {
        (KL_LOG_INFO, kl_log_code::KL_LOG_STOPPED, 0, 0)
    } else {
        return;
    };
    // SAFETY: passed on to the caller.
    unsafe { say(head, line) }
}

/// # Safety
/// As for [`action`].
pub(crate) unsafe fn answered(head: *mut Head, id: u32, status: u16) {
    let (a, b) = (u64::from(id), u64::from(status));
    let line = (kl_log_level::KL_LOG_DEBUG, kl_log_code::KL_LOG_ANSWER, a, b);
    // SAFETY: passed on to the caller.
    unsafe { say(head, line) }
}

/// # Safety
/// As for [`action`].
pub(crate) unsafe fn unanswered(head: *mut Head, id: u32, kind: u32) {
    let (a, b) = (u64::from(id), u64::from(kind));
    let line = (
        kl_log_level::KL_LOG_INFO,
        kl_log_code::KL_LOG_NO_ANSWER,
        a,
        b,
    );
    // SAFETY: passed on to the caller.
    unsafe { say(head, line) }
}

const fn event_level(event: u32) -> kl_log_level {
    let is_good = event == kl_event::KL_EVENT_STARTED_LEADING as u32
        || event == kl_event::KL_EVENT_LEADER_CHANGED as u32
        || event == kl_event::KL_EVENT_FINISHED as u32;
    if is_good {
        kl_log_level::KL_LOG_INFO
    } else {
        kl_log_level::KL_LOG_WARN
    }
}

/// # Safety
/// As for [`action`].
unsafe fn say(head: *mut Head, line: (kl_log_level, kl_log_code, u64, u64)) {
    // SAFETY: the object is live.
    let Hook { call, user } = unsafe { (*head).hook };
    let Some(call) = call else { return };
    let (level, code, a, b) = line;
    // SAFETY: the object is live and no reference into it is held, so that whatever the hook does
    // to it is sound; the mark of being busy has every call on it refused. That the hook itself
    // can be called is the contract of `kl_elector_set_log`.
    unsafe {
        (*head).busy = 1;
        call(user, level as u32, code as u32, a, b);
        (*head).busy = 0;
    }
}
