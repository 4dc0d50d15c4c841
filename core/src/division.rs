//! Division of 64-bit numbers without the half kilobyte that small processors need for it.

/// `number / divisor` and the remainder. A `divisor` of 0 gives a quotient that means nothing, and
/// so does one above 2³¹.
#[must_use]
pub(crate) const fn divide(number: u64, divisor: u32) -> (u64, u32) {
    #[cfg(target_pointer_width = "64")]
    if let (Some(quotient), Some(remainder)) = (
        number.checked_div(divisor as u64),
        number.checked_rem(divisor as u64),
    ) {
        return (quotient, remainder as u32);
    }
    by_hand(number, divisor)
}

/// As on paper, in binary digits.
const fn by_hand(number: u64, divisor: u32) -> (u64, u32) {
    let mut digits = number;
    let mut remainder = 0_u32;
    let mut left = u64::BITS;
    while let Some(fewer) = left.checked_sub(1) {
        remainder = remainder << 1 | (digits >> 63) as u32;
        digits <<= 1;
        if let Some(rest) = remainder.checked_sub(divisor) {
            remainder = rest;
            digits |= 1;
        }
        left = fewer;
    }
    (digits, remainder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_agree_with_the_processor() {
        for divisor in [1, 7, 1_000, 86_400, 1_000_000, 1 << 31] {
            let mut number = u64::MAX;
            while number > 0 {
                for near in [number - 1, number, number.saturating_add(1)] {
                    let whole = u64::from(divisor);
                    let expected = (near / whole, (near % whole) as u32);
                    assert_eq!(divide(near, divisor), expected, "{near} / {divisor}");
                    assert_eq!(by_hand(near, divisor), expected, "{near} / {divisor}");
                }
                number = number / 7 * 5;
            }
        }
    }

    #[test]
    fn nothing_is_divided_by_nothing_and_nothing_panics() {
        let (_, remainder) = divide(9, 0);
        assert_eq!(remainder, 9);
    }
}
