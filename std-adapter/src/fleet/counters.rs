//! What a fleet counts.

use core::time::Duration;

use kubelease_core::heartbeat::HeartbeatConfig;
use kubelease_core::time;

/// Steps of the histogram: each is twice as long as the one before, from 1 ms to about 18 hours.
const STEPS: usize = 26;

/// What a fleet did so far, from [`Fleet::counters`](super::Fleet::counters).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Writes that the server acknowledged.
    pub beats: u64,
    /// Beats that were handed out later than a tenth of the interval after they were due.
    pub late_beats: u64,
    /// The longest time between two beats of one lease, or between adding it and its first.
    pub longest_gap: Duration,
    /// Requests sent, reads and creations among them.
    pub requests: u64,
    /// Leases, those included that are being retired.
    pub leases: usize,
    /// Leases of which a request is in flight.
    pub in_flight: usize,
    /// How long ago the beat is that is longest ago, of the leases that are not being retired. One
    /// that was never beaten counts from when it was added.
    pub oldest_age: Duration,
    pub(super) lateness: [u64; STEPS],
}

impl Counters {
    /// How late this share of the beats was at most, in hundredths: 50 for the median. It is
    /// rounded up to the next power of two in milliseconds; `None` before the first beat.
    #[must_use]
    pub fn lateness(&self, percent: u64) -> Option<Duration> {
        let wanted = self.beats.saturating_mul(percent.min(100)).div_ceil(100);
        let mut seen = 0_u64;
        for (step, count) in self.lateness.iter().enumerate() {
            seen = seen.saturating_add(*count);
            if seen > 0 && seen >= wanted {
                let most = 1_u64.checked_shl(u32::try_from(step).ok()?)?;
                return Some(Duration::from_millis(most.saturating_sub(1)));
            }
        }
        None
    }

    /// Counts a beat that left so late, so long after the last of its lease.
    pub(super) fn beat(
        &mut self,
        lateness: time::Duration,
        gap: time::Duration,
        config: &HeartbeatConfig,
    ) {
        self.beats = self.beats.saturating_add(1);
        let is_late = lateness.as_millis().saturating_mul(10) > config.interval.as_millis();
        self.late_beats = self.late_beats.saturating_add(u64::from(is_late));
        self.longest_gap = self.longest_gap.max(gap.into());
        // The number of binary digits: 0 for 0 ms, 1 for 1 ms, 2 for up to 3 ms.
        let digits = u64::BITS - lateness.as_millis().leading_zeros();
        let step = usize::try_from(digits).unwrap_or(STEPS).min(STEPS - 1);
        if let Some(count) = self.lateness.get_mut(step) {
            *count = count.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> time::Duration {
        time::Duration::from_millis(millis)
    }

    #[test]
    fn lateness_is_told_by_hundredths_and_in_powers_of_two() {
        let mut counters = Counters::default();
        assert_eq!(counters.lateness(50), None);
        for lateness in 0..100 {
            counters.beat(millis(lateness), millis(10_000), &HeartbeatConfig::NODE);
        }
        let told = [1, 50, 99, 100].map(|percent| counters.lateness(percent));
        let expected = [0, 63, 127, 127].map(|ms| Some(Duration::from_millis(ms)));
        assert_eq!(told, expected);
    }

    #[test]
    fn a_beat_is_late_from_a_tenth_of_the_interval_on() {
        let mut counters = Counters::default();
        for lateness in [1000, 1001, u64::MAX] {
            counters.beat(millis(lateness), millis(lateness), &HeartbeatConfig::NODE);
        }
        assert_eq!((counters.beats, counters.late_beats), (3, 2));
        assert_eq!(counters.longest_gap, Duration::from_millis(u64::MAX));
        let most = Duration::from_millis((1 << 25) - 1);
        assert_eq!(counters.lateness(100), Some(most));
    }
}
