//! [`Notices`]: what happened and was not told yet. Each kind has one place, so nothing queues.

use core::mem::take;

use crate::lease::Readiness;
use crate::protocol::{Event, TroubleKind, Verb};

/// Events that wait to be taken. Only the latest of a kind matters.
#[derive(Clone, Debug, Default)]
pub(super) struct Notices {
    pub(super) credentials: bool,
    pub(super) reconnect: bool,
    pub(super) being_deleted: bool,
    pub(super) recreated: bool,
    pub(super) not_ready: Option<Readiness>,
    pub(super) trouble: Option<(TroubleKind, Verb)>,
}

impl Notices {
    /// The next event.
    pub(super) fn take(&mut self) -> Option<Event> {
        let event = if take(&mut self.credentials) {
            Event::CredentialsRejected
        } else if take(&mut self.reconnect) {
            Event::ReconnectAdvised
        } else if take(&mut self.being_deleted) {
            Event::LeaseBeingDeleted
        } else if take(&mut self.recreated) {
            Event::LeaseRecreated
        } else if let Some(readiness) = self.not_ready.take() {
            Event::NodeNotReady(readiness)
        } else {
            let (kind, verb) = self.trouble.take()?;
            Event::Trouble { kind, verb }
        };
        Some(event)
    }
}
