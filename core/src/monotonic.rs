//! [`Monotonic`]: what a machine does with a clock that repeats itself, jumps or starts anew.

use crate::time::{Duration, Instant};

/// Steps back up to here are noise between processors; beyond, the clock was reset.
pub(crate) const BACKWARD_NOISE: Duration = Duration::from_secs(1);

/// Instants past here are no time but a mistake. Below, no sum of an instant and a duration that
/// a record can hold comes near the end of `u64`.
pub(crate) const INSTANT_MAX: Instant = Instant::from_millis(1 << 62);

/// The latest instant seen, which never goes back but by a reset.
#[derive(Clone, Debug)]
pub(crate) struct Monotonic {
    latest: Instant,
}

/// How an instant relates to those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Time went on, or stood, or stepped back within the noise.
    On,
    /// The clock was reset: all deadlines are meaningless. Until then it was this late.
    Reset { before: Instant },
}

impl Monotonic {
    pub(crate) fn new(start: Instant) -> Self {
        Self {
            latest: start.min(INSTANT_MAX),
        }
    }

    /// Takes the instant of a call.
    pub(crate) fn step(&mut self, instant: Instant) -> Step {
        if instant > INSTANT_MAX {
            return Step::On;
        }
        if instant.saturating_add(BACKWARD_NOISE) < self.latest {
            let before = core::mem::replace(&mut self.latest, instant);
            return Step::Reset { before };
        }
        self.latest = self.latest.max(instant);
        Step::On
    }

    /// The latest instant.
    pub(crate) const fn latest(&self) -> Instant {
        self.latest
    }

    /// The instant of this call where it is to be trusted: leadership counts from here, so a step
    /// back within the noise must not be rounded up.
    pub(crate) fn earliest_of(&self, instant: Instant) -> Instant {
        instant.min(self.latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn a_second_back_is_noise_and_more_is_a_reset() {
        let mut clock = Monotonic::new(at(10_000));
        assert_eq!(clock.step(at(9_000)), Step::On);
        assert_eq!(clock.latest(), at(10_000));
        assert_eq!(clock.earliest_of(at(9_000)), at(9_000));
        let before = at(10_000);
        assert_eq!(clock.step(at(8_999)), Step::Reset { before });
        assert_eq!(clock.latest(), at(8_999));
    }

    #[test]
    fn instants_past_the_end_are_ignored() {
        let mut clock = Monotonic::new(at(5));
        assert_eq!(clock.step(at(u64::MAX)), Step::On);
        assert_eq!(clock.latest(), at(5));
        assert_eq!(clock.earliest_of(at(u64::MAX)), at(5));
        assert_eq!(clock.step(INSTANT_MAX), Step::On);
        assert_eq!(clock.latest(), INSTANT_MAX);
        assert_eq!(Monotonic::new(at(u64::MAX)).latest(), INSTANT_MAX);
    }
}
