//! Wall-clock time as Kubernetes writes it (`MicroTime`): UTC, in whole microseconds.
//!
//! Own code, because the date libraries cost 5 to 9 KB of flash on a Cortex-M3.

mod civil;
mod error;
mod format;
mod http_date;
mod parse;

use core::fmt;
use core::num::NonZero;
use core::str::FromStr;

use self::civil::MAX_DAYS;
use crate::division::divide;

pub use self::error::{TimestampError, TimestampPart};
pub use self::format::TimestampText;

/// An instant of UTC in the years 0001 to 9999, in whole microseconds.
///
/// Later instants are greater. Leap seconds do not exist, as in Unix time. It is a time to write
/// and to show: clocks of different machines disagree, so no lease expires by it.
///
/// ```
/// use kubelease_core::Timestamp;
///
/// let renewed = Timestamp::parse("2026-01-02T04:04:05+01:00")?;
/// assert_eq!(renewed.to_text().as_str(), "2026-01-02T03:04:05.000000Z");
/// assert_eq!(renewed.as_unix(), (1_767_323_045, 0));
/// # Ok::<(), kubelease_core::TimestampError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Timestamp {
    /// Microseconds since 0001-01-01T00:00:00Z, and one, so that no time at all costs no memory.
    micros_and_one: NonZero<u64>,
}

impl Timestamp {
    /// 0001-01-01T00:00:00Z, the first instant. Kubernetes has it for "no time".
    pub const MIN: Self = Self {
        micros_and_one: NonZero::<u64>::MIN,
    };

    /// 9999-12-31T23:59:59.999999Z, the last instant that four digits of a year can write.
    pub const MAX: Self = match Self::from_micros(MAX_MICROS) {
        Some(last) => last,
        None => Self::MIN,
    };

    /// 1970-01-01T00:00:00Z, where Unix time begins.
    pub const UNIX_EPOCH: Self = match Self::from_micros(UNIX_EPOCH_MICROS.unsigned_abs()) {
        Some(epoch) => epoch,
        None => Self::MIN,
    };

    /// The instant `seconds` after the Unix epoch (before it, if negative) and `micros` later.
    ///
    /// `None` if `micros` is not below one million or the instant is outside [`Self::MIN`] to
    /// [`Self::MAX`].
    #[must_use]
    pub const fn from_unix(seconds: i64, micros: u32) -> Option<Self> {
        if micros as u64 >= MICROS_PER_SECOND {
            return None;
        }
        match seconds.checked_mul(MICROS_PER_SECOND as i64) {
            Some(whole) => match whole.checked_add(micros as i64) {
                Some(all) => Self::from_unix_micros(all),
                None => None,
            },
            None => None,
        }
    }

    /// The instant `micros` microseconds after the Unix epoch, or before it, if negative.
    ///
    /// `None` if that is outside [`Self::MIN`] to [`Self::MAX`].
    #[must_use]
    pub const fn from_unix_micros(micros: i64) -> Option<Self> {
        // What lies before the first instant or wraps becomes a number that is far too large.
        Self::from_micros(micros.wrapping_add(UNIX_EPOCH_MICROS) as u64)
    }

    /// Reads an RFC 3339 timestamp, more leniently than an API server does.
    ///
    /// Accepted: `T`, `t` or one blank between date and time; no fraction, or a dot or comma with
    /// any number of digits, of which those after the sixth are cut off and never rounded; `Z`, `z`
    /// or an offset up to ±24:59, where `-00:00` is UTC; the second 60 anywhere, which becomes the
    /// last microsecond of the second 59. Everything else has its exact number of digits.
    ///
    /// # Errors
    ///
    /// [`TimestampError`] names the first fault. The year 0000 and an offset that leads out of the
    /// years 0001 to 9999 are faults.
    pub fn parse(text: &str) -> Result<Self, TimestampError> {
        Self::parse_bytes(text.as_bytes())
    }

    /// [`Self::parse`] for a text whose encoding was not checked.
    ///
    /// # Errors
    ///
    /// Those of [`Self::parse`].
    pub fn parse_bytes(text: &[u8]) -> Result<Self, TimestampError> {
        parse::parse(text)
    }

