//! How far a text goes until something stands in its way: byte by byte, or with the feature `fast`
//! a word at a time, since most of a body is plain text.

#[cfg(feature = "fast")]
use core::mem::size_of;

/// How many bytes from the start are no control characters.
pub(super) fn before_control(text: &[u8]) -> usize {
    #[cfg(feature = "fast")]
    return before(text, control_bytes, is_control);
    #[cfg(not(feature = "fast"))]
    before(text, is_control)
}

/// How many bytes from the start a string of JSON has as they are (RFC 8259 section 7).
pub(super) fn before_escape(text: &[u8]) -> usize {
    #[cfg(feature = "fast")]
    return before(text, escape_bytes, needs_escape);
    #[cfg(not(feature = "fast"))]
    before(text, needs_escape)
}

/// How many bytes from the start stand for themselves in a string: no quote, backslash or control
/// character, and nothing past ASCII.
#[cfg(feature = "fast")]
pub(super) fn before_special(text: &[u8]) -> usize {
    before(text, special_bytes, |byte| {
        needs_escape(byte) || !byte.is_ascii()
    })
}

#[cfg(not(feature = "fast"))]
fn before(text: &[u8], is_odd: impl Fn(u8) -> bool) -> usize {
    let odd = text.iter().position(|byte| is_odd(*byte));
    odd.unwrap_or(text.len())
}

/// `odd_bytes` has the high bit of each odd byte of a word; it need be exact for the lowest such
/// byte only.
#[cfg(feature = "fast")]
fn before(text: &[u8], odd_bytes: impl Fn(usize) -> usize, is_odd: impl Fn(u8) -> bool) -> usize {
    let (words, rest) = text.as_chunks::<{ size_of::<usize>() }>();
    let mut length = 0_usize;
    for word in words {
        let odd = odd_bytes(usize::from_le_bytes(*word));
        if odd != 0 {
            return length.wrapping_add((odd.trailing_zeros() >> 3) as usize);
        }
        length = length.wrapping_add(size_of::<usize>());
    }
    let odd = rest.iter().position(|byte| is_odd(*byte));
    length.wrapping_add(odd.unwrap_or(rest.len()))
}

const fn is_control(byte: u8) -> bool {
    byte < 0x20
}

/// Whether a string of JSON can't have `byte` as it is (RFC 8259 section 7).
const fn needs_escape(byte: u8) -> bool {
    is_control(byte) || byte == b'"' || byte == b'\\'
}

/// A word of bytes that are one.
#[cfg(feature = "fast")]
const ONES: usize = usize::MAX / 255;

/// The high bits of all bytes of a word.
#[cfg(feature = "fast")]
const HIGH: usize = ONES << 7;

/// A byte below `n` sets its high bit when `n` is taken away, and so does one from `n + 0x80` on,
/// whose high bit is set before. What is carried reaches only bytes above the first.
#[cfg(feature = "fast")]
const fn bytes_below(word: usize, n: u8) -> usize {
    word.wrapping_sub(ONES.wrapping_mul(n as usize)) & !word & HIGH
}

#[cfg(feature = "fast")]
const fn bytes_like(word: usize, byte: u8) -> usize {
    bytes_below(word ^ ONES.wrapping_mul(byte as usize), 1)
}

#[cfg(feature = "fast")]
const fn control_bytes(word: usize) -> usize {
    bytes_below(word, 0x20)
}

#[cfg(feature = "fast")]
const fn escape_bytes(word: usize) -> usize {
    control_bytes(word) | bytes_like(word, b'"') | bytes_like(word, b'\\')
}

/// What is past ASCII is special too, and so need not be kept apart from what a subtraction makes.
#[cfg(feature = "fast")]
const fn special_bytes(word: usize) -> usize {
    let control = word.wrapping_sub(ONES.wrapping_mul(0x20));
    let quote = (word ^ ONES.wrapping_mul(b'"' as usize)).wrapping_sub(ONES);
    let slash = (word ^ ONES.wrapping_mul(b'\\' as usize)).wrapping_sub(ONES);
    (control | quote | slash | word) & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_at_the_first_odd_byte() {
        type Length = fn(&[u8]) -> usize;
        type IsOdd = fn(u8) -> bool;
        let all: &[(Length, IsOdd)] = &[
            (before_control, is_control),
            (before_escape, needs_escape),
            #[cfg(feature = "fast")]
            (before_special, |byte| needs_escape(byte) || byte >= 0x80),
        ];
        for first in 0..=255_u8 {
            for second in [b'"', b'\\', 0, 0x1f, b' ', b'a', 0x7f, 0x80, 0xa0, 0xff] {
                for place in 0..20 {
                    let mut bytes = [b'a'; 24];
                    bytes[place] = first;
                    bytes[place + 1] = second;
                    for (length, is_odd) in all {
                        let expected = bytes.iter().position(|byte| is_odd(*byte));
                        assert_eq!(length(&bytes), expected.unwrap_or(bytes.len()), "{bytes:?}");
                    }
                }
            }
        }
    }
}
