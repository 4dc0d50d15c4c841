//! The vocabulary between a machine and whoever drives it: outputs, requests, answers, events.

use core::fmt;

use crate::lease::{
    Label, LeaseRecord, LeaseSpec, NodeRecord, NodeRef, OwnerChange, Readiness, ResourceVersion,
    Version,
};
use crate::time::{Duration, Instant};
use crate::timestamp::Timestamp;

/// What a machine wants next. It is derived from state at each poll: a caller that polls late
/// loses nothing.
#[expect(
    clippy::exhaustive_enums,
    reason = "a driver has to handle every output"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an output that is not followed is lost: it is not said twice"]
pub enum Output<'a> {
    /// Something that the application may want to know. Poll again.
    Event(Event),
    /// The answer to this request is no longer wanted: end its connection. Poll again.
    Cancel(RequestId),
    /// Send this request, now. Poll again.
    Request(Request<'a>),
    /// Nothing to do before this instant, but for an answer or a call of the application.
    WaitUntil(Instant),
    /// The machine has ended; it will never want anything again.
    Done,
}

/// What a machine wants next, but for the request itself.
#[expect(
    clippy::exhaustive_enums,
    reason = "a driver has to handle every action"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an action that is not followed is lost: it is not said twice"]
pub enum Action {
    /// Something that the application may want to know. Poll again.
    Event(Event),
    /// The answer to this request is no longer wanted: end its connection. Poll again.
    Cancel(RequestId),
    /// Send this request, now. Poll again.
    Send {
        /// Names the request.
        id: RequestId,
        /// At and past this instant its answer counts as lost.
        deadline: Instant,
    },
    /// Nothing to do before this instant, but for an answer or a call of the application.
    WaitUntil(Instant),
    /// The machine has ended.
    Done,
}

/// Names one request of one machine; never used twice in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(u32);

impl RequestId {
    /// The id with this number.
    #[must_use]
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// A request to send.
#[expect(
    clippy::exhaustive_structs,
    reason = "plain data that drivers and tests take apart"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Comes back with the answer.
    pub id: RequestId,
    /// At and past this instant an answer counts as lost and is refused as stale. Of a watch it
    /// is the instant at which a silent stream counts as dead: what comes of it moves that on.
    pub deadline: Instant,
    /// What to do.
    pub operation: Operation<'a>,
}

/// What a request does. Every write carries the condition under which it may succeed.
#[expect(
    clippy::exhaustive_enums,
    reason = "a wire format has to know every operation"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation<'a> {
    /// Read the lease: always a quorum read, never one from a cache.
    Get,
    /// Make the lease, on condition that there is none.
    Create {
        /// The new record.
        spec: LeaseSpec<'a>,
        /// Labels to set.
        labels: &'a [Label<'a>],
        /// The Node that it is to belong to.
        owner: Option<NodeRef<'a>>,
        /// By PUT to the lease's own URL, which a Role with `resourceNames` can grant.
        by_put: bool,
    },
    /// Change the lease, on condition that it is still in the state `version`.
    Update {
        /// The new record.
        spec: LeaseSpec<'a>,
        /// The condition.
        version: &'a Version,
        /// Which fields of `spec` differ from what is stored.
        changes: Changes,
        /// Labels to set, all others being kept.
        labels: &'a [Label<'a>],
        /// The owner to set, all others being kept; `None` leaves the owners as they are.
        owner: Option<OwnerChange<'a>>,
    },
    /// Read a Node.
    GetNode {
        /// Its name.
        name: &'a str,
    },
    /// Delete the lease, on condition that it is still in the state `version`.
    Delete {
        /// The condition.
        version: &'a Version,
    },
    /// Hear of every change of the lease after `version`: the answer is a stream.
    Watch {
        /// The state that is known: of a watch in flight, that of which it has told.
        version: &'a ResourceVersion,
        /// After how long the server may end the stream, whole seconds.
        timeout: Duration,
    },
}

impl Operation<'_> {
    /// The verb by which the server's access rules know this operation.
    #[must_use]
    pub const fn verb(&self) -> Verb {
        match self {
            Self::Get => Verb::Get,
            Self::Create { .. } => Verb::Create,
            Self::Update { .. } => Verb::Update,
            Self::Watch { .. } => Verb::Watch,
            Self::GetNode { .. } => Verb::GetNode,
            Self::Delete { .. } => Verb::Delete,
        }
    }
}

/// Which fields an update changes; a merge patch sends no others.
#[expect(
    clippy::exhaustive_enums,
    reason = "a wire format has to know every kind"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// All five: a new holder.
    Acquire,
    /// `renewTime`, and the duration asserted again.
    Renew,
    /// The holder goes; the transitions stay.
    Release,
}

/// The verbs of the server's access rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verb {
    /// `get`.
    Get,
    /// `create`.
    Create,
    /// A write over a lease that exists. The right is `update`, or `patch` where the session
    /// writes merge patches.
    Update,
    /// `watch`.
    Watch,
    /// `get` of a Node.
    GetNode,
    /// `delete`.
    Delete,
}

