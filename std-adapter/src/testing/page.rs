//! Continue tokens: where the next page of a list begins. Opaque to clients, but of the form that
//! the real server gives them: JSON in base64url without padding.

use serde_json::{Value, json};

use super::encode::compact;
use super::go_json;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The token for the page after this position.
pub(super) fn token(version: u64, last: &str) -> String {
    let content = compact(&json!({"v": "meta.k8s.io/v1", "rv": version, "start": last}));
    encoded(content.as_bytes())
}

/// The version and position in a token.
pub(super) fn read(token: &str) -> Result<(u64, Option<String>), String> {
    let bytes = decoded(token).ok_or_else(|| "illegal base64 data".to_owned())?;
    let content = go_json::parse(&bytes)?.value;
    let version = content.get("rv").and_then(Value::as_u64);
    let start = content.get("start").and_then(Value::as_str);
    let version = version.ok_or_else(|| "incorrect encoded start resourceVersion".to_owned())?;
    Ok((version, start.map(str::to_owned)))
}

fn encoded(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| chunk.get(index).copied().map_or(0, u32::from);
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for index in 0..=chunk.len() {
            let sextet = bits >> (18 - 6 * index) & 63;
            let letter = usize::try_from(sextet).ok().and_then(|at| ALPHABET.get(at));
            text.push(letter.copied().map_or('A', char::from));
        }
    }
    text
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        let sextet = ALPHABET.iter().position(|known| *known == letter)?;
        bits = bits << 6 | u32::try_from(sextet).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 255).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{decoded, encoded, read, token};

    #[test]
    fn tokens_are_read_back() {
        assert_eq!(
            read(&token(7, "ns/name")),
            Ok((7, Some("ns/name".to_owned())))
        );
        let why = "invalid character 'i' looking for beginning of value";
        assert_eq!(read("abc").unwrap_err(), why);
        assert_eq!(read("!").unwrap_err(), "illegal base64 data");
    }

    #[test]
    fn base64_holds_for_every_length() {
        assert_eq!(encoded(b"\xfb\xff\xfe"), "-__-");
        for length in 0..9 {
            let bytes: Vec<u8> = (250..=255).chain(0..3).take(length).collect();
            assert_eq!(decoded(&encoded(&bytes)), Some(bytes));
        }
    }
}
