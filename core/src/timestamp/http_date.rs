//! The time in an HTTP `Date` header.

use super::Timestamp;
use super::parse::{check_date, check_time};

/// Reads an IMF-fixdate; [`Timestamp::parse_http_date`] has the rules.
pub(super) fn parse(text: &[u8]) -> Option<Timestamp> {
    #[rustfmt::skip]
    let &[
        w1, w2, w3, b',', b' ', d1, d2, b' ', m1, m2, m3, b' ', y1, y2, y3, y4, b' ',
        h1, h2, b':', n1, n2, b':', s1, s2, b' ', b'G', b'M', b'T',
    ] = text else {
        return None;
    };
    if !is_day_name([w1, w2, w3]) {
        return None;
    }
    let year = two_digits(y1, y2)?
        .wrapping_mul(100)
        .wrapping_add(two_digits(y3, y4)?);
    let date = check_date(year, month([m1, m2, m3])?, two_digits(d1, d2)?).ok()?;
    let time = check_time(
        two_digits(h1, h2)?,
        two_digits(n1, n2)?,
        two_digits(s1, s2)?,
        0,
    )
    .ok()?;
    Some(Timestamp {
        days: date.days(),
        ..time
    })
}

fn two_digits(tens: u8, ones: u8) -> Option<u32> {
    let tens = char::from(tens).to_digit(10)?;
    let ones = char::from(ones).to_digit(10)?;
    Some(tens.wrapping_mul(10).wrapping_add(ones))
}

fn is_day_name(name: [u8; 3]) -> bool {
    matches!(
        &name,
        b"Mon" | b"Tue" | b"Wed" | b"Thu" | b"Fri" | b"Sat" | b"Sun"
    )
}

fn month(name: [u8; 3]) -> Option<u32> {
    Some(match &name {
        b"Jan" => 1,
        b"Feb" => 2,
        b"Mar" => 3,
        b"Apr" => 4,
        b"May" => 5,
        b"Jun" => 6,
        b"Jul" => 7,
        b"Aug" => 8,
        b"Sep" => 9,
        b"Oct" => 10,
        b"Nov" => 11,
        b"Dec" => 12,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::ToString;

    use jiff::fmt::rfc2822::DateTimePrinter;

    use super::*;

    fn read(text: &[u8]) -> Option<std::string::String> {
        Timestamp::parse_http_date(text).map(|timestamp| timestamp.to_string())
    }

    #[test]
    fn ok_dates_are_read() {
        let table: [(&[u8], &str); 6] = [
            (
                b"Sun, 06 Nov 1994 08:49:37 GMT",
                "1994-11-06T08:49:37.000000Z",
            ),
            (
                b"Thu, 01 Jan 1970 00:00:00 GMT",
                "1970-01-01T00:00:00.000000Z",
            ),
            (
                b"Tue, 29 Feb 2000 23:59:59 GMT",
                "2000-02-29T23:59:59.000000Z",
            ),
            (
                b"Fri, 31 Dec 9999 23:59:59 GMT",
                "9999-12-31T23:59:59.000000Z",
            ),
            // A leap second, and a name that is another day's: it tells nothing we need.
            (
                b"Sat, 31 Dec 2016 23:59:60 GMT",
                "2016-12-31T23:59:59.999999Z",
            ),
            (
                b"Mon, 06 Nov 1994 08:49:37 GMT",
                "1994-11-06T08:49:37.000000Z",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(read(text).as_deref(), Some(expected));
        }
    }

    #[test]
    fn err_dates_are_none() {
        let table: [&[u8]; 19] = [
            b"",
            b"x",
            b"Sunday, 06-Nov-94 08:49:37 GMT",
            b"Sun Nov  6 08:49:37 1994",
            b"Sun, 06 Nov 1994 08:49:37 UTC",
            b"Sun, 06 Nov 1994 08:49:37 gmt",
            b"Sun, 06 Nov 1994 08:49:37 +00",
            b" Sun, 06 Nov 1994 08:49:37 GMT",
            b"Sun, 06 Nov 1994 08:49:37 GMT ",
            b"Son, 06 Nov 1994 08:49:37 GMT",
            b"Sun, 06 nov 1994 08:49:37 GMT",
            b"Sun, 06 Nov 0000 08:49:37 GMT",
            b"Sun, 00 Nov 1994 08:49:37 GMT",
            b"Sun, 31 Nov 1994 08:49:37 GMT",
            b"Sun, 29 Feb 1900 08:49:37 GMT",
            b"Sun, 06 Nov 1994 24:49:37 GMT",
            b"Sun, 06 Nov 1994 08:60:37 GMT",
            b"Sun, 06 Nov 1994 08:49:61 GMT",
            b"Sun,  6 Nov 1994 08:49:37 GMT",
        ];
        for text in table {
            assert_eq!(read(text), None, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn every_change_to_a_separator_and_every_prefix_is_none() {
        let text = *b"Sun, 06 Nov 1994 08:49:37 GMT";
        for at in 0..text.len() {
            assert_eq!(read(&text[..at]), None);
            let mut bent = text;
            bent[at] = b'#';
            assert_eq!(read(&bent), None, "{}", bent.escape_ascii());
        }
    }

    #[test]
    fn dates_that_jiff_prints_are_read_back() {
        let printer = DateTimePrinter::new();
        // Every 9 days and some hours, over the whole range of jiff's own timestamps from year 1.
        for seconds in (-62_135_596_800..253_402_207_200).step_by(9 * 86_400 + 12_345) {
            let oracle = jiff::Timestamp::from_second(seconds).unwrap();
            let text = printer.timestamp_to_rfc9110_string(&oracle).unwrap();
            let timestamp = Timestamp::parse_http_date(text.as_bytes());
            assert_eq!(timestamp, Timestamp::from_unix(seconds, 0), "{text}");
        }
    }
}
