//! [`kl_action`]: what an object wants next.

use kubelease_core::session::Action;

use crate::clock::{self, KL_NEVER, kl_now};
use crate::elector::kl_elector;
use crate::event::flat_event;
use crate::log;
use crate::object::Handle;
use crate::ptr::{self, SizedOut, Versioned};
use crate::status::{answer, kl_status};

/// Values of kl_action.kind. Others may come in a later version: poll again on them.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum kl_action_kind {
    /// Nothing to do before deadline_ms, but for an answer that comes or a call of yours.
    KL_ACTION_WAIT = 1,
    /// Send request request_id, now: see kl_elector_request. At and past deadline_ms its answer
    /// counts as lost. Poll again.
    KL_ACTION_SEND = 2,
    /// The answer to request_id is no longer wanted: end its connection. Poll again.
    KL_ACTION_CANCEL = 3,
    /// Something happened: see event. Poll again.
    KL_ACTION_EVENT = 4,
    /// The object has ended; it will never want anything again.
    KL_ACTION_STOPPED = 5,
}

/// What an elector or heartbeat wants next. Set size, or begin with KL_ACTION_INIT. Members that
/// kind and event do not name are 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kl_action {
    /// sizeof(kl_action); the caller sets it.
    pub size: u32,
    /// A kl_action_kind.
    pub kind: u32,
    /// KL_ACTION_WAIT: poll again at this instant, at the latest. KL_ACTION_SEND: give up at it.
    /// KL_NEVER where there is none.
    pub deadline_ms: u64,
    /// KL_ACTION_SEND and KL_ACTION_CANCEL: which request. Never 0 then.
    pub request_id: u32,
    /// KL_ACTION_EVENT: a kl_event.
    pub event: u32,
    /// Why: kl_stop_reason, kl_trouble_kind, kl_finish or kl_readiness, by the event.
    pub reason: u32,
    /// A kl_verb.
    pub verb: u32,
    /// A status code of HTTP.
    pub detail: u32,
    /// 0.
    pub reserved: u32,
    /// Counts the terms of this elector, from 1.
    pub term: u64,
    /// All work of the term must have ended at this instant.
    pub must_cease_by_ms: u64,
}

// SAFETY: `repr(C)`, numbers only, `u32` first, and no padding: see the test of the header under
// -Wpadded.
unsafe impl Versioned for kl_action {
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Says what to do next. Call it after every other call that changes the elector, and at the
/// instant of the last KL_ACTION_WAIT; calling it more often changes nothing. Loop until
/// KL_ACTION_WAIT or KL_ACTION_STOPPED; that takes a bounded number of calls. Works in constant
/// time.
///
/// The end of leadership comes before everything else. Leadership counts from the poll that
/// answered KL_ACTION_SEND for the write, so send at once.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_SIZE, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_poll(
    elector: *mut kl_elector,
    now: *const kl_now,
    action: *mut kl_action,
) -> kl_status {
    // SAFETY: the contract of the header.
    unsafe { poll(Handle::new(elector), now, action) }
}

/// # Safety
/// The contract of the header.
#[inline(never)]
pub(crate) unsafe fn poll(object: Handle, now: *const kl_now, action: *mut kl_action) -> kl_status {
    answer(|| {
        // SAFETY: passed on to the caller.
        let (now, out) = unsafe { (clock::now(now)?, SizedOut::new(action)?) };
        // SAFETY: the same.
        let inner = unsafe { ptr::any(object)? };
        let action = inner.session.poll(now);
        if let Action::Cancel(_) = action {
            inner.head.tally.failed();
        }
        // SAFETY: `inner` is not used any more.
        unsafe { tell(object, &out, action) };
        Ok(())
    })
}

/// Writes down what was polled, and logs it. A call of its own, so that what it writes is off the
/// stack while the machine is asked.
///
/// # Safety
/// The object is live, and no reference into it is held.
#[inline(never)]
unsafe fn tell(object: Handle, out: &SizedOut<kl_action>, action: Action) {
    let mut told = kl_action {
        size: out.size(),
        ..NOTHING
    };
    flat(&mut told, action);
    out.write(&told);
    // SAFETY: passed on to the caller.
    unsafe { log::action(object.head(), &told) };
}

pub(crate) const NOTHING: kl_action = kl_action {
    size: 0,
    kind: 0,
    deadline_ms: 0,
    request_id: 0,
    event: 0,
    reason: 0,
    verb: 0,
    detail: 0,
    reserved: 0,
    term: 0,
    must_cease_by_ms: 0,
};

/// Fills in what `action` says, in place: each member is written where it differs.
#[inline(never)]
fn flat(to: &mut kl_action, action: Action) {
    let kind = match action {
        Action::Event(event) => {
            flat_event(to, event);
            kl_action_kind::KL_ACTION_EVENT
        }
        Action::Cancel(id) => {
            to.request_id = id.number();
            kl_action_kind::KL_ACTION_CANCEL
        }
        Action::Send { id, deadline } => {
            to.request_id = id.number();
            to.deadline_ms = deadline.as_millis();
            kl_action_kind::KL_ACTION_SEND
        }
        Action::WaitUntil(instant) => {
            to.deadline_ms = instant.as_millis();
            kl_action_kind::KL_ACTION_WAIT
        }
        Action::Done => {
            to.deadline_ms = KL_NEVER;
            kl_action_kind::KL_ACTION_STOPPED
        }
    };
    to.kind = kind as u32;
}
