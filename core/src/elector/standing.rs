//! Whose a record is, and how long it holds: pure questions about one record.

use super::LATE;
use crate::lease::{RecordSpec, RecordTime};
use crate::time::Duration;
use crate::timestamp::Timestamp;

/// How many of its own times an elector remembers. A write that was answered or followed by a
/// read needs one; the others are for writes that got lost in a row. Those that never left count
/// too: a transport may be wrong about that, and would make a twin of its own process.
const SENT_MAX: usize = 8;

/// Whose a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nobody's.
    Free,
    /// A write of this life: this name, and a renewTime that was sent.
    Mine,
    /// What an earlier life of this identity left.
    Restart,
    /// Somebody else's.
    Foreign,
    /// A second living process with this identity.
    Twin,
}

impl Standing {
    /// Whether the record has to be waited out.
    pub(crate) const fn is_foreign(self) -> bool {
        matches!(self, Self::Foreign | Self::Twin)
    }
}

/// What judging a record takes, besides the record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Criteria<'a> {
    pub(crate) identity: &'a str,
    pub(crate) own_is_foreign: bool,
    pub(crate) own_duration: Duration,
    pub(crate) max_skew: Option<Duration>,
    pub(crate) server_time: Option<Timestamp>,
}

/// The `renewTime` of each of the last writes of this life, newest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentTimes {
    times: [Option<Timestamp>; SENT_MAX],
    /// How many were sent since somebody else's record was seen last.
    pub(super) fresh: usize,
}

impl SentTimes {
    pub(crate) const NONE: Self = Self {
        times: [None; SENT_MAX],
        fresh: 0,
    };

    pub(crate) fn push(&mut self, time: Timestamp) {
        let mut carried = Some(time);
        for slot in &mut self.times {
            core::mem::swap(slot, &mut carried);
        }
        self.fresh = self.fresh.saturating_add(1).min(SENT_MAX);
    }

    /// Whether a write with this time was sent since somebody else's record was seen.
    pub(crate) fn has_fresh(&self, time: RecordTime) -> bool {
        let time = time.timestamp();
        time.is_some() && self.times.iter().take(self.fresh).any(|sent| *sent == time)
    }

    /// Whether a write with this time was sent at all.
    fn has(&self, time: RecordTime) -> bool {
        let time = time.timestamp();
        time.is_some() && self.times.contains(&time)
    }

    fn is_empty(&self) -> bool {
        self.times.iter().all(Option::is_none)
    }
}

/// Whose a record with this spec is, given that it has changed since the last look.
pub(crate) fn standing_of(
    spec: Option<&RecordSpec>,
    sent: &SentTimes,
    criteria: Criteria<'_>,
) -> Standing {
    let Some(spec) = spec.filter(|spec| !spec.holder.is_empty()) else {
        return Standing::Free;
    };
    if !spec.holder.matches(criteria.identity) {
        return Standing::Foreign;
    }
    if sent.has_fresh(spec.renew_time) {
        return Standing::Mine;
    }
    // A creation that outlived its sender's patience, and the records of others: it proves
    // nothing about whoever led in between.
    if sent.has(spec.renew_time) {
        return Standing::Foreign;
    }
    // A process that never wrote meets what its last life left.
    match (sent.is_empty(), criteria.own_is_foreign) {
        (true, true) => Standing::Foreign,
        (true, false) => Standing::Restart,
        (false, _) => Standing::Twin,
    }
}

/// How long a record holds from the moment it was first seen.
///
/// It is the duration that its writer wrote (client-go since 1.27), or our own where it has none.
/// With `trust_renew_time` a record that was long dead by the server's own clock holds no longer;
/// its renewTime must then not lie before the lease was made, or a writer's clock is wrong.
pub(crate) fn wait_for(
    spec: Option<&RecordSpec>,
    created: Option<Timestamp>,
    standing: Standing,
    criteria: Criteria<'_>,
) -> Duration {
    let written = spec
        .and_then(|spec| spec.lease_duration_seconds)
        .and_then(|seconds| u64::try_from(seconds).ok());
    let wait = written
        .filter(|seconds| *seconds > 0)
        .map_or(criteria.own_duration, Duration::from_secs);
    let long_dead = || {
        let (skew, date) = (criteria.max_skew?, criteria.server_time?);
        let renewed = spec?.renew_time.timestamp()?;
        let plausible = renewed.checked_add_millis(skew.as_millis())? >= created?;
        let patience = wait.saturating_add(skew).saturating_add(LATE);
        let dead_from = renewed.checked_add_millis(patience.as_millis())?;
        Some(plausible && date >= dead_from)
    };
    let dead = standing == Standing::Foreign && long_dead() == Some(true);
    if dead { Duration::ZERO } else { wait }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(second: i64) -> Timestamp {
        Timestamp::from_unix(second, 0).unwrap()
    }

    fn has_fresh(sent: &SentTimes, second: i64) -> bool {
        sent.has_fresh(RecordTime::Canonical(time(second)))
    }

    #[test]
    fn the_last_eight_times_are_remembered() {
        let mut sent = SentTimes::default();
        assert!(sent.is_empty());
        for second in 1..=9 {
            sent.push(time(second));
        }
        assert!(!has_fresh(&sent, 1));
        assert!((2..=9).all(|second| has_fresh(&sent, second)));
    }
}
