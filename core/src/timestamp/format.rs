//! Timestamps out: the one form of `MicroTime` that every API server takes.

use core::fmt;
use core::str;

use super::civil::Date;
use super::{MICROS_PER_SECOND, SECONDS_PER_DAY, Timestamp};
use crate::division::divide;

/// The text of a [`Timestamp`], `YYYY-MM-DDTHH:MM:SS.ffffffZ`.
///
/// Always [`TimestampText::LEN`] bytes of ASCII with exactly six fraction digits: an API server
/// refuses a `MicroTime` with any other number of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimestampText([u8; Self::LEN]);

impl TimestampText {
    /// The length in bytes of every such text.
    pub const LEN: usize = 27;

    pub(super) fn new(timestamp: Timestamp) -> Self {
        let (seconds, micros) = divide(timestamp.micros(), MICROS_PER_SECOND as u32);
        let (days, seconds) = divide(seconds, SECONDS_PER_DAY);
        let Date { year, month, day } = Date::from_days(days as u32);
        let minutes = seconds / 60;
        let (hour, minute, second) = (minutes / 60, minutes % 60, seconds % 60);
        // From the right: each byte that is no digit stands before the next number.
        let numbers = [micros, second, minute, hour, day, month, year];
        let mut numbers = numbers.iter();
        let mut number = 0;
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        for place in text.iter_mut().rev() {
            if *place == b'0' {
                *place |= (number % 10) as u8;
                number /= 10;
            } else {
                number = numbers.next().copied().unwrap_or(0);
            }
        }
        Self(text)
    }

    /// The text as a string. Costs a check of its encoding; [`Self::as_bytes`] costs nothing.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // Only ASCII is ever stored, so the default is never taken.
        str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The text as bytes of ASCII.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<str> for TimestampText {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for TimestampText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for TimestampText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::format;

    use super::*;

    fn text(seconds: i64, micros: u32) -> TimestampText {
        Timestamp::from_unix(seconds, micros).unwrap().to_text()
    }

    #[test]
    fn six_fraction_digits_and_z_are_always_written() {
        let table = [
            (0, "1970-01-01T00:00:00.000000Z"),
            (1, "1970-01-01T00:00:00.000001Z"),
            (103_000, "1970-01-01T00:00:00.103000Z"),
            (500_000, "1970-01-01T00:00:00.500000Z"),
            (999_999, "1970-01-01T00:00:00.999999Z"),
        ];
        for (micros, expected) in table {
            assert_eq!(text(0, micros).as_str(), expected);
        }
    }

    #[test]
    fn counters_of_31_and_32_bits_do_not_end_the_calendar() {
        let table = [
            (-2_147_483_649, "1901-12-13T20:45:51.000007Z"),
            (-1, "1969-12-31T23:59:59.000007Z"),
            (2_147_483_647, "2038-01-19T03:14:07.000007Z"),
            (2_147_483_648, "2038-01-19T03:14:08.000007Z"),
            (4_294_967_295, "2106-02-07T06:28:15.000007Z"),
            (4_294_967_296, "2106-02-07T06:28:16.000007Z"),
            (253_402_300_799, "9999-12-31T23:59:59.000007Z"),
        ];
        for (seconds, expected) in table {
            assert_eq!(text(seconds, 7).as_str(), expected);
            assert_eq!(
                Timestamp::parse(expected),
                Ok(Timestamp::from_unix(seconds, 7).unwrap())
            );
        }
    }

    #[test]
    fn all_ways_to_see_a_text_agree() {
        let text = text(894_344_705, 0);
        assert_eq!(text.as_bytes(), b"1998-05-05T05:05:05.000000Z");
        assert_eq!(text.as_bytes(), text.as_str().as_bytes());
        assert_eq!(text.as_ref(), text.as_str());
        assert_eq!(format!("{text:>29}"), "  1998-05-05T05:05:05.000000Z");
        assert_eq!(format!("{text:?}"), "\"1998-05-05T05:05:05.000000Z\"");
    }
}
