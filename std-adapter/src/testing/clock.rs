//! The time of the server: its wall clock, and texts of it.

use core::time::Duration;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The wall clock of the server, which a test may set forward or back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    started: Instant,
    /// What is added to the host's wall clock, in seconds.
    pub(super) skew_s: i64,
    /// Where the host's wall clock stood when the server's was stopped.
    held_s: Option<i64>,
    /// Whether answers carry a `Date` header.
    pub(super) sends_date: bool,
}

impl Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the server is a program of its own"
    )]
    pub(super) fn new() -> Self {
        Self {
            started: Instant::now(),
            skew_s: 0,
            held_s: None,
            sends_date: true,
        }
    }

    /// How long the server has been running.
    pub(super) fn since_start(&self) -> Duration {
        self.started.elapsed()
    }

    /// Stops the wall clock, or lets it go on.
    pub(super) fn hold(&mut self, is_held: bool) {
        self.held_s = is_held.then(host_now_s);
    }

    /// Seconds since 1970, by the server's clock.
    pub(super) fn now_s(&self) -> i64 {
        self.held_s
            .unwrap_or_else(host_now_s)
            .saturating_add(self.skew_s)
    }

    /// Now as metadata writes it: `2001-02-03T04:05:06Z`.
    pub(super) fn time(&self) -> String {
        let now = self.now_s();
        let (year, month, day) = civil_from_days(now.div_euclid(DAY_S));
        let second = now.rem_euclid(DAY_S);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }

    /// Now as the header `Date` writes it (RFC 9110 section 5.6.7).
    pub(super) fn http_date(&self) -> String {
        let now = self.now_s();
        let days = now.div_euclid(DAY_S);
        let (year, month, day) = civil_from_days(days);
        let second = now.rem_euclid(DAY_S);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let weekday = three_letters("ThuFriSatSunMonTueWed", days.rem_euclid(7));
        let month = three_letters("JanFebMarAprMayJunJulAugSepOctNovDec", month - 1);
        format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the server is a program of its own"
)]
fn host_now_s() -> i64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
}

pub(super) const DAY_S: i64 = 86_400;

fn three_letters(names: &str, index: i64) -> &str {
    let start = usize::try_from(index).unwrap_or(0) * 3;
    names.get(start..start + 3).unwrap_or("")
}

/// Days since 1970-01-01 of a date of the proleptic Gregorian calendar.
pub(super) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The year, month and day of a number of days since 1970-01-01.
pub(super) fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::{civil_from_days, days_from_civil};

    #[test]
    fn dates_and_days_are_inverse_over_four_centuries() {
        for days in -150_000..150_000 {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
        }
        assert_eq!(civil_from_days(11_356), (2001, 2, 3));
    }
}
