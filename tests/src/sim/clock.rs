//! [`Clock`]: what one host's clocks say, by true time in microseconds.

use kubelease_core::Timestamp;
use kubelease_core::time::{Instant, Now};

/// True time of day at the start of each world: 2026-01-02T03:04:05Z.
pub const EPOCH_US: i64 = 1_767_323_045_000_000;

/// The rate of a clock that keeps true time, in millionths.
pub const TRUE_RATE: u64 = 1_000_000;

/// A monotonic clock with a rate of its own, and a civil clock that somebody sets.
#[derive(Clone, Debug)]
pub struct Clock {
    since_us: u64,
    local_us: u64,
    rate: u64,
    /// How far the civil clock is off; `None` where the host has none.
    wall_offset_us: Option<i64>,
}

impl Clock {
    /// A clock that shows `local_us` at true time 0 and gains `rate` millionths of true time.
    #[must_use]
    pub const fn new(local_us: u64, rate: u64, wall_offset_us: Option<i64>) -> Self {
        Self {
            since_us: 0,
            local_us,
            rate,
            wall_offset_us,
        }
    }

    /// What both clocks show at `at_us`.
    #[must_use]
    pub fn now(&self, at_us: u64) -> Now {
        let true_us = EPOCH_US.saturating_add_unsigned(at_us);
        let wall = self
            .wall_offset_us
            .and_then(|offset| Timestamp::from_unix_micros(true_us + offset));
        Now {
            instant: self.instant(at_us),
            wall,
        }
    }

    /// What the monotonic clock shows at `at_us`.
    #[must_use]
    pub const fn instant(&self, at_us: u64) -> Instant {
        Instant::from_millis(self.local_us_at(at_us) / 1_000)
    }

    /// The first moment, in true time, at which the monotonic clock shows `instant`.
    #[must_use]
    pub fn reaches_us(&self, instant: Instant) -> u64 {
        let wanted_us = u128::from(instant.as_millis()) * 1_000;
        let missing_us = wanted_us.saturating_sub(u128::from(self.local_us));
        let true_us = (missing_us * u128::from(TRUE_RATE)).div_ceil(u128::from(self.rate));
        let at_us = true_us + u128::from(self.since_us);
        u64::try_from(at_us).unwrap_or(u64::MAX)
    }

    /// How long the monotonic clock takes for `local_ms`, rounded up.
    #[must_use]
    pub const fn true_us(&self, local_ms: u64) -> u64 {
        (local_ms * 1_000 * TRUE_RATE).div_ceil(self.rate)
    }

    /// Millionths of true time that the monotonic clock gains.
    #[must_use]
    pub const fn rate(&self) -> u64 {
        self.rate
    }

    /// The monotonic clock gains `rate` from now on.
    pub const fn set_rate(&mut self, at_us: u64, rate: u64) {
        self.local_us = self.local_us_at(at_us);
        self.since_us = at_us;
        self.rate = rate;
    }

    /// The monotonic clock starts anew at `local_us`.
    pub const fn reset(&mut self, at_us: u64, local_us: u64) {
        self.since_us = at_us;
        self.local_us = local_us;
    }

    /// Somebody sets the civil clock, if there is one.
    pub fn step_wall(&mut self, by_us: i64) {
        self.wall_offset_us = self.wall_offset_us.map(|offset| offset + by_us);
    }

    const fn local_us_at(&self, at_us: u64) -> u64 {
        // Below 2^34 µs of a world by a rate below 2^22: the product keeps within 64 bits.
        self.local_us + (at_us - self.since_us) * self.rate / TRUE_RATE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_reaches_an_instant_at_the_first_moment_it_shows_it() {
        for rate in [300_001, 999_999, TRUE_RATE, 1_500_000, 3_333_333] {
            let clock = Clock::new(7_000_123, rate, None);
            for ms in [7_001, 8_000, 9_999, 123_457] {
                let instant = Instant::from_millis(ms);
                let at_us = clock.reaches_us(instant);
                assert!(clock.instant(at_us) >= instant, "{rate} {ms}");
                assert!(clock.instant(at_us - 1) < instant, "{rate} {ms}");
            }
        }
    }
}
