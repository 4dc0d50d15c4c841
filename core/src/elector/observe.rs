//! [`Observed`]: the record last seen, when our own clock saw it change, and whose it is.

use super::LATE;
use super::standing::{self, Criteria, SentTimes, Standing};
use super::state::Written;
use crate::lease::{Holder, LeaseRecord, RecordSpec, Version};
use crate::text::Hash;
use crate::time::{Duration, Instant};
use crate::timestamp::Timestamp;

/// What is known of the lease.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    pub(crate) seen: Seen,
    /// The record of the last observation that saw one. It is always there, and is changed in
    /// place: a copy of it on the stack is much for a small device.
    last: Record,
    /// What is known may be out of date: GET before the next write.
    pub(crate) must_read: bool,
    /// A write of this process has an unknown outcome.
    pub(crate) ghost: bool,
    pub(crate) sent: SentTimes,
}

/// What the last observation saw.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Seen {
    /// There was none yet.
    Nothing,
    /// No lease. A deletion is no release: it is waited out like the record before it.
    Missing { since: Instant, wait: Duration },
    /// A record.
    Record,
}

/// The record last seen: what of it is asked for again, and the hash of its spec.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) version: Version,
    pub(crate) holder: Holder,
    /// Tells a spec that has changed.
    digest: Hash,
    /// `acquireTime`, where it is one.
    pub(crate) acquire_time: Option<Timestamp>,
    /// `leaseTransitions`; absent and negative ones count as none.
    pub(crate) transitions: u32,
    /// Whether its `renewTime` was sent since somebody else's record was seen.
    pub(crate) is_fresh: bool,
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

impl Observed {
    pub(crate) const NOTHING: Self = Self {
        seen: Seen::Nothing,
        last: Record {
            version: Version::EMPTY,
            holder: Holder::new(),
            digest: Hash::new(),
            acquire_time: None,
            transitions: 0,
            is_fresh: false,
            standing: Standing::Free,
            since: Instant::from_millis(0),
            wait: Duration::ZERO,
        },
        must_read: false,
        ghost: false,
        sent: SentTimes::NONE,
    };

    /// Takes a record that a GET answered.
    pub(crate) fn read(
        &mut self,
        record: &LeaseRecord,
        now: Instant,
        criteria: Criteria<'_>,
    ) -> Lesson {
        let spec = record.spec.as_ref();
        let digest = spec.map_or_else(Hash::new, RecordSpec::digest);
        let before = self.record();
        let went_back = before.is_some_and(|old| {
            record
                .version
                .resource_version
                .compare(&old.version.resource_version)
                == Some(core::cmp::Ordering::Less)
        });
        let unchanged = !went_back
            && before
                .is_some_and(|old| old.digest == digest && old.version.uid == record.version.uid);
        let mut lesson = Lesson {
            went_back,
            ..Lesson::default()
        };
        if !unchanged {
            // A record that has not moved is whose it was, however many writes got lost since.
            let standing = standing::standing_of(spec, &self.sent, criteria);
            lesson.collision =
                standing == Standing::Twin && self.standing() != Some(Standing::Twin);
            let new_name = spec
                .map(|spec| &spec.holder)
                .filter(|_| standing.is_foreign());
            lesson.leader_changed = foreign_name(before) != new_name;
            self.last.standing = standing;
            self.last.since = now;
            self.last.digest = digest;
            self.last.set_spec(spec);
        }
        let standing = self.last.standing;
        if standing.is_foreign() {
            self.sent.fresh = 0;
        }
        self.last.wait = standing::wait_for(spec, record.creation_timestamp, standing, criteria);
        self.last.is_fresh = spec.is_some_and(|spec| self.sent.has_fresh(spec.renew_time));
        self.last.version.copy_from(&record.version);
        self.settle(Seen::Record);
        lesson
    }

