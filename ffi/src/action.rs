//! [`kl_action`]: what an elector wants next.

use kubelease_core::protocol::{BadAnswer, Event, Finish, StopReason, TroubleKind, Verb};
use kubelease_core::session::Action;

use crate::clock::{self, KL_NEVER, kl_now};
use crate::elector::kl_elector;
use crate::log;
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
    /// The elector has ended; it will never want anything again.
    KL_ACTION_STOPPED = 5,
}

/// Values of kl_action.event. Others may come in a later version: ignore them.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum kl_event {
    /// This process leads from now on; kl_elector_fence has the token. term is set.
    KL_EVENT_STARTED_LEADING = 1,
    /// This process no longer leads. term, reason (a kl_stop_reason) and must_cease_by_ms are set:
    /// all work of the term must have ended at that instant.
    KL_EVENT_STOPPED_LEADING = 2,
    /// Another holder was seen, or none any more; kl_elector_leader has the name.
    KL_EVENT_LEADER_CHANGED = 3,
    /// The Lease had been deleted under this leader, who has made it anew: the fence is another,
    /// the term is the same.
    KL_EVENT_LEASE_RECREATED = 4,
    /// The Lease is marked for deletion and waits for its finalizers.
    KL_EVENT_LEASE_BEING_DELETED = 5,
    /// A second process with the same identity is alive.
    KL_EVENT_IDENTITY_COLLISION = 6,
    /// The server refuses the credentials: read them again; one retry follows at once.
    KL_EVENT_CREDENTIALS_REJECTED = 7,
    /// Two requests in a row got no answer: drop all connections.
    KL_EVENT_RECONNECT_ADVISED = 8,
    /// A lower resourceVersion than before: the server's store was restored from a backup.
    KL_EVENT_VERSION_WENT_BACK = 9,
    /// Something that will not heal by itself; the elector goes on trying. reason (a
    /// kl_trouble_kind), verb (a kl_verb) and detail (the status code of KL_TROUBLE_REFUSED) are
    /// set.
    KL_EVENT_TROUBLE = 10,
    /// The elector has ended; reason is a kl_finish.
    KL_EVENT_FINISHED = 11,
    /// What this version of the C interface has no word for.
    KL_EVENT_OTHER = 255,
}

/// Why leadership ended: kl_action.reason of KL_EVENT_STOPPED_LEADING.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum kl_stop_reason {
    /// No write was acknowledged within the renew deadline.
    KL_STOP_DEADLINE = 1,
    /// The record names somebody else, or nobody.
    KL_STOP_LOST = 2,
    /// kl_elector_step_down was called.
    KL_STOP_STEPPED_DOWN = 3,
    /// kl_elector_stop or kl_elector_work_done was called.
    KL_STOP_STOPPED = 4,
    /// The monotonic clock went back.
    KL_STOP_CLOCK_RESET = 5,
    /// What this version of the C interface has no word for.
    KL_STOP_OTHER = 255,
}

/// What keeps the elector from its work: kl_action.reason of KL_EVENT_TROUBLE.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum kl_trouble_kind {
    /// 403 over at least a second.
    KL_TROUBLE_FORBIDDEN = 1,
    /// 400: the server cannot read what is sent.
    KL_TROUBLE_BAD_REQUEST = 2,
    /// 422: the server refuses what is sent.
    KL_TROUBLE_INVALID = 3,
    /// The namespace does not exist.
    KL_TROUBLE_NAMESPACE_MISSING = 4,
    /// The namespace is being deleted.
    KL_TROUBLE_NAMESPACE_TERMINATING = 5,
    /// The server has no coordination.k8s.io/v1, or a proxy in front has another idea of paths.
    KL_TROUBLE_API_UNAVAILABLE = 6,
    /// A status that no API server gives here; detail has it.
    KL_TROUBLE_REFUSED = 7,
    /// The Lease carries more than the keep buffer takes, and a patch is not allowed.
    KL_TROUBLE_TOO_LARGE = 8,
    /// The Lease does not exist and is never to be created.
    KL_TROUBLE_LEASE_MISSING = 9,
    /// A success without a body.
    KL_TROUBLE_BODY_EMPTY = 32,
    /// A success with another body than JSON, such as a proxy's page of HTML.
    KL_TROUBLE_BODY_NOT_JSON = 33,
    /// A success whose JSON ends too soon.
    KL_TROUBLE_BODY_TRUNCATED = 34,
    /// A success whose JSON breaks the grammar, or has a known member of the wrong type.
    KL_TROUBLE_BODY_MALFORMED = 35,
    /// A success whose JSON is nested more deeply than any Lease.
    KL_TROUBLE_BODY_TOO_DEEP = 36,
    /// A success with another object than a Lease.
    KL_TROUBLE_BODY_NOT_A_LEASE = 37,
    /// A success without metadata.resourceVersion.
    KL_TROUBLE_BODY_NO_VERSION = 38,
    /// A success with a uid or resourceVersion longer than any server makes.
    KL_TROUBLE_BODY_VERSION_TOO_LONG = 39,
    /// A success with a body of more than 4 MiB.
    KL_TROUBLE_BODY_TOO_LONG = 40,
    /// A success other than 200 and 201.
    KL_TROUBLE_BODY_UNEXPECTED_STATUS = 41,
    /// A Lease that is not the one just written.
    KL_TROUBLE_BODY_NOT_MY_WRITE = 42,
    /// What this version of the C interface has no word for.
    KL_TROUBLE_OTHER = 255,
}

