//! The one short text that is being read.

use heapless::Vec;

use crate::lease::RecordTime;
use crate::text::Hash;
use crate::timestamp::Timestamp;

/// Longest text that is looked at: longer ones are no word that is known and no number, and as a
/// time they count as unreadable. The longest word is `metadata.resourceVersion`, 24 bytes.
const SCRATCH_MAX: usize = 40;

/// A text of which up to [`SCRATCH_MAX`] bytes are kept, or the hash of a longer one.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    bytes: Vec<u8, SCRATCH_MAX, u8>,
    is_long: bool,
    /// Hash of all, where it is longer.
    hash: Hash,
}

impl Scratch {
    pub(super) const fn new() -> Self {
        Self {
            bytes: Vec::new(),
            is_long: false,
            hash: Hash::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.is_long = false;
    }

    pub(super) fn push(&mut self, piece: &[u8]) {
        if !self.is_long {
            if self.bytes.extend_from_slice(piece).is_ok() {
                return;
            }
            self.is_long = true;
            self.hash = Hash::of(&self.bytes);
        }
        self.hash.push_bytes(piece);
    }

    /// The text, where it is not a long one.
    pub(super) fn short(&self) -> Option<&[u8]> {
        (!self.is_long).then_some(&self.bytes)
    }

    pub(super) fn is(&self, text: &[u8]) -> bool {
        self.short() == Some(text)
    }

    /// Whether the text is `text`; where that is a long one, by its hash.
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        if self.is_long {
            text.len() > SCRATCH_MAX && Hash::of(text) == self.hash
        } else {
            self.is(text)
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.is(b"")
    }

    /// The time, where it can be read.
    pub(super) fn timestamp(&self) -> Option<Timestamp> {
        Timestamp::read(self.short()?)
    }

    /// The time with all that its text says.
    pub(super) fn record_time(&self) -> RecordTime {
        let instant = self.timestamp();
        if let Some(instant) = instant
            && is_canonical(&self.bytes)
        {
            return RecordTime::Canonical(instant);
        }
        let hash = if self.is_long {
            self.hash
        } else {
            Hash::of(&self.bytes)
        };
        RecordTime::Other { instant, hash }
    }

    /// The number, where it is a whole one that the server's `int32` holds; the reader has seen to
    /// its grammar.
    pub(super) fn int32(&self) -> Option<i32> {
        let text = self.short()?;
        let (sign, digits) = match text.split_first() {
            Some((b'-', digits)) => (-1, digits),
            Some(_) | None => (1, text),
        };
        digits.iter().try_fold(0_i32, |number, byte| {
            let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
            number
                .checked_mul(10)?
                .checked_add(i32::from(digit).wrapping_mul(sign))
        })
    }
}

/// Whether a text that can be read as a time is the one that would be written for it: the letters
/// `T` and `Z`, a point and six digits between them by the length, and no second 60.
const fn is_canonical(text: &[u8]) -> bool {
    match text {
        #[rustfmt::skip]
        [
            _, _, _, _, _, _, _, _, _, _, b'T', _, _, _, _, _, _, second, _,
            b'.', _, _, _, _, _, _, b'Z',
        ] => *second != b'6',
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(text: &str) -> Scratch {
        let mut scratch = Scratch::new();
        scratch.push(text.as_bytes());
        scratch
    }

    #[test]
    fn numbers_are_whole_and_fit_an_int32() {
        let good = [
            ("0", 0),
            ("-0", 0),
            ("15", 15),
            ("2147483647", i32::MAX),
            ("-2147483648", i32::MIN),
        ];
        for (text, number) in good {
            assert_eq!(scratch(text).int32(), Some(number), "{text}");
        }
        for text in [
            "2147483648",
            "-2147483649",
            "1.0",
            "1e0",
            "15.5",
            &"1".repeat(60),
        ] {
            assert_eq!(scratch(text).int32(), None, "{text}");
        }
    }

    #[test]
    fn times_keep_what_their_text_says() {
        let canonical = "2026-01-02T03:04:05.000006Z";
        let instant = Timestamp::parse_bytes(canonical.as_bytes()).unwrap();
        assert_eq!(
            scratch(canonical).record_time(),
            RecordTime::Canonical(instant)
        );
        for text in [
            "2026-01-02T04:04:05.000006+01:00",
            "2026-01-02T03:04:05.0000060Z",
        ] {
            let hash = Hash::of(text.as_bytes());
            let other = RecordTime::Other {
                instant: Some(instant),
                hash,
            };
            assert_eq!(scratch(text).record_time(), other, "{text}");
        }
        let leap = "2016-12-31T23:59:60.000000Z";
        assert!(matches!(
            scratch(leap).record_time(),
            RecordTime::Other {
                instant: Some(_),
                ..
            }
        ));
        let long = "9".repeat(60);
        for text in ["", "10000-01-01T00:59:59.999999Z", "soon", &long] {
            let hash = Hash::of(text.as_bytes());
            let other = RecordTime::Other {
                instant: None,
                hash,
            };
            assert_eq!(scratch(text).record_time(), other, "{text}");
        }
    }

    #[test]
    fn any_split_gives_the_same_hash() {
        let text = "a".repeat(39) + "bcdefgh";
        let mut split = Scratch::new();
        for byte in text.as_bytes() {
            split.push(&[*byte]);
        }
        assert_eq!(split.record_time(), scratch(&text).record_time());
    }
}
