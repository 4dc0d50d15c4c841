//! The grammar of a number (RFC 8259 section 6).

/// What of a number was read last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// `-`.
    Minus,
    /// A first `0`, which no digit may follow.
    Zero,
    /// Digits before the point.
    Digits,
    /// The point.
    Point,
    /// Digits after it.
    Fraction,
    /// `e` or `E`.
    Exponent,
    /// The exponent's sign.
    ExponentSign,
    /// The exponent's digits.
    ExponentDigits,
}

impl Number {
    /// What is read after `byte`; `None` where `byte` can't go on with the number.
    pub(super) const fn next(self, byte: u8) -> Option<Self> {
        match (self, byte) {
            (Self::Minus, b'0') => Some(Self::Zero),
            (Self::Minus, b'1'..=b'9') | (Self::Digits, b'0'..=b'9') => Some(Self::Digits),
            (Self::Zero | Self::Digits, b'.') => Some(Self::Point),
            (Self::Point | Self::Fraction, b'0'..=b'9') => Some(Self::Fraction),
            (Self::Zero | Self::Digits | Self::Fraction, b'e' | b'E') => Some(Self::Exponent),
            (Self::Exponent, b'+' | b'-') => Some(Self::ExponentSign),
            (Self::Exponent | Self::ExponentSign | Self::ExponentDigits, b'0'..=b'9') => {
                Some(Self::ExponentDigits)
            }
            _ => None,
        }
    }

    /// Whether a number may end here.
    pub(super) const fn may_end(self) -> bool {
        match self {
            Self::Zero | Self::Digits | Self::Fraction | Self::ExponentDigits => true,
            Self::Minus | Self::Point | Self::Exponent | Self::ExponentSign => false,
        }
    }
}
