//! The short ways, which the feature `fast` adds: most of a body goes through them.
//!
//! Each stops in front of what it does not know, errors too, and the general rules go on from
//! there: a short way only ever leads to the same state.

use super::super::scan::before_special;
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
            .split_at_checked(before_special(bytes))
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
    /// string or a number, are plain and whole; returns the rest.
    fn members<'c>(&mut self, sink: &mut dyn Sink, bytes: &'c [u8]) -> Result<&'c [u8], BadAnswer> {
        let mut rest = bytes;
        while let Some((quoted, [b':', value @ ..])) = whole_text(rest) {
            rest = value;
            sink.key_begin();
            sink.raw(quoted);
            self.want = sink.key_end(Some(unquoted(quoted)))?;
            self.raw = self.want == Want::Raw;
            self.state = State::Value;
            let whole = match self.want {
                Want::Text | Want::Skip => whole_text(value),
                Want::Number => whole_number(value),
                Want::Raw | Want::Object | Want::Array => None,
            };
            let Some((text, after)) = whole else {
                break;
            };
            if self.want != Want::Skip {
                sink.piece(unquoted(text))?;
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
    let length = before_special(text);
    let Some([b'"', ..]) = text.get(length..) else {
        return None;
    };
    bytes.split_at_checked(length.saturating_add(2))
}

/// A number of digits alone, where it is whole, and the rest.
fn whole_number(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = bytes.iter().position(|byte| !byte.is_ascii_digit())?;
    let (number, rest) = bytes.split_at_checked(length)?;
    match (number, rest) {
        ([b'1'..=b'9', ..], [b',' | b'}', ..]) => Some((number, rest)),
        _ => None,
    }
}

/// A string without its quotes; a number as it is.
fn unquoted(text: &[u8]) -> &[u8] {
    match text {
        [b'"', inner @ .., b'"'] => inner,
        _ => text,
    }
}

const fn after_open(is_object: bool) -> State {
    if is_object {
        State::KeyOrEnd
    } else {
        State::ValueOrEnd
    }
}
