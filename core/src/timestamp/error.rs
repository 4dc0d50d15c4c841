//! What can be wrong with the text of a timestamp.

use core::ascii;
use core::error;
use core::fmt;

/// Why a text is not an RFC 3339 timestamp that [`Timestamp`](super::Timestamp) can hold.
///
/// The first fault from the left is reported.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum TimestampError {
    /// The text ends where `expected` should stand.
    EndOfText {
        /// What is missing.
        expected: TimestampPart,
    },
    /// A byte that does not belong stands where `expected` should.
    UnexpectedByte {
        /// What should stand there.
        expected: TimestampPart,
        /// The byte found.
        found: u8,
    },
    /// The year is 0000; the first year is 0001, which Kubernetes has for "no time".
    YearZero,
    /// The month is not 1 to 12.
    MonthOutOfRange {
        /// The month found.
        found: u8,
    },
    /// The month has no such day.
    DayOutOfRange {
        /// The day found.
        found: u8,
        /// The last day of that month in that year.
        last: u8,
    },
    /// The hour is not 0 to 23.
    HourOutOfRange {
        /// The hour found.
        found: u8,
    },
    /// The minute is not 0 to 59.
    MinuteOutOfRange {
        /// The minute found.
        found: u8,
    },
    /// The second is not 0 to 60; 60 is a leap second.
    SecondOutOfRange {
        /// The second found.
        found: u8,
    },
    /// The hours of the offset from UTC are not 0 to 24.
    OffsetHourOutOfRange {
        /// The hours found.
        found: u8,
    },
    /// The minutes of the offset from UTC are not 0 to 59.
    OffsetMinuteOutOfRange {
        /// The minutes found.
        found: u8,
    },
    /// The timestamp is complete, and text follows it.
    TrailingText {
        /// The first byte that follows.
        found: u8,
    },
    /// The offset moves the instant out of the years 0001 to 9999 of UTC.
    InstantOutOfRange,
}

impl fmt::Display for TimestampError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::EndOfText { expected } => write!(f, "expected {expected}, found the end"),
            Self::UnexpectedByte { expected, found } => {
                write!(
                    f,
                    "expected {expected}, found '{}'",
                    ascii::escape_default(found)
                )
            }
            Self::YearZero => write!(f, "expected a year from 0001 to 9999, found 0000"),
            Self::MonthOutOfRange { found } => {
                write!(f, "expected a month from 01 to 12, found {found:02}")
            }
            Self::DayOutOfRange { found, last } => {
                write!(f, "expected a day from 01 to {last}, found {found:02}")
            }
            Self::HourOutOfRange { found } => {
                write!(f, "expected an hour from 00 to 23, found {found:02}")
            }
            Self::MinuteOutOfRange { found } => {
                write!(f, "expected a minute from 00 to 59, found {found:02}")
            }
            Self::SecondOutOfRange { found } => {
                write!(f, "expected a second from 00 to 60, found {found:02}")
            }
            Self::OffsetHourOutOfRange { found } => {
                write!(f, "expected offset hours from 00 to 24, found {found:02}")
            }
            Self::OffsetMinuteOutOfRange { found } => {
                write!(f, "expected offset minutes from 00 to 59, found {found:02}")
            }
            Self::TrailingText { found } => {
                write!(
                    f,
                    "expected the end, found '{}'",
                    ascii::escape_default(found)
                )
            }
            Self::InstantOutOfRange => {
                write!(
                    f,
                    "expected the years 0001 to 9999 after the offset, found another"
                )
            }
        }
    }
}

impl error::Error for TimestampError {}

