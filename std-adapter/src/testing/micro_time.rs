//! `MicroTime` as the API server reads it: exactly six digits, and the errors of Go's `time.Parse`.

use super::clock::{DAY_S, civil_from_days, days_from_civil};

const LAYOUT: &str = "2006-01-02T15:04:05.000000Z07:00";

/// The text the server answers for a time it was given; `None` is the zero time, answered as null.
///
/// # Errors
///
/// Go's text, for example `parsing time "now" as "2006-…": cannot parse "now" as "2006"`.
pub(super) fn normalise(text: &str) -> Result<Option<String>, String> {
    let mut parser = Parser { text, rest: text };
    let year = parser.digits(4, "2006")?;
    parser.literal("-")?;
    let month = parser.digits(2, "01")?;
    if !(1..=12).contains(&month) {
        return Err(parser.out_of_range("month"));
    }
    parser.literal("-")?;
    let day = parser.digits(2, "02")?;
    parser.literal("T")?;
    let hour = parser.hour()?;
    parser.literal(":")?;
    let minute = parser.digits(2, "04")?;
    if minute > 59 {
        return Err(parser.out_of_range("minute"));
    }
    parser.literal(":")?;
    let second = parser.digits(2, "05")?;
    if second > 59 {
        return Err(parser.out_of_range("second"));
    }
    let micros = parser.fraction()?;
    let offset_s = parser.zone()?;
    if !parser.rest.is_empty() {
        let extra = format!(": extra text: {:?}", parser.rest);
        return Err(format!("parsing time {text:?}{extra}"));
    }
    if day < 1 || day > days_in(year, month) {
        return Err(parser.out_of_range("day"));
    }
    let local = days_from_civil(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second;
    Ok(written(local - offset_s, micros))
}

/// UTC seconds and microseconds as text; `None` for Go's zero time.
fn written(utc_s: i64, micros: i64) -> Option<String> {
    let (days, second) = (utc_s.div_euclid(DAY_S), utc_s.rem_euclid(DAY_S));
    let (year, month, day) = civil_from_days(days);
    if (year, month, day, second, micros) == (1, 1, 1, 0, 0) {
        return None;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let date = format!("{year:04}-{month:02}-{day:02}");
    Some(format!(
        "{date}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z"
    ))
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn cannot(&self, rest: &str, element: &str) -> String {
        let text = self.text;
        format!("parsing time {text:?} as {LAYOUT:?}: cannot parse {rest:?} as {element:?}")
    }

    fn out_of_range(&self, what: &str) -> String {
        format!("parsing time {:?}: {what} out of range", self.text)
    }

    fn take(&mut self, length: usize) -> Option<&'a str> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    fn digits(&mut self, length: usize, element: &str) -> Result<i64, String> {
        let before = self.rest;
        let taken = self
            .take(length)
            .filter(|t| t.bytes().all(|b| b.is_ascii_digit()));
        let number = taken.and_then(|taken| taken.parse().ok());
        number.ok_or_else(|| self.cannot(before, element))
    }

    fn literal(&mut self, expected: &str) -> Result<(), String> {
        self.rest = self
            .rest
            .strip_prefix(expected)
            .ok_or_else(|| self.cannot(self.rest, expected))?;
        Ok(())
    }

    /// Go takes an hour of one digit too.
    fn hour(&mut self) -> Result<i64, String> {
        let before = self.rest;
        let count = self
            .rest
            .bytes()
            .take(2)
            .take_while(u8::is_ascii_digit)
            .count();
        let hour = self.take(count).and_then(|taken| taken.parse().ok());
        let hour = hour.ok_or_else(|| self.cannot(before, "15"))?;
        if hour > 23 {
            Err(self.out_of_range("hour"))
        } else {
            Ok(hour)
        }
    }

    fn fraction(&mut self) -> Result<i64, String> {
        let before = self.rest;
        let taken = self.take(7).filter(|taken| taken.starts_with(['.', ',']));
        let digits = taken.and_then(|taken| taken.get(1..));
        let digits = digits.filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
        let micros = digits.and_then(|digits| digits.parse().ok());
        micros.ok_or_else(|| self.cannot(before, ".000000"))
    }

    /// The offset east of UTC in seconds.
    fn zone(&mut self) -> Result<i64, String> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let before = self.rest;
        let cannot = |parser: &Self| parser.cannot(before, "Z07:00");
        let taken = self.take(6).ok_or_else(|| cannot(self))?;
        let sign = match taken.get(..1) {
            Some("+") => 1,
            Some("-") => -1,
            _ => return Err(cannot(self)),
        };
        let number = |range| {
            taken
                .get::<core::ops::Range<usize>>(range)
                .and_then(|t| t.parse().ok())
        };
        let (Some(hours), Some(":"), Some(minutes)) = (number(1..3), taken.get(3..4), number(4..6))
        else {
            return Err(cannot(self));
        };
        let (hours, minutes): (i64, i64) = (hours, minutes);
        // Go looks at the hour first, but reports the last fault.
        if minutes > 60 {
            return Err(self.out_of_range("time zone offset minute"));
        }
        if hours > 24 {
            return Err(self.out_of_range("time zone offset hour"));
        }
        Ok(sign * (hours * 3600 + minutes * 60))
    }
}

#[cfg(test)]
mod tests {
    use super::normalise;

    #[test]
    fn ok_six_digits_in_any_zone_come_back_in_utc() {
        for (given, answered) in [
            (
                "2001-02-03T04:05:06.123456Z",
                Some("2001-02-03T04:05:06.123456Z"),
            ),
            (
                "2001-02-03T04:05:06,123456Z",
                Some("2001-02-03T04:05:06.123456Z"),
            ),
            (
                "2001-02-03T4:05:06.123456Z",
                Some("2001-02-03T04:05:06.123456Z"),
            ),
            (
                "2001-02-03T04:05:06.123456-07:30",
                Some("2001-02-03T11:35:06.123456Z"),
            ),
            (
                "9999-12-31T23:59:59.999999-01:00",
                Some("10000-01-01T00:59:59.999999Z"),
            ),
            ("0001-01-01T00:00:00.000000Z", None),
        ] {
            assert_eq!(normalise(given).unwrap().as_deref(), answered, "{given}");
        }
    }

    #[test]
    fn err_everything_else_is_refused_in_the_words_of_go() {
        let text = |rest: &str| format!("parsing time \"{rest}\" as \"{}\": ", super::LAYOUT);
        for (given, why) in [
            ("now", "cannot parse \"now\" as \"2006\""),
            ("2001-02-03T04:05:06Z", "cannot parse \"Z\" as \".000000\""),
            ("2001-02-03", "cannot parse \"\" as \"T\""),
        ] {
            assert_eq!(normalise(given).unwrap_err(), text(given) + why);
        }
        let given = "2001-02-03T24:00:00.000000Z";
        let expected = format!("parsing time \"{given}\": hour out of range");
        assert_eq!(normalise(given).unwrap_err(), expected);
    }
}