    /// The same for callers who do not ask why there is no time.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        parse::parse::<parse::Unsaid>(text).ok()
    }

    /// Reads the value of an HTTP `Date` header, without blanks around it: the IMF-fixdate of
    /// RFC 9110 section 5.6.7, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    ///
    /// `None` for anything else. The two obsolete forms are not read: no server of Kubernetes has
    /// ever sent them, and one needs a clock to know its century. The name of the day must be one,
    /// but need not fit the date. The second 60 is read as in [`Self::parse`].
    #[must_use]
    pub fn parse_http_date(text: &[u8]) -> Option<Self> {
        http_date::parse(text)
    }

    /// Seconds since the Unix epoch, negative before it, and the microseconds after that second.
    #[must_use]
    pub const fn as_unix(self) -> (i64, u32) {
        let (seconds, micros) = divide(self.micros(), MICROS_PER_SECOND as u32);
        ((seconds as i64).wrapping_sub(UNIX_EPOCH_SECONDS), micros)
    }

    /// Microseconds since the Unix epoch, negative before it.
    #[must_use]
    pub const fn as_unix_micros(self) -> i64 {
        (self.micros() as i64).wrapping_sub(UNIX_EPOCH_MICROS)
    }

    /// The text an API server takes, always with six fraction digits and `Z`.
    #[must_use]
    pub fn to_text(self) -> TimestampText {
        TimestampText::new(self)
    }

    /// The instant `millis` milliseconds later; `None` after [`Self::MAX`].
    #[must_use]
    pub const fn checked_add_millis(self, millis: u64) -> Option<Self> {
        match millis.checked_mul(1_000) {
            Some(micros) => self.checked_add_micros(micros),
            None => None,
        }
    }

    /// The instant `micros` microseconds later; `None` after [`Self::MAX`].
    #[must_use]
    pub const fn checked_add_micros(self, micros: u64) -> Option<Self> {
        match self.micros().checked_add(micros) {
            Some(micros) => Self::from_micros(micros),
            None => None,
        }
    }

    /// The instant `millis` milliseconds earlier; `None` before [`Self::MIN`].
    #[must_use]
    pub const fn checked_sub_millis(self, millis: u64) -> Option<Self> {
        match millis.checked_mul(1_000) {
            Some(micros) => match self.micros().checked_sub(micros) {
                Some(micros) => Self::from_micros(micros),
                None => None,
            },
            None => None,
        }
    }

    /// Whole milliseconds from `earlier` to this instant, the rest cut off; `None` if `earlier` is
    /// the later one.
    #[must_use]
    pub const fn millis_since(self, earlier: Self) -> Option<u64> {
        match self.micros().checked_sub(earlier.micros()) {
            Some(micros) => Some(divide(micros, 1_000).0),
            None => None,
        }
    }

    /// The instant `micros` microseconds after [`Self::MIN`]; `None` after [`Self::MAX`].
    const fn from_micros(micros: u64) -> Option<Self> {
        if micros > MAX_MICROS {
            return None;
        }
        match NonZero::new(micros.wrapping_add(1)) {
            Some(micros_and_one) => Some(Self { micros_and_one }),
            None => None,
        }
    }

    /// Microseconds since [`Self::MIN`].
    const fn micros(self) -> u64 {
        self.micros_and_one.get().wrapping_sub(1)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_text(), f)
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        Self::parse(text)
    }
}

const MICROS_PER_SECOND: u64 = 1_000_000;
const SECONDS_PER_DAY: u32 = 86_400;
const MICROS_PER_DAY: u64 = MICROS_PER_SECOND * SECONDS_PER_DAY as u64;

/// Microseconds from [`Timestamp::MIN`] to [`Timestamp::MAX`].
const MAX_MICROS: u64 = (MAX_DAYS as u64 + 1) * MICROS_PER_DAY - 1;

/// Seconds from [`Timestamp::MIN`] to the Unix epoch.
const UNIX_EPOCH_SECONDS: i64 = 719_162 * SECONDS_PER_DAY as i64;

/// The same in microseconds.
const UNIX_EPOCH_MICROS: i64 = UNIX_EPOCH_SECONDS * MICROS_PER_SECOND as i64;

#[cfg(test)]
mod tests {
    extern crate std;

    use core::mem::size_of;

    use std::format;
    use std::string::ToString;

    use super::*;

    const FIRST_SECOND: i64 = -62_135_596_800;
    const LAST_SECOND: i64 = 253_402_300_799;

