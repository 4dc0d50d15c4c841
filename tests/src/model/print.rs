//! The fingerprint of a machine: all that it holds, in a form that forgets what has no effect.

use core::fmt::{self, Write};
use core::hash::Hasher as _;
use std::collections::hash_map::DefaultHasher;

/// Names before a number that has no effect, or only by its difference to the last request.
const LEFT_OUT: [&str; 5] = ["Prng", "RequestId", "last", "term", "last_good"];

/// A hash of what `machine` holds: of the text of its derived `Debug`, which shows every field.
pub(crate) fn of(machine: &impl fmt::Debug) -> u64 {
    let mut print = Print {
        text: String::with_capacity(TEXT_USUAL),
        leaves_out: false,
    };
    write!(print, "{machine:?}").expect("a string takes everything");
    let mut hasher = DefaultHasher::new();
    hasher.write(print.text.as_bytes());
    hasher.finish()
}

/// Room for the text, so that it is seldom moved.
const TEXT_USUAL: usize = 4_096;

/// Keeps the pieces of a text, but for numbers that follow one of the names above. Should the
/// standard library ever cut its pieces otherwise, fewer states are taken for equal.
struct Print {
    text: String,
    leaves_out: bool,
}

impl Write for Print {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        match piece.bytes().next() {
            Some(b'0'..=b'9') if core::mem::take(&mut self.leaves_out) => return Ok(()),
            Some(b'A'..=b'Z' | b'a'..=b'z') if piece != "Instant" => {
                self.leaves_out = LEFT_OUT.contains(&piece);
            }
            _ => {}
        }
        self.text.push_str(piece);
        Ok(())
    }
}
