//! [`BeatTimes`]: the `renewTime` of each beat, which always rises.

use crate::fix::{Fix, UNKNOWN};
use crate::time::{Duration, Instant, Now};
use crate::timestamp::Timestamp;

/// A civil clock that is within a year of the end of all times is broken, and is not believed: one
/// beat by it would be the last that could ever be written.
const ROOM_MIN: Duration = Duration::from_secs(365 * 24 * 3_600);

/// The highest time that was written or read, and when that was.
///
/// Only a `renewTime` above the stored one is a beat to the node controller, and a write that does
/// not raise it can leave a dead node Ready for ever (seen on 1.37). So every beat goes past all
/// that was ever seen, whoever wrote it, even where that lies in the future.
#[derive(Clone, Debug)]
pub(super) struct BeatTimes(Fix);

impl BeatTimes {
    pub(super) const fn new(at: Instant) -> Self {
        Self(Fix { time: UNKNOWN, at })
    }

    /// Takes a time that the next must pass.
    pub(super) fn learn(&mut self, time: Timestamp, at: Instant) {
        // What is reckoned may be written; what was read has to be passed.
        if self.0.at(at).is_some_and(|known| time >= known) {
            self.0 = Fix { time, at };
        }
    }

    /// Takes what the server's clock says, where that can be believed.
    pub(super) fn learn_date(&mut self, date: Timestamp, at: Instant) {
        if is_credible(date) {
            self.learn(date, at);
        }
    }

    /// Whether there is a time left to write.
    pub(super) fn can_rise(&self, at: Instant) -> bool {
        self.0.least(at).is_some()
    }

    /// The time to write at `at`: by the civil clock, or past the highest by as much as time has
    /// passed since. `None` where that is not before the year 10000.
    pub(super) fn next(&mut self, now: Now, at: Instant) -> Option<Timestamp> {
        let least = self.0.least(at)?;
        let wall = now.wall.filter(|wall| is_credible(*wall));
        let next = wall.map_or(least, |wall| wall.max(least));
        self.0 = Fix { time: next, at };
        Some(next)
    }

    /// All instants mean something else now, and `at` follows on `before`; what was written stays
    /// written, and what was read below the time that was reckoned is kept in that time only.
    pub(super) fn reset(&mut self, before: Instant, at: Instant) {
        let time = self.0.at(before).unwrap_or(Timestamp::MAX);
        self.0 = Fix { time, at };
    }
}

/// Whether a civil clock that says this can be believed.
fn is_credible(wall: Timestamp) -> bool {
    wall.checked_add_millis(ROOM_MIN.as_millis()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn time(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn next(times: &mut BeatTimes, millis: u64, wall: &str) -> Option<Timestamp> {
        times.next(Now::with_wall(at(millis), time(wall)), at(millis))
    }

    #[test]
    fn a_wall_clock_that_steps_back_does_not_slow_the_times_down() {
        let mut times = BeatTimes::new(at(0));
        let beats = [
            (0, "2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
            (10_000, "2026-01-02T02:04:15Z", "2026-01-02T03:04:15Z"),
            (
                10_000,
                "2026-01-02T02:04:15Z",
                "2026-01-02T03:04:15.000001Z",
            ),
            (20_000, "2026-01-02T05:00:00Z", "2026-01-02T05:00:00Z"),
        ];
        for (millis, wall, written) in beats {
            assert_eq!(next(&mut times, millis, wall), Some(time(written)));
        }
    }

    #[test]
    fn a_server_that_is_near_the_end_of_all_times_uses_none_up() {
        let mut times = BeatTimes::new(at(0));
        times.learn_date(time("9999-12-31T23:59:59Z"), at(0));
        assert!(times.can_rise(at(1_000)));
        times.learn_date(time("2026-01-02T03:04:05Z"), at(1_000));
        let written = times.next(Now::monotonic(at(2_000)), at(2_000));
        assert_eq!(written, Some(time("2026-01-02T03:04:06Z")));
    }

    #[test]
    fn times_from_the_future_are_counted_up() {
        let mut times = BeatTimes::new(at(0));
        times.learn(time("2099-01-01T00:00:00Z"), at(5_000));
        times.learn(time("2098-01-01T00:00:00Z"), at(5_000));
        let written = next(&mut times, 7_500, "2026-01-02T03:04:05Z");
        assert_eq!(written, Some(time("2099-01-01T00:00:02.5Z")));
    }

    #[test]
    fn without_any_clock_times_count_up_from_the_second_second() {
        let mut times = BeatTimes::new(at(1_000));
        let now = Now::monotonic(at(3_500));
        let written = times.next(now, at(3_500));
        assert_eq!(written, Some(time("1970-01-01T00:00:03.5Z")));
    }

    #[test]
    fn a_reset_clock_goes_on_from_the_last_time() {
        let mut times = BeatTimes::new(at(0));
        let _ = next(&mut times, 90_000, "2026-01-02T03:04:05Z");
        times.reset(at(90_000), at(5));
        let written = next(&mut times, 1_005, "1970-01-01T00:00:00Z");
        assert_eq!(written, Some(time("2026-01-02T03:04:06Z")));
    }

    #[test]
    fn nothing_is_written_past_the_end_of_times_nor_by_a_clock_that_is_there() {
        let mut times = BeatTimes::new(at(0));
        let now = Now::with_wall(at(1), Timestamp::MAX);
        assert_eq!(
            times.next(now, at(1)),
            Some(time("1970-01-01T00:00:01.001Z"))
        );
        times.learn(Timestamp::MAX, at(1));
        assert!(!times.can_rise(at(1)));
        assert_eq!(next(&mut times, 1, "2026-01-02T03:04:05Z"), None);
    }
}
