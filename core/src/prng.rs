//! A small seeded generator, for jitter only.

use crate::time::Duration;

/// `xorshift32` (Marsaglia 2003): four bytes of state, no 64-bit multiplication, period 2³² − 1.
///
/// It spreads calls out in time and must never make an identity or a secret.
#[derive(Clone, Debug)]
pub struct Prng(u32);

/// Replaces the one state that xorshift cannot leave.
const NOT_ZERO: u32 = 0x9e37_79b9;

impl Prng {
    /// A generator whose sequence `seed` decides.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        // Neighbouring seeds have to give unlike first values, so the bits are mixed once.
        let mixed = (seed ^ (seed >> 32) ^ 0x5851_f42d).wrapping_mul(0x2545_f491_4f6c_dd1d);
        let state = (mixed >> 32) as u32;
        Self(if state == 0 { NOT_ZERO } else { state })
    }

    /// The next value.
    pub fn next_u32(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    /// `base` and up to `percent` hundredths of it more, evenly spread: in [base, base·(1 + p)).
    ///
    /// Bounded by about 49 days of spread; a longer base gets no more than that.
    pub fn jittered(&mut self, base: Duration, percent: u32) -> Duration {
        let spread = percent_of(base, percent);
        // A 32 by 32 multiply and a shift scale the random value, so that nothing is divided.
        let extra = u64::from(self.next_u32()).wrapping_mul(u64::from(spread)) >> 32;
        base.saturating_add(Duration::from_millis(extra))
    }
}

/// `percent` hundredths of `base` in milliseconds, rounded down, at most `u32::MAX`.
#[must_use]
pub fn percent_of(base: Duration, percent: u32) -> u32 {
    // 42_949_673 / 2^32 is a hundredth, rounded up by less than 2^-32; the bases are below 2^31 ms.
    const HUNDREDTH: u64 = 42_949_673;
    let base = u64::from(u32::try_from(base.as_millis()).unwrap_or(u32::MAX));
    let hundredth = base
        .saturating_mul(u64::from(percent.min(1_000)))
        .saturating_mul(HUNDREDTH);
    u32::try_from(hundredth >> 32).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn jitter_stays_in_its_interval_and_fills_it() {
        let mut prng = Prng::new(7);
        let (base, mut least, mut most) = (Duration::from_millis(2_000), u64::MAX, 0);
        for _ in 0..10_000 {
            let millis = prng.jittered(base, 20).as_millis();
            assert!((2_000..2_400).contains(&millis), "{millis}");
            least = least.min(millis);
            most = most.max(millis);
        }
        assert!(least < 2_004 && most > 2_395, "{least}..{most}");
    }

    #[test]
    fn no_jitter_is_none() {
        assert_eq!(
            Prng::new(1).jittered(Duration::from_secs(5), 0),
            Duration::from_secs(5)
        );
    }

    #[test]
    fn every_seed_moves_and_neighbours_differ() {
        let firsts: Vec<u32> = (0..1_000).map(|seed| Prng::new(seed).next_u32()).collect();
        let mut sorted = firsts.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), firsts.len());
        assert!(!firsts.contains(&0));
    }

    #[test]
    fn a_percentage_of_the_longest_base_does_not_overflow() {
        assert_eq!(percent_of(Duration::from_millis(u64::MAX), 1_000), u32::MAX);
        assert_eq!(percent_of(Duration::from_secs(15), 20), 3_000);
        assert_eq!(percent_of(Duration::from_millis(99), 1), 0);
    }
}
