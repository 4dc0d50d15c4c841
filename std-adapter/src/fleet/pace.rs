//! How many leases are served in a second: so that a server that was away, or a process that slept,
//! is not met by everything that is overdue at once.

use kubelease_core::time::{Duration, Instant};

/// How much faster than its schedule a fleet may catch up, in hundredths. A lease that is new takes
/// two requests, and that in a tenth of a second is to stay below three times the mean.
const HASTE_PERCENT: u64 = 140;

/// The least pace, in leases a second: a small fleet need not wait for its second lease.
const RATE_MIN: u64 = 50;

/// How much of a second may be served at one moment, as a divisor.
const BURST: u64 = 50;

/// Hands out places in time. It counts in microseconds: a large fleet serves several leases in a
/// millisecond.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// When the next place would be if all had been used so far.
    next_us: u64,
    step_us: u64,
    burst_us: u64,
}

impl Pace {
    /// Fits the pace to so many leases that are each served once in `interval`.
    pub(super) fn fit(&mut self, leases: usize, interval: Duration) {
        let leases = u64::try_from(leases).unwrap_or(u64::MAX);
        let interval_ms = interval.as_millis().max(1);
        let scheduled = leases.saturating_mul(HASTE_PERCENT * 10) / interval_ms;
        let rate = scheduled.max(RATE_MIN);
        self.step_us = (1_000_000 / rate).max(1);
        self.burst_us = 1_000_000 / BURST;
    }

    /// The instant from which there is a place.
    pub(super) fn opens(&self, now: Instant) -> Instant {
        let now_us = now.as_millis().saturating_mul(1000);
        // Only a clock that was reset can be so far behind: it begins anew.
        let far = now_us
            .saturating_add(self.burst_us)
            .saturating_add(self.step_us);
        if self.next_us > far {
            return now;
        }
        Instant::from_millis(self.next_us.saturating_sub(self.burst_us).div_ceil(1000))
    }

    /// Uses a place.
    pub(super) fn take(&mut self, now: Instant) {
        let now_us = now.as_millis().saturating_mul(1000);
        // Places that nobody used are gone.
        let is_open = self.opens(now) <= now && self.next_us > now_us.saturating_add(self.burst_us);
        let next_us = if is_open {
            now_us
        } else {
            self.next_us.max(now_us)
        };
        self.next_us = next_us.saturating_add(self.step_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many places there are in each tenth of the second from `begin`.
    fn places(pace: &mut Pace, begin: u64) -> Vec<usize> {
        let tenth = |tenth: u64| {
            let mut count = 0;
            for ms in 0..100 {
                let now = Instant::from_millis(begin + tenth * 100 + ms);
                while pace.opens(now) <= now {
                    pace.take(now);
                    count += 1;
                }
            }
            count
        };
        (0..10).map(tenth).collect()
    }

    #[test]
    fn five_thousand_overdue_leases_are_caught_up_with_at_a_little_more_than_their_pace() {
        let mut pace = Pace::default();
        pace.fit(5000, Duration::from_secs(10));
        // 500 a second by schedule.
        let tenths = places(&mut pace, 77_000);
        assert!(tenths.iter().all(|count| *count <= 85), "{tenths:?}");
        let all: usize = tenths.iter().sum();
        assert!((700..=716).contains(&all), "{all}");
    }

    #[test]
    fn a_quiet_time_saves_nothing_up() {
        let mut pace = Pace::default();
        pace.fit(1, Duration::from_secs(10));
        let first: usize = places(&mut pace, 0).iter().sum();
        let later: usize = places(&mut pace, 1_000_000).iter().sum();
        assert!(later <= first + 1, "{first}, then {later}");
    }

    #[test]
    fn a_clock_that_went_back_closes_no_place_for_long() {
        let mut pace = Pace::default();
        pace.fit(1, Duration::from_secs(10));
        places(&mut pace, 1_000_000_000);
        let now = Instant::from_millis(5);
        assert_eq!(pace.opens(now), now);
        pace.take(now);
        assert!(pace.opens(now) <= Instant::from_millis(25));
    }
}
