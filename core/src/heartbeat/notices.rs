//! [`Notices`]: what happened and was not told yet. Each kind has one place, so nothing queues.

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
        let flags = [
            (&mut self.credentials, Event::CredentialsRejected),
            (&mut self.reconnect, Event::ReconnectAdvised),
            (&mut self.being_deleted, Event::LeaseBeingDeleted),
            (&mut self.recreated, Event::LeaseRecreated),
        ];
        for (flag, event) in flags {
            if core::mem::take(flag) {
                return Some(event);
            }
        }
        if let Some(readiness) = self.not_ready.take() {
            return Some(Event::NodeNotReady(readiness));
        }
        self.trouble
            .take()
            .map(|(kind, verb)| Event::Trouble { kind, verb })
    }
}
