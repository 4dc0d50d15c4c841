//! [`Random`]: the one source of chance. Equal seeds make equal worlds on every host.

/// `SplitMix64` (Steele, Lea and Flood 2014): any seed will do, and streams are cheap to split.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream that `seed` names.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The stream that these numbers name together: what one request meets does not depend on how
    /// much chance others used up, so that a world with one fault less stays much the same.
    #[must_use]
    pub fn of(names: &[u64]) -> Self {
        let mut random = Self(0);
        for name in names {
            random.0 ^= *name;
            random.0 = random.next_u64();
        }
        random
    }

    /// The next value.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A value below `bound`; 0 where that is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.next_u64()) * u128::from(bound);
        u64::try_from(product >> 64).unwrap_or_default()
    }

    /// A value from `least` to `most`, both included.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// True in `permille` of a thousand cases.
    pub fn chance(&mut self, permille: u32) -> bool {
        permille > 0 && self.below(1_000) < u64::from(permille)
    }

    /// One of `choices`.
    ///
    /// # Panics
    /// Where there is none.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        let index = self.below(choices.len() as u64);
        choices[usize::try_from(index).unwrap_or_default()]
    }
}