    /// Takes the news that there is no lease.
    ///
    /// Somebody else's record that is gone is waited out in full, even where it had stood still
    /// for its duration: nothing shows that it was not renewed unseen just before its deletion.
    pub(crate) fn missing(&mut self, now: Instant, own_duration: Duration) -> Lesson {
        let leader_changed = foreign_name(self.record()).is_some();
        let seen = match &self.seen {
            Seen::Missing { since, wait } => Seen::Missing {
                since: *since,
                wait: *wait,
            },
            Seen::Nothing => Seen::Missing {
                since: now,
                wait: Duration::ZERO,
            },
            Seen::Record => {
                let wait = match (self.last.standing.is_foreign(), self.last.wait) {
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

    /// Takes the record that a write of ours produced: what was written, where the answer has no
    /// spec.
    pub(crate) fn wrote(
        &mut self,
        record: &LeaseRecord,
        holder: &str,
        written: Written,
        now: Instant,
    ) {
        self.last.version.copy_from(&record.version);
        match &record.spec {
            Some(spec) => {
                self.last.digest = spec.digest();
                self.last.set_spec(Some(spec));
            }
            None => {
                // The hash of nothing that can be read, not even of no spec: the next look finds a
                // change, and whose it is.
                self.last.digest = Hash::of(b"-");
                self.last.holder.clear();
                self.last.holder.push_bytes(holder.as_bytes());
                self.last.acquire_time = Some(written.acquire_time);
                self.last.transitions = written.transitions;
            }
        }
        self.last.is_fresh = true;
        self.last.standing = if self.last.holder.is_empty() {
            Standing::Free
        } else {
            Standing::Mine
        };
        self.last.since = now;
        self.last.wait = Duration::ZERO;
        self.settle(Seen::Record);
    }

    /// The version of the record seen last, and of its deletion where a watch told of that.
    pub(crate) const fn last_version(&self) -> &Version {
        &self.last.version
    }

    /// Whether a version comes before what was seen: it teaches nothing where it was asked for
    /// before that was seen. Versions that can't be compared do not.
    pub(crate) fn is_past(&self, version: &Version) -> bool {
        let last = &self.last.version.resource_version;
        version.resource_version.compare(last) == Some(core::cmp::Ordering::Less)
    }

    /// A watch told of the deletion, which has this version.
    pub(crate) fn set_deleted(&mut self, version: &Version) {
        self.last.version.copy_from(version);
    }

    /// How long what was seen holds from when it was first seen, if somebody else wrote it.
    pub(crate) const fn wait(&self) -> Duration {
        match &self.seen {
            Seen::Nothing => Duration::ZERO,
            Seen::Missing { wait, .. } => *wait,
            Seen::Record => self.last.wait,
        }
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
            Seen::Missing { since, .. } => *since = now,
            Seen::Record => self.last.since = now,
        }
    }

    pub(crate) const fn record(&self) -> Option<&Record> {
        match &self.seen {
            Seen::Record => Some(&self.last),
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

    /// The bytes of it, none where there is nobody.
    pub(crate) fn foreign_leader_bytes(&self) -> &[u8] {
        foreign_name(self.record()).map_or(&[], Holder::as_bytes)
    }

    /// When this process may write itself in, by what it knows; `None` where it never may.
    pub(crate) fn takeover_at(&self) -> Option<Instant> {
        match &self.seen {
            Seen::Nothing => None,
            Seen::Missing { since, wait } => Some(late(*since, *wait)),
            Seen::Record if self.last.standing.is_foreign() => {
                Some(late(self.last.since, self.last.wait))
            }
            Seen::Record => Some(self.last.since),
        }
    }
}

impl Record {
    /// Takes over what is asked for again.
    fn set_spec(&mut self, spec: Option<&RecordSpec>) {
        match spec {
            Some(spec) => self.holder.copy_from(&spec.holder),
            None => self.holder.clear(),
        }
        self.acquire_time = spec.and_then(|spec| spec.acquire_time.timestamp());
        let transitions = spec.and_then(|spec| spec.lease_transitions);
        self.transitions = transitions.map_or(0, |count| count.max(0).unsigned_abs());
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
        .map(|record| &record.holder)
}
