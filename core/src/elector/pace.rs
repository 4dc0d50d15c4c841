//! When the next try may leave.
//!
//! A leader tries once per retry period. A candidate keeps that pace, with its jitter, as long as
//! the server can't be reached or fails: it would look as often if all were well. Where the server
//! refuses, a try is useless until somebody mends that, and the pauses double.

use super::state::{Belief, Next};
use super::{Elector, SLOWEST_RETRY};
use crate::time::{Duration, Instant};

/// Longest `Retry-After` that is obeyed.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);

impl Elector<'_> {
    /// The instant of a candidate's next look.
    pub(super) fn candidate_pace(&mut self) -> Instant {
        let timing = self.config.timing;
        let pause = self
            .prng
            .jittered(timing.retry_period, timing.jitter_percent);
        self.attempt.started.saturating_add(pause).max(self.now())
    }

    /// The next try after a failure: at the usual pace, but not before `retry_after`.
    pub(super) fn retry(&mut self, retry_after: Option<Duration>) {
        let after = retry_after.map_or(Duration::ZERO, |after| after.min(RETRY_AFTER_MAX));
        self.attempt.next = Next::Retry(self.pace(after));
    }

    /// The next try after a refusal: a candidate slows down.
    pub(super) fn retry_refused(&mut self, least: Duration) {
        if self.belief.is_leading() {
            self.attempt.next = Next::Retry(self.pace(Duration::ZERO));
            return;
        }
        let timing = self.config.timing;
        let ceiling = timing.retry_period.max(SLOWEST_RETRY);
        let pause = self.backoff.next_delay(timing.retry_period, ceiling);
        let pause = self.prng.jittered(pause, timing.jitter_percent);
        let at = self.attempt.started.saturating_add(pause);
        self.attempt.next = Next::Retry(at.max(self.now().saturating_add(least)));
    }

    /// The instant of the next try, at least `after` from now. A leader tries once per retry
    /// period, and waits for a server no longer than leaves time for one more request.
    pub(super) fn pace(&mut self, after: Duration) -> Instant {
        let now = self.now();
        let allowed = now.saturating_add(after);
        let Belief::Leading { until, .. } = self.belief else {
            return self.candidate_pace().max(allowed);
        };
        let timing = self.config.timing;
        let last_chance = until.saturating_sub(timing.request_timeout).max(now);
        let paced = self
            .attempt
            .started
            .saturating_add(timing.retry_period)
            .max(now);
        paced.max(allowed.min(last_chance))
    }
}
