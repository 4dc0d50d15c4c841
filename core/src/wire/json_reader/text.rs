//! Strings: plain bytes, escapes, surrogate pairs, and the encoding of each character.

use super::{JsonReader, Sink, State, Want};
use crate::protocol::BadAnswer;
use crate::text::{ANY_TAIL, utf8_tail};

impl JsonReader {
    /// Takes a byte of a string.
    pub(super) fn in_text(&mut self, sink: &mut dyn Sink, byte: u8) -> Result<(), BadAnswer> {
        let (mut state, mut heard) = (State::Text, byte);
        match self.state {
            State::Text if byte == b'"' => return self.text_end(sink),
            State::Text if byte == b'\\' => {
                self.state = State::Escape;
                return Ok(());
            }
            State::Text if byte < 0x20 => return Err(BadAnswer::Malformed),
            State::Text if byte < 0x80 => {}
            State::Text => {
                (self.left, self.tail) = utf8_tail(byte).ok_or(BadAnswer::Malformed)?;
                state = State::Utf8;
            }
            State::Utf8 => {
                if byte < self.tail.0 || byte > self.tail.1 {
                    return Err(BadAnswer::Malformed);
                }
                self.tail = ANY_TAIL;
                self.left = self.left.saturating_sub(1);
                if self.left > 0 {
                    state = State::Utf8;
                }
            }
            State::Escape | State::LowU if byte == b'u' => {
                self.unit = 0;
                self.left = 4;
                self.state = State::Hex;
                return Ok(());
            }
            State::Escape => heard = unescape(byte).ok_or(BadAnswer::Malformed)?,
            State::Hex => return self.hex(sink, byte),
            State::LowSlash if byte == b'\\' => {
                self.state = State::LowU;
                return Ok(());
            }
            State::LowSlash
            | State::LowU
            | State::Start
            | State::Value
            | State::ValueOrEnd
            | State::KeyOrEnd
            | State::Key
            | State::Colon
            | State::CommaOrEnd
            | State::Done
            | State::Literal
            | State::Minus
            | State::Zero
            | State::Digits
            | State::Point
            | State::Fraction
            | State::Exponent
            | State::ExponentSign
            | State::ExponentDigits => return Err(BadAnswer::Malformed),
        }
        self.state = state;
        self.hear(sink, heard)
    }

    /// Takes a digit of a code unit; a surrogate without its other half is an error.
    fn hex(&mut self, sink: &mut dyn Sink, byte: u8) -> Result<(), BadAnswer> {
        let digit = hex_value(byte).ok_or(BadAnswer::Malformed)?;
        self.unit = (self.unit << 4) | digit;
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return Ok(());
        }
        let unit = u32::from(self.unit);
        let high = u32::from(core::mem::take(&mut self.high));
        let point = match (high, unit) {
            (0, 0xd800..=0xdbff) => {
                self.high = self.unit;
                self.state = State::LowSlash;
                return Ok(());
            }
            (0, 0..=0xd7ff | 0xe000..) => unit,
            (1.., 0xdc00..=0xdfff) => joined(high, unit),
            _ => return Err(BadAnswer::Malformed),
        };
        self.state = State::Text;
        self.hear_point(sink, point)
    }

    /// Hands on the character `point` in UTF-8.
    fn hear_point(&self, sink: &mut dyn Sink, point: u32) -> Result<(), BadAnswer> {
        if point < 0x80 {
            return self.hear(sink, point as u8);
        }
        let mut left = 1_u32
            .wrapping_add(u32::from(point >= 0x800))
            .wrapping_add(u32::from(point >= 0x1_0000));
        let mut bits = 0xff_u32.wrapping_shl(7_u32.wrapping_sub(left));
        let mut mask = 0x7f_u32.wrapping_shr(left);
        loop {
            bits |= point.wrapping_shr(left.wrapping_mul(6)) & mask;
            self.hear(sink, bits as u8)?;
            (bits, mask) = (0x80, 0x3f);
            let Some(fewer) = left.checked_sub(1) else {
                return Ok(());
            };
            left = fewer;
        }
    }

    fn text_end(&mut self, sink: &mut dyn Sink) -> Result<(), BadAnswer> {
        if !self.is_key {
            if self.heard {
                sink.end()?;
            }
            self.value_end(sink);
            return Ok(());
        }
        self.state = State::Colon;
        if self.heard {
            self.want = sink.key_end(None)?;
            self.raw = self.want == Want::Raw;
        }
        Ok(())
    }
}

/// What `\\` and `byte` stand for, but for `\\u`.
pub(crate) const fn unescape(byte: u8) -> Option<u8> {
    match byte {
        b'"' | b'\\' | b'/' => Some(byte),
        b'b' => Some(0x08),
        b'f' => Some(0x0c),
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        b't' => Some(b'\t'),
        _ => None,
    }
}

/// The value of a digit of `\\u`.
pub(crate) fn hex_value(byte: u8) -> Option<u16> {
    let value = match byte {
        b'0'..=b'9' => byte.wrapping_sub(b'0'),
        b'a'..=b'f' => byte.wrapping_sub(b'a').wrapping_add(10),
        b'A'..=b'F' => byte.wrapping_sub(b'A').wrapping_add(10),
        _ => return None,
    };
    Some(u16::from(value))
}

/// The character that a pair of surrogates stands for.
const fn joined(high: u32, low: u32) -> u32 {
    (((high & 0x3ff) << 10) | (low & 0x3ff)).wrapping_add(0x1_0000)
}
