//! A push reader for JSON: bytes in, in any split; keys, wanted values and raw pieces out.
//!
//! Own code, because every library either wants the whole body in memory or a scratch buffer as
//! long as the longest string of the body, wanted or not. This one needs the same few bytes for
//! each body, does not recurse, and takes RFC 8259 at its word: control characters in strings, lone
//! surrogates, bad UTF-8, `01` and trailing bytes are errors.
//!
//! The reader announces the keys of an object only where the [`Sink`] wanted that object; all that
//! lies deeper is checked for grammar and forgotten.
//!
//! It reads byte by byte, in as little code as that takes. The feature `fast` adds short ways
//! through runs of plain text and through what nobody hears of.

mod number;
#[cfg(feature = "fast")]
mod skim;
mod text;

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
    Literal,
    /// After the `-` of a number.
    Minus,
    /// After its first `0`, which no digit may follow.
    Zero,
    /// In the digits before the point.
    Digits,
    /// After the point.
    Point,
    /// In the digits after it.
    Fraction,
    /// After `e` or `E`.
    Exponent,
    /// After the exponent's sign.
    ExponentSign,
    /// In the exponent's digits.
    ExponentDigits,
    /// In a string.
    Text,
    /// After `\`.
    Escape,
    /// After `\u`.
    Hex,
    /// After a high surrogate: `\`.
    LowSlash,
    /// After a high surrogate and `\`: `u`.
    LowU,
    /// In a character of several bytes.
    Utf8,
}

impl State {
    /// Whether blanks may stand here.
    const fn is_between_tokens(self) -> bool {
        self as u8 <= Self::Done as u8
    }

    const fn is_in_number(self) -> bool {
        self as u8 >= Self::Minus as u8 && self as u8 <= Self::ExponentDigits as u8
    }

    const fn after_comma(is_in_object: bool) -> Self {
        if is_in_object { Self::Key } else { Self::Value }
    }

    /// Whether the innermost bracket may be closed here.
    const fn may_close(self) -> bool {
        matches!(self, Self::KeyOrEnd | Self::ValueOrEnd | Self::CommaOrEnd)
    }
}

/// The words behind their first letters; a comma ends each.
const WORDS: &[u8; 13] = b"rue,alse,ull,";
const TRUE: u8 = 0;
const FALSE: u8 = 4;
const NULL: u8 = 9;

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
    /// In a literal: the place in [`WORDS`] of the byte that has to come. In an escape: how many
    /// digits are to come. In a character of several bytes: how many of them.
    left: u8,
    /// The least and the greatest that the next byte of a character may be: this keeps out
    /// overlong forms, surrogates and what lies past U+10FFFF.
    tail: (u8, u8),
    /// Code unit of the escape being read.
    unit: u16,
    /// High surrogate that waits for its low one, or 0.
    high: u16,
}

impl JsonReader {
    /// A reader of one object.
    /// Zeros alone: no reader yet.
    pub(crate) const BLANK: Self = Self {
        want: Want::Skip,
        ..Self::new()
    };

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
            left: 0,
            tail: (0, 0),
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
        loop {
            #[cfg(feature = "fast")]
            let rest_of_all = self.short_ways(sink, rest)?;
            #[cfg(not(feature = "fast"))]
            let rest_of_all = rest;
            let Some((byte, after)) = rest_of_all.split_first() else {
                return Ok(());
            };
            self.byte(sink, *byte)?;
            rest = after;
        }
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

