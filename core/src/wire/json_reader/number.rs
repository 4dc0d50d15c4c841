//! The grammar of a number (RFC 8259 section 6).

use super::{JsonReader, Sink, State};
use crate::protocol::BadAnswer;

impl JsonReader {
    /// Whether `byte` goes on with the number; the state is then the one after it.
    pub(super) const fn goes_on(&mut self, byte: u8) -> bool {
        self.state = match (self.state, byte) {
            (State::Minus, b'0') => State::Zero,
            (State::Minus | State::Digits, b'0'..=b'9') => State::Digits,
            (State::Point | State::Fraction, b'0'..=b'9') => State::Fraction,
            (State::Exponent | State::ExponentSign | State::ExponentDigits, b'0'..=b'9') => {
                State::ExponentDigits
            }
            (State::Zero | State::Digits, b'.') => State::Point,
            (State::Zero | State::Digits | State::Fraction, b'e' | b'E') => State::Exponent,
            (State::Exponent, b'+' | b'-') => State::ExponentSign,
            _ => return false,
        };
        true
    }

    /// Ends the number, where it may end.
    pub(super) fn number_end(&mut self, sink: &mut dyn Sink) -> Result<(), BadAnswer> {
        let is_cut = matches!(
            self.state,
            State::Minus | State::Point | State::Exponent | State::ExponentSign
        );
        if is_cut {
            return Err(BadAnswer::Malformed);
        }
        if self.heard {
            sink.end()?;
        }
        self.value_end(sink);
        Ok(())
    }
}
