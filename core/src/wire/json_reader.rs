//! A push reader for JSON: bytes in, in any split; keys, wanted values and raw pieces out.
//!
//! Own code, because every library either wants the whole body in memory or a scratch buffer as
//! long as the longest string of the body, wanted or not. This one needs the same few bytes for
//! each body, does not recurse, and takes RFC 8259 at its word: control characters in strings, lone
//! surrogates, bad UTF-8, `01` and trailing bytes are errors.
//!
//! The reader announces the keys of an object only where the [`Sink`] wanted that object; all that
//! lies deeper is checked for grammar and forgotten.

mod literal;
mod number;
mod skim;
mod text;

use self::literal::Literal;
use self::number::Number;
use self::text::Utf8Tail;
pub(super) use self::text::{hex_value, unescape};
use crate::protocol::BadAnswer;

/// Deepest nesting that is read: a Lease with managed fields has 7 levels, and this many fit into
/// one bit each of a word.
pub(crate) const DEPTH_MAX: u8 = 32;

/// What a sink wants of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// Nothing.
    Skip,
    /// The text as it is, without the blanks between tokens.
    Raw,
    /// An object, with its keys announced, or `null`.
    Object,
    /// An array of objects, with their keys announced, or `null`.
    Array,
    /// A string, or `null`.
    Text,
    /// A number, or `null`.
    Number,
}

/// Takes what a reader finds. All `Err` end the reading.
pub(crate) trait Sink {
    /// A key begins; its pieces follow, raw ones and others.
    fn key_begin(&mut self);
    /// A piece of the key, without escapes.
    fn key_piece(&mut self, piece: &[u8]);
    /// The key has ended: it is `whole`, or where that is `None` the pieces together. What of its
    /// value?
    fn key_end(&mut self, whole: Option<&[u8]>) -> Result<Want, BadAnswer>;
    /// The wanted object, array, or object of an array begins.
    fn open(&mut self);
    /// It has ended.
    fn close(&mut self);
    /// A piece of the wanted string, without escapes, or of the wanted number.
    fn piece(&mut self, piece: &[u8]) -> Result<(), BadAnswer>;
    /// The wanted string or number has ended.
    fn end(&mut self) -> Result<(), BadAnswer>;
    /// The wanted value is `null`.
    fn null(&mut self);
    /// A raw piece of a key or of a value wanted raw.
    fn raw(&mut self, piece: &[u8]);
    /// The value wanted raw has ended.
    fn raw_end(&mut self);
}

/// Where in the grammar the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing but blanks came yet.
    Start,
    /// A value has to follow.
    Value,
    /// After `[`: a value or `]`.
    ValueOrEnd,
    /// After `{`: a key or `}`.
    KeyOrEnd,
    /// After `,` in an object.
    Key,
    /// After a key.
    Colon,
    /// After a value: `,` or the end of what holds it.
    CommaOrEnd,
    /// Only blanks may follow.
    Done,
    /// In `true`, `false` or `null`.
    Literal(Literal),
    /// In a number.
    Number(Number),
    /// In a string.
    Text,
    /// After `\`.
    Escape,
    /// After `\u`, with this many digits to come.
    Hex(u8),
    /// After a high surrogate: `\`.
    LowSlash,
    /// After a high surrogate and `\`: `u`.
    LowU,
    /// In a character of several bytes.
    Utf8(Utf8Tail),
}

impl State {
    const fn after_open(is_object: bool) -> Self {
        if is_object {
            Self::KeyOrEnd
        } else {
            Self::ValueOrEnd
        }
    }

    const fn after_comma(is_in_object: bool) -> Self {
        if is_in_object { Self::Key } else { Self::Value }
    }

    /// Whether the innermost bracket may be closed here.
    const fn may_close(self) -> bool {
        matches!(self, Self::KeyOrEnd | Self::ValueOrEnd | Self::CommaOrEnd)
    }
}

/// The reader's state between two bytes.
#[derive(Debug)]
pub(crate) struct JsonReader {
    state: State,
    /// How many brackets are open.
    depth: u8,
    /// How many of them the sink wanted: keys are announced where this is the depth.
    watched: u8,
    /// One bit for each open bracket, the innermost lowest: whether it is a brace.
    braces: u32,
    /// What the sink wants of the value that comes or is being read; all values inside one that
    /// it wants raw or not at all are wanted likewise.
    want: Want,
    /// Whether raw pieces go to the sink.
    raw: bool,
    /// Whether the string is one that the sink hears of, as a key or as a wanted value.
    heard: bool,
    is_key: bool,
    /// Code unit of the escape being read.
    unit: u16,
    /// High surrogate that waits for its low one, or 0.
    high: u16,
}

