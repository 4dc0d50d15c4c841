//! Lengths of time, and sums with them, without a 64-bit division.
//!
//! A length is written as the instant that long after [`Timestamp::MIN`], so that it needs no type
//! and no bounds of its own.

use super::civil::MAX_DAYS;
use super::{MAX_MICROS, SECONDS_PER_DAY, Timestamp};

impl Timestamp {
    /// A length in milliseconds; `None` if it is longer than from `MIN` to `MAX`.
    pub(super) const fn from_millis(millis: u64) -> Option<Self> {
        if millis > MAX_MILLIS {
            None
        } else {
            Self::from_micros(millis.wrapping_mul(1000))
        }
    }

    /// A length in microseconds; `None` if it is longer than from `MIN` to `MAX`.
    pub(super) const fn from_micros(micros: u64) -> Option<Self> {
        let (seconds, micros) = split_micros(micros);
        Self::from_seconds(seconds, micros)
    }

    /// A length in seconds and microseconds; `None` if it is longer than from `MIN` to `MAX`, or
    /// `micros` is a whole second.
    ///
    /// A day has 675 · 2⁷ seconds, and all seconds up to `MAX` shifted by 7 fit in 32 bits.
    pub(super) const fn from_seconds(seconds: u64, micros: u32) -> Option<Self> {
        if seconds > Self::MAX.total_seconds() || micros > MAX_MICROS {
            return None;
        }
        let units = (seconds >> 7) as u32;
        let low = (seconds & 0x7f) as u32;
        Some(Self {
            days: units / 675,
            seconds: (units % 675) << 7 | low,
            micros,
        })
    }

    /// The whole seconds of a length.
    pub(super) const fn total_seconds(self) -> u64 {
        ((self.days.wrapping_mul(675) as u64) << 7).wrapping_add(self.seconds as u64)
    }

    /// `None` after `MAX`.
    pub(super) const fn plus(self, length: Self) -> Option<Self> {
        // Each sum is at most twice its bound, so none wraps.
        let micros = self.micros.wrapping_add(length.micros);
        let (micros, carried) = carry(micros, 1_000_000);
        let seconds = self
            .seconds
            .wrapping_add(length.seconds)
            .wrapping_add(carried);
        let (seconds, carried) = carry(seconds, SECONDS_PER_DAY);
        let days = self.days.wrapping_add(length.days).wrapping_add(carried);
        if days > MAX_DAYS {
            None
        } else {
            Some(Self {
                days,
                seconds,
                micros,
            })
        }
    }

    /// `None` before `MIN`.
    pub(super) const fn minus(self, length: Self) -> Option<Self> {
        let (micros, borrowed) = borrow(self.micros, length.micros, 1_000_000);
        let taken = length.seconds.wrapping_add(borrowed);
        let (seconds, borrowed) = borrow(self.seconds, taken, SECONDS_PER_DAY);
        match self.days.checked_sub(length.days.wrapping_add(borrowed)) {
            Some(days) => Some(Self {
                days,
                seconds,
                micros,
            }),
            None => None,
        }
    }
}

/// Whole seconds in `micros`, and the microseconds left over.
///
/// A million is 15625 · 2⁶. What is left after the shift is divided as on paper, in four digits of
/// 16 bits: the remainder and one more digit fit in 32 bits.
const fn split_micros(micros: u64) -> (u64, u32) {
    let mut digits = micros >> 6;
    let mut quotient = 0;
    let mut remainder = 0_u32;
    let mut left = 4_u32;
    while let Some(fewer) = left.checked_sub(1) {
        let part = remainder << 16 | (digits >> 48) as u32;
        quotient = quotient << 16 | (part / 15_625) as u64;
        remainder = part % 15_625;
        digits <<= 16;
        left = fewer;
    }
    (quotient, remainder << 6 | (micros & 0x3f) as u32)
}

/// Brings a sum below twice `bound` under it, with what is carried into the next unit.
const fn carry(sum: u32, bound: u32) -> (u32, u32) {
    match sum.checked_sub(bound) {
        Some(rest) => (rest, 1),
        None => (sum, 0),
    }
}

/// `from − taken`, both at most `bound`, and what is borrowed from the next unit to do it.
const fn borrow(from: u32, taken: u32, bound: u32) -> (u32, u32) {
    match from.checked_sub(taken) {
        Some(rest) => (rest, 0),
        None => (from.wrapping_add(bound).wrapping_sub(taken), 1),
    }
}

/// More than from [`Timestamp::MIN`] to [`Timestamp::MAX`], and its microseconds fit in 64 bits.
const MAX_MILLIS: u64 = u64::MAX / 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_split_like_a_64_bit_division() {
        let mut micros = u64::MAX;
        while micros > 0 {
            for near in [micros - 1, micros, micros.saturating_add(1)] {
                let (seconds, rest) = split_micros(near);
                assert_eq!(
                    (seconds, u64::from(rest)),
                    (near / 1_000_000, near % 1_000_000)
                );
            }
            micros = micros / 7 * 5;
        }
    }
}
