//! The end of a heartbeat: never a write that does not raise the `renewTime`, never a cleared
//! holder.

use core::borrow::Borrow;

use super::state::{Retiring, State};
use super::{Heartbeat, HeartbeatConfig};
use crate::protocol::Finish;
use crate::time::Now;

/// Deletions that may meet a conflict or get lost before the deletion is given up.
const ROUNDS_MAX: u8 = 3;

/// What becomes of the lease.
#[expect(clippy::exhaustive_enums, reason = "there is no fourth way to end")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Retire {
    /// It stays as it is, and runs out. [`Finish::Kept`] follows at once.
    Keep,
    /// It is beaten once more, so that it lasts through a short restart.
    FinalBeat,
    /// It is deleted, if it still names this holder. The node controller notices that no sooner
    /// than silence; but nothing is left behind.
    Delete,
}

impl<C: Borrow<HeartbeatConfig>, S: AsRef<str>> Heartbeat<C, S> {
    /// Ends, as `how` says. [`Output::Done`](crate::protocol::Output::Done) follows in any case, at
    /// the latest when the retire budget is used up. A second call can only shorten the end, or
    /// turn it into a deletion.
    ///
    /// A beat of this process that the network delivers late may still be done, and make a lease
    /// anew that was just deleted.
    pub fn retire(&mut self, now: Now, how: Retire) {
        self.advance(now.instant);
        if matches!(self.state, State::Ended { .. }) {
            return;
        }
        let deletes = match how {
            Retire::Keep => {
                self.cancel();
                self.end(Finish::Kept);
                return;
            }
            Retire::FinalBeat => false,
            Retire::Delete => true,
        };
        let begun = match self.state {
            State::Retiring(retiring) if retiring.deletes || !deletes => return,
            State::Retiring(retiring) => Some(retiring.until),
            State::Beating | State::Ended { .. } => None,
        };
        self.cancel();
        if !deletes && self.obstacle().is_some() {
            self.end(Finish::Failed);
            return;
        }
        let budget = self.rules().retire_budget;
        let until = begun.unwrap_or_else(|| self.now().saturating_add(budget));
        self.state = State::Retiring(Retiring {
            until,
            deletes,
            rounds: 0,
            doubt: false,
        });
        self.pace.begin_at(self.now());
    }

    /// A read or a write showed that there is nothing to end.
    pub(super) fn is_gone(&mut self, retiring: Retiring) {
        // A deletion of unknown outcome that is found done was done.
        self.end(if retiring.deletes && retiring.doubt {
            Finish::Deleted
        } else {
            Finish::NotHolder
        });
    }

    /// The deletion met a conflict, or its outcome is not known: look, and once more.
    pub(super) fn another_round(&mut self, in_doubt: bool) {
        self.known.must_read = true;
        let State::Retiring(retiring) = &mut self.state else {
            return;
        };
        retiring.doubt |= in_doubt;
        retiring.rounds = retiring.rounds.saturating_add(1);
        let retiring = *retiring;
        if retiring.rounds >= ROUNDS_MAX {
            self.give_up(retiring);
        }
    }

    pub(super) fn budget_is_over(&mut self, retiring: Retiring) {
        self.cancel();
        self.give_up(retiring);
    }

    pub(super) fn give_up(&mut self, retiring: Retiring) {
        self.end(if retiring.doubt {
            Finish::Unknown
        } else {
            Finish::Failed
        });
    }
}
