//! Terms: how leadership begins, goes on and ends.

use super::notices::Stopped;
use super::state::{Belief, Next, State, Then};
use super::{Elector, Instant, StopReason};

impl Elector<'_> {
    /// A write that acquires was acknowledged.
    pub(super) fn begin_term(&mut self, sent: Instant) {
        self.term = self.term.saturating_add(1);
        let until = sent.saturating_add(self.config.timing.renew_deadline);
        self.belief = Belief::Leading {
            sent,
            until,
            announced: false,
        };
    }

    /// Leadership counts from the poll that handed out the last acknowledged write.
    pub(super) fn extend(&mut self, renewed: Instant) {
        if let Belief::Leading { sent, until, .. } = &mut self.belief {
            *sent = renewed;
            *until = renewed.saturating_add(self.config.timing.renew_deadline);
        }
    }

    /// Ends leadership, if there is any.
    pub(super) fn end_term(&mut self, reason: StopReason, must_cease_by: Instant) {
        let Belief::Leading { announced, .. } = self.belief else {
            return;
        };
        self.belief = Belief::Nothing;
        self.ceased_at = must_cease_by;
        if announced {
            let term = self.term;
            self.notices.stopped = Some(Stopped {
                term,
                reason,
                must_cease_by,
            });
        }
        let lost = match reason {
            StopReason::Deadline | StopReason::Lost | StopReason::ClockReset => true,
            StopReason::SteppedDown | StopReason::Stopped => false,
        };
        if lost && matches!(self.state, State::Finishing) {
            self.ends_without_lease();
        }
    }

    /// All instants mean something else now, and this one follows on `before`: what is timed starts
    /// anew, and a term ends.
    pub(super) fn clock_was_reset(&mut self, before: Instant) {
        let now = self.now();
        self.cancel();
        self.observed.must_read = true;
        self.observed.restart(now);
        self.contact.restart(now);
        self.renewals.reset(before, now);
        self.attempt.started = now;
        self.attempt.next = Next::Retry(now);
        self.end_term(StopReason::ClockReset, now);
        // An end that was not told yet names an instant of the clock before.
        if let Some(stopped) = &mut self.notices.stopped {
            stopped.must_cease_by = now;
        }
        self.ceased_at = now;
        match &mut self.state {
            State::Resting { until, cooldown } => *until = now.saturating_add(*cooldown),
            State::Releasing(release) => {
                release.until = now.saturating_add(self.config.release_budget());
                release.not_before = now;
                if let Then::Rest { until, cooldown } = &mut release.then {
                    *until = now.saturating_add(*cooldown);
                }
            }
            State::Contending | State::Finishing | State::Ended { .. } => {}
        }
    }

    /// Ends the request in flight. A write that is left alone may still be done.
    pub(super) fn cancel(&mut self) {
        if self
            .slot
            .cancel()
            .is_some_and(|pending| pending.kind.is_write())
        {
            self.observed.doubt();
        }
    }
}
