//! Making requests: what each write says, and the deadline that it gets.

use core::borrow::Borrow;

use super::decide::Act;
use super::state::{Beat, Sent, Standing, State};
use super::{Heartbeat, HeartbeatConfig};
use crate::lease::{LeaseSpec, NodeRef, OwnerChange, OwnerState};
use crate::protocol::{Changes, Operation, RequestId};
use crate::time::{Instant, Now};
use crate::timestamp::Timestamp;

impl<C: Borrow<HeartbeatConfig>, S: AsRef<str>> Heartbeat<C, S> {
    /// Puts the request of `act` in flight.
    pub(super) fn send(&mut self, act: Act, now: Now) -> (RequestId, Instant) {
        let at = self.now();
        self.pace.leave();
        let kind = match act {
            Act::Read => Sent::Get,
            Act::Look => Sent::Node,
            Act::Delete => Sent::Delete,
            // There is a time to write: else the beat would have been left out.
            Act::Create => self.times.next(now, at).map_or(Sent::Get, Sent::Create),
            Act::Beat => self.times.next(now, at).map_or(Sent::Get, |renew_time| {
                Sent::Beat(Beat {
                    renew_time,
                    acquires: self.known.standing != Standing::Mine,
                    owns: self.known.owners.node != OwnerState::Current
                        && self.node.is_some()
                        && !self.node_uid.is_empty(),
                })
            }),
        };
        let timeout = at.saturating_add(self.rules().request_timeout);
        let deadline = match self.state {
            State::Retiring(retiring) => timeout.min(retiring.until),
            State::Beating | State::Ended { .. } => timeout,
        };
        // A beat counts from the call's own instant, which clock noise may put a little before
        // the latest one.
        let sent = self.clock.earliest_of(now.instant);
        (self.slot.start(sent, deadline, kind), deadline)
    }

    /// What a beat says. All else of the record stays.
    pub(super) fn spec(&self, renew_time: Timestamp) -> LeaseSpec<'_> {
        LeaseSpec {
            holder_identity: self.holder.as_ref(),
            lease_duration_seconds: self.rules().lease_duration_seconds(),
            acquire_time: None,
            renew_time,
            lease_transitions: None,
        }
    }

    /// The operation of a request in flight, made from state each time.
    pub(super) fn operation(&self, kind: &Sent) -> Operation<'_> {
        let (renew_time, beat) = match kind {
            Sent::Get => return Operation::Get,
            Sent::Node => {
                // Only a heart with a Node looks at it.
                let name = self.node.as_ref().map_or("", AsRef::as_ref);
                return Operation::GetNode { name };
            }
            Sent::Delete => {
                let version = &self.known.version;
                return Operation::Delete { version };
            }
            Sent::Create(renew_time) => (*renew_time, None),
            Sent::Beat(beat) => (beat.renew_time, Some(beat)),
        };
        let (spec, owner) = (self.spec(renew_time), self.owner_to_write());
        let Some(beat) = beat else {
            return Operation::Create {
                spec,
                labels: &[],
                owner,
                by_put: self.rules().create_with_put,
            };
        };
        let has_others = self.known.owners.has_others;
        Operation::Update {
            spec,
            version: &self.known.version,
            changes: if beat.acquires {
                Changes::Acquire
            } else {
                Changes::Renew
            },
            labels: &[],
            owner: owner
                .filter(|_| beat.owns)
                .map(|node| OwnerChange { node, has_others }),
        }
    }

    /// The owner, where all of it is known.
    fn owner_to_write(&self) -> Option<NodeRef<'_>> {
        let uid = Some(self.node_uid.as_bytes()).filter(|uid| !uid.is_empty())?;
        let name = self.node.as_ref()?.as_ref();
        Some(NodeRef { name, uid })
    }
}
