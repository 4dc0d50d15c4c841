//! Strings: runs of plain bytes, escapes, surrogate pairs, and the encoding of each character.

use core::mem::size_of;

use super::{JsonReader, Sink, State, Want};
use crate::protocol::BadAnswer;

/// Which continuation bytes have to follow in a character of several bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Utf8Tail {
    /// How many.
    left: u8,
    /// The least that the next one may be: this keeps out overlong forms.
    low: u8,
    /// The greatest: this keeps out surrogates and what lies past U+10FFFF.
    high: u8,
}

impl Utf8Tail {
    /// What follows `first` (Unicode 15 table 3-7); `None` where no character begins with it.
    const fn after(first: u8) -> Option<Self> {
        let (left, low, high) = match first {
            0xc2..=0xdf => (1, 0x80, 0xbf),
            0xe0 => (2, 0xa0, 0xbf),
            0xe1..=0xec | 0xee | 0xef => (2, 0x80, 0xbf),
            0xed => (2, 0x80, 0x9f),
            0xf0 => (3, 0x90, 0xbf),
            0xf1..=0xf3 => (3, 0x80, 0xbf),
            0xf4 => (3, 0x80, 0x8f),
            _ => return None,
        };
        Some(Self { left, low, high })
    }
}

impl JsonReader {
    /// Reads plain bytes and the one after them; returns the rest.
    pub(super) fn text<'c>(
        &mut self,
        sink: &mut dyn Sink,
        bytes: &'c [u8],
    ) -> Result<&'c [u8], BadAnswer> {
        let (plain, rest) = bytes
            .split_at_checked(plain_length(bytes))
            .unwrap_or((bytes, &[]));
        if !plain.is_empty() {
            self.emit_raw(sink, plain);
            self.hear(sink, plain)?;
        }
        let Some((byte, rest)) = rest.split_first() else {
            return Ok(rest);
        };
        if *byte < 0x20 {
            return Err(BadAnswer::Malformed);
        }
        self.emit_raw(sink, &[*byte]);
        match *byte {
            b'"' => self.text_end(sink)?,
            b'\\' => self.state = State::Escape,
            first => {
                let tail = Utf8Tail::after(first).ok_or(BadAnswer::Malformed)?;
                self.state = State::Utf8(tail);
                self.hear(sink, &[first])?;
            }
        }
        Ok(rest)
    }

    /// Takes a byte inside an escape or a character of several bytes.
    pub(super) fn in_character(&mut self, sink: &mut dyn Sink, byte: u8) -> Result<(), BadAnswer> {
        self.emit_raw(sink, &[byte]);
        self.state = match self.state {
            State::Utf8(tail) => {
                if byte < tail.low || byte > tail.high {
                    return Err(BadAnswer::Malformed);
                }
                self.hear(sink, &[byte])?;
                let left = tail.left.saturating_sub(1);
                if left == 0 {
                    State::Text
                } else {
                    State::Utf8(Utf8Tail {
                        left,
                        low: 0x80,
                        high: 0xbf,
                    })
                }
            }
            State::Escape if byte == b'u' => {
                self.unit = 0;
                State::Hex(4)
            }
            State::Escape => {
                let byte = unescape(byte).ok_or(BadAnswer::Malformed)?;
                self.hear(sink, &[byte])?;
                State::Text
            }
            State::Hex(left) => {
                let digit = hex_value(byte).ok_or(BadAnswer::Malformed)?;
                self.unit = (self.unit << 4) | digit;
                if left > 1 {
                    State::Hex(left.saturating_sub(1))
                } else {
                    self.unit_end(sink)?
                }
            }
            State::LowSlash if byte == b'\\' => State::LowU,
            State::LowU if byte == b'u' => {
                self.unit = 0;
                State::Hex(4)
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
            | State::Literal(_)
            | State::Number(_)
            | State::Text => return Err(BadAnswer::Malformed),
        };
        Ok(())
    }

    /// Takes a whole code unit; a surrogate without its other half is an error.
    fn unit_end(&mut self, sink: &mut dyn Sink) -> Result<State, BadAnswer> {
        let unit = u32::from(self.unit);
        let high = u32::from(core::mem::take(&mut self.high));
        let point = match (high, unit) {
            (0, 0xd800..=0xdbff) => {
                self.high = self.unit;
                return Ok(State::LowSlash);
            }
            (0, 0xdc00..=0xdfff) => return Err(BadAnswer::Malformed),
            (0, _) => unit,
            (_, 0xdc00..=0xdfff) => joined(high, unit),
            (_, _) => return Err(BadAnswer::Malformed),
        };
        let (bytes, length) = utf8(point);
        self.hear(sink, bytes.get(..length).unwrap_or_default())?;
        Ok(State::Text)
    }

    fn hear(&mut self, sink: &mut dyn Sink, piece: &[u8]) -> Result<(), BadAnswer> {
        if !self.heard {
            return Ok(());
        }
        if !self.is_key {
            return sink.piece(piece);
        }
        sink.key_piece(piece);
        Ok(())
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

/// How many bytes from the start stand for themselves in a string: no quote, backslash or control
/// character, and nothing past ASCII. A word at a time, since most of a body is such text.
pub(super) fn plain_length(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<{ size_of::<usize>() }>();
    let mut length = 0_usize;
    for word in words {
        let special = special_bytes(usize::from_le_bytes(*word));
        if special != 0 {
            return length.wrapping_add((special.trailing_zeros() >> 3) as usize);
        }
        length = length.wrapping_add(size_of::<usize>());
    }
    let plain = rest
        .iter()
        .position(|byte| !is_plain(*byte))
        .unwrap_or(rest.len());
    length.wrapping_add(plain)
}

/// The high bit of each byte that is not plain; exact for the lowest such byte, which is all that
/// is asked.
///
/// A byte below `n` sets its high bit when `n` is taken away, and so does one from `n + 0x80` on,
/// which is past ASCII and not plain either. What is carried reaches only bytes above the first.
const fn special_bytes(word: usize) -> usize {
    const ONES: usize = usize::MAX / 255;
    let control = word.wrapping_sub(ONES.wrapping_mul(0x20));
    let quote = (word ^ ONES.wrapping_mul(b'"' as usize)).wrapping_sub(ONES);
    let slash = (word ^ ONES.wrapping_mul(b'\\' as usize)).wrapping_sub(ONES);
    (control | quote | slash | word) & (ONES << 7)
}

const fn is_plain(byte: u8) -> bool {
    matches!(byte, 0x20..=0x7f) && byte != b'"' && byte != b'\\'
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

/// The character `point`, which is no surrogate, in UTF-8, and the length of that.
///
/// `char::encode_utf8` has a panic for buffers that are too small.
const fn utf8(point: u32) -> ([u8; 4], usize) {
    const fn tail(bits: u32) -> u8 {
        0x80 | (bits & 0x3f) as u8
    }
    match point {
        0..=0x7f => ([point as u8, 0, 0, 0], 1),
        0x80..=0x7ff => ([0xc0 | (point >> 6) as u8, tail(point), 0, 0], 2),
        0x800..=0xffff => (
            [0xe0 | (point >> 12) as u8, tail(point >> 6), tail(point), 0],
            3,
        ),
        _ => (
            [
                0xf0 | (point >> 18) as u8,
                tail(point >> 12),
                tail(point >> 6),
                tail(point),
            ],
            4,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_plain_bytes_ends_at_the_first_other_one() {
        for first in 0..=255_u8 {
            for second in [b'"', b'\\', 0, 0x1f, b' ', b'a', 0x7f, 0x80, 0xa0, 0xff] {
                for place in 0..20 {
                    let mut bytes = [b'a'; 24];
                    bytes[place] = first;
                    bytes[place + 1] = second;
                    let expected = bytes.iter().position(|byte| !is_plain(*byte));
                    assert_eq!(
                        plain_length(&bytes),
                        expected.unwrap_or(bytes.len()),
                        "{bytes:?}"
                    );
                }
            }
        }
    }
}