impl Verb {
    /// The right's name in a Role, but for merge patches, which need `patch`, and for creating by
    /// PUT, which needs `update` as well.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get | Self::GetNode => "get",
            Self::Create => "create",
            Self::Update => "update",
            Self::Watch => "watch",
            Self::Delete => "delete",
        }
    }
}

/// An answer: what the server said, and when it said so.
#[expect(
    clippy::exhaustive_structs,
    reason = "plain data that drivers and tests put together"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// The `Date` header, where it was readable.
    pub server_time: Option<Timestamp>,
    /// The `Retry-After` header or `details.retryAfterSeconds`, where one was there.
    pub retry_after: Option<Duration>,
    /// What was said.
    pub reply: Reply<'a>,
}

impl<'a> Response<'a> {
    /// An answer without times.
    #[must_use]
    pub const fn new(reply: Reply<'a>) -> Self {
        Self {
            server_time: None,
            retry_after: None,
            reply,
        }
    }
}

/// What an answer says, sorted by what follows from it. Classified by status code first, then by
/// `reason` and `details`, never by the message.
#[expect(
    clippy::exhaustive_enums,
    reason = "a machine has to handle every reply"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// 200 or 201 with a Lease.
    Lease(&'a LeaseRecord),
    /// 200 with a Node.
    Node(NodeRecord<'a>),
    /// A success of a deletion: the lease is gone, or goes when its finalizers are gone.
    Deleted,
    /// 404 of the object itself: of the lease, or of the Node where one was asked for.
    LeaseMissing,
    /// 404 of the namespace: a create can't succeed.
    NamespaceMissing,
    /// 404 of the API group, version or path.
    ApiUnavailable,
    /// 409: somebody else was first, by `AlreadyExists` or by the version.
    Conflict,
    /// 400: the server can't read what was sent.
    BadRequest,
    /// 401: the credentials are refused.
    Unauthorized,
    /// 403: no right, or a server that has just started.
    Forbidden,
    /// 403 with cause `NamespaceTerminating`.
    NamespaceTerminating,
    /// 422: the server refuses what was sent.
    Invalid,
    /// 429: too many requests; nothing was done.
    Throttled,
    /// Any 5xx: a write may have been done.
    ServerError(u16),
    /// Any other status: nothing was done.
    Refused(u16),
    /// A 2xx whose body does not say what happened: a write may have been done.
    BadAnswer(BadAnswer),
    /// Nothing was sent: the lease carries more than can be written back without loss.
    TooLarge,
    /// The stream of a watch came to its end.
    WatchEnded,
}

/// One line of the stream that answers a watch.
#[expect(
    clippy::exhaustive_enums,
    reason = "a machine has to handle every line"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchEvent<'a> {
    /// `ADDED` or `MODIFIED`: the lease as it is since this change.
    Changed(&'a LeaseRecord),
    /// `DELETED`: the last state of the lease, with the version of its deletion.
    Deleted(&'a LeaseRecord),
    /// `BOOKMARK`: nothing changed, and the stream is alive.
    Bookmark,
    /// `ERROR`, such as 410 where the version is too old: nothing more will come.
    Error,
    /// What can't be read: nothing that follows can be, either.
    Broken(BadAnswer),
}

/// Why a 2xx answer could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BadAnswer {
    /// No body at all.
    Empty,
    /// Not JSON from the first byte on, such as a proxy's HTML page.
    NotJson,
    /// JSON that ends too soon.
    Truncated,
    /// JSON that breaks the grammar, or has a known field of the wrong type.
    Malformed,
    /// JSON nested more deeply than any Lease.
    TooDeep,
    /// No Lease, or no Node where one was asked for: another kind, or none of its fields.
    NotALease,
    /// No `metadata.resourceVersion`, so nothing can be written on its condition.
    NoVersion,
    /// A `uid` or `resourceVersion` longer than any server makes.
    VersionTooLong,
    /// A body longer than the limit.
    TooLong,
    /// A 2xx other than 200 and 201.
    UnexpectedStatus,
    /// A Lease whose version, holder or renewTime is not that of the write it answers.
    NotMyWrite,
}

impl fmt::Display for BadAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "expected a Lease, found an empty body",
            Self::NotJson => "expected JSON, found something else",
            Self::Truncated => "expected the rest of the JSON, found the end",
            Self::Malformed => "expected a Lease in JSON, found a breach of its grammar",
            Self::TooDeep => "expected a Lease, found deeper nesting",
            Self::NotALease => "expected a Lease, found another kind",
            Self::NoVersion => "expected a resourceVersion, found none",
            Self::VersionTooLong => "expected a short uid and resourceVersion, found a longer one",
            Self::TooLong => "expected a body within the limit, found a longer one",
            Self::UnexpectedStatus => "expected status 200 or 201, found another success",
            Self::NotMyWrite => "expected the record just written, found another",
        })
    }
}

/// Why a request has no answer.
#[expect(
    clippy::exhaustive_enums,
    reason = "a driver has to know which one it means"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// Nothing was sent: no name, no connection, no handshake.
    NotSent,
    /// Something may have been sent, so a write may have been applied.
    Unknown,
    /// The deadline passed; a write may have been applied.
    TimedOut,
}

