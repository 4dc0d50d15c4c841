//! JSON as Go's `encoding/json` and `sigs.k8s.io/json` read it.
//!
//! A real API server shows how it reads: a repeated key warns and the last one wins, bad UTF-8 and
//! lone surrogates become U+FFFD, and its error texts reach the client. `serde_json` differs in
//! each of these, so requests are read here; values are `serde_json`'s.

use core::str;
use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

/// How deep arrays and objects may nest, as in Go.
const MAX_DEPTH: usize = 10_000;

/// A document, and what a `Value` cannot hold of it.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) value: Value,
    /// The paths of keys that came twice, such as `spec.holderIdentity`.
    pub(super) duplicates: Vec<String>,
    /// The text of numbers that are no plain 64-bit integers, by path.
    pub(super) numbers: BTreeMap<String, String>,
}

/// Reads one document; the error is Go's text.
pub(super) fn parse(bytes: &[u8]) -> Result<Document, String> {
    let mut reader = Reader {
        bytes,
        at: 0,
        depth: 0,
        path: Vec::new(),
        out: Document::default(),
    };
    reader.skip_blanks();
    let value = reader.value()?;
    reader.skip_blanks();
    if reader.at < bytes.len() {
        return Err(reader.unexpected("after top-level value"));
    }
    reader.out.value = value;
    Ok(reader.out)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    path: Vec<String>,
    out: Document,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn unexpected(&self, place: &str) -> String {
        self.peek().map_or_else(
            || "unexpected end of JSON input".to_owned(),
            |byte| format!("invalid character {} {place}", quoted(byte)),
        )
    }

    fn value(&mut self) -> Result<Value, String> {
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true", Value::Bool(true)),
            Some(b'f') => self.literal("false", Value::Bool(false)),
            Some(b'n') => self.literal("null", Value::Null),
            _ => Err(self.unexpected("looking for beginning of value")),
        }
    }

    fn nested(&mut self, inner: fn(&mut Self) -> Result<Value, String>) -> Result<Value, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.unexpected("exceeded max depth"));
        }
        self.at += 1;
        self.skip_blanks();
        let value = inner(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Result<Value, String> {
        let mut members = Map::new();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Object(members));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("looking for beginning of object key string"));
            }
            let key = self.string()?;
            self.skip_blanks();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("after object key"));
            }
            self.at += 1;
            self.skip_blanks();
            self.path.push(key.clone());
            let value = self.value()?;
            if members.contains_key(&key) {
                self.out.duplicates.push(self.path.join("."));
            }
            self.path.pop();
            members.insert(key, value);
            self.skip_blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.unexpected("after object key:value pair")),
            }
            self.skip_blanks();
        }
        self.at += 1;
        Ok(Value::Object(members))
    }

    fn array(&mut self) -> Result<Value, String> {
        let mut items = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::Array(items));
        }
        loop {
            self.path.push(format!("[{}]", items.len()));
            let item = self.value()?;
            self.path.pop();
            items.push(item);
            self.skip_blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(self.unexpected("after array element")),
            }
            self.skip_blanks();
        }
        self.at += 1;
        Ok(Value::Array(items))
    }

    fn literal(&mut self, word: &str, value: Value) -> Result<Value, String> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                let place = format!("in literal {word} (expecting '{}')", char::from(expected));
                return Err(self.unexpected(&place));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn digits(&mut self, place: &str) -> Result<(), String> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.unexpected(place));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Value, String> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits("in numeric literal")?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        let text = self.bytes.get(start..self.at).unwrap_or_default();
        let text = str::from_utf8(text).unwrap_or_default();
        if let Ok(whole) = text.parse::<i64>() {
            return Ok(Value::Number(whole.into()));
        }
        self.out
            .numbers
            .insert(self.path.join("."), text.to_owned());
        let number = text.parse::<f64>().ok().and_then(Number::from_f64);
        Ok(Value::Number(
            number.unwrap_or_else(|| Number::from(i64::MAX)),
        ))
    }

    fn string(&mut self) -> Result<String, String> {
        self.at += 1;
        let mut text = Vec::new();
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    self.at += 1;
                    let character = self.escape()?;
                    let mut buffer = [0; 4];
                    text.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
                }
                Some(byte) if byte >= 0x20 => {
                    text.push(byte);
                    self.at += 1;
                }
                _ => return Err(self.unexpected("in string literal")),
            }
        }
        self.at += 1;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn escape(&mut self) -> Result<char, String> {
        let character = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode_escape();
            }
            _ => return Err(self.unexpected("in string escape code")),
        };
        self.at += 1;
        Ok(character)
    }

    fn unicode_escape(&mut self) -> Result<char, String> {
        let first = self.four_digits()?;
        if (0xd800..0xdc00).contains(&first)
            && self.bytes.get(self.at..self.at + 2) == Some(b"\\u".as_slice())
        {
            let back = self.at;
            self.at += 2;
            let second = self.four_digits()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = back;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn four_digits(&mut self) -> Result<u32, String> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.unexpected("in \\u hexadecimal character escape"));
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}

/// A byte as Go shows it: in single quotes, escaped where it does not print.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'\\' => r"'\\'".to_owned(),
        b'\n' => r"'\n'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        0..0x20 | 0x7f => format!("'\\x{byte:02x}'"),
        0x80..0xa1 | 0xad => format!("'\\u{byte:04x}'"),
        _ => format!("'{}'", char::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::parse;

    #[test]
    fn documents_read_as_go_reads_them() {
        let document = parse(br#" {"a":{"b":1,"b":15e0},"c":["\ud83d","\ud83d\ude00"]} "#).unwrap();
        assert_eq!(
            document.value,
            json!({"a":{"b":15.0},"c":["\u{fffd}","\u{1f600}"]})
        );
        assert_eq!(document.duplicates, ["a.b"]);
        assert_eq!(
            document.numbers.get("a.b").map(String::as_str),
            Some("15e0")
        );
    }

    #[test]
    fn errors_are_the_texts_of_go() {
        for (text, error) in [
            ("", "unexpected end of JSON input"),
            ("{\"a\"", "unexpected end of JSON input"),
            (
                "{'a'",
                r"invalid character '\'' looking for beginning of object key string",
            ),
            (
                "{\"a\":01}",
                "invalid character '1' after object key:value pair",
            ),
            (
                "{\"a\":+1}",
                "invalid character '+' looking for beginning of value",
            ),
            ("[1 2]", "invalid character '2' after array element"),
            ("\"\u{1}\"", r"invalid character '\x01' in string literal"),
            (
                "nil",
                "invalid character 'i' in literal null (expecting 'u')",
            ),
            ("{} x", "invalid character 'x' after top-level value"),
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap_err(), error, "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        // The thread of the server has as much room.
        let roomy = std::thread::Builder::new().stack_size(crate::testing::STACK_SIZE);
        let results = roomy.spawn(move || {
            let deep = parse(nested(10_000).as_bytes()).map(|_| ());
            (deep, parse(nested(10_001).as_bytes()).map(|_| ()))
        });
        let too_deep = Err("invalid character '[' exceeded max depth".to_owned());
        assert_eq!(results.unwrap().join().unwrap(), (Ok(()), too_deep));
    }
}
