//! The quick way through what the sink does not hear of: most of a body.

use super::text::plain_length;
use super::{DEPTH_MAX, JsonReader, Sink, State, Want};
use crate::protocol::BadAnswer;

impl JsonReader {
    /// Reads members whose keys are announced, as long as the key, and the value where it is a
    /// string, are plain and whole; returns the rest.
    ///
    /// As [`skim`](Self::skim), it is only a shorter way to the same state.
    pub(super) fn members<'c>(
        &mut self,
        sink: &mut dyn Sink,
        bytes: &'c [u8],
    ) -> Result<&'c [u8], BadAnswer> {
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
    ///
    /// It stops in front of all else, errors too, and the general rules go on from there: it is
    /// only ever a shorter way to the same state.
    pub(super) fn skim<'c>(&mut self, sink: &mut dyn Sink, bytes: &'c [u8]) -> &'c [u8] {
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
                    (State::after_open(is_object), after)
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
