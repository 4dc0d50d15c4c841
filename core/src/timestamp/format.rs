//! Timestamps out: the one form of `MicroTime` that every API server takes.

use core::fmt;
use core::str;

use super::Timestamp;
use super::civil::Date;

/// The text of a [`Timestamp`], `YYYY-MM-DDTHH:MM:SS.ffffffZ`.
///
/// Always [`TimestampText::LEN`] bytes of ASCII with exactly six fraction digits: an API server
/// refuses a `MicroTime` with any other number of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimestampText([u8; Self::LEN]);

impl TimestampText {
    /// The length in bytes of every such text.
    pub const LEN: usize = 27;

    pub(super) const fn new(timestamp: Timestamp) -> Self {
        let date = Date::from_days(timestamp.days);
        let [y1, y2] = two_digits(date.year / 100);
        let [y3, y4] = two_digits(date.year % 100);
        let [m1, m2] = two_digits(date.month);
        let [d1, d2] = two_digits(date.day);
        let minutes = timestamp.seconds / 60;
        let [h1, h2] = two_digits(minutes / 60);
        let [n1, n2] = two_digits(minutes % 60);
        let [s1, s2] = two_digits(timestamp.seconds % 60);
        let [f1, f2] = two_digits(timestamp.micros / 10_000);
        let [f3, f4] = two_digits(timestamp.micros / 100 % 100);
        let [f5, f6] = two_digits(timestamp.micros % 100);
        Self([
            y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', //
            h1, h2, b':', n1, n2, b':', s1, s2, b'.', f1, f2, f3, f4, f5, f6, b'Z',
        ])
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

/// The last two decimal digits of `number`. A digit sets only bits that `b'0'` leaves clear.
const fn two_digits(number: u32) -> [u8; 2] {
    [b'0' | (number / 10 % 10) as u8, b'0' | (number % 10) as u8]
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
