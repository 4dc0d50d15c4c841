//! [`Backoff`]: doubling delays with a ceiling.

use crate::time::Duration;

/// Doublings past here change nothing: the shortest delay of 1 ms has grown to 18 hours.
const DOUBLINGS_MAX: u8 = 26;

/// How often in a row something was refused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Backoff {
    doublings: u8,
}

impl Backoff {
    /// The next delay: `base` at first, then doubled each time, at most `ceiling`.
    pub(crate) fn next_delay(&mut self, base: Duration, ceiling: Duration) -> Duration {
        let delay = base.saturating_mul(1_u64.checked_shl(u32::from(self.doublings)).unwrap_or(1));
        if delay < ceiling {
            self.doublings = self.doublings.saturating_add(1).min(DOUBLINGS_MAX);
        }
        delay.min(ceiling)
    }

    /// Starts over.
    pub(crate) const fn reset(&mut self) {
        self.doublings = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn delays(base_ms: u64, ceiling_ms: u64, count: usize) -> Vec<u64> {
        let mut backoff = Backoff::default();
        let (base, ceiling) = (
            Duration::from_millis(base_ms),
            Duration::from_millis(ceiling_ms),
        );
        (0..count)
            .map(|_| backoff.next_delay(base, ceiling).as_millis())
            .collect()
    }

    #[test]
    fn delays_double_up_to_the_ceiling_and_stay_there() {
        assert_eq!(
            delays(2_000, 30_000, 6),
            [2_000, 4_000, 8_000, 16_000, 30_000, 30_000]
        );
        assert_eq!(delays(60_000, 60_000, 2), [60_000, 60_000]);
        assert_eq!(delays(1, u64::MAX, 40).last(), Some(&(1 << 26)));
    }

    #[test]
    fn a_reset_starts_over() {
        let mut backoff = Backoff::default();
        let (base, ceiling) = (Duration::from_secs(2), Duration::from_secs(30));
        let _ = backoff.next_delay(base, ceiling);
        assert_eq!(backoff.next_delay(base, ceiling), Duration::from_secs(4));
        backoff.reset();
        assert_eq!(backoff.next_delay(base, ceiling), base);
    }
}
