//! [`Observed`]: the record last seen, when our own clock saw it change, and whose it is.

use super::LATE;
use super::decide::{self, Standing};
use crate::lease::{Holder, LeaseRecord, RecordSpec, RecordTime, Version};
use crate::time::{Duration, Instant};
use crate::timestamp::Timestamp;

/// How many of its own times an elector remembers. A write that was answered or followed by a
/// read needs one; the others are for writes that got lost in a row.
const SENT_MAX: usize = 8;

/// The `renewTime` of each of the last writes of this life, newest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentTimes {
    times: [Option<Timestamp>; SENT_MAX],
    /// How many were sent since somebody else's record was seen last.
    fresh: usize,
}

impl SentTimes {
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

/// What is known of the lease.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    pub(crate) seen: Seen,
    /// What is known may be out of date: GET before the next write.
    pub(crate) must_read: bool,
    /// A write of this process has an unknown outcome.
    pub(crate) ghost: bool,
    pub(crate) sent: SentTimes,
}

/// What the last observation saw.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is no heap, and nearly always a record"
)]
pub(crate) enum Seen {
    /// There was none yet.
    Nothing,
    /// No lease. A deletion is no release: it is waited out like the record before it.
    Missing { since: Instant, wait: Duration },
    /// A record.
    Record(Record),
}

/// The record last seen.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) version: Version,
    pub(crate) spec: RecordSpec,
    pub(crate) standing: Standing,
    /// When our clock first saw this spec text in this object.
    pub(crate) since: Instant,
    /// How long it holds from then on; zero where its times show that it is long dead.
    pub(crate) wait: Duration,
}

/// What an observation taught.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lesson {
    pub(crate) leader_changed: bool,
    pub(crate) collision: bool,
    pub(crate) went_back: bool,
}

/// What judging a record takes, besides the record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judge<'a> {
    pub(crate) identity: &'a str,
    pub(crate) own_is_foreign: bool,
    pub(crate) own_duration: Duration,
    pub(crate) max_skew: Option<Duration>,
    pub(crate) server_time: Option<Timestamp>,
}

impl Observed {
    pub(crate) fn new() -> Self {
        Self {
            seen: Seen::Nothing,
            must_read: false,
            ghost: false,
            sent: SentTimes::default(),
        }
    }

    /// Takes a record that a GET answered.
    pub(crate) fn read(&mut self, record: &LeaseRecord, now: Instant, judge: Judge<'_>) -> Lesson {
        let spec = record.spec.clone().unwrap_or_default();
        let before = self.record();
        let went_back = before.is_some_and(|old| {
            record
                .version
                .resource_version
                .compare(&old.version.resource_version)
                == Some(core::cmp::Ordering::Less)
        });
        let unchanged = !went_back
            && before.is_some_and(|old| old.spec == spec && old.version.uid == record.version.uid);
        let standing = self.judge(&spec, unchanged, judge);
        let collision = standing == Standing::Twin && self.standing() != Some(Standing::Twin);
        let since = before.filter(|_| unchanged).map_or(now, |old| old.since);
        let wait = decide::wait_for(&spec, record.creation_timestamp, standing, judge);
        let new = Record {
            version: record.version.clone(),
            spec,
            standing,
            since,
            wait,
        };
        let leader_changed = foreign_name(before) != foreign_name(Some(&new));
        if standing.is_foreign() {
            self.sent.fresh = 0;
        }
        self.settle(Seen::Record(new));
        Lesson {
            leader_changed,
            collision,
            went_back,
        }
    }

