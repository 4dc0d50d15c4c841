//! [`Fix`]: a civil time that is carried on by the monotonic clock.

use crate::time::Instant;
use crate::timestamp::Timestamp;

/// One second past the epoch: where times start that nobody knows. The epoch itself is the zero
/// time of some clients.
pub(crate) const UNKNOWN: Timestamp = match Timestamp::from_unix(1, 0) {
    Some(time) => time,
    None => Timestamp::UNIX_EPOCH,
};

/// A civil time and when it was that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fix {
    pub(crate) time: Timestamp,
    pub(crate) at: Instant,
}

impl Fix {
    /// The time at `now`; `None` past the year 9999.
    pub(crate) fn at(&self, now: Instant) -> Option<Timestamp> {
        self.time
            .checked_add_millis(now.saturating_since(self.at).as_millis())
    }

    /// The least time that may be written at `now`, after this one; `None` where there is none
    /// before the year 10000.
    pub(crate) fn least(&self, now: Instant) -> Option<Timestamp> {
        let passed = self.at(now)?;
        if passed > self.time {
            Some(passed)
        } else {
            passed.checked_add_micros(1)
        }
    }
}
