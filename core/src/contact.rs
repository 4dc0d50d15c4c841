//! [`Contact`]: how the conversation with the server goes.

use crate::protocol::{TroubleKind, Verb};
use crate::time::{Duration, Instant};

/// For this long after a start a server answers 403 to everybody (seen on 1.37.2: half a second).
const FORBIDDEN_MIN: Duration = Duration::from_secs(1);

/// Failures in a row that let all connections be dropped.
const FAILURES_MAX: u8 = 2;

/// What went well and badly of late.
#[derive(Clone, Debug)]
pub(crate) struct Contact {
    /// When an answer last told the state of the lease.
    last_good: Instant,
    failures: u8,
    forbidden: Option<(Verb, Instant)>,
    reported: Option<(TroubleKind, Verb)>,
}

impl Contact {
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            last_good: now,
            failures: 0,
            forbidden: None,
            reported: None,
        }
    }

    /// An answer came, whatever it says.
    pub(crate) const fn answered(&mut self) {
        self.failures = 0;
    }

    /// When an answer last told the state of the lease.
    pub(crate) const fn last_good(&self) -> Instant {
        self.last_good
    }

    /// An answer told the state of the lease.
    pub(crate) const fn seen(&mut self, now: Instant) {
        self.last_good = now;
    }

    /// An answer told the state of the lease, and that `verb` is allowed and works.
    pub(crate) fn good(&mut self, verb: Verb, now: Instant) {
        self.seen(now);
        self.forbidden = self.forbidden.filter(|(other, _)| *other != verb);
        self.reported = self.reported.filter(|(_, other)| *other != verb);
    }

    /// No answer came; says whether to drop all connections.
    #[must_use]
    pub(crate) const fn note_failure(&mut self) -> bool {
        self.failures = self.failures.saturating_add(1);
        let enough = self.failures >= FAILURES_MAX;
        if enough {
            self.failures = 0;
        }
        enough
    }

    /// A 403 came; says whether they span long enough to be meant.
    #[must_use]
    pub(crate) fn note_forbidden(&mut self, verb: Verb, now: Instant) -> bool {
        let since = match self.forbidden {
            Some((same, since)) if same == verb => since,
            Some(_) | None => now,
        };
        self.forbidden = Some((verb, since));
        now.saturating_since(since) >= FORBIDDEN_MIN
    }

    /// There is trouble; says whether it is news.
    #[must_use]
    pub(crate) fn note_trouble(&mut self, kind: TroubleKind, verb: Verb) -> bool {
        let news = self.reported != Some((kind, verb));
        self.reported = Some((kind, verb));
        news
    }

    /// All instants mean something else now.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.last_good = now;
        self.forbidden = self.forbidden.map(|(verb, _)| (verb, now));
    }
}
