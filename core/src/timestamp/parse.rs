//! Timestamps in: a lenient reader of RFC 3339.

use core::marker::PhantomData;

use super::civil::{Date, days_in_month};
use super::{MICROS_PER_DAY, MICROS_PER_SECOND, Timestamp, TimestampError, TimestampPart};

/// Reads a whole text; [`Timestamp::parse`] has the rules.
pub(super) fn parse<E: From<TimestampError>>(text: &[u8]) -> Result<Timestamp, E> {
    let mut reader = Reader::<E> {
        rest: text,
        error: PhantomData,
    };
    let days = u64::from(reader.date()?.days());
    reader.take(TimestampPart::TimeMarker)?;
    let time = reader.time()?;
    let ahead = reader.offset()?;
    if let Some(&found) = reader.rest.first() {
        return Err(TimestampError::TrailingText { found }.into());
    }
    // What lies before the first instant wraps, and is then far behind the last.
    let local = days.wrapping_mul(MICROS_PER_DAY).wrapping_add(time);
    Timestamp::from_micros(local.wrapping_sub(ahead))
        .ok_or_else(|| TimestampError::InstantOutOfRange.into())
}

/// The error of a caller who asks for nothing but a time: no code tells why there is none then.
pub(super) struct Unsaid;

impl From<TimestampError> for Unsaid {
    fn from(_: TimestampError) -> Self {
        Self
    }
}

/// A date whose parts are in the calendar's bounds. Parts of two digits fit in a byte.
fn check_date<E: From<TimestampError>>(year: u32, month: u32, day: u32) -> Result<Date, E> {
    if year == 0 {
        return Err(TimestampError::YearZero.into());
    }
    if month == 0 || month > 12 {
        return Err(TimestampError::MonthOutOfRange { found: month as u8 }.into());
    }
    let last = days_in_month(year, month);
    if day == 0 || day > last {
        return Err(TimestampError::DayOutOfRange {
            found: day as u8,
            last: last as u8,
        }
        .into());
    }
    Ok(Date { year, month, day })
}

/// Microseconds since midnight. A leap second becomes the last microsecond before it, so that it
/// is not earlier than anything in the second 59. Parts of two digits fit in a byte.
fn check_time<E: From<TimestampError>>(
    hour: u32,
    minute: u32,
    second: u32,
    micros: u32,
) -> Result<u64, E> {
    if hour > 23 {
        return Err(TimestampError::HourOutOfRange { found: hour as u8 }.into());
    }
    if minute > 59 {
        return Err(TimestampError::MinuteOutOfRange {
            found: minute as u8,
        }
        .into());
    }
    if second > 60 {
        return Err(TimestampError::SecondOutOfRange {
            found: second as u8,
        }
        .into());
    }
    let time = minutes(hour, minute).wrapping_mul(60);
    let (second, micros) = if second == 60 {
        (59, 999_999)
    } else {
        (second, micros)
    };
    Ok(u64::from(time.wrapping_add(second))
        .wrapping_mul(MICROS_PER_SECOND)
        .wrapping_add(u64::from(micros)))
}

/// What is left of the text.
struct Reader<'a, E> {
    rest: &'a [u8],
    /// What it makes of an error.
    error: PhantomData<E>,
}

