//! [`kl_event`]: what happened, and why.

use kubelease_core::lease::Readiness;
use kubelease_core::protocol::{BadAnswer, Event, Finish, StopReason, TroubleKind, Verb};

use crate::action::kl_action;

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
    /// the term is the same. A heartbeat has made its Lease anew.
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
    /// Something that will not heal by itself; the object goes on trying. reason (a
    /// kl_trouble_kind), verb (a kl_verb) and detail (the status code of KL_TROUBLE_REFUSED) are
    /// set.
    KL_EVENT_TROUBLE = 10,
    /// The object has ended; reason is a kl_finish.
    KL_EVENT_FINISHED = 11,
    /// With KL_HEARTBEAT_WATCH_NODE: the Node of a heartbeat is not ready, although its Lease is
    /// beaten. reason is a kl_readiness.
    KL_EVENT_NODE_NOT_READY = 12,
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

/// What keeps an object from its work: kl_action.reason of KL_EVENT_TROUBLE.
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
    /// The Node that is to own the Lease of a heartbeat does not exist.
    KL_TROUBLE_NODE_MISSING = 10,
    /// Somebody else holds the Lease of a heartbeat, and has not yet run out.
    KL_TROUBLE_HELD_BY_ANOTHER = 11,
    /// kl_heartbeat_alive was not called in time: beats are left out.
    KL_TROUBLE_NOT_ALIVE = 12,
    /// The renewTime of the Lease cannot be raised any more.
    KL_TROUBLE_TIME_USED_UP = 13,
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

/// How an object ended: kl_action.reason of KL_EVENT_FINISHED.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum kl_finish {
    /// The Lease was given up; others may take it at once.
    KL_FINISH_RELEASED = 1,
    /// There was nothing to give up.
    KL_FINISH_NOT_HOLDER = 2,
    /// The last write was sent and its outcome is not known.
    KL_FINISH_UNKNOWN = 3,
    /// The last write could not be done within its budget.
    KL_FINISH_FAILED = 4,
    /// The Lease stays as it is, or as the final beat left it, and runs out.
    KL_FINISH_KEPT = 5,
    /// The Lease was deleted.
    KL_FINISH_DELETED = 6,
    /// What this version of the C interface has no word for.
    KL_FINISH_OTHER = 255,
}

/// The status of a Node's condition Ready: kl_action.reason of KL_EVENT_NODE_NOT_READY.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum kl_readiness {
    /// The Node has no such condition, or it says something else.
    KL_READINESS_UNSAID = 1,
    /// True.
    KL_READINESS_READY = 2,
    /// False: the Node's agent said so.
    KL_READINESS_NOT_READY = 3,
    /// Unknown: the node controller missed the heartbeats.
    KL_READINESS_UNKNOWN = 4,
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
    /// get, on nodes.
    KL_VERB_GET_NODE = 5,
    /// delete.
    KL_VERB_DELETE = 6,
    /// What this version of the C interface has no word for.
    KL_VERB_OTHER = 255,
}