    #[inline(never)]
    fn byte(&mut self, sink: &mut dyn Sink, byte: u8) -> Result<(), BadAnswer> {
        // The byte after a number is not part of it, and stands for itself.
        if self.state.is_in_number() && !self.goes_on(byte) {
            self.number_end(sink)?;
        }
        if self.state.is_between_tokens() && matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            return Ok(());
        }
        // The sink puts the colon of a member that is wanted raw.
        if self.raw && !(self.state == State::Colon && self.is_watched()) {
            sink.raw(&[byte]);
        }
        match self.state {
            State::Start
            | State::Value
            | State::ValueOrEnd
            | State::KeyOrEnd
            | State::Key
            | State::Colon
            | State::CommaOrEnd
            | State::Done => self.token(sink, byte),
            State::Literal => self.literal(sink, byte),
            State::Minus
            | State::Zero
            | State::Digits
            | State::Point
            | State::Fraction
            | State::Exponent
            | State::ExponentSign
            | State::ExponentDigits => self.hear(sink, byte),
            State::Text
            | State::Escape
            | State::Hex
            | State::LowSlash
            | State::LowU
            | State::Utf8 => self.in_text(sink, byte),
        }
    }

    /// Takes the first byte of a token.
    fn token(&mut self, sink: &mut dyn Sink, byte: u8) -> Result<(), BadAnswer> {
        let close = if self.is_in_object() { b'}' } else { b']' };
        if self.state.may_close() && byte == close {
            self.close(sink);
            return Ok(());
        }
        match self.state {
            State::Start if byte != b'{' => return Err(BadAnswer::NotJson),
            State::Start | State::Value | State::ValueOrEnd => return self.value(sink, byte),
            State::KeyOrEnd | State::Key if byte == b'"' => self.key_begin(sink),
            State::Colon if byte == b':' => self.state = State::Value,
            State::CommaOrEnd if byte == b',' => self.comma(),
            State::KeyOrEnd
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
            | State::ExponentDigits
            | State::Text
            | State::Escape
            | State::Hex
            | State::LowSlash
            | State::LowU
            | State::Utf8 => return Err(BadAnswer::Malformed),
        }
        Ok(())
    }

    fn key_begin(&mut self, sink: &mut dyn Sink) {
        self.state = State::Text;
        self.is_key = true;
        self.heard = self.is_watched();
        if self.heard {
            self.raw = true;
            sink.key_begin();
            sink.raw(b"\"");
        }
    }

    const fn comma(&mut self) {
        self.state = State::after_comma(self.is_in_object());
        if self.is_watched() && !self.is_in_object() {
            self.want = Want::Object;
        }
    }

    /// Begins a value; one that the sink wants otherwise is an error.
    fn value(&mut self, sink: &mut dyn Sink, byte: u8) -> Result<(), BadAnswer> {
        let (wanted_as, state) = match byte {
            b'{' => (Want::Object, State::KeyOrEnd),
            b'[' => (Want::Array, State::ValueOrEnd),
            b'"' => (Want::Text, State::Text),
            b'-' => (Want::Number, State::Minus),
            b'0' => (Want::Number, State::Zero),
            b'1'..=b'9' => (Want::Number, State::Digits),
            b't' | b'f' => (Want::Skip, State::Literal),
            // `null` has every type.
            b'n' => (self.want, State::Literal),
            _ => return Err(BadAnswer::Malformed),
        };
        self.heard = !matches!(self.want, Want::Skip | Want::Raw);
        if self.heard && self.want != wanted_as {
            return Err(BadAnswer::Malformed);
        }
        self.state = state;
        self.is_key = false;
        self.left = match byte {
            b't' => TRUE,
            b'f' => FALSE,
            _ => NULL,
        };
        if state.may_close() {
            return self.open(sink, byte == b'{');
        }
        if state.is_in_number() {
            return self.hear(sink, byte);
        }
        Ok(())
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

    fn close(&mut self, sink: &mut dyn Sink) {
        let was_watched = self.is_watched();
        self.depth = self.depth.saturating_sub(1);
        self.braces >>= 1;
        if was_watched {
            self.watched = self.depth;
            sink.close();
        }
        self.value_end(sink);
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

    fn literal(&mut self, sink: &mut dyn Sink, byte: u8) -> Result<(), BadAnswer> {
        let rest = WORDS.get(usize::from(self.left)..);
        let rest = rest.and_then(|rest| rest.strip_prefix(&[byte]));
        match rest {
            None => return Err(BadAnswer::Malformed),
            Some([b',', ..]) => {
                if self.heard {
                    sink.null();
                }
                self.value_end(sink);
            }
            Some(_) => self.left = self.left.saturating_add(1),
        }
        Ok(())
    }

    /// Hands on a byte of what the sink hears of.
    fn hear(&self, sink: &mut dyn Sink, byte: u8) -> Result<(), BadAnswer> {
        if !self.heard {
            return Ok(());
        }
        if !self.is_key {
            return sink.piece(&[byte]);
        }
        sink.key_piece(&[byte]);
        Ok(())
    }
}
