//! Where a random test gets its choices from: a seed, or the bytes of a fuzzer.

use kubelease_core::prng::Prng;

/// Choices, one after the other.
pub trait Choices {
    /// A number below `end`, which is not 0.
    fn below(&mut self, end: u64) -> u64;

    /// Whether all choices from now on are 0.
    fn is_over(&self) -> bool;
}

impl Choices for Prng {
    fn below(&mut self, end: u64) -> u64 {
        u64::from(self.next_u32()) % end
    }

    fn is_over(&self) -> bool {
        false
    }
}

/// Bytes that are choices: as few for each as it takes, so that a fuzzer finds its way.
#[derive(Clone, Debug)]
pub struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    /// All choices are in `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next byte; 0 at the end.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else {
            return 0;
        };
        self.rest = rest;
        *first
    }

    /// The next bytes, as far as they go.
    pub fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// All that is left.
    #[must_use]
    pub fn rest(self) -> &'a [u8] {
        self.rest
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        (0..8).fold(0, |number, _| number << 8 | u64::from(self.byte()))
    }

    /// One of `table`.
    ///
    /// # Panics
    /// Where the table is empty.
    pub fn one_of<T: Copy>(&mut self, table: &[T]) -> T {
        let place = usize::try_from(self.below(table.len() as u64)).unwrap_or_default();
        *table.get(place).expect("a place in the table")
    }

    /// Whether something happens that does in so many of a hundred cases, and never at the end.
    pub fn chance(&mut self, percent: u64) -> bool {
        !self.is_over() && self.below(100) >= 100 - percent
    }
}

impl Choices for Bytes<'_> {
    fn below(&mut self, end: u64) -> u64 {
        let mut number = 0;
        let mut reach = 1_u64;
        while reach < end && !self.is_over() {
            number = number << 8 | u64::from(self.byte());
            reach = reach.saturating_mul(256);
        }
        number % end
    }

    fn is_over(&self) -> bool {
        self.rest.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_takes_as_few_bytes_as_it_can() {
        let mut bytes = Bytes::new(&[1, 2, 3, 4, 5, 6]);
        assert_eq!(bytes.below(1), 0);
        assert_eq!(bytes.below(256), 1);
        assert_eq!(bytes.below(257), 0x0203 % 257);
        assert_eq!(bytes.take(2), [4, 5]);
        assert!(!bytes.is_over());
        assert_eq!(bytes.number(), 6 << 56);
        assert!(bytes.is_over());
        assert_eq!(bytes.below(1 << 20), 0);
    }
}