    /// Takes the news that there is no lease.
    ///
    /// Somebody else's record that is gone is waited out in full, even where it had stood still
    /// for its duration: nothing shows that it was not renewed unseen just before its deletion.
    pub(crate) fn missing(&mut self, now: Instant, own_duration: Duration) -> Lesson {
        let leader_changed = self.foreign_leader().is_some();
        let seen = match &self.seen {
            Seen::Missing { since, wait } => Seen::Missing {
                since: *since,
                wait: *wait,
            },
            Seen::Nothing => Seen::Missing {
                since: now,
                wait: Duration::ZERO,
            },
            Seen::Record(record) => {
                let wait = match (record.standing.is_foreign(), record.wait) {
                    (false, _) => Duration::ZERO,
                    (true, Duration::ZERO) => own_duration,
                    (true, wait) => wait,
                };
                Seen::Missing { since: now, wait }
            }
        };
        self.settle(seen);
        Lesson {
            leader_changed,
            ..Lesson::default()
        }
    }

    /// Takes the record that a write of ours produced.
    pub(crate) fn wrote(&mut self, version: Version, spec: RecordSpec, now: Instant) {
        let standing = if spec.holder.is_empty() {
            Standing::Free
        } else {
            Standing::Mine
        };
        let wait = Duration::ZERO;
        self.settle(Seen::Record(Record {
            version,
            spec,
            standing,
            since: now,
            wait,
        }));
    }

    fn settle(&mut self, seen: Seen) {
        self.seen = seen;
        self.must_read = false;
        self.ghost = false;
    }

    /// A write may or may not have been done.
    pub(crate) const fn doubt(&mut self) {
        self.must_read = true;
        self.ghost = true;
    }

    /// All waiting starts anew at `now`.
    pub(crate) const fn restart(&mut self, now: Instant) {
        match &mut self.seen {
            Seen::Nothing => {}
            Seen::Missing { since, .. } | Seen::Record(Record { since, .. }) => *since = now,
        }
    }

    fn judge(&self, spec: &RecordSpec, unchanged: bool, judge: Judge<'_>) -> Standing {
        // A record that has not moved is whose it was, however many writes got lost since.
        if let Some(standing) = self.standing().filter(|_| unchanged) {
            return standing;
        }
        if spec.holder.is_empty() {
            return Standing::Free;
        }
        if !spec.holder.matches(judge.identity) {
            return Standing::Foreign;
        }
        if self.sent.has_fresh(spec.renew_time) {
            return Standing::Mine;
        }
        // A creation that outlived its sender's patience, and the records of others: it proves
        // nothing about whoever led in between.
        if self.sent.has(spec.renew_time) {
            return Standing::Foreign;
        }
        // A process that never wrote meets what its last life left.
        match (self.sent.is_empty(), judge.own_is_foreign) {
            (true, true) => Standing::Foreign,
            (true, false) => Standing::Restart,
            (false, _) => Standing::Twin,
        }
    }

    pub(crate) const fn record(&self) -> Option<&Record> {
        match &self.seen {
            Seen::Record(record) => Some(record),
            Seen::Nothing | Seen::Missing { .. } => None,
        }
    }

    pub(crate) fn standing(&self) -> Option<Standing> {
        self.record().map(|record| record.standing)
    }

    /// The name of somebody else in the record.
    pub(crate) fn foreign_leader(&self) -> Option<&str> {
        foreign_name(self.record()).map(Holder::as_str)
    }

    /// When this process may write itself in, by what it knows; `None` where it never may.
    pub(crate) fn takeover_at(&self) -> Option<Instant> {
        match &self.seen {
            Seen::Nothing => None,
            Seen::Missing { since, wait } => Some(late(*since, *wait)),
            Seen::Record(record) if record.standing.is_foreign() => {
                Some(late(record.since, record.wait))
            }
            Seen::Record(record) => Some(record.since),
        }
    }
}

/// The end of a wait. Instants are cut to whole milliseconds, so one more makes it a full one.
fn late(since: Instant, wait: Duration) -> Instant {
    let end = since.saturating_add(wait);
    if wait == Duration::ZERO {
        end
    } else {
        end.saturating_add(LATE)
    }
}

fn foreign_name(record: Option<&Record>) -> Option<&Holder> {
    record
        .filter(|record| record.standing.is_foreign())
        .map(|record| &record.spec.holder)
}
