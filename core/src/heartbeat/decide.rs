//! What to do next, by what is known.

use core::borrow::Borrow;

use super::state::{Seen, Standing, State};
use super::{Heartbeat, HeartbeatConfig};
use crate::lease::OwnerState;
use crate::protocol::TroubleKind;
use crate::time::Instant;

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// Nothing before this instant.
    Wait(Instant),
    /// This request, now.
    Send(Act),
}

/// A request that can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Read,
    Look,
    Create,
    Beat,
    Delete,
}

impl<C: Borrow<HeartbeatConfig>, S: AsRef<str>> Heartbeat<C, S> {
    /// What to do where no request is in flight.
    pub(super) fn decide(&self) -> Move {
        let now = self.now();
        let (at, act) = match self.state {
            State::Beating => (self.pace.at, self.beating()),
            State::Retiring(retiring) => {
                let at = self.pace.at.min(retiring.until);
                (at, self.retiring(retiring.deletes))
            }
            State::Ended { .. } => return Move::Wait(now),
        };
        if now >= at {
            Move::Send(act)
        } else {
            Move::Wait(at)
        }
    }

    /// Whether somebody else has the lease, who is to be obeyed.
    pub(super) fn is_held_by_another(&self) -> bool {
        !self.rules().force_owner && self.known.is_foreign(self.now())
    }

    /// Why the next request is left out, where it is.
    pub(super) fn obstacle(&self) -> Option<TroubleKind> {
        if !self.is_alive(self.now()) {
            Some(TroubleKind::NotAlive)
        } else if !self.times.can_rise(self.now()) {
            Some(TroubleKind::TimeUsedUp)
        } else {
            None
        }
    }

    fn beating(&self) -> Act {
        let known = &self.known;
        if known.must_read || known.seen == Seen::Nothing || self.is_held_by_another() {
            Act::Read
        } else if self.must_look || self.wants_owner() {
            Act::Look
        } else if known.seen == Seen::Missing {
            Act::Create
        } else {
            Act::Beat
        }
    }

    /// Whether the Node has to be asked for its uid before the next write.
    fn wants_owner(&self) -> bool {
        // The look in vain may have been for a lease that had an old owner, which had to do.
        if self.node.is_none() || (self.was_looked_up && !self.lacks_owner()) {
            return false;
        }
        match (self.known.seen, self.known.owners.node) {
            (Seen::Nothing, _) | (Seen::Lease, OwnerState::Current) => false,
            (Seen::Missing, _) | (Seen::Lease, OwnerState::Absent) => !self.uid_is_fresh,
            // Where there is no uid to compare it with, the one in the lease is good enough.
            (Seen::Lease, OwnerState::Stale) => !self.uid_is_fresh && !self.node_uid.is_empty(),
        }
    }

    fn retiring(&self, deletes: bool) -> Act {
        // Who waits for somebody else's lease leaves it alone, if it is that still.
        let is_another = self.known.standing != Standing::Mine;
        let is_theirs = is_another && (deletes || self.is_held_by_another());
        // A beat without the owner that is required is none: what is read may show one, or ends it.
        let is_barred = is_theirs || (!deletes && self.lacks_owner());
        if self.known.must_read || self.known.seen != Seen::Lease || is_barred {
            Act::Read
        } else if deletes {
            Act::Delete
        } else {
            Act::Beat
        }
    }
}
