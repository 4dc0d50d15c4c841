//! [`Notices`]: what happened and was not told yet. Each kind has one place, so nothing queues.

use core::mem::take;

use crate::protocol::{Event, StopReason, TroubleKind, Verb};
use crate::time::Instant;

/// Events that wait to be taken. Only the latest of a kind matters, but for `stopped`, which is
/// taken before any request that could lead to another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notices {
    pub(crate) stopped: Option<Stopped>,
    pub(crate) credentials: bool,
    pub(crate) reconnect: bool,
    pub(crate) collision: bool,
    pub(crate) went_back: bool,
    pub(crate) leader_changed: bool,
    pub(crate) being_deleted: bool,
    pub(crate) recreated: bool,
    pub(crate) trouble: Option<(TroubleKind, Verb)>,
}

/// An end of leadership.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopped {
    pub(crate) term: u64,
    pub(crate) reason: StopReason,
    pub(crate) must_cease_by: Instant,
}

impl Notices {
    /// The next event, the end of leadership before all others.
    pub(crate) fn take(&mut self) -> Option<Event> {
        if let Some(Stopped {
            term,
            reason,
            must_cease_by,
        }) = self.stopped.take()
        {
            return Some(Event::StoppedLeading {
                term,
                reason,
                must_cease_by,
            });
        }
        let event = if take(&mut self.credentials) {
            Event::CredentialsRejected
        } else if take(&mut self.reconnect) {
            Event::ReconnectAdvised
        } else if take(&mut self.collision) {
            Event::IdentityCollision
        } else if take(&mut self.went_back) {
            Event::VersionWentBack
        } else if take(&mut self.leader_changed) {
            Event::LeaderChanged
        } else if take(&mut self.being_deleted) {
            Event::LeaseBeingDeleted
        } else if take(&mut self.recreated) {
            Event::LeaseRecreated
        } else {
            let (kind, verb) = self.trouble.take()?;
            Event::Trouble { kind, verb }
        };
        Some(event)
    }
}
