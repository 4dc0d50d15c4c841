//! Bounded text: [`Text`] holds all of it or refuses, [`Clipped`] keeps what fits and knows how
//! much there was.

use core::fmt;

use heapless::Vec;

/// Text of at most `N` bytes, `N` being 255 at most.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Text<const N: usize> {
    bytes: Vec<u8, N, u8>,
}

impl<const N: usize> Text<N> {
    /// The empty text.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: Vec::new() }
    }

    /// Makes the text empty.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Takes over another text in place: a copy that passes over no stack.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.clear();
        // The other has the same capacity.
        let _ = self.bytes.extend_from_slice(&other.bytes);
    }

    /// Appends one byte of UTF-8.
    ///
    /// # Errors
    /// [`TextTooLong`] where it does not fit; the text is then as before.
    pub fn push_byte(&mut self, byte: u8) -> Result<(), TextTooLong> {
        self.bytes.push(byte).map_err(|_| TextTooLong)
    }

    /// Appends bytes of UTF-8.
    ///
    /// # Errors
    /// [`TextTooLong`] where they do not fit; the text is then as before.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Result<(), TextTooLong> {
        self.bytes.extend_from_slice(bytes).map_err(|_| TextTooLong)
    }

    /// The text, up to the first byte that is not UTF-8.
    #[must_use]
    pub fn as_str(&self) -> &str {
        valid_prefix(&self.bytes)
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether there is no text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

impl<const N: usize> TryFrom<&str> for Text<N> {
    type Error = TextTooLong;

    fn try_from(text: &str) -> Result<Self, TextTooLong> {
        let bytes = Vec::from_slice(text.as_bytes()).map_err(|_| TextTooLong)?;
        Ok(Self { bytes })
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Text that does not fit into its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextTooLong;

impl fmt::Display for TextTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text is too long for its place")
    }
}

impl core::error::Error for TextTooLong {}

/// Text of any length, of which the first `N` bytes are kept, with the length and a 64-bit hash
/// of the rest.
///
/// Somebody else's identity may be longer than any buffer of ours; it must still be told apart
/// from ours and from the next one, and must never fail a parse.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Clipped<const N: usize> {
    prefix: Vec<u8, N, u8>,
    length: u32,
    hash: Hash,
}

impl<const N: usize> Clipped<N> {
    /// The empty text.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            prefix: Vec::new(),
            length: 0,
            hash: Hash::new(),
        }
    }

    /// Takes over another text in place: a copy that passes over no stack.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.prefix.clear();
        // The other has the same capacity.
        let _ = self.prefix.extend_from_slice(&other.prefix);
        self.length = other.length;
        self.hash = other.hash;
    }

    /// Makes the text empty.
    pub fn clear(&mut self) {
        self.prefix.clear();
        self.length = 0;
        self.hash = Hash::new();
    }

    /// Appends one byte of UTF-8.
    pub fn push_byte(&mut self, byte: u8) {
        // A full prefix is what clipping means; the length and the hash go on.
        if self.prefix.push(byte).is_err() {
            self.hash.push_byte(byte);
        }
        self.length = self.length.saturating_add(1);
    }

    /// Appends bytes of UTF-8.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        if self.prefix.extend_from_slice(bytes).is_err() {
            bytes.iter().for_each(|byte| self.push_byte(*byte));
        } else {
            let added = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            self.length = self.length.saturating_add(added);
        }
    }

    /// Takes all that is known of the text into a hash.
    pub(crate) fn hash_into(&self, hash: &mut Hash) {
        hash.push_number(u64::from(self.length));
        hash.push_bytes(&self.prefix);
        hash.push_number(self.hash.0);
    }

    /// The text, or as much of its beginning as was kept.
    #[must_use]
    pub fn as_str(&self) -> &str {
        valid_prefix(&self.prefix)
    }

    /// The bytes of [`as_str`](Self::as_str).
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        let length = utf8_length(&self.prefix);
        self.prefix.get(..length).unwrap_or_default()
    }

    /// Length of the whole text in bytes.
    #[must_use]
    pub const fn length(&self) -> u32 {
        self.length
    }

    /// Whether there is no text.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether [`as_str`](Self::as_str) is only the beginning.
    #[must_use]
    pub fn is_clipped(&self) -> bool {
        usize::try_from(self.length).map_or(true, |length| length > self.prefix.len())
    }

    /// Whether the whole text is `text`: by its bytes, and by the hash past those kept.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        u32::try_from(bytes.len()) == Ok(self.length)
            && bytes.starts_with(&self.prefix)
            && bytes.get(self.prefix.len()..).map(Hash::of) == Some(self.hash)
    }
}

impl<const N: usize> Default for Clipped<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> From<&str> for Clipped<N> {
    fn from(text: &str) -> Self {
        let mut clipped = Self::new();
        clipped.push_bytes(text.as_bytes());
        clipped
    }
}

impl<const N: usize> fmt::Debug for Clipped<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)?;
        if self.is_clipped() {
            write!(f, "…({} bytes)", self.length)
        } else {
            Ok(())
        }
    }
}