    fn timestamp(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn a_timestamp_takes_8_bytes_and_so_does_none() {
        assert_eq!(size_of::<Timestamp>(), 8);
        assert_eq!(size_of::<Option<Timestamp>>(), 8);
    }

    #[test]
    fn unix_seconds_and_back_are_the_same_up_to_both_bounds() {
        let table = [
            (0, 0, "1970-01-01T00:00:00.000000Z"),
            (-1, 999_999, "1969-12-31T23:59:59.999999Z"),
            (2_147_483_648, 1, "2038-01-19T03:14:08.000001Z"),
            (4_294_967_296, 1, "2106-02-07T06:28:16.000001Z"),
            (FIRST_SECOND, 0, "0001-01-01T00:00:00.000000Z"),
            (LAST_SECOND, 999_999, "9999-12-31T23:59:59.999999Z"),
        ];
        for (seconds, micros, text) in table {
            let timestamp = Timestamp::from_unix(seconds, micros).unwrap();
            assert_eq!(timestamp.to_string(), text);
            assert_eq!(timestamp.as_unix(), (seconds, micros));
            let total = seconds * 1_000_000 + i64::from(micros);
            assert_eq!(timestamp.as_unix_micros(), total);
            assert_eq!(Timestamp::from_unix_micros(total), Some(timestamp));
        }
    }

    #[test]
    fn unix_times_out_of_bounds_are_none() {
        let (min, max) = (
            Timestamp::MIN.as_unix_micros(),
            Timestamp::MAX.as_unix_micros(),
        );
        for seconds in [i64::MIN, FIRST_SECOND - 1, LAST_SECOND + 1, i64::MAX] {
            assert_eq!(Timestamp::from_unix(seconds, 0), None, "{seconds}");
        }
        for micros in [i64::MIN, min - 1, max + 1, i64::MAX] {
            assert_eq!(Timestamp::from_unix_micros(micros), None, "{micros}");
        }
        for micros in [1_000_000, u32::MAX] {
            assert_eq!(Timestamp::from_unix(0, micros), None, "{micros}");
        }
        for micros in [1, u64::MAX] {
            assert_eq!(Timestamp::MAX.checked_add_micros(micros), None, "{micros}");
        }
    }

    #[test]
    fn constants_are_the_instants_they_name() {
        assert_eq!(Timestamp::MIN, timestamp("0001-01-01T00:00:00.000000Z"));
        assert_eq!(Timestamp::MAX, timestamp("9999-12-31T23:59:59.999999Z"));
        assert_eq!(
            Timestamp::UNIX_EPOCH,
            timestamp("1970-01-01T00:00:00.000000Z")
        );
    }

    #[test]
    fn lengths_are_added_and_subtracted_across_every_unit() {
        let table = [
            (
                "2001-02-03T04:05:06.000007Z",
                0,
                "2001-02-03T04:05:06.000007Z",
            ),
            (
                "2001-02-03T04:05:06.999999Z",
                1,
                "2001-02-03T04:05:07.000999Z",
            ),
            (
                "2000-02-28T23:59:59.999000Z",
                1,
                "2000-02-29T00:00:00.000000Z",
            ),
            (
                "1999-12-31T23:59:59.000001Z",
                999,
                "1999-12-31T23:59:59.999001Z",
            ),
            (
                "1999-12-31T23:59:59.500000Z",
                86_400_500,
                "2000-01-02T00:00:00.000000Z",
            ),
            (
                "2038-01-19T03:14:07.000000Z",
                1000,
                "2038-01-19T03:14:08.000000Z",
            ),
            (
                "1970-01-01T00:00:00.000000Z",
                1 << 32,
                "1970-02-19T17:02:47.296000Z",
            ),
            (
                "0001-01-01T00:00:00.000999Z",
                315_537_897_599_999,
                "9999-12-31T23:59:59.999999Z",
            ),
        ];
        for (earlier, millis, later) in table {
            let (earlier, later) = (timestamp(earlier), timestamp(later));
            assert_eq!(earlier.checked_add_millis(millis), Some(later));
            assert_eq!(earlier.checked_add_micros(millis * 1000), Some(later));
            assert_eq!(later.checked_sub_millis(millis), Some(earlier));
            assert_eq!(later.millis_since(earlier), Some(millis));
        }
    }

    #[test]
    fn sums_and_differences_out_of_bounds_are_none() {
        let span = 315_537_897_599_999;
        for millis in [span + 1, u64::MAX / 1000, u64::MAX / 1000 + 1, u64::MAX] {
            assert_eq!(Timestamp::MIN.checked_add_millis(millis), None, "{millis}");
            assert_eq!(Timestamp::MAX.checked_sub_millis(millis), None, "{millis}");
        }
        for timestamp in [Timestamp::MAX, timestamp("9999-12-31T23:59:59.999000Z")] {
            assert_eq!(timestamp.checked_add_millis(1), None);
            assert_eq!(timestamp.checked_add_millis(span), None);
        }
        assert_eq!(Timestamp::MAX.checked_add_micros(1), None);
        assert_eq!(Timestamp::MIN.checked_add_micros(u64::MAX), None);
        assert_eq!(
            timestamp("0001-01-01T00:00:00.000999Z").checked_sub_millis(1),
            None
        );
    }

    #[test]
    fn millis_since_cuts_off_and_never_goes_back() {
        let earlier = timestamp("2001-02-03T04:05:06.999001Z");
        let later = timestamp("2001-02-04T00:00:00.000000Z");
        assert_eq!(later.millis_since(earlier), Some(71_693_000));
        assert_eq!(earlier.millis_since(later), None);
        assert_eq!(earlier.millis_since(earlier), Some(0));
        let next = earlier.checked_add_micros(999).unwrap();
        assert_eq!(next.millis_since(earlier), Some(0));
        assert_eq!(earlier.millis_since(next), None);
        assert_eq!(
            Timestamp::MAX.millis_since(Timestamp::MIN),
            Some(315_537_897_599_999)
        );
    }

    #[test]
    fn later_instants_are_greater() {
        let ordered = [
            Timestamp::MIN,
            timestamp("1969-12-31T23:59:59.999999Z"),
            Timestamp::UNIX_EPOCH,
            timestamp("1970-01-01T00:00:00.000001Z"),
            timestamp("1970-01-01T00:00:01.000000Z"),
            timestamp("1970-01-02T00:00:00.000000Z"),
            Timestamp::MAX,
        ];
        assert!(ordered.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn every_day_of_all_years_comes_back_through_its_text() {
        let mut seconds = 0;
        let mut micros = 0;
        for days in 0..=MAX_DAYS {
            // Steps that share no factor with their bounds visit every second and many fractions.
            seconds = (seconds + 34_567) % SECONDS_PER_DAY;
            micros = (micros + 123_457) % 1_000_000;
            let unix_seconds = i64::from(days) * 86_400 + i64::from(seconds) + FIRST_SECOND;
            let timestamp = Timestamp::from_unix(unix_seconds, micros).unwrap();
            let text = timestamp.to_text();
            assert_eq!(
                Timestamp::parse_bytes(text.as_bytes()),
                Ok(timestamp),
                "{text}"
            );
            assert_eq!(timestamp.as_unix(), (unix_seconds, micros));
        }
    }

    #[test]
    fn texts_of_every_tenth_day_or_so_are_those_of_jiff() {
        let mut days_seen = 0;
        for seconds in (FIRST_SECOND..=LAST_SECOND).step_by(11 * 86_400 + 12_347) {
            let micros = seconds.rem_euclid(999_983) as u32;
            let ours = Timestamp::from_unix(seconds, micros).unwrap();
            let theirs = jiff::civil::date(1970, 1, 1).at(0, 0, 0, 0)
                + jiff::SignedDuration::new(seconds, 0)
                + jiff::SignedDuration::from_micros(i64::from(micros));
            assert_eq!(ours.to_string(), format!("{theirs:.6}Z"));
            days_seen += 1;
        }
        assert!(days_seen > 300_000);
    }

    #[test]
    fn display_and_from_str_are_the_text() {
        let text = "2001-02-03T04:05:06.000007Z";
        let timestamp = text.parse::<Timestamp>().unwrap();
        assert_eq!(timestamp.to_string(), text);
        assert_eq!(format!("{timestamp:<28}|"), "2001-02-03T04:05:06.000007Z |");
        assert_eq!("x".parse::<Timestamp>(), Timestamp::parse("x"));
    }
}
