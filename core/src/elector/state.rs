//! The states of an elector, each with its deadlines.
//!
//! ```text
//!                 step_down (leading)                 step_down (candidate)
//!   Contending ───────────────► Releasing(Rest) ──► Resting ◄──── Contending
//!    │   ▲                                             │ until
//!    │   └─────────────────────────────────────────────┘
//!    │ stop_when_idle (leading)
//!    ├──────────► Finishing ── work_done, stop ──► Releasing(End) ──► Ended
//!    │                └── loss ─────────────────────────────────────► Ended
//!    └── stop ──► Releasing(End) ──► Ended
//! ```
//! Whether the elector leads is not among them: that is [`Belief`], which ends by itself.

use crate::protocol::Finish;
use crate::time::{Duration, Instant};
use crate::timestamp::Timestamp;

/// What the elector is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum State {
    /// Runs for election, or leads.
    Contending,
    /// Leads and never acquires again.
    Finishing,
    /// Observes and writes nothing until `until`, which lies `cooldown` after the call.
    Resting { until: Instant, cooldown: Duration },
    /// Gives up the lease, no longer than until `until`.
    Releasing(Releasing),
    /// Has ended, as it says, and whether that was told; nothing is wanted any more.
    Ended { finish: Finish, is_told: bool },
}

/// A release under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Releasing {
    /// End of the budget. It lies at or past every deadline of the release's requests.
    pub(crate) until: Instant,
    /// No release before here: work of the last term may go on until then.
    pub(crate) not_before: Instant,
    /// Release writes that met a conflict or had no certain outcome.
    pub(crate) rounds: u8,
    /// Whether a release write has an unknown outcome.
    pub(crate) doubt: bool,
    /// What follows.
    pub(crate) then: Then,
}

/// What follows a release.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Then {
    /// The end.
    End,
    /// Rest until `until`, which lies `cooldown` after the call.
    Rest { until: Instant, cooldown: Duration },
}

/// What the elector may believe of its own leadership.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Belief {
    /// Does not lead.
    Nothing,
    /// Leads from `sent` to just before `until`, with no input at all.
    Leading {
        /// When the last acknowledged write was handed out.
        sent: Instant,
        /// `sent` and the renew deadline.
        until: Instant,
        /// Whether `StartedLeading` was taken.
        announced: bool,
    },
}

impl Belief {
    /// End of the belief, where there is one.
    pub(crate) const fn until(&self) -> Option<Instant> {
        match self {
            Self::Nothing => None,
            Self::Leading { until, .. } => Some(*until),
        }
    }

    pub(crate) const fn is_leading(&self) -> bool {
        matches!(self, Self::Leading { .. })
    }
}

/// When the next request may leave.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// At once: it belongs to the attempt under way.
    FollowUp,
    /// A look or a renewal at this instant; a takeover may come sooner.
    Due(Instant),
    /// Nothing before this instant: the last try failed.
    Retry(Instant),
    /// A watch, at once; a takeover comes before it.
    Watch,
}

/// The attempt under way or the last one: its first request and what it has used up.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    /// When its first request left.
    pub(crate) started: Instant,
    pub(crate) next: Next,
    /// Conflicts in a row that were followed up at once.
    pub(crate) quick_rounds: u8,
    /// Whether this attempt has had its retry with new credentials.
    pub(crate) reauthorized: bool,
}

/// A write that was handed out: what makes it again and what its answer must show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub(crate) renew_time: Timestamp,
    pub(crate) acquire_time: Timestamp,
    pub(crate) transitions: u32,
}

/// What a pending request is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sent {
    Get,
    Create(Written),
    Acquire(Written),
    Renew(Written),
    Release(Written),
    /// The server may end the stream after `timeout`.
    Watch {
        timeout: Duration,
    },
}

impl Sent {
    /// Whether it is a write.
    pub(crate) const fn is_write(&self) -> bool {
        !matches!(self, Self::Get | Self::Watch { .. })
    }

    /// The write, where it is one.
    pub(crate) const fn written(&self) -> Option<Written> {
        match *self {
            Self::Get | Self::Watch { .. } => None,
            Self::Create(w) | Self::Acquire(w) | Self::Renew(w) | Self::Release(w) => Some(w),
        }
    }
}
