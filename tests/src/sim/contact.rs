//! [`Contact`]: how one process fared with the server of late, as far as a bound depends on it.

/// The requests of one process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Contact {
    /// Since when one is on its way.
    flying_since_us: Option<u64>,
    /// How long requests were on their way in all.
    busy_us: u64,
    /// Whether the last one had an answer that a healthy server gives.
    healthy: bool,
    /// When a request last failed, or the process last stood still.
    unlucky_us: u64,
    /// Its retry period and renew deadline in true time, and how late it is polled.
    limits: Limits,
}

/// What a process promises, in true time by the slowest clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Retry period.
    pub period_us: u64,
    /// Renew deadline.
    pub deadline_us: u64,
    /// How late it is polled at most.
    pub late_us: u64,
    /// How much clocks of its processors differ.
    pub noise_us: u64,
    /// The same where it watches, and 0 where it reads: what it sees in a read is no older than the
    /// poll that asked for it, however far back the clock of the answer is.
    pub hearing_us: u64,
}

impl Contact {
    /// A process with these limits that never asked for anything.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// A request leaves.
    pub const fn sent(&mut self, at_us: u64) {
        self.flying_since_us = Some(at_us);
    }

    /// It is over; `healthy` if by an answer that a healthy server gives.
    pub const fn ended(&mut self, at_us: u64, healthy: bool) {
        self.busy_us = self.busy_us(at_us);
        self.flying_since_us = None;
        self.healthy = healthy;
        if !healthy {
            self.unlucky_us = at_us;
        }
    }

    /// The process stands still until `until_us`.
    pub const fn stands_still(&mut self, until_us: u64) {
        self.unlucky_us = until_us;
    }

    /// What it promises.
    #[must_use]
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// Whether nothing went wrong between `before`, as it was at `since_us`, and now.
    #[must_use]
    pub const fn was_lucky(&self, before: &Self, since_us: u64) -> bool {
        before.healthy && before.unlucky_us < since_us && self.unlucky_us < since_us
    }

    /// How long requests were on their way, up to `at_us`.
    #[must_use]
    pub const fn busy_us(&self, at_us: u64) -> u64 {
        match self.flying_since_us {
            Some(since_us) => self.busy_us + at_us.saturating_sub(since_us),
            None => self.busy_us,
        }
    }
}
