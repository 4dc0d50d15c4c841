//! The driver's own book of who may lead, kept from the requests and answers alone.
//!
//! It is written from the laws, not from the machine: what it finds has to agree.

use std::collections::VecDeque;

use kubelease_core::Timestamp;
use kubelease_core::elector::Timing;
use kubelease_core::lease::{LeaseRecord, ResourceVersion};
use kubelease_core::protocol::{Changes, Reply, RequestId, WatchEvent};
use kubelease_core::time::{Duration, Instant};

use crate::seen::{Sent, Write};

/// How far the clock may step back before it counts as reset (law L6).
pub const CLAMPED_STEP_BACK: Duration = Duration::from_secs(1);

/// The last instant that a machine takes for one (law L6).
pub const INSTANT_MAX: Instant = Instant::from_millis(1 << 62);

/// How many of its own renewTimes a process knows again (rule 5).
const SENT_TIMES_MAX: usize = 8;

/// How many dead ids are tried again and again.
const DEAD_MAX: usize = 2;

/// A request that waits for its answer.
#[derive(Clone, Debug)]
pub struct Flight {
    /// When it was handed out.
    pub sent_at: Instant,
    /// The request.
    pub sent: Sent,
}

/// An acknowledged claim to lead.
#[derive(Clone, Debug)]
pub struct Belief {
    /// When the last acknowledged write was handed out.
    pub sent_at: Instant,
    /// The version that the acquiring write made: the fence.
    pub acquired_version: String,
}

/// The book.
#[derive(Clone, Debug)]
pub struct Book {
    identity: String,
    /// The durations of the elector.
    pub timing: Timing,
    /// The largest instant that counts.
    pub largest: Instant,
    /// The request in flight.
    pub flight: Option<Flight>,
    /// The claim to lead, as far as anybody may believe it.
    pub belief: Option<Belief>,
    /// The term that was announced and not yet ended.
    pub announced: Option<u64>,
    /// When the last claim would have ended by itself.
    pub last_until: Option<Instant>,
    /// Ids that can never come back.
    pub dead: VecDeque<RequestId>,
    /// The last write that claimed the lease.
    pub last_claim: Option<Write>,
    /// The last renewTime of this identity, written or read, and when that was.
    pub last_time: Option<(Timestamp, Instant)>,
    own_times: VecDeque<Timestamp>,
    /// The version that was read, made or told of last.
    last_version: ResourceVersion,
    /// The renewTime of the record that was acknowledged or read back last.
    standing_time: Option<Timestamp>,
}

impl Book {
    /// An empty book.
    #[must_use]
    pub fn new(identity: &str, timing: &Timing, now: Instant) -> Self {
        Self {
            identity: identity.to_owned(),
            timing: *timing,
            largest: now,
            flight: None,
            belief: None,
            announced: None,
            last_until: None,
            dead: VecDeque::new(),
            last_claim: None,
            last_time: None,
            own_times: VecDeque::new(),
            last_version: ResourceVersion::default(),
            standing_time: None,
        }
    }

    /// Moves time on by law L6, and ends what ends by time alone.
    pub fn pass_time(&mut self, now: Instant) {
        if now > INSTANT_MAX {
            return;
        }
        if now.saturating_add(CLAMPED_STEP_BACK) >= self.largest {
            self.largest = self.largest.max(now);
        } else {
            self.largest = now;
            self.end_belief();
            self.last_until = None;
        }
        if self.leading_until().is_some_and(|end| self.largest >= end) {
            self.end_belief();
        }
    }

    /// Ends the claim to lead.
    pub fn end_belief(&mut self) {
        self.last_until = self.leading_until().or(self.last_until);
        self.belief = None;
    }

    /// When the claim ends.
    #[must_use]
    pub fn leading_until(&self) -> Option<Instant> {
        let belief = self.belief.as_ref()?;
        Some(belief.sent_at.saturating_add(self.timing.renew_deadline))
    }

    /// Notes a request that was handed out.
    pub fn send(&mut self, sent: Sent, now: Instant) {
        if let Some(write) = sent.write.as_ref().filter(|write| !write.is_release()) {
            self.own_times.push_back(write.renew_time);
            if self.own_times.len() > SENT_TIMES_MAX {
                self.own_times.pop_front();
            }
            self.last_claim = Some(write.clone());
            self.last_time = Some((write.renew_time, self.largest));
        }
        // A clock that is a little behind its own largest value sent it then, no later.
        let sent_at = self.largest.min(now);
        self.flight = Some(Flight { sent_at, sent });
    }