/// How a stopped elector ended: kl_action.reason of KL_EVENT_FINISHED.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum kl_finish {
    /// The Lease was given up; others may take it at once.
    KL_FINISH_RELEASED = 1,
    /// There was nothing to give up.
    KL_FINISH_NOT_HOLDER = 2,
    /// The release was sent and its outcome is not known.
    KL_FINISH_UNKNOWN = 3,
    /// The release could not be done within its budget.
    KL_FINISH_FAILED = 4,
    /// What this version of the C interface has no word for.
    KL_FINISH_OTHER = 255,
}

/// The right that is missing: kl_action.verb of KL_EVENT_TROUBLE.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum kl_verb {
    /// get.
    KL_VERB_GET = 1,
    /// create.
    KL_VERB_CREATE = 2,
    /// update, or patch with KL_WRITE_PATCH.
    KL_VERB_UPDATE = 3,
    /// watch.
    KL_VERB_WATCH = 4,
    /// What this version of the C interface has no word for.
    KL_VERB_OTHER = 255,
}

/// What an elector wants next. Set size, or begin with KL_ACTION_INIT. Members that kind and event
/// do not name are 0.
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
    /// Why: kl_stop_reason, kl_trouble_kind or kl_finish, by the event.
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
    answer(|| {
        // SAFETY: the contract of the header.
        let (now, out) = unsafe { (clock::now(now)?, SizedOut::new(action)?) };
        // SAFETY: the same.
        let inner = unsafe { ptr::live_mut(elector)? };
        let action = inner.session.poll(now);
        if let Action::Cancel(_) = action {
            inner.tally.failed();
        }
        let flat = kl_action {
            size: out.size(),
            ..flat(action)
        };
        out.write(&flat);
        // SAFETY: `inner` is not used any more.
        unsafe { log::action(elector, &flat) };
        Ok(())
    })
}