/// An answer to a request that is no longer wanted. It changed nothing.
#[expect(clippy::exhaustive_structs, reason = "there is nothing to add")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaleRequest;

impl fmt::Display for StaleRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected the id of the request in flight, found another")
    }
}

impl core::error::Error for StaleRequest {}

/// Something that happened. Events are edges for convenience; the truth about leadership is
/// `is_leading`, which needs none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// This process leads from now on; `fence()` has the token.
    StartedLeading {
        /// Counts the terms of this process, from 1.
        term: u64,
    },
    /// This process no longer leads.
    StoppedLeading {
        /// The term that ended.
        term: u64,
        /// Why.
        reason: StopReason,
        /// All work of the term must have ended at this instant.
        must_cease_by: Instant,
    },
    /// Another holder was seen, or none any more; `leader()` has the name.
    LeaderChanged,
    /// The lease had been deleted under this leader, who has made it anew: `fence()` has the new
    /// token, the term is the same.
    LeaseRecreated,
    /// The lease is marked for deletion and waits for its finalizers.
    LeaseBeingDeleted,
    /// The record has this process's identity and a renewTime that it never sent: a second
    /// process with the same identity is alive.
    IdentityCollision,
    /// The server refuses the credentials: read them again; one retry follows at once.
    CredentialsRejected,
    /// Two requests in a row got no answer: drop all connections.
    ReconnectAdvised,
    /// A lower resourceVersion than before: the server's store was restored from a backup.
    VersionWentBack,
    /// The Node is not ready although its lease is beaten: a heartbeat does not bring it back, its
    /// status has to be posted again.
    NodeNotReady(Readiness),
    /// Something that will not heal by itself keeps the machine from its work; it goes on trying.
    Trouble {
        /// What it is.
        kind: TroubleKind,
        /// In which operation.
        verb: Verb,
    },
    /// The machine has ended.
    Finished(Finish),
}

/// Why leadership ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// No write was acknowledged within the renew deadline.
    Deadline,
    /// The record names somebody else, or nobody.
    Lost,
    /// `step_down` was called.
    SteppedDown,
    /// `stop` or `work_done` was called.
    Stopped,
    /// The monotonic clock went back.
    ClockReset,
}

/// What keeps the machine from its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TroubleKind {
    /// 403 over at least a second.
    Forbidden,
    /// 400: the server can't read what is sent.
    BadRequest,
    /// 422: the server refuses what is sent.
    Invalid,
    /// The namespace does not exist.
    NamespaceMissing,
    /// The namespace is being deleted.
    NamespaceTerminating,
    /// The server has no `coordination.k8s.io/v1`, or a proxy in front has another idea of paths.
    ApiUnavailable,
    /// A status that no API server gives here.
    Refused(u16),
    /// A success whose body can't be read.
    BadAnswer(BadAnswer),
    /// The lease carries more than the keep buffer takes, and a patch is not allowed: writing it
    /// back would lose something.
    TooLarge,
    /// The lease does not exist and is never to be created.
    LeaseMissing,
    /// The Node that is to own the lease does not exist.
    NodeMissing,
    /// Somebody else holds the lease that this process is to beat.
    HeldByAnother,
    /// The host has not said for its `liveness_ttl` that it is alive.
    NotAlive,
    /// The lease was renewed in the last second of the year 9999: no later time can be written.
    TimeUsedUp,
}

/// How a stopped machine ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Finish {
    /// The lease was given up; others may take it at once.
    Released,
    /// There was nothing to give up.
    NotHolder,
    /// The release was sent and its outcome is not known.
    Unknown,
    /// The release could not be done within its budget.
    Failed,
    /// The lease stays as it is, and runs out.
    Kept,
    /// The lease was deleted.
    Deleted,
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn each_bad_answer_says_what_was_expected_and_found() {
        let texts = [
            (BadAnswer::Empty, "expected a Lease, found an empty body"),
            (BadAnswer::NotJson, "expected JSON, found something else"),
            (
                BadAnswer::Truncated,
                "expected the rest of the JSON, found the end",
            ),
            (
                BadAnswer::Malformed,
                "expected a Lease in JSON, found a breach of its grammar",
            ),
            (BadAnswer::TooDeep, "expected a Lease, found deeper nesting"),
            (BadAnswer::NotALease, "expected a Lease, found another kind"),
            (
                BadAnswer::NoVersion,
                "expected a resourceVersion, found none",
            ),
            (
                BadAnswer::VersionTooLong,
                "expected a short uid and resourceVersion, found a longer one",
            ),
            (
                BadAnswer::TooLong,
                "expected a body within the limit, found a longer one",
            ),
            (
                BadAnswer::UnexpectedStatus,
                "expected status 200 or 201, found another success",
            ),
            (
                BadAnswer::NotMyWrite,
                "expected the record just written, found another",
            ),
        ];
        for (bad, text) in texts {
            assert_eq!(bad.to_string(), text);
        }
        assert_eq!(
            StaleRequest.to_string(),
            "expected the id of the request in flight, found another"
        );
    }
}