impl JsonReader {
    /// A reader of one object.
    pub(crate) const fn new() -> Self {
        Self {
            state: State::Start,
            depth: 0,
            watched: 0,
            braces: 0,
            want: Want::Object,
            raw: false,
            heard: false,
            is_key: false,
            unit: 0,
            high: 0,
        }
    }

    /// A reader of an object that is the last member of another, whose key has been read.
    pub(crate) const fn of_member() -> Self {
        Self {
            state: State::Value,
            depth: 1,
            watched: 1,
            braces: 1,
            ..Self::new()
        }
    }

    /// Reads the next bytes.
    pub(crate) fn feed(&mut self, sink: &mut dyn Sink, bytes: &[u8]) -> Result<(), BadAnswer> {
        let mut rest = bytes;
        while let Some((byte, after)) = rest.split_first() {
            rest = match self.state {
                State::Text => self.text(sink, rest)?,
                State::Number(number) => {
                    // The byte after a number is not part of it, and is read again.
                    if self.number(sink, number, *byte)? {
                        after
                    } else {
                        rest
                    }
                }
                State::Start
                | State::Value
                | State::ValueOrEnd
                | State::KeyOrEnd
                | State::Key
                | State::Colon
                | State::CommaOrEnd
                | State::Done => {
                    let short_way = if !self.is_watched() {
                        self.skim(sink, rest)
                    } else if matches!(self.state, State::KeyOrEnd | State::Key) {
                        self.members(sink, rest)?
                    } else {
                        rest
                    };
                    if short_way.len() < rest.len() {
                        short_way
                    } else if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                        after
                    } else {
                        self.token(sink, *byte)?;
                        after
                    }
                }
                State::Literal(literal) => {
                    self.literal(sink, literal, *byte)?;
                    after
                }
                State::Escape | State::Hex(_) | State::LowSlash | State::LowU | State::Utf8(_) => {
                    self.in_character(sink, *byte)?;
                    after
                }
            };
        }
        Ok(())
    }

    /// Whether the object was read to its end.
    pub(crate) fn finish(&self) -> Result<(), BadAnswer> {
        if self.state == State::Done {
            Ok(())
        } else if self.state == State::Start {
            Err(BadAnswer::Empty)
        } else {
            Err(BadAnswer::Truncated)
        }
    }

    /// Whether keys of the innermost object are announced.
    const fn is_watched(&self) -> bool {
        self.depth == self.watched
    }

    const fn is_in_object(&self) -> bool {
        self.braces & 1 == 1
    }

    fn emit_raw(&self, sink: &mut dyn Sink, piece: &[u8]) {
        if self.raw {
            sink.raw(piece);
        }
    }

    /// Takes the first byte of a token.
    fn token(&mut self, sink: &mut dyn Sink, byte: u8) -> Result<(), BadAnswer> {
        match self.state {
            State::Start if byte != b'{' => Err(BadAnswer::NotJson),
            State::Start | State::Value => self.value(sink, byte),
            State::ValueOrEnd if byte == b']' => self.close(sink, byte),
            State::ValueOrEnd => self.value(sink, byte),
            State::KeyOrEnd if byte == b'}' => self.close(sink, byte),
            State::KeyOrEnd | State::Key if byte == b'"' => {
                self.key_begin(sink);
                Ok(())
            }
            State::Colon if byte == b':' => {
                // The sink puts the colon of a member that is wanted raw.
                if !self.is_watched() {
                    self.emit_raw(sink, b":");
                }
                self.state = State::Value;
                Ok(())
            }
            State::CommaOrEnd if byte == b',' => {
                self.emit_raw(sink, b",");
                self.comma();
                Ok(())
            }
            State::CommaOrEnd if byte == if self.is_in_object() { b'}' } else { b']' } => {
                self.close(sink, byte)
            }
            State::KeyOrEnd
            | State::Key
            | State::Colon
            | State::CommaOrEnd
            | State::Done
            | State::Literal(_)
            | State::Number(_)
            | State::Text
            | State::Escape
            | State::Hex(_)
            | State::LowSlash
            | State::LowU
            | State::Utf8(_) => Err(BadAnswer::Malformed),
        }
    }

    fn key_begin(&mut self, sink: &mut dyn Sink) {
        self.state = State::Text;
        self.is_key = true;
        self.heard = self.is_watched();
        if self.heard {
            self.raw = true;
            sink.key_begin();
        }
        self.emit_raw(sink, b"\"");
    }

    fn comma(&mut self) {
        self.state = State::after_comma(self.is_in_object());
        if self.is_watched() && !self.is_in_object() {
            self.want = Want::Object;
        }
    }

    /// Begins a value; one that the sink wants otherwise is an error.
    fn value(&mut self, sink: &mut dyn Sink, byte: u8) -> Result<(), BadAnswer> {
        self.emit_raw(sink, &[byte]);
        let (wanted_as, state) = match byte {
            b'{' => (Want::Object, State::KeyOrEnd),
            b'[' => (Want::Array, State::ValueOrEnd),
            b'"' => (Want::Text, State::Text),
            b'-' => (Want::Number, State::Number(Number::Minus)),
            b'0' => (Want::Number, State::Number(Number::Zero)),
            b'1'..=b'9' => (Want::Number, State::Number(Number::Digits)),
            b't' => (Want::Skip, State::Literal(Literal::Rue)),
            b'f' => (Want::Skip, State::Literal(Literal::Alse)),
            // `null` has every type.
            b'n' => (self.want, State::Literal(Literal::Ull)),
            _ => return Err(BadAnswer::Malformed),
        };
        let is_passed_over = matches!(self.want, Want::Skip | Want::Raw);
        if !is_passed_over && self.want != wanted_as {
            return Err(BadAnswer::Malformed);
        }
        self.state = state;
        self.is_key = false;
        self.heard = !is_passed_over;
        match wanted_as {
            Want::Object | Want::Array if byte != b'n' => self.open(sink, byte == b'{'),
            Want::Number if byte != b'n' && self.heard => sink.piece(&[byte]),
            Want::Object | Want::Array | Want::Number | Want::Text | Want::Skip | Want::Raw => {
                Ok(())
            }
        }
    }

    fn open(&mut self, sink: &mut dyn Sink, is_object: bool) -> Result<(), BadAnswer> {
        if self.depth >= DEPTH_MAX {
            return Err(BadAnswer::TooDeep);
        }
        self.depth = self.depth.saturating_add(1);
        self.braces = (self.braces << 1) | u32::from(is_object);
        if self.heard {
            self.watched = self.depth;
            self.want = Want::Object;
            sink.open();
        }
        Ok(())
    }

    fn close(&mut self, sink: &mut dyn Sink, byte: u8) -> Result<(), BadAnswer> {
        let was_watched = self.is_watched();
        self.depth = self.depth.saturating_sub(1);
        self.braces >>= 1;
        if was_watched {
            self.watched = self.depth;
            sink.close();
        } else {
            self.emit_raw(sink, &[byte]);
        }
        self.value_end(sink);
        Ok(())
    }

    /// Ends a value of any kind.
    fn value_end(&mut self, sink: &mut dyn Sink) {
        self.state = if self.depth == 0 {
            State::Done
        } else {
            State::CommaOrEnd
        };
        if self.raw && self.is_watched() {
            self.raw = false;
            sink.raw_end();
        }
    }

    fn literal(
        &mut self,
        sink: &mut dyn Sink,
        literal: Literal,
        byte: u8,
    ) -> Result<(), BadAnswer> {
        let (expected, rest) = literal.next();
        if byte != expected {
            return Err(BadAnswer::Malformed);
        }
        self.emit_raw(sink, &[byte]);
        if let Some(rest) = rest {
            self.state = State::Literal(rest);
            return Ok(());
        }
        if self.heard {
            sink.null();
        }
        self.value_end(sink);
        Ok(())
    }

    /// Takes the next byte of a number, or ends it: says which.
    fn number(&mut self, sink: &mut dyn Sink, number: Number, byte: u8) -> Result<bool, BadAnswer> {
        let Some(next) = number.next(byte) else {
            if !number.may_end() {
                return Err(BadAnswer::Malformed);
            }
            if self.heard {
                sink.end()?;
            }
            self.value_end(sink);
            return Ok(false);
        };
        self.state = State::Number(next);
        self.emit_raw(sink, &[byte]);
        if self.heard {
            sink.piece(&[byte])?;
        }
        Ok(true)
    }
}
