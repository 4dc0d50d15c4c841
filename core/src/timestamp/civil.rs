//! The proleptic Gregorian calendar in 32-bit arithmetic.
//!
//! Years are 1 to 9999, and days are counted from 0001-01-01. With those bounds the largest value
//! met is `4 * (3_652_058 + 306) + 3`, below 2²⁴, so no operation here wraps; they are spelled
//! `wrapping_*` so that a build with overflow checks holds no panic either.

/// The day 9999-12-31, the last that four digits of a year can name.
pub(super) const MAX_DAYS: u32 = 3_652_058;

/// A day by its names. The fields are in the calendar's bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Date {
    pub(super) year: u32,
    pub(super) month: u32,
    pub(super) day: u32,
}

impl Date {
    /// The date `days` after 0001-01-01; `days` is at most [`MAX_DAYS`].
    ///
    /// Counts in quarter days from 0000-03-01, where the leap day comes last: the algorithm of
    /// Neri and Schneider, "Euclidean affine functions and their application to calendar
    /// algorithms" (2022).
    pub(super) const fn from_days(days: u32) -> Self {
        let quarters = days.wrapping_add(306).wrapping_mul(4) | 3;
        let century = quarters / 146_097;
        let quarters = (quarters % 146_097) | 3;
        let year = century.wrapping_mul(100).wrapping_add(quarters / 1461);
        let day_of_year = quarters % 1461 / 4;

        // 2141 / 2^16 is close enough to 12 months in 367 days for every day of a year.
        let scaled = day_of_year.wrapping_mul(2141).wrapping_add(197_913);
        let month = scaled >> 16;
        let day = (scaled & 0xffff) / 2141;
        let day = day.wrapping_add(1);
        if month > 12 {
            Self {
                year: year.wrapping_add(1),
                month: month.wrapping_sub(12),
                day,
            }
        } else {
            Self { year, month, day }
        }
    }

    /// Days since 0001-01-01: Reingold and Dershowitz, "Calendrical Calculations", 2.17, less one.
    pub(super) const fn days(self) -> u32 {
        let past_years = self.year.wrapping_sub(1);
        let leap_days = (past_years / 4)
            .wrapping_sub(past_years / 100)
            .wrapping_add(past_years / 400);
        let past_months = self.month.wrapping_mul(367).wrapping_sub(362) / 12;
        let february = match (self.month <= 2, is_leap_year(self.year)) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        };
        past_years
            .wrapping_mul(365)
            .wrapping_add(leap_days)
            .wrapping_add(past_months)
            .wrapping_sub(february)
            .wrapping_add(self.day)
            .wrapping_sub(1)
    }
}

/// How many days `month` (1 to 12) of `year` has.
pub(super) const fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Divisible by 4; a full century by 400, which for a multiple of 25 and 4 is by 25 and 16.
const fn is_leap_year(year: u32) -> bool {
    if year.is_multiple_of(25) {
        year.is_multiple_of(16)
    } else {
        year.is_multiple_of(4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_all_years_agrees_with_jiff() {
        let mut oracle = jiff::civil::date(1, 1, 1);
        for days in 0..=MAX_DAYS {
            let date = Date::from_days(days);
            let expected = (oracle.year(), oracle.month(), oracle.day());
            assert_eq!(
                (date.year as i16, date.month as i8, date.day as i8),
                expected
            );
            assert_eq!(date.days(), days, "{date:?}");
            assert_eq!(
                days_in_month(date.year, date.month),
                oracle.days_in_month() as u32
            );
            if days < MAX_DAYS {
                oracle = oracle.tomorrow().unwrap();
            }
        }
        assert_eq!(oracle, jiff::civil::date(9999, 12, 31));
    }
}