/// Fills in what `event` says.
pub(crate) fn flat_event(to: &mut kl_action, event: Event) {
    let event = match event {
        Event::StartedLeading { term } => {
            to.term = term;
            kl_event::KL_EVENT_STARTED_LEADING
        }
        Event::StoppedLeading {
            term,
            reason,
            must_cease_by,
        } => {
            to.term = term;
            to.reason = stop_reason(reason) as u32;
            to.must_cease_by_ms = must_cease_by.as_millis();
            kl_event::KL_EVENT_STOPPED_LEADING
        }
        Event::LeaderChanged => kl_event::KL_EVENT_LEADER_CHANGED,
        Event::LeaseRecreated => kl_event::KL_EVENT_LEASE_RECREATED,
        Event::LeaseBeingDeleted => kl_event::KL_EVENT_LEASE_BEING_DELETED,
        Event::IdentityCollision => kl_event::KL_EVENT_IDENTITY_COLLISION,
        Event::CredentialsRejected => kl_event::KL_EVENT_CREDENTIALS_REJECTED,
        Event::ReconnectAdvised => kl_event::KL_EVENT_RECONNECT_ADVISED,
        Event::VersionWentBack => kl_event::KL_EVENT_VERSION_WENT_BACK,
        Event::Trouble { kind, verb } => {
            to.reason = trouble(kind) as u32;
            to.verb = flat_verb(verb) as u32;
            if let TroubleKind::Refused(status) = kind {
                to.detail = u32::from(status);
            }
            kl_event::KL_EVENT_TROUBLE
        }
        Event::Finished(finish) => {
            to.reason = flat_finish(finish) as u32;
            kl_event::KL_EVENT_FINISHED
        }
        Event::NodeNotReady(readiness) => {
            to.reason = flat_readiness(readiness) as u32;
            kl_event::KL_EVENT_NODE_NOT_READY
        }
        _ => kl_event::KL_EVENT_OTHER,
    };
    to.event = event as u32;
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

const fn trouble(kind: TroubleKind) -> kl_trouble_kind {
    match kind {
        TroubleKind::Refused(_) => kl_trouble_kind::KL_TROUBLE_REFUSED,
        TroubleKind::Forbidden => kl_trouble_kind::KL_TROUBLE_FORBIDDEN,
        TroubleKind::BadRequest => kl_trouble_kind::KL_TROUBLE_BAD_REQUEST,
        TroubleKind::Invalid => kl_trouble_kind::KL_TROUBLE_INVALID,
        TroubleKind::NamespaceMissing => kl_trouble_kind::KL_TROUBLE_NAMESPACE_MISSING,
        TroubleKind::NamespaceTerminating => kl_trouble_kind::KL_TROUBLE_NAMESPACE_TERMINATING,
        TroubleKind::ApiUnavailable => kl_trouble_kind::KL_TROUBLE_API_UNAVAILABLE,
        TroubleKind::BadAnswer(bad) => bad_answer(bad),
        TroubleKind::TooLarge => kl_trouble_kind::KL_TROUBLE_TOO_LARGE,
        TroubleKind::LeaseMissing => kl_trouble_kind::KL_TROUBLE_LEASE_MISSING,
        TroubleKind::NodeMissing => kl_trouble_kind::KL_TROUBLE_NODE_MISSING,
        TroubleKind::HeldByAnother => kl_trouble_kind::KL_TROUBLE_HELD_BY_ANOTHER,
        TroubleKind::NotAlive => kl_trouble_kind::KL_TROUBLE_NOT_ALIVE,
        TroubleKind::TimeUsedUp => kl_trouble_kind::KL_TROUBLE_TIME_USED_UP,
        _ => kl_trouble_kind::KL_TROUBLE_OTHER,
    }
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
        Verb::GetNode => kl_verb::KL_VERB_GET_NODE,
        Verb::Delete => kl_verb::KL_VERB_DELETE,
        _ => kl_verb::KL_VERB_OTHER,
    }
}

const fn flat_finish(finish: Finish) -> kl_finish {
    match finish {
        Finish::Released => kl_finish::KL_FINISH_RELEASED,
        Finish::NotHolder => kl_finish::KL_FINISH_NOT_HOLDER,
        Finish::Unknown => kl_finish::KL_FINISH_UNKNOWN,
        Finish::Failed => kl_finish::KL_FINISH_FAILED,
        Finish::Kept => kl_finish::KL_FINISH_KEPT,
        Finish::Deleted => kl_finish::KL_FINISH_DELETED,
        _ => kl_finish::KL_FINISH_OTHER,
    }
}

const fn flat_readiness(readiness: Readiness) -> kl_readiness {
    match readiness {
        Readiness::Unsaid => kl_readiness::KL_READINESS_UNSAID,
        Readiness::Ready => kl_readiness::KL_READINESS_READY,
        Readiness::NotReady => kl_readiness::KL_READINESS_NOT_READY,
        Readiness::Unknown => kl_readiness::KL_READINESS_UNKNOWN,
    }
}
