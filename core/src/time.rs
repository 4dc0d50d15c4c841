//! Monotonic time as an input: [`Instant`], [`Duration`] and [`Now`].
//!
//! The core reads no clock. Each call brings a [`Now`]; instants are only added and compared, so
//! that a machine needs no 64-bit division. A call costs a 32-bit processor less code than a sum
//! that saturates, and there are many: hence `inline(never)`.

use crate::division::divide;
use crate::timestamp::Timestamp;

/// A length of time in whole milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A length in milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// A length in seconds; saturates.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1_000))
    }

    /// The length in milliseconds.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Whole seconds, at most `u32::MAX`, and the milliseconds that are left over.
    #[must_use]
    pub fn as_secs_and_millis(self) -> (u32, u32) {
        let (seconds, rest) = divide(self.0, 1_000);
        u32::try_from(seconds).map_or((u32::MAX, 0), |seconds| (seconds, rest))
    }

    /// The sum; saturates.
    #[must_use]
    #[inline(never)]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, or zero where `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This length `factor` times; saturates.
    #[must_use]
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// Half of this length, rounded down.
    #[must_use]
    pub const fn half(self) -> Self {
        Self(self.0 >> 1)
    }
}

impl From<core::time::Duration> for Duration {
    /// Whole milliseconds, rounded down; saturates.
    fn from(duration: core::time::Duration) -> Self {
        let millis = Self::from_millis(u64::from(duration.subsec_millis()));
        Self::from_secs(duration.as_secs()).saturating_add(millis)
    }
}

impl From<Duration> for core::time::Duration {
    fn from(duration: Duration) -> Self {
        Self::from_millis(duration.0)
    }
}

/// A point on the host's monotonic clock, in milliseconds from any origin.
///
/// The clock must go on while the system is suspended (`CLOCK_BOOTTIME` on Linux): a leader that
/// slept through its lease has to find out from this value alone.
///
/// Beyond 2^62 ms it is no time but a mistake: nobody leads then, and a machine does nothing else
/// until it gets a time again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The point that lies `millis` after the clock's origin.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the clock's origin.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// The point `duration` later; saturates.
    #[must_use]
    #[inline(never)]
    pub const fn saturating_add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.0))
    }

    /// The point `duration` sooner, or the origin.
    #[must_use]
    pub const fn saturating_sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(duration.0))
    }

    /// The time since `earlier`, or zero where that lies later.
    #[must_use]
    #[inline(never)]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

/// The two clocks at the moment of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The monotonic clock. All decisions rest on it.
    pub instant: Instant,
    /// The civil clock, where there is one. It is written into records and decides nothing.
    pub wall: Option<Timestamp>,
}

impl Now {
    /// The moment `instant`, without a civil clock.
    #[must_use]
    pub const fn monotonic(instant: Instant) -> Self {
        Self {
            instant,
            wall: None,
        }
    }

    /// The moment `instant`, at which the civil clock says `wall`.
    #[must_use]
    pub const fn with_wall(instant: Instant, wall: Timestamp) -> Self {
        Self {
            instant,
            wall: Some(wall),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_at_the_end_of_time_saturate() {
        let end = Instant::from_millis(u64::MAX);
        assert_eq!(end.saturating_add(Duration::from_secs(1)), end);
        assert_eq!(Duration::from_secs(u64::MAX).as_millis(), u64::MAX);
        assert_eq!(
            Instant::from_millis(5).saturating_since(end),
            Duration::ZERO
        );
        assert_eq!(
            Instant::from_millis(5).saturating_sub(Duration::from_millis(9)),
            Instant::default()
        );
    }

    #[test]
    fn seconds_and_the_rest_agree_with_long_division() {
        for millis in [
            0,
            1,
            999,
            1_000,
            65_535,
            65_536,
            137_000,
            4_294_967_295,
            4_294_967_296_123,
        ] {
            let (seconds, rest) = Duration::from_millis(millis).as_secs_and_millis();
            let expected = u32::try_from(millis / 1_000).unwrap_or(u32::MAX);
            assert_eq!(seconds, expected, "{millis}");
            if expected != u32::MAX {
                assert_eq!(u64::from(rest), millis % 1_000, "{millis}");
            }
        }
        assert_eq!(
            Duration::from_millis(u64::MAX).as_secs_and_millis(),
            (u32::MAX, 0)
        );
    }

    #[test]
    fn half_rounds_down() {
        assert_eq!(Duration::from_millis(5).half(), Duration::from_millis(2));
    }
}