impl<E: From<TimestampError>> Reader<'_, E> {
    fn date(&mut self) -> Result<Date, E> {
        use TimestampPart::{DateSeparator, Day, Month, Year};
        let (year, month, day) = self.numbers(&[
            Year,
            Year,
            Year,
            Year,
            DateSeparator,
            Month,
            Month,
            DateSeparator,
            Day,
            Day,
        ])?;
        check_date(year, month, day)
    }

    fn time(&mut self) -> Result<u64, E> {
        use TimestampPart::{Hour, Minute, Second, TimeSeparator};
        let (hour, minute, second) = self.numbers(&[
            Hour,
            Hour,
            TimeSeparator,
            Minute,
            Minute,
            TimeSeparator,
            Second,
            Second,
        ])?;
        let micros = self.fraction()?;
        check_time(hour, minute, second, micros)
    }

    /// The microseconds of a fraction; none written is zero. Digits after the sixth weigh nothing.
    fn fraction(&mut self) -> Result<u32, E> {
        let Some((b'.' | b',', rest)) = self.rest.split_first() else {
            return Ok(0);
        };
        self.rest = rest;
        let mut micros = 0_u32;
        let mut weight = 100_000_u32;
        let mut next = self.take(TimestampPart::Fraction)?;
        loop {
            micros = micros.wrapping_add(u32::from(next & 0x0f).wrapping_mul(weight));
            weight /= 10;
            match self.take(TimestampPart::Fraction) {
                Ok(digit) => next = digit,
                Err(_) => return Ok(micros),
            }
        }
    }

    /// How many microseconds local time is ahead of UTC; less than none wraps.
    fn offset(&mut self) -> Result<u64, E> {
        use TimestampPart::{Offset, OffsetHour, OffsetMinute, OffsetSeparator};
        let sign = self.take(Offset)?;
        if matches!(sign, b'Z' | b'z') {
            return Ok(0);
        }
        let (_, hours, minutes_past) = self.numbers(&[
            OffsetHour,
            OffsetHour,
            OffsetSeparator,
            OffsetMinute,
            OffsetMinute,
        ])?;
        if hours > 24 {
            return Err(TimestampError::OffsetHourOutOfRange { found: hours as u8 }.into());
        }
        if minutes_past > 59 {
            return Err(TimestampError::OffsetMinuteOutOfRange {
                found: minutes_past as u8,
            }
            .into());
        }
        let length = u64::from(minutes(hours, minutes_past)).wrapping_mul(60 * MICROS_PER_SECOND);
        Ok(if sign == b'+' {
            length
        } else {
            length.wrapping_neg()
        })
    }

    /// The last three numbers of a form. Whatever stands between two digits of it parts numbers.
    fn numbers(&mut self, form: &[TimestampPart]) -> Result<(u32, u32, u32), E> {
        let mut numbers = (0_u32, 0_u32, 0_u32);
        for part in form {
            let byte = self.take(*part)?;
            let (_, before, last) = numbers;
            if byte.is_ascii_digit() {
                numbers.2 = last.wrapping_mul(10).wrapping_add(u32::from(byte & 0x0f));
            } else {
                numbers = (before, last, 0);
            }
        }
        Ok(numbers)
    }

    /// Takes the next byte if `expected` may have it. An error leaves the rest as it was.
    fn take(&mut self, expected: TimestampPart) -> Result<u8, E> {
        match self.rest.split_first() {
            None => Err(TimestampError::EndOfText { expected }.into()),
            Some((&found, rest)) if expected.may_have(found) => {
                self.rest = rest;
                Ok(found)
            }
            Some((&found, _)) => Err(TimestampError::UnexpectedByte { expected, found }.into()),
        }
    }
}

impl TimestampPart {
    const fn may_have(self, byte: u8) -> bool {
        match self {
            Self::Year
            | Self::Month
            | Self::Day
            | Self::Hour
            | Self::Minute
            | Self::Second
            | Self::Fraction
            | Self::OffsetHour
            | Self::OffsetMinute => byte.is_ascii_digit(),
            Self::DateSeparator => byte == b'-',
            Self::TimeMarker => matches!(byte, b'T' | b't' | b' '),
            Self::TimeSeparator | Self::OffsetSeparator => byte == b':',
            Self::Offset => matches!(byte, b'Z' | b'z' | b'+' | b'-'),
        }
    }
}

