//! What this process uses, as Linux tells; nothing elsewhere.

use core::time::Duration;
use std::fs;

/// Ticks of the processor times, which are the same on every Linux.
const TICK: Duration = Duration::from_millis(10);

/// Pages, on the machines that matter here.
const PAGE: u64 = 4096;

#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// Resident memory in bytes.
    pub(crate) memory: u64,
    pub(crate) cpu: Duration,
}

impl Usage {
    pub(crate) fn now() -> Self {
        let field = |file: &str, index: usize| -> Option<u64> {
            let text = fs::read_to_string(file).ok()?;
            // The second field of `stat` is a name in parentheses, which may have blanks.
            let rest = text.rsplit(") ").next()?;
            rest.split_whitespace().nth(index)?.parse().ok()
        };
        let ticks = |index| field("/proc/self/stat", index).unwrap_or(0);
        let ticks = u32::try_from(ticks(11) + ticks(12)).unwrap_or(u32::MAX);
        Self {
            memory: field("/proc/self/statm", 1)
                .unwrap_or(0)
                .saturating_mul(PAGE),
            cpu: TICK.saturating_mul(ticks),
        }
    }
}
