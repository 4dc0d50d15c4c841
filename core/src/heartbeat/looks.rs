//! Looks at the Node: who owns the lease, and whether its beats are heard.

use core::borrow::Borrow;

use super::state::Seen;
use super::{Heartbeat, HeartbeatConfig};
use crate::lease::{NodeRecord, OwnerState, Readiness};
use crate::protocol::{TroubleKind, Verb};
use crate::time::{Duration, Instant};

impl<C: Borrow<HeartbeatConfig>, S: AsRef<str>> Heartbeat<C, S> {
    /// The Node was made anew, as the host knows: it is asked for its uid before the next beat,
    /// which writes that as the owner.
    pub fn node_was_replaced(&mut self) {
        if self.known.owners.node == OwnerState::Current {
            self.known.owners.node = OwnerState::Stale;
        }
        self.uid_is_fresh = false;
        self.was_looked_up = false;
    }

    /// A beat was acknowledged that had left at `sent`: whether to look at the Node now.
    pub(super) fn wants_look(&self, sent: Instant) -> bool {
        let outage = sent.saturating_since(self.last_beat) >= self.rules().lease_duration;
        let is_down = self.readiness != Readiness::Ready;
        self.rules().watch_node && (!self.has_beaten || outage || is_down || self.look_in == 1)
    }

    /// A beat was acknowledged: what is put off comes nearer, and is due from the last one on.
    pub(super) fn count_down_to_look(&mut self) {
        if self.look_in > 1 {
            self.look_in = self.look_in.saturating_sub(1);
        }
    }

    /// A look that is to be made may not leave now.
    pub(super) fn look_was_left_out(&mut self) {
        self.owe_look(1);
        self.must_look = false;
    }

    /// The Node was read.
    pub(super) fn was_looked_at(&mut self, node: NodeRecord<'_>) {
        let now = self.now();
        self.contact.good(Verb::GetNode, now);
        if *node.uid != self.node_uid {
            self.node_uid.copy_from(node.uid);
            // What was posted since then was of another Node.
            self.is_told = false;
            // The owner in the lease is that of a Node of the past.
            if self.known.owners.node == OwnerState::Current {
                self.known.owners.node = OwnerState::Stale;
            }
        }
        self.uid_is_fresh = true;
        self.heed(node.readiness);
        self.look_is_over();
    }

    /// Tells what the Node said of itself. Before there is a lease it can't be ready: that it is
    /// not is no news until the first beat, and looked at again after it.
    fn heed(&mut self, readiness: Readiness) {
        self.look_in = 0;
        // What the node controller says is worth saying again: the Node may be missed any moment.
        self.is_told &= readiness == self.readiness && readiness != Readiness::Unknown;
        self.readiness = readiness;
        if readiness == Readiness::Ready || self.known.seen != Seen::Lease {
            return;
        }
        if self.rules().watch_node && !core::mem::replace(&mut self.is_told, true) {
            self.notices.not_ready = Some(readiness);
        }
    }

    /// There is no such Node.
    pub(super) fn node_is_missing(&mut self) {
        let now = self.now();
        self.contact.seen(now);
        self.trouble(TroubleKind::NodeMissing, Verb::GetNode);
        self.node_uid.clear();
        self.uid_is_fresh = false;
        // It may be registered any moment, and has to be ready then.
        self.owe_look(1);
        self.look_failed(now);
    }

    /// The Node can't be looked at, and a try at once is useless. It is made up for with the next
    /// beat, since a server that has just started refuses everybody for a moment, and from then on
    /// once in a lease duration: a Node that is Unknown after an outage must not stay so unseen.
    pub(super) fn look_was_refused(&mut self, least: Option<Duration>) {
        let is_blocked = self.rules().owner_required && self.node_uid.is_empty();
        if is_blocked && !self.must_look {
            self.pause_refused(least);
        } else {
            let beats = if self.look_in == 0 {
                1
            } else {
                self.beats_of_a_lease()
            };
            self.owe_look(beats);
            self.look_failed(self.now());
        }
    }

    /// The Node could not be looked at.
    pub(super) fn look_was_lost(&mut self, least: Option<Duration>) {
        let is_needed = self.rules().owner_required || self.known.seen == Seen::Missing;
        if is_needed && !self.must_look {
            self.pause(least);
        } else {
            self.owe_look(1);
            self.look_failed(self.now());
        }
    }

    /// The look that was to follow a beat came to nothing: another follows so many beats later.
    fn owe_look(&mut self, beats: u8) {
        if self.must_look {
            self.look_in = beats;
        }
    }

    /// How many beats there are in a lease duration; counted, as a division of such numbers is code
    /// of its own on a small processor.
    fn beats_of_a_lease(&self) -> u8 {
        let rules = self.rules();
        let (mut beats, mut passed) = (1_u8, rules.interval);
        while passed < rules.lease_duration && beats < u8::MAX {
            passed = passed.saturating_add(rules.interval);
            beats = beats.saturating_add(1);
        }
        beats
    }

    /// Whether a write would leave the lease without the owner that is required.
    pub(super) fn lacks_owner(&self) -> bool {
        self.rules().owner_required
            && self.node_uid.is_empty()
            && self.known.owners.node == OwnerState::Absent
    }

    /// The look is over without a uid that is known to be right.
    fn look_failed(&mut self, now: Instant) {
        self.was_looked_up = true;
        if self.lacks_owner() && !self.must_look {
            self.end_round(now);
        } else {
            self.look_is_over();
        }
    }

    /// The round goes on, or is over where the beat came before the look.
    fn look_is_over(&mut self) {
        if core::mem::replace(&mut self.must_look, false) {
            self.end_round(self.last_beat);
        } else {
            self.follow_up();
        }
    }
}