/// A part of an RFC 3339 timestamp, as [`TimestampError`] names what it expected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum TimestampPart {
    /// One of the four digits of the year.
    Year,
    /// One of the two digits of the month.
    Month,
    /// One of the two digits of the day.
    Day,
    /// A `-` of the date.
    DateSeparator,
    /// The `T` between date and time.
    TimeMarker,
    /// One of the two digits of the hour.
    Hour,
    /// One of the two digits of the minute.
    Minute,
    /// One of the two digits of the second.
    Second,
    /// A `:` of the time.
    TimeSeparator,
    /// The first digit after the decimal mark.
    Fraction,
    /// The `Z`, or the sign of an offset.
    Offset,
    /// One of the two digits of the offset's hours.
    OffsetHour,
    /// The `:` of the offset.
    OffsetSeparator,
    /// One of the two digits of the offset's minutes.
    OffsetMinute,
}

impl fmt::Display for TimestampPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Year => "a digit of the year",
            Self::Month => "a digit of the month",
            Self::Day => "a digit of the day",
            Self::DateSeparator => "'-' in the date",
            Self::TimeMarker => "'T' after the date",
            Self::Hour => "a digit of the hour",
            Self::Minute => "a digit of the minute",
            Self::Second => "a digit of the second",
            Self::TimeSeparator => "':' in the time",
            Self::Fraction => "a digit of the fraction",
            Self::Offset => "'Z' or an offset such as '+02:00'",
            Self::OffsetHour => "a digit of the offset's hours",
            Self::OffsetSeparator => "':' in the offset",
            Self::OffsetMinute => "a digit of the offset's minutes",
        })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::ToString;

    use super::{TimestampError::*, TimestampPart::*, *};

    #[test]
    fn messages_say_what_was_expected_and_what_was_found() {
        let table: [(TimestampError, &str); 13] = [
            (
                EndOfText { expected: Month },
                "expected a digit of the month, found the end",
            ),
            (
                UnexpectedByte {
                    expected: TimeMarker,
                    found: b'x',
                },
                "expected 'T' after the date, found 'x'",
            ),
            (
                UnexpectedByte {
                    expected: Year,
                    found: 0xff,
                },
                "expected a digit of the year, found '\\xff'",
            ),
            (YearZero, "expected a year from 0001 to 9999, found 0000"),
            (
                MonthOutOfRange { found: 13 },
                "expected a month from 01 to 12, found 13",
            ),
            (
                DayOutOfRange { found: 0, last: 28 },
                "expected a day from 01 to 28, found 00",
            ),
            (
                HourOutOfRange { found: 24 },
                "expected an hour from 00 to 23, found 24",
            ),
            (
                MinuteOutOfRange { found: 60 },
                "expected a minute from 00 to 59, found 60",
            ),
            (
                SecondOutOfRange { found: 61 },
                "expected a second from 00 to 60, found 61",
            ),
            (
                OffsetHourOutOfRange { found: 25 },
                "expected offset hours from 00 to 24, found 25",
            ),
            (
                OffsetMinuteOutOfRange { found: 99 },
                "expected offset minutes from 00 to 59, found 99",
            ),
            (
                TrailingText { found: b'\n' },
                "expected the end, found '\\n'",
            ),
            (
                InstantOutOfRange,
                "expected the years 0001 to 9999 after the offset, found another",
            ),
        ];
        for (error, message) in table {
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn every_part_has_words_of_its_own() {
        let table = [
            (Year, "a digit of the year"),
            (Month, "a digit of the month"),
            (Day, "a digit of the day"),
            (DateSeparator, "'-' in the date"),
            (TimeMarker, "'T' after the date"),
            (Hour, "a digit of the hour"),
            (Minute, "a digit of the minute"),
            (Second, "a digit of the second"),
            (TimeSeparator, "':' in the time"),
            (Fraction, "a digit of the fraction"),
            (Offset, "'Z' or an offset such as '+02:00'"),
            (OffsetHour, "a digit of the offset's hours"),
            (OffsetSeparator, "':' in the offset"),
            (OffsetMinute, "a digit of the offset's minutes"),
        ];
        for (part, words) in table {
            assert_eq!(part.to_string(), words);
        }
    }
}
