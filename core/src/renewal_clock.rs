//! [`RenewalClock`]: the civil times that a machine writes, which always rise.

use crate::fix::{Fix, UNKNOWN};
use crate::time::{Instant, Now};
use crate::timestamp::Timestamp;

/// With the microsecond that each time adds at least, a second.
const SECOND_LESS_ONE_US: u64 = 999_999;

/// Makes each `renewTime`: never lower and never equal to the last, and by as much higher as time
/// passed, whatever the wall clock does.
///
/// An identical PUT is not a write, and client-go's standbys see `renewTime` in whole seconds
/// only: one that creeps by microseconds would lose them the sign of life.
#[derive(Clone, Debug, Default)]
pub(crate) struct RenewalClock {
    /// The server's clock, or where counting started, for hosts without a wall clock.
    base: Option<Fix>,
    /// The last time written, or read in a record of ours.
    last: Option<Fix>,
}

impl RenewalClock {
    /// Takes the server's `Date`.
    pub(crate) const fn learn_date(&mut self, date: Timestamp, at: Instant) {
        self.base = Some(Fix { time: date, at });
    }

    /// Starts counting at `from` where nothing better is known.
    pub(crate) fn count_from(&mut self, from: Option<Timestamp>, at: Instant) {
        if self.base.is_none() {
            let time = from.unwrap_or(UNKNOWN);
            self.base = Some(Fix { time, at });
        }
    }

    /// Takes the `renewTime` of a record that names this process: the next must be higher, and
    /// where it is news by a whole second, or the next would be no sign of life to client-go.
    pub(crate) fn learn_own(&mut self, renew_time: Timestamp, at: Instant) {
        // What is reckoned may be written, and what was read has to be passed.
        let higher = self.last.is_none_or(|last| {
            let known = last.at(at);
            renew_time > last.time && known.is_none_or(|known| renew_time >= known)
        });
        if higher {
            let time = renew_time
                .checked_add_micros(SECOND_LESS_ONE_US)
                .unwrap_or(renew_time);
            self.last = Some(Fix { time, at });
        }
    }

    /// The time to write at `now`.
    pub(crate) fn next(&mut self, now: Now, at: Instant) -> Timestamp {
        let wall = self.wall(now, at);
        let least = self.last.and_then(|last| last.least(at));
        let next = least.map_or(wall, |least| wall.max(least));
        self.last = Some(Fix { time: next, at });
        next
    }

    /// All instants mean something else now, and `at` follows on `before`; what was written stays
    /// written, and what was read below the time that was reckoned is kept in that time only.
    pub(crate) fn reset(&mut self, before: Instant, at: Instant) {
        for fix in [&mut self.base, &mut self.last].into_iter().flatten() {
            let time = fix.at(before).unwrap_or(fix.time);
            *fix = Fix { time, at };
        }
    }

    fn wall(&self, now: Now, at: Instant) -> Timestamp {
        now.wall
            .or_else(|| self.base.and_then(|base| base.at(at)))
            .unwrap_or(UNKNOWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn time(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn next(clock: &mut RenewalClock, millis: u64, wall: &str) -> Timestamp {
        clock.next(Now::with_wall(at(millis), time(wall)), at(millis))
    }

    #[test]
    fn a_wall_clock_that_steps_back_does_not_slow_the_times_down() {
        let mut clock = RenewalClock::default();
        let first = next(&mut clock, 0, "2026-01-02T03:04:05Z");
        assert_eq!(first, time("2026-01-02T03:04:05Z"));
        let second = next(&mut clock, 2_000, "2026-01-02T02:04:07Z");
        assert_eq!(second, time("2026-01-02T03:04:07Z"));
        let third = next(&mut clock, 4_000, "2026-01-02T05:00:00Z");
        assert_eq!(third, time("2026-01-02T05:00:00Z"));
    }

    #[test]
    fn two_times_in_one_millisecond_differ() {
        let mut clock = RenewalClock::default();
        let _ = next(&mut clock, 7, "2026-01-02T03:04:05Z");
        assert_eq!(
            next(&mut clock, 7, "2026-01-02T03:04:05Z"),
            time("2026-01-02T03:04:05.000001Z")
        );
    }

    #[test]
    fn the_next_is_higher_than_that_of_a_record_of_mine() {
        let mut clock = RenewalClock::default();
        clock.learn_own(time("2026-01-02T04:00:00Z"), at(0));
        assert_eq!(
            next(&mut clock, 500, "2026-01-02T03:04:05Z"),
            time("2026-01-02T04:00:01.499999Z")
        );
        clock.learn_own(time("2026-01-02T01:00:00Z"), at(600));
        assert_eq!(
            next(&mut clock, 600, "2026-01-02T03:04:05Z"),
            time("2026-01-02T04:00:01.599999Z")
        );
    }

    #[test]
    fn a_record_of_mine_with_the_very_time_that_was_reckoned_is_passed() {
        let mut clock = RenewalClock::default();
        let _ = next(&mut clock, 0, "2026-01-02T03:04:05Z");
        clock.learn_own(time("2026-01-02T03:04:06Z"), at(1_000));
        assert_eq!(
            next(&mut clock, 1_000, "2026-01-02T03:04:05Z"),
            time("2026-01-02T03:04:07Z")
        );
    }

    #[test]
    fn what_was_read_below_the_time_that_was_reckoned_outlasts_a_reset() {
        let mut clock = RenewalClock::default();
        let _ = next(&mut clock, 0, "2026-01-02T03:04:05Z");
        clock.learn_own(time("2026-01-02T03:04:08Z"), at(4_000));
        clock.reset(at(4_000), at(0));
        assert_eq!(
            next(&mut clock, 1_000, "1970-01-01T00:00:00Z"),
            time("2026-01-02T03:04:10Z")
        );
    }

    #[test]
    fn past_the_last_year_the_wall_clock_is_taken() {
        let mut clock = RenewalClock::default();
        clock.learn_own(Timestamp::MAX, at(0));
        assert_eq!(
            next(&mut clock, 10, "2026-01-02T03:04:05Z"),
            time("2026-01-02T03:04:05Z")
        );
    }

    #[test]
    fn without_any_clock_times_count_up_from_the_second_second() {
        let mut clock = RenewalClock::default();
        clock.count_from(None, at(1_000));
        let now = Now::monotonic(at(3_500));
        assert_eq!(clock.next(now, at(3_500)), time("1970-01-01T00:00:03.5Z"));
    }

    #[test]
    fn the_date_of_the_server_stands_in_for_a_wall_clock() {
        let mut clock = RenewalClock::default();
        clock.learn_date(time("2026-01-02T03:04:05Z"), at(1_000));
        clock.count_from(Some(time("1999-01-01T00:00:00Z")), at(1_000));
        let now = Now::monotonic(at(2_000));
        assert_eq!(clock.next(now, at(2_000)), time("2026-01-02T03:04:06Z"));
    }

    #[test]
    fn a_reset_clock_goes_on_from_the_last_time() {
        let mut clock = RenewalClock::default();
        let _ = next(&mut clock, 90_000, "2026-01-02T03:04:05Z");
        clock.reset(at(90_000), at(5));
        assert_eq!(
            next(&mut clock, 1_005, "1970-01-01T00:00:00Z"),
            time("2026-01-02T03:04:06Z")
        );
    }
}
