//! Giving the lease up: never before the end of leadership was told, never somebody else's.

use super::standing::Standing;
use super::{Elector, Next, Releasing, State, StopReason, Then};
use crate::protocol::Finish;

/// Release writes that may meet a conflict or get lost before the release is given up.
const ROUNDS_MAX: u8 = 3;

impl Elector<'_> {
    /// Ends leadership, and the lease if it is or may be this process's; then `then`.
    pub(super) fn give_up(&mut self, then: Then, reason: StopReason) {
        let now = self.now();
        self.end_term(reason, now);
        if matches!(self.state, State::Ended { .. }) {
            return;
        }
        self.cancel();
        let mine = self.observed.standing() == Some(Standing::Mine);
        if !mine && !self.observed.ghost {
            self.released(then, Finish::NotHolder);
            return;
        }
        let until = now.saturating_add(self.config.release_budget());
        let not_before = self.ceased_at.max(now);
        let release = Releasing {
            until,
            not_before,
            rounds: 0,
            doubt: false,
            then,
        };
        self.state = State::Releasing(release);
        self.attempt.next = Next::Retry(now);
    }

    /// A term of an elector that never acquires again was lost.
    pub(super) fn ends_without_lease(&mut self) {
        self.cancel();
        self.released(Then::End, Finish::NotHolder);
    }

    /// A read came back during a release.
    pub(super) fn read_before_release(&mut self, release: Releasing) {
        let Some(record) = self.observed.record() else {
            self.released(release.then, Finish::NotHolder);
            return;
        };
        if record.standing == Standing::Mine {
            self.attempt.next = Next::FollowUp;
            return;
        }
        // A release of unknown outcome that is found done was done.
        let own = record.holder.is_empty() && record.is_fresh;
        let finish = if release.doubt && own {
            Finish::Released
        } else {
            Finish::NotHolder
        };
        self.released(release.then, finish);
    }

    /// A release write met a conflict, or its outcome is not known; says whether to go on.
    #[must_use]
    pub(super) fn another_round(&mut self, in_doubt: bool) -> bool {
        let State::Releasing(release) = &mut self.state else {
            return true;
        };
        release.doubt |= in_doubt;
        release.rounds = release.rounds.saturating_add(1);
        if release.rounds < ROUNDS_MAX {
            return true;
        }
        self.give_up_release();
        false
    }

    pub(super) fn budget_is_over(&mut self) {
        self.cancel();
        self.give_up_release();
    }

    fn give_up_release(&mut self) {
        let State::Releasing(Releasing { doubt, then, .. }) = self.state else {
            return;
        };
        let finish = if doubt {
            Finish::Unknown
        } else {
            Finish::Failed
        };
        self.released(then, finish);
    }

    /// The release has ended as `finish` says.
    pub(super) fn released(&mut self, then: Then, finish: Finish) {
        match then {
            Then::End => {
                let is_told = false;
                self.state = State::Ended { finish, is_told };
            }
            // The release may have taken longer than the rest.
            Then::Rest { until, .. } if self.now() >= until => {
                self.state = State::Contending;
                self.attempt.next = Next::Retry(self.now());
            }
            Then::Rest { until, cooldown } => {
                self.state = State::Resting { until, cooldown };
                self.attempt.next = Next::Due(self.candidate_pace());
            }
        }
    }
}