/// The minutes in hours and minutes of two digits each.
const fn minutes(hours: u32, past: u32) -> u32 {
    hours.wrapping_mul(60).wrapping_add(past)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::{String, ToString};

    use super::{TimestampError::*, TimestampPart::*, *};

    fn read(text: &str) -> Result<String, TimestampError> {
        Timestamp::parse(text).map(|timestamp| timestamp.to_string())
    }

    const OK_TEXTS: &[(&str, &str)] = &[
        // What an API server writes and takes.
        ("2001-02-03T04:05:06.000000Z", "2001-02-03T04:05:06.000000Z"),
        ("2001-02-03T04:05:06.000001Z", "2001-02-03T04:05:06.000001Z"),
        ("2001-02-03T04:05:06.103000Z", "2001-02-03T04:05:06.103000Z"),
        ("2001-02-03T04:05:06.500000Z", "2001-02-03T04:05:06.500000Z"),
        ("2001-02-03T04:05:06.999999Z", "2001-02-03T04:05:06.999999Z"),
        ("1998-05-05T05:05:05.000000Z", "1998-05-05T05:05:05.000000Z"),
        ("2001-02-03T04:05:06,250000Z", "2001-02-03T04:05:06.250000Z"),
        ("0001-01-01T00:00:00.000000Z", "0001-01-01T00:00:00.000000Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
        // Offsets.
        (
            "2001-02-03T04:05:06.000000+00:00",
            "2001-02-03T04:05:06.000000Z",
        ),
        (
            "2001-02-03T04:05:06.000000-00:00",
            "2001-02-03T04:05:06.000000Z",
        ),
        (
            "1998-05-05T01:05:05.000000-04:00",
            "1998-05-05T05:05:05.000000Z",
        ),
        (
            "2001-02-03T04:05:06.000000+05:45",
            "2001-02-02T22:20:06.000000Z",
        ),
        (
            "2001-02-03T04:05:06.000000+24:00",
            "2001-02-02T04:05:06.000000Z",
        ),
        (
            "2001-02-03T23:05:06.000007-24:59",
            "2001-02-05T00:04:06.000007Z",
        ),
        (
            "2000-03-01T00:00:00.000000+00:01",
            "2000-02-29T23:59:00.000000Z",
        ),
        (
            "2001-12-31T23:59:59.999999-00:01",
            "2002-01-01T00:00:59.999999Z",
        ),
        ("0001-01-01T01:00:00+01:00", "0001-01-01T00:00:00.000000Z"),
        (
            "9999-12-31T22:59:59.999999-01:00",
            "9999-12-31T23:59:59.999999Z",
        ),
        // Fractions: none, short, and long ones, which are cut off.
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000Z"),
        ("2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05.000000Z"),
        ("2026-01-02T03:04:05.1Z", "2026-01-02T03:04:05.100000Z"),
        ("2026-01-02T03:04:05.01234Z", "2026-01-02T03:04:05.012340Z"),
        (
            "2026-01-02T03:04:05.1234567Z",
            "2026-01-02T03:04:05.123456Z",
        ),
        (
            "2026-01-02T03:04:05.123123123Z",
            "2026-01-02T03:04:05.123123Z",
        ),
        (
            "2026-01-02T05:05:05.000000050Z",
            "2026-01-02T05:05:05.000000Z",
        ),
        (
            "2026-01-02T05:05:05.000005050Z",
            "2026-01-02T05:05:05.000005Z",
        ),
        (
            "2026-12-31T23:59:59.999999999999Z",
            "2026-12-31T23:59:59.999999Z",
        ),
        // Other letters.
        ("2026-01-02t03:04:05.000000z", "2026-01-02T03:04:05.000000Z"),
        ("2026-01-02 03:04:05.000000Z", "2026-01-02T03:04:05.000000Z"),
        // Leap seconds.
        ("2016-12-31T23:59:60.000000Z", "2016-12-31T23:59:59.999999Z"),
        ("2017-01-01T05:29:60.5+05:30", "2016-12-31T23:59:59.999999Z"),
        ("2026-01-02T03:04:60Z", "2026-01-02T03:04:59.999999Z"),
        // Leap days.
        ("2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000000Z"),
        ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000000Z"),
    ];

    #[test]
    fn ok_texts_are_read_and_written_back_in_utc() {
        for (text, expected) in OK_TEXTS {
            assert_eq!(read(text).as_deref(), Ok(*expected), "{text}");
        }
    }

    #[test]
    fn err_shapes_name_what_was_expected() {
        let end = |expected| EndOfText { expected };
        let byte = |expected, found| UnexpectedByte { expected, found };
        let table = [
            ("", end(Year)),
            ("x", byte(Year, b'x')),
            ("hello", byte(Year, b'h')),
            ("null", byte(Year, b'n')),
            ("\0", byte(Year, 0)),
            ("+2001-02-03T04:05:06Z", byte(Year, b'+')),
            ("-001-02-03T04:05:06Z", byte(Year, b'-')),
            (" 2001-02-03T04:05:06Z", byte(Year, b' ')),
            ("201-02-03T04:05:06Z", byte(Year, b'-')),
            ("\u{662}001-02-03T04:05:06Z", byte(Year, 0xd9)),
            ("10000-01-01T00:59:59.999999Z", byte(DateSeparator, b'0')),
            ("20220804T135255.122Z", byte(DateSeparator, b'0')),
            ("2001/02/03T04:05:06Z", byte(DateSeparator, b'/')),
            ("2001-2-03T04:05:06Z", byte(Month, b'-')),
            ("2001-02-3T04:05:06Z", byte(Day, b'T')),
            ("2001-02-03", end(TimeMarker)),
            ("2001-02-03_04:05:06Z", byte(TimeMarker, b'_')),
            ("2001-02-03  04:05:06Z", byte(Hour, b' ')),
            ("2001-02-03T4:05:06.000000Z", byte(Hour, b':')),
            ("2001-02-03T04.05:06Z", byte(TimeSeparator, b'.')),
            ("2001-02-03T04:5:06Z", byte(Minute, b':')),
            ("2001-02-03T04:05Z", byte(TimeSeparator, b'Z')),
            ("2001-02-03T04:05:6Z", byte(Second, b'Z')),
            ("2001-02-03T04:05:06.Z", byte(Fraction, b'Z')),
            ("2001-02-03T04:05:06,,1Z", byte(Fraction, b',')),
            ("2001-02-03T04:05:06", end(Offset)),
            ("2001-02-03T04:05:06.000000", end(Offset)),
            ("2001-02-03T04:05:06.0x", byte(Offset, b'x')),
            ("2001-02-03T04:05:06 Z", byte(Offset, b' ')),
            ("2001-02-03T04:05:06\u{2212}01:00", byte(Offset, 0xe2)),
            ("2001-02-03T04:05:06+2:00", byte(OffsetHour, b':')),
            ("2001-02-03T04:05:06+02", end(OffsetSeparator)),
            ("2001-02-03T04:05:06+0200", byte(OffsetSeparator, b'0')),
            ("2001-02-03T04:05:06+02:0Z", byte(OffsetMinute, b'Z')),
            ("2001-02-03T04:05:06Z ", TrailingText { found: b' ' }),
            ("2001-02-03T04:05:06ZZ", TrailingText { found: b'Z' }),
            ("2001-02-03T04:05:06+02:000", TrailingText { found: b'0' }),
        ];
        for (text, expected) in table {
            assert_eq!(read(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn err_values_out_of_the_calendar_are_named() {
        let table = [
            ("0000-01-01T00:00:00.000000Z", YearZero),
            ("0000-12-31T23:59:59-01:00", YearZero),
            ("2001-00-03T04:05:06Z", MonthOutOfRange { found: 0 }),
            ("2001-13-03T04:05:06Z", MonthOutOfRange { found: 13 }),
            ("2001-01-00T04:05:06Z", DayOutOfRange { found: 0, last: 31 }),
            (
                "2001-12-32T04:05:06Z",
                DayOutOfRange {
                    found: 32,
                    last: 31,
                },
            ),
            (
                "2001-04-31T04:05:06Z",
                DayOutOfRange {
                    found: 31,
                    last: 30,
                },
            ),
            (
                "2001-02-29T04:05:06Z",
                DayOutOfRange {
                    found: 29,
                    last: 28,
                },
            ),
            (
                "1900-02-29T04:05:06Z",
                DayOutOfRange {
                    found: 29,
                    last: 28,
                },
            ),
            (
                "2000-02-30T04:05:06Z",
                DayOutOfRange {
                    found: 30,
                    last: 29,
                },
            ),
            ("2001-02-03T24:00:00Z", HourOutOfRange { found: 24 }),
            ("2001-02-03T04:60:00Z", MinuteOutOfRange { found: 60 }),
            ("2001-02-03T04:05:61Z", SecondOutOfRange { found: 61 }),
            (
                "2001-02-03T04:05:06+25:00",
                OffsetHourOutOfRange { found: 25 },
            ),
            (
                "2001-02-03T04:05:06+99:99",
                OffsetHourOutOfRange { found: 99 },
            ),
            (
                "2001-02-03T04:05:06-01:60",
                OffsetMinuteOutOfRange { found: 60 },
            ),
            ("9999-12-31T23:59:59.999999-01:00", InstantOutOfRange),
            ("9999-12-31T23:59:00-00:01", InstantOutOfRange),
            ("0001-01-01T00:00:00+00:01", InstantOutOfRange),
            ("0001-01-01T23:59:59.999999+24:00", InstantOutOfRange),
        ];
        for (text, expected) in table {
            assert_eq!(read(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn every_prefix_ends_before_something_and_every_longer_text_is_an_error() {
        for text in [
            "2001-02-03T04:05:06.123456789Z",
            "2001-02-03T04:05:06-07:08",
        ] {
            assert!(read(text).is_ok());
            for end in 0..text.len() {
                let error = read(&text[..end]).unwrap_err();
                assert!(matches!(error, EndOfText { .. }), "{end}: {error}");
            }
            for byte in 0..=u8::MAX {
                let longer = [text.as_bytes(), &[byte]].concat();
                let expected = Err(TrailingText { found: byte });
                assert_eq!(Timestamp::parse_bytes(&longer), expected);
            }
        }
    }

    #[test]
    fn no_byte_in_no_place_panics_and_what_is_read_is_written_back_the_same() {
        let text = b"2001-02-03T04:05:06.123456+07:08";
        let mut accepted = 0;
        for at in 0..text.len() {
            for byte in 0..=u8::MAX {
                let mut bent = *text;
                bent[at] = byte;
                let Ok(timestamp) = Timestamp::parse_bytes(&bent) else {
                    continue;
                };
                accepted += 1;
                let again = Timestamp::parse_bytes(timestamp.to_text().as_bytes());
                assert_eq!(again, Ok(timestamp), "{}", bent.escape_ascii());
            }
        }
        // Mostly other digits, and the few other letters: two markers, a comma and a minus.
        assert!((150..250).contains(&accepted), "{accepted}");
    }

    #[test]
    fn texts_of_all_offsets_and_fractions_agree_with_jiff() {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let mut read = 0;
        for _ in 0..100_000 {
            let text = std::format!(
                "{:04}-{:02}-{:02}{}{:02}:{:02}:{:02}{}{:02}:{:02}",
                // Jiff takes offsets of up to 25:59 and leaves room for them in its last year.
                2 + random(9997),
                1 + random(12),
                1 + random(31),
                if random(2) == 0 { 'T' } else { ' ' },
                random(24),
                random(60),
                random(60),
                ["+", "-", ".5+", ".000001-", ".999999999+", ",25-"][random(6) as usize],
                random(25),
                random(60),
            );
            let ours = Timestamp::parse(&text).ok().map(Timestamp::as_unix_micros);
            let theirs = text.parse::<jiff::Timestamp>().ok();
            // Floor to microseconds; jiff's own rounds towards the epoch.
            let theirs = theirs.map(|it| it.as_nanosecond().div_euclid(1000) as i64);
            assert_eq!(ours, theirs, "{text}");
            read += u32::from(ours.is_some());
        }
        // All but those with a 29th, 30th or 31st day that the month does not have.
        assert!((97_000..99_500).contains(&read), "{read}");
    }
}
