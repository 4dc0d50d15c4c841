//! The quick way through what the sink does not hear of: most of a body.

use super::text::plain_length;
use super::{DEPTH_MAX, JsonReader, KEY_MAX, Sink, State, Want};
use crate::protocol::BadAnswer;

impl JsonReader {
    /// Reads a member whose key is announced, where the key, and its value if that is a string,
    /// are plain and whole; returns the rest, which is all where they are not.
    ///
    /// As [`skim`](Self::skim), it is only a shorter way to the same state.
    pub(super) fn member<'c, S: Sink>(
        &mut self,
        sink: &mut S,
        bytes: &'c [u8],
    ) -> Result<&'c [u8], BadAnswer> {
        let Some((quoted, [b':', rest @ ..])) = whole_text(bytes) else {
            return Ok(bytes);
        };
        sink.key_begin();
        sink.raw(quoted);
        let key = unquoted(quoted);
        self.want = sink.key_end((key.len() <= KEY_MAX).then_some(key))?;
        self.raw = self.want == Want::Raw;
        self.state = State::Value;
        let is_heard = self.want == Want::Text;
        if !is_heard && self.want != Want::Skip {
            return Ok(rest);
        }
        let Some((quoted, rest)) = whole_text(rest) else {
            return Ok(rest);
        };
        if is_heard {
            sink.piece(unquoted(quoted))?;
            sink.end()?;
        }
        if let [b',', rest @ ..] = rest {
            self.state = State::Key;
            return Ok(rest);
        }
        self.state = State::CommaOrEnd;
        Ok(rest)
    }

    /// Reads whole plain strings and the punctuation around them, inside a value whose keys are
    /// not announced; returns the rest.
    ///
    /// It stops in front of all else, errors too, and the general rules go on from there: it is
    /// only ever a shorter way to the same state.
    pub(super) fn skim<'c, S: Sink>(&mut self, sink: &mut S, bytes: &'c [u8]) -> &'c [u8] {
        let (mut state, mut depth, mut braces) = (self.state, self.depth, self.braces);
        let mut rest = bytes;
        while let Some((byte, after)) = rest.split_first() {
            let is_in_object = braces & 1 == 1;
            let (next, after) = match (state, *byte) {
                (State::KeyOrEnd | State::Key, b'"') => match whole_text(rest) {
                    // What managed fields are made of.
                    Some((_, [b':', b'{', b'}', after @ ..])) if depth < DEPTH_MAX => {
                        (State::CommaOrEnd, after)
                    }
                    Some((_, [b':', after @ ..])) => (State::Value, after),
                    Some(_) | None => break,
                },
                (State::Value | State::ValueOrEnd, b'"') => match whole_text(rest) {
                    Some((_, after)) => (State::CommaOrEnd, after),
                    None => break,
                },
                (State::Value | State::ValueOrEnd, b'{' | b'[') if depth < DEPTH_MAX => {
                    depth = depth.saturating_add(1);
                    braces = (braces << 1) | u32::from(*byte == b'{');
                    (if *byte == b'{' { State::KeyOrEnd } else { State::ValueOrEnd }, after)
                }
                (State::CommaOrEnd, b',') => {
                    (if is_in_object { State::Key } else { State::Value }, after)
                }
                (State::CommaOrEnd | State::KeyOrEnd, b'}')
                    if is_in_object && depth.saturating_sub(1) > self.watched =>
                {
                    depth = depth.saturating_sub(1);
                    braces >>= 1;
                    (State::CommaOrEnd, after)
                }
                (State::CommaOrEnd | State::ValueOrEnd, b']')
                    if !is_in_object && depth.saturating_sub(1) > self.watched =>
                {
                    depth = depth.saturating_sub(1);
                    braces >>= 1;
                    (State::CommaOrEnd, after)
                }
                _ => break,
            };
            state = next;
            rest = after;
        }
        (self.state, self.depth, self.braces) = (state, depth, braces);
        let (skimmed, _) = bytes
            .split_at_checked(bytes.len().saturating_sub(rest.len()))
            .unwrap_or_default();
        self.emit_raw(sink, skimmed);
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