/// A running 64-bit hash: it tells texts apart, and is no defence against forgers. It is FNV-1a
/// but that it begins at 0, so that a device clears memory for it and copies nothing, and that
/// bytes count from 1, so that a first one always changes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hash(u64);

impl Hash {
    /// The hash of nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(0)
    }

    /// The hash of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let mut hash = Self::new();
        hash.push_bytes(bytes);
        hash
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Takes one more byte in.
    pub fn push_byte(&mut self, byte: u8) {
        let from_one = u64::from(byte).wrapping_add(1);
        self.0 = (self.0 ^ from_one).wrapping_mul(0x0100_0000_01b3);
    }

    /// Takes a number in.
    #[inline(never)]
    pub(crate) fn push_number(&mut self, number: u64) {
        self.push_bytes(&number.to_le_bytes());
    }

    /// Takes more bytes in.
    #[inline(never)]
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.push_byte(*byte);
        }
    }
}

/// How many bytes from the beginning are UTF-8, in whole characters. It takes a fifth of the code
/// of the standard library's check.
#[must_use]
pub fn utf8_length(bytes: &[u8]) -> usize {
    let (mut left, mut bounds) = (0_u8, ANY_TAIL);
    let mut whole = 0_usize;
    for (at, byte) in bytes.iter().enumerate() {
        if let Some(fewer) = left.checked_sub(1) {
            if *byte < bounds.0 || *byte > bounds.1 {
                break;
            }
            (left, bounds) = (fewer, ANY_TAIL);
        } else if !byte.is_ascii() {
            let Some(tail) = utf8_tail(*byte) else {
                break;
            };
            (left, bounds) = tail;
        }
        if left == 0 {
            whole = at.wrapping_add(1);
        }
    }
    whole
}

/// The bounds of a byte in a character, but for the first and at times the second.
pub(crate) const ANY_TAIL: (u8, u8) = (0x80, 0xbf);

/// How many bytes follow `first` in a character, and the bounds of the next one (Unicode 15 table
/// 3-7): they keep out overlong forms, surrogates and what lies past U+10FFFF. `None` where no
/// character begins with it.
#[inline(never)]
pub(crate) const fn utf8_tail(first: u8) -> Option<(u8, (u8, u8))> {
    let (least, most) = match first {
        0xe0 => (0xa0, 0xbf),
        0xed => (0x80, 0x9f),
        0xf0 => (0x90, 0xbf),
        0xf4 => (0x80, 0x8f),
        _ => ANY_TAIL,
    };
    let left = match first {
        0xc2..=0xdf => 1,
        0xe0..=0xef => 2,
        0xf0..=0xf4 => 3,
        _ => return None,
    };
    Some((left, (least, most)))
}

/// The longest prefix of `bytes` that is UTF-8: a clipped text may end inside a character.
fn valid_prefix(bytes: &[u8]) -> &str {
    let prefix = bytes.get(..utf8_length(bytes)).unwrap_or_default();
    core::str::from_utf8(prefix).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn text_refuses_what_does_not_fit() {
        assert_eq!(Text::<3>::try_from("abcd"), Err(TextTooLong));
        let mut text = Text::<3>::try_from("abc").unwrap();
        assert_eq!(text.push_byte(b'd'), Err(TextTooLong));
        assert_eq!(text.as_str(), "abc");
        assert_eq!(TextTooLong.to_string(), "text is too long for its place");
    }

    #[test]
    fn clipped_texts_with_one_prefix_differ_by_length_and_hash() {
        let one = Clipped::<4>::from("abcdX");
        assert_eq!(one.as_str(), "abcd");
        assert!(one.is_clipped());
        assert!(one.matches("abcdX"));
        assert!(!one.matches("abcdY"));
        assert!(!one.matches("abcd"));
        assert_ne!(one, Clipped::from("abcdY"));
        assert_ne!(one, Clipped::from("abcdXX"));
    }

    #[test]
    fn a_character_cut_in_two_is_left_out_of_the_prefix() {
        let clipped = Clipped::<4>::from("abcé");
        assert_eq!(clipped.as_str(), "abc");
        assert!(clipped.matches("abcé"));
    }

    #[test]
    fn utf8_is_what_the_standard_library_takes_for_it() {
        for first in 0..=0xff_u8 {
            for second in 0..=0xff_u8 {
                for tail in [&b""[..], b"\x80", b"\x80\x80", b"\xbf\xbf", b"a", b"\x80a"] {
                    let bytes = [&[b'x', first, second], tail].concat();
                    let expected = match core::str::from_utf8(&bytes) {
                        Ok(text) => text.len(),
                        Err(error) => error.valid_up_to(),
                    };
                    assert_eq!(utf8_length(&bytes), expected, "{}", bytes.escape_ascii());
                }
            }
        }
    }

    #[test]
    fn every_first_byte_changes_a_hash() {
        for byte in 0..=0xff {
            assert_ne!(Hash::of(&[byte]), Hash::new());
        }
    }

    #[test]
    fn short_text_is_whole() {
        let clipped = Clipped::<8>::from("holder");
        assert!(!clipped.is_clipped());
        assert!(clipped.matches("holder"));
        assert!(!clipped.matches("holdeR"));
        assert!(Clipped::<8>::new().matches(""));
    }
}