const NOTHING: kl_action = kl_action {
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

fn flat(action: Action) -> kl_action {
    match action {
        Action::Event(event) => kl_action {
            kind: kl_action_kind::KL_ACTION_EVENT as u32,
            ..flat_event(event)
        },
        Action::Cancel(id) => kl_action {
            kind: kl_action_kind::KL_ACTION_CANCEL as u32,
            request_id: id.number(),
            ..NOTHING
        },
        Action::Send { id, deadline } => kl_action {
            kind: kl_action_kind::KL_ACTION_SEND as u32,
            request_id: id.number(),
            deadline_ms: deadline.as_millis(),
            ..NOTHING
        },
        Action::WaitUntil(instant) => kl_action {
            kind: kl_action_kind::KL_ACTION_WAIT as u32,
            deadline_ms: instant.as_millis(),
            ..NOTHING
        },
        Action::Done => kl_action {
            kind: kl_action_kind::KL_ACTION_STOPPED as u32,
            deadline_ms: KL_NEVER,
            ..NOTHING
        },
    }
}

fn flat_event(event: Event) -> kl_action {
    let named = |event: kl_event| kl_action {
        event: event as u32,
        ..NOTHING
    };
    match event {
        Event::StartedLeading { term } => kl_action {
            term,
            ..named(kl_event::KL_EVENT_STARTED_LEADING)
        },
        Event::StoppedLeading {
            term,
            reason,
            must_cease_by,
        } => kl_action {
            term,
            reason: stop_reason(reason) as u32,
            must_cease_by_ms: must_cease_by.as_millis(),
            ..named(kl_event::KL_EVENT_STOPPED_LEADING)
        },
        Event::LeaderChanged => named(kl_event::KL_EVENT_LEADER_CHANGED),
        Event::LeaseRecreated => named(kl_event::KL_EVENT_LEASE_RECREATED),
        Event::LeaseBeingDeleted => named(kl_event::KL_EVENT_LEASE_BEING_DELETED),
        Event::IdentityCollision => named(kl_event::KL_EVENT_IDENTITY_COLLISION),
        Event::CredentialsRejected => named(kl_event::KL_EVENT_CREDENTIALS_REJECTED),
        Event::ReconnectAdvised => named(kl_event::KL_EVENT_RECONNECT_ADVISED),
        Event::VersionWentBack => named(kl_event::KL_EVENT_VERSION_WENT_BACK),
        Event::Trouble { kind, verb } => {
            let (kind, detail) = trouble(kind);
            kl_action {
                reason: kind as u32,
                verb: flat_verb(verb) as u32,
                detail,
                ..named(kl_event::KL_EVENT_TROUBLE)
            }
        }
        Event::Finished(finish) => kl_action {
            reason: flat_finish(finish) as u32,
            ..named(kl_event::KL_EVENT_FINISHED)
        },
        Event::NodeNotReady(_) | _ => named(kl_event::KL_EVENT_OTHER),
    }
}

const fn stop_reason(reason: StopReason) -> kl_stop_reason {
    match reason {
        StopReason::Deadline => kl_stop_reason::KL_STOP_DEADLINE,
        StopReason::Lost => kl_stop_reason::KL_STOP_LOST,
        StopReason::SteppedDown => kl_stop_reason::KL_STOP_STEPPED_DOWN,
        StopReason::Stopped => kl_stop_reason::KL_STOP_STOPPED,
        StopReason::ClockReset => kl_stop_reason::KL_STOP_CLOCK_RESET,
        _ => kl_stop_reason::KL_STOP_OTHER,
    }
}

fn trouble(kind: TroubleKind) -> (kl_trouble_kind, u32) {
    let kind = match kind {
        TroubleKind::Refused(status) => {
            return (kl_trouble_kind::KL_TROUBLE_REFUSED, u32::from(status));
        }
        TroubleKind::Forbidden => kl_trouble_kind::KL_TROUBLE_FORBIDDEN,
        TroubleKind::BadRequest => kl_trouble_kind::KL_TROUBLE_BAD_REQUEST,
        TroubleKind::Invalid => kl_trouble_kind::KL_TROUBLE_INVALID,
        TroubleKind::NamespaceMissing => kl_trouble_kind::KL_TROUBLE_NAMESPACE_MISSING,
        TroubleKind::NamespaceTerminating => kl_trouble_kind::KL_TROUBLE_NAMESPACE_TERMINATING,
        TroubleKind::ApiUnavailable => kl_trouble_kind::KL_TROUBLE_API_UNAVAILABLE,
        TroubleKind::BadAnswer(bad) => bad_answer(bad),
        TroubleKind::TooLarge => kl_trouble_kind::KL_TROUBLE_TOO_LARGE,
        TroubleKind::LeaseMissing => kl_trouble_kind::KL_TROUBLE_LEASE_MISSING,
        TroubleKind::NodeMissing
        | TroubleKind::HeldByAnother
        | TroubleKind::NotAlive
        | TroubleKind::TimeUsedUp
        | _ => kl_trouble_kind::KL_TROUBLE_OTHER,
    };
    (kind, 0)
}

const fn bad_answer(bad: BadAnswer) -> kl_trouble_kind {
    match bad {
        BadAnswer::Empty => kl_trouble_kind::KL_TROUBLE_BODY_EMPTY,
        BadAnswer::NotJson => kl_trouble_kind::KL_TROUBLE_BODY_NOT_JSON,
        BadAnswer::Truncated => kl_trouble_kind::KL_TROUBLE_BODY_TRUNCATED,
        BadAnswer::Malformed => kl_trouble_kind::KL_TROUBLE_BODY_MALFORMED,
        BadAnswer::TooDeep => kl_trouble_kind::KL_TROUBLE_BODY_TOO_DEEP,
        BadAnswer::NotALease => kl_trouble_kind::KL_TROUBLE_BODY_NOT_A_LEASE,
        BadAnswer::NoVersion => kl_trouble_kind::KL_TROUBLE_BODY_NO_VERSION,
        BadAnswer::VersionTooLong => kl_trouble_kind::KL_TROUBLE_BODY_VERSION_TOO_LONG,
        BadAnswer::TooLong => kl_trouble_kind::KL_TROUBLE_BODY_TOO_LONG,
        BadAnswer::UnexpectedStatus => kl_trouble_kind::KL_TROUBLE_BODY_UNEXPECTED_STATUS,
        BadAnswer::NotMyWrite => kl_trouble_kind::KL_TROUBLE_BODY_NOT_MY_WRITE,
        _ => kl_trouble_kind::KL_TROUBLE_OTHER,
    }
}

const fn flat_verb(verb: Verb) -> kl_verb {
    match verb {
        Verb::Get => kl_verb::KL_VERB_GET,
        Verb::Create => kl_verb::KL_VERB_CREATE,
        Verb::Update => kl_verb::KL_VERB_UPDATE,
        Verb::Watch => kl_verb::KL_VERB_WATCH,
        Verb::GetNode | Verb::Delete | _ => kl_verb::KL_VERB_OTHER,
    }
}

const fn flat_finish(finish: Finish) -> kl_finish {
    match finish {
        Finish::Released => kl_finish::KL_FINISH_RELEASED,
        Finish::NotHolder => kl_finish::KL_FINISH_NOT_HOLDER,
        Finish::Unknown => kl_finish::KL_FINISH_UNKNOWN,
        Finish::Failed => kl_finish::KL_FINISH_FAILED,
        Finish::Kept | Finish::Deleted | _ => kl_finish::KL_FINISH_OTHER,
    }
}
