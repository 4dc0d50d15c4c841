//! The short ways, which the feature `fast` adds: most of a body goes through them.
//!
//! Each stops in front of what it does not know, errors too, and the general rules go on from
//! there: a short way only ever leads to the same state.

use core::mem::size_of;

use super::{DEPTH_MAX, JsonReader, Sink, State, Want};
use crate::protocol::BadAnswer;

impl JsonReader {
    /// Reads as much as the short ways can; returns the rest.
    pub(super) fn short_ways<'c>(
        &mut self,
        sink: &mut dyn Sink,
        bytes: &'c [u8],
    ) -> Result<&'c [u8], BadAnswer> {
        if self.state == State::Text {
            return self.run(sink, bytes);
        }
        if !self.state.is_between_tokens() {
            return Ok(bytes);
        }
        if !self.is_watched() {
            return Ok(self.skim(sink, bytes));
        }
        if matches!(self.state, State::KeyOrEnd | State::Key) {
            return self.members(sink, bytes);
        }
        Ok(bytes)
    }

    /// Reads plain bytes of a string.
    fn run<'c>(&self, sink: &mut dyn Sink, bytes: &'c [u8]) -> Result<&'c [u8], BadAnswer> {
        let (plain, rest) = bytes
            .split_at_checked(plain_length(bytes))
            .unwrap_or((bytes, &[]));
        if plain.is_empty() {
            return Ok(rest);
        }
        if self.raw {
            sink.raw(plain);
        }
        if self.heard && self.is_key {
            sink.key_piece(plain);
        } else if self.heard {
            sink.piece(plain)?;
        }
        Ok(rest)
    }

    /// Reads members whose keys are announced, as long as the key, and the value where it is a
    /// string, are plain and whole; returns the rest.
    fn members<'c>(&mut self, sink: &mut dyn Sink, bytes: &'c [u8]) -> Result<&'c [u8], BadAnswer> {
        let mut rest = bytes;
        while let Some((quoted, [b':', value @ ..])) = whole_text(rest) {
            rest = value;
            sink.key_begin();
            sink.raw(quoted);
            self.want = sink.key_end(Some(unquoted(quoted)))?;
            self.raw = self.want == Want::Raw;
            self.state = State::Value;
            let is_heard = self.want == Want::Text;
            if !is_heard && self.want != Want::Skip {
                break;
            }
            let Some((quoted, after)) = whole_text(value) else {
                break;
            };
            if is_heard {
                sink.piece(unquoted(quoted))?;
                sink.end()?;
            }
            self.state = State::CommaOrEnd;
            rest = after;
            let [b',', after @ ..] = after else {
                break;
            };
            self.state = State::Key;
            rest = after;
        }
        Ok(rest)
    }

    /// Reads whole plain strings and the punctuation around them, inside a value whose keys are
    /// not announced; returns the rest.
    fn skim<'c>(&mut self, sink: &mut dyn Sink, bytes: &'c [u8]) -> &'c [u8] {
        let (mut state, mut depth, mut braces) = (self.state, self.depth, self.braces);
        let mut rest = bytes;
        loop {
            let is_in_object = braces & 1 == 1;
            if let (State::CommaOrEnd, [b',', after @ ..]) = (state, rest) {
                (state, rest) = (State::after_comma(is_in_object), after);
            }
            if matches!(state, State::KeyOrEnd | State::Key)
                && let Some((_, [b':', value @ ..])) = whole_text(rest)
            {
                (state, rest) = (State::Value, value);
            }
            let is_value = matches!(state, State::Value | State::ValueOrEnd);
            (state, rest) = match rest {
                [b'"', ..] if is_value => match whole_text(rest) {
                    Some((_, after)) => (State::CommaOrEnd, after),
                    None => break,
                },
                // What managed fields are made of.
                [b'{', b'}', after @ ..] if is_value && depth < DEPTH_MAX => {
                    (State::CommaOrEnd, after)
                }
                [open @ (b'{' | b'['), after @ ..] if is_value && depth < DEPTH_MAX => {
                    let is_object = *open == b'{';
                    depth = depth.saturating_add(1);
                    braces = (braces << 1) | u32::from(is_object);
                    (after_open(is_object), after)
                }
                [close @ (b'}' | b']'), after @ ..]
                    if state.may_close()
                        && is_in_object == (*close == b'}')
                        && depth.saturating_sub(1) > self.watched =>
                {
                    depth = depth.saturating_sub(1);
                    braces >>= 1;
                    (State::CommaOrEnd, after)
                }
                _ => break,
            };
        }
        (self.state, self.depth, self.braces) = (state, depth, braces);
        let (skimmed, _) = bytes
            .split_at_checked(bytes.len().saturating_sub(rest.len()))
            .unwrap_or_default();
        if self.raw && !skimmed.is_empty() {
            sink.raw(skimmed);
        }
        rest
    }
}

/// A string with its quotes, where `bytes` begin with one that is plain and whole, and the rest.
fn whole_text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let [b'"', text @ ..] = bytes else {
        return None;
    };
    let length = plain_length(text);
    let Some([b'"', ..]) = text.get(length..) else {
        return None;
    };
    bytes.split_at_checked(length.saturating_add(2))
}

fn unquoted(quoted: &[u8]) -> &[u8] {
    match quoted {
        [b'"', text @ .., b'"'] => text,
        _ => quoted,
    }
}

const fn after_open(is_object: bool) -> State {
    if is_object {
        State::KeyOrEnd
    } else {
        State::ValueOrEnd
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