    /// Closes the request in flight: its id is dead from now on.
    pub fn close(&mut self) -> Option<Flight> {
        let flight = self.flight.take()?;
        self.dead.push_back(flight.sent.id);
        if self.dead.len() > DEAD_MAX {
            self.dead.pop_front();
        }
        Some(flight)
    }

    /// Notes the answer to the request in flight.
    pub fn answer(&mut self, reply: Reply<'_>) {
        let Some(flight) = self.close() else { return };
        let Reply::Lease(record) = reply else { return };
        if record.version.resource_version.is_empty() {
            return;
        }
        match &flight.sent.write {
            None => self.read(record),
            Some(write) if write.is_release() => {
                if self.moves(record, write) {
                    self.last_version = record.version.resource_version.clone();
                }
            }
            Some(write) if self.acknowledges(record, write) => {
                let renews = write.changes() == Some(Changes::Renew);
                let version = record.version.resource_version.as_str();
                self.standing_time = Some(write.renew_time);
                self.last_version = record.version.resource_version.clone();
                let kept = self.belief.take().filter(|_| renews);
                self.belief = Some(Belief {
                    sent_at: flight.sent_at,
                    acquired_version: kept
                        .map_or_else(|| version.to_owned(), |belief| belief.acquired_version),
                });
            }
            Some(_) => {}
        }
    }

    /// Notes a line of a watch: what lies behind teaches nothing (rule 14). Whether it does.
    pub fn hear(&mut self, event: WatchEvent<'_>, watch: Option<Sent>) {
        if let (Some(flight), Some(watch)) = (&mut self.flight, watch) {
            assert_eq!(flight.sent.id, watch.id, "L5: a watch changed its id");
            flight.sent = watch;
        }
        let record = match event {
            WatchEvent::Changed(record) | WatchEvent::Deleted(record) => record,
            WatchEvent::Bookmark | WatchEvent::Error | WatchEvent::Broken(_) => return,
        };
        let version = &record.version.resource_version;
        if version.compare(&self.last_version) == Some(core::cmp::Ordering::Less) {
            return;
        }
        match event {
            WatchEvent::Changed(_) if version.is_empty() => {}
            WatchEvent::Changed(_) => self.read(record),
            WatchEvent::Deleted(_)
            | WatchEvent::Bookmark
            | WatchEvent::Error
            | WatchEvent::Broken(_) => {
                self.last_version = version.clone();
            }
        }
    }

    /// A read never lengthens a claim; it ends one that the record does not bear out.
    fn read(&mut self, record: &LeaseRecord) {
        self.last_version = record.version.resource_version.clone();
        let spec = record.spec.as_ref();
        let named = spec.filter(|spec| spec.holder.matches(&self.identity));
        let time = named.and_then(|spec| spec.renew_time.timestamp());
        if let Some(time) = time.filter(|time| self.last_time.is_none_or(|last| *time > last.0)) {
            self.last_time = Some((time, self.largest));
        }
        let known = |time| self.own_times.contains(&time) || self.standing_time == Some(time);
        if time.is_some_and(known) {
            self.standing_time = time;
            return;
        }
        self.end_belief();
        if spec.is_some_and(|spec| !spec.holder.is_empty()) {
            // What was sent before a stranger's record proves nothing after it.
            self.own_times.clear();
            self.standing_time = None;
        }
    }

    /// Whether the version is another than the write carried.
    fn moves(&self, record: &LeaseRecord, write: &Write) -> bool {
        let carried = write.version().map(|version| &version.resource_version);
        carried != Some(&record.version.resource_version)
    }

    /// Law L7: which answers to a write count as its acknowledgement.
    fn acknowledges(&self, record: &LeaseRecord, write: &Write) -> bool {
        self.moves(record, write)
            && record.spec.as_ref().is_none_or(|spec| {
                spec.holder.matches(&self.identity)
                    && spec.renew_time.timestamp() == Some(write.renew_time)
            })
    }
}
