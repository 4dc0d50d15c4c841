//! The driver's own book of a heart, and the laws that are its own.
//!
//! It is written from the laws, not from the machine: what it finds has to agree.

use std::collections::VecDeque;

use kubelease_core::Timestamp;
use kubelease_core::heartbeat::{HeartbeatConfig, HeartbeatIdentity, Retire};
use kubelease_core::lease::{LeaseRecord, NodeRecord, OwnerState, Owners, Readiness};
use kubelease_core::protocol::{Changes, Event, Reply, RequestId};
use kubelease_core::time::{Instant, Now};

use super::Heart;
use crate::book::{CLAMPED_STEP_BACK, Flight, INSTANT_MAX};
use crate::driven::Ledger;
use crate::laws;
use crate::seen::{Seen, Sent, Write, WriteKind};

/// How many dead ids are tried again and again.
const DEAD_MAX: usize = 2;

/// The book.
#[derive(Clone, Debug)]
pub struct HeartBook {
    config: HeartbeatConfig,
    identity: HeartbeatIdentity<&'static str>,
    largest: Instant,
    flight: Option<Flight>,
    dead: VecDeque<RequestId>,
    last_write: Option<Write>,
    /// The highest renewTime that was written or read, and when that was.
    highest: Option<(Timestamp, Instant)>,
    /// When the last acknowledged beat left.
    last_beat: Option<Instant>,
    alive_until: Option<Instant>,
    retired: Option<Retire>,
    is_finished: bool,
    owners: Owners,
    /// Whether the lease that was read or written last names this heart.
    names_it: bool,
    /// Whether there was a lease when it was looked for last.
    is_there: bool,
    /// The uid of the Node that was read last.
    node_uid: Option<String>,
    /// Whether it was said of this Node that it is not ready, since it was last.
    is_told: bool,
    /// What has to be said of it before the next wait.
    owes: Option<Readiness>,
}

impl HeartBook {
    /// An empty book.
    #[must_use]
    pub const fn new(
        config: HeartbeatConfig,
        identity: HeartbeatIdentity<&'static str>,
        now: Instant,
    ) -> Self {
        Self {
            config,
            identity,
            largest: now,
            flight: None,
            dead: VecDeque::new(),
            last_write: None,
            highest: None,
            last_beat: None,
            alive_until: None,
            retired: None,
            is_finished: false,
            owners: Owners {
                node: OwnerState::Absent,
                has_others: false,
            },
            names_it: false,
            is_there: false,
            node_uid: None,
            is_told: false,
            owes: None,
        }
    }

    /// The `renewTime` that a clock without a wall reckons: the highest, and what has passed since;
    /// `None` where there is none before the year 10000.
    #[must_use]
    pub fn reckoned(&self) -> Option<Timestamp> {
        let (highest, at) = self.highest?;
        highest.checked_add_millis(self.largest.saturating_since(at).as_millis())
    }

    /// The host said that it is alive.
    pub fn alive(&mut self, now: Instant) {
        <Self as Ledger<Heart>>::pass_time(self, now);
        let ttl = self.config.liveness_ttl;
        self.alive_until = ttl.map(|ttl| self.largest.saturating_add(ttl));
    }

    /// The host said at `now` that it was alive at `at`.
    pub fn alive_since(&mut self, now: Instant, at: Instant) {
        <Self as Ledger<Heart>>::pass_time(self, now);
        let ttl = self.config.liveness_ttl;
        let until = ttl.map(|ttl| at.min(self.largest).saturating_add(ttl));
        self.alive_until = self.alive_until.max(until);
    }

    /// The host ended the heartbeat.
    pub const fn retire(&mut self, how: Retire) {
        if !self.is_finished {
            self.retired = Some(match (self.retired, how) {
                (Some(Retire::Delete), Retire::FinalBeat) => Retire::Delete,
                (Some(Retire::Keep), _) => Retire::Keep,
                (_, how) => how,
            });
        }
    }

    fn end_flight(&mut self) -> Option<Flight> {
        let flight = self.flight.take()?;
        self.dead.push_back(flight.sent.id);
        if self.dead.len() > DEAD_MAX {
            self.dead.pop_front();
        }
        Some(flight)
    }

    /// What any request must keep.
    #[track_caller]
    fn check_request(&self, sent: &Sent, now: Now) {
        let plain = self.largest.saturating_add(self.config.request_timeout);
        assert!(
            sent.deadline <= plain && sent.deadline > self.largest,
            "L5: a deadline past the request timeout, or that has passed, now {now:?}"
        );
        assert!(
            self.retired != Some(Retire::Keep),
            "a request of a heart that has ended"
        );
        assert!(
            self.retired.is_some() || self.is_alive(),
            "a request although nobody says that the host is alive"
        );
        assert!(
            sent.deletes.is_none() || self.retired == Some(Retire::Delete),
            "a deletion that nobody asked for"
        );
        assert!(
            sent.deletes.is_none() || self.names_it,
            "a deletion of a lease that is not its own"
        );
        let conditions = [
            sent.deletes.as_deref(),
            sent.write.as_ref().and_then(Write::version),
        ];
        for version in conditions.into_iter().flatten() {
            assert!(
                !version.resource_version.is_empty(),
                "rule 6: a write without a condition"
            );
        }
        if let Some(write) = &sent.write {
            self.check_write(write);
        }
    }

    fn is_alive(&self) -> bool {
        let until = self.alive_until;
        self.config.liveness_ttl.is_none() || until.is_some_and(|until| self.largest <= until)
    }

    #[track_caller]
    fn check_write(&self, write: &Write) {
        assert_eq!(write.holder, self.identity.holder, "the holder is cleared");
        assert_ne!(write.changes(), Some(Changes::Release), "a release");
        let says = (write.acquire_time, write.transitions);
        assert_eq!(says, (None, None), "a heart writes no times of a term");
        if let Some((highest, _)) = self.highest {
            let least = self.reckoned();
            assert!(write.renew_time > highest, "renewTime does not rise");
            assert!(
                least.is_none_or(|least| write.renew_time >= least),
                "renewTime crawls"
            );
        }
        let creates = matches!(write.kind, WriteKind::Create { .. });
        assert!(
            !creates || self.retired.is_none(),
            "a heart that ends makes a lease"
        );
        let is_owned = !creates && self.owners.node != OwnerState::Absent;
        assert!(
            is_owned || !self.config.owner_required || write.owner.is_some(),
            "a lease without its required owner"
        );
        if let Some(owner) = &write.owner {
            assert_eq!(Some(owner.name.as_str()), self.identity.node);
            assert!(!owner.uid.is_empty(), "an owner without a uid");
        }
    }

    /// The Node was read: each one that is not ready is told of, once there is a lease to beat.
    fn saw_node(&mut self, node: &NodeRecord<'_>) {
        let is_same = self.node_uid.as_deref() == Some(node.uid.as_str());
        self.node_uid = Some(node.uid.as_str().to_owned());
        let is_ready = node.readiness == Readiness::Ready;
        self.is_told &= is_same && !is_ready;
        let is_due = self.config.watch_node && self.is_there && !is_ready && !self.is_told;
        self.owes = is_due.then_some(node.readiness);
    }

    fn saw(&mut self, record: &LeaseRecord) {
        self.is_there = true;
        self.owners = record.owners;
        let spec = record.spec.as_ref();
        self.names_it = spec.is_some_and(|spec| spec.holder.matches(self.identity.holder));
        let Some(time) = spec.and_then(|spec| spec.renew_time.timestamp()) else {
            return;
        };
        let is_higher = self.reckoned().is_some_and(|known| time >= known);
        if self.highest.is_none() || is_higher {
            self.highest = Some((time, self.largest));
        }
    }
}

impl Ledger<Heart> for HeartBook {
    fn largest(&self) -> Instant {
        self.largest
    }

    fn flight(&self) -> Option<&Flight> {
        self.flight.as_ref()
    }

    fn dead(&self) -> Vec<RequestId> {
        self.dead.iter().copied().collect()
    }

    fn last_write(&self) -> Option<&Write> {
        self.last_write.as_ref()
    }

    fn owners(&self) -> Owners {
        let node = match self.flight.as_ref().and_then(|it| it.sent.write.as_ref()) {
            Some(write) if write.owner.is_some() => OwnerState::Current,
            Some(_) | None => self.owners.node,
        };
        Owners {
            node,
            ..self.owners
        }
    }

    fn pass_time(&mut self, now: Instant) {
        if now > INSTANT_MAX {
            return;
        }
        if now.saturating_add(CLAMPED_STEP_BACK) >= self.largest {
            self.largest = self.largest.max(now);
            return;
        }
        // What was read and not learned is no higher than this.
        let reckoned = self.reckoned().unwrap_or(Timestamp::MAX);
        self.highest = self.highest.map(|_| (reckoned, now));
        self.largest = now;
        self.last_beat = None;
        let ttl = self.config.liveness_ttl;
        self.alive_until = self.alive_until.and(ttl).map(|ttl| now.saturating_add(ttl));
    }

    fn close(&mut self) {
        self.end_flight();
    }

    /// A beat counts from the poll that handed it out, where its answer shows that it was done.
    fn answer(&mut self, reply: Reply<'_>) {
        let Some(flight) = self.end_flight() else {
            return;
        };
        let record = match (reply, &flight.sent.node, &flight.sent.write) {
            (Reply::Lease(record), None, _) => record,
            (Reply::Node(node), Some(_), _) => return self.saw_node(&node),
            (Reply::LeaseMissing, Some(_), _) => {
                self.node_uid = None;
                return;
            }
            (Reply::LeaseMissing, None, write) => {
                let creates = write.as_ref().map(|write| &write.kind);
                self.is_there &= matches!(creates, Some(WriteKind::Create { .. }));
                return;
            }
            _ => return,
        };
        if record.version.resource_version.is_empty() {
            return;
        }
        let Some(write) = &flight.sent.write else {
            if flight.sent.deletes.is_none() {
                self.saw(record);
            }
            return;
        };
        let carried = write.version().map(|version| &version.resource_version);
        let is_mine = record.spec.as_ref().is_none_or(|spec| {
            spec.holder.matches(self.identity.holder)
                && spec.renew_time.timestamp() == Some(write.renew_time)
        });
        if is_mine && carried != Some(&record.version.resource_version) {
            self.last_beat = Some(flight.sent_at);
            self.owners = record.owners;
            self.names_it = true;
            self.is_there = true;
        }
    }

    fn was_reset(&mut self) {
        self.last_beat = None;
    }

    #[track_caller]
    fn output(&mut self, seen: &Seen, now: Now) {
        match seen {
            Seen::Event(Event::Finished(_)) => {
                assert!(!self.is_finished, "finished twice");
                assert!(self.retired.is_some(), "an end that nobody asked for");
                self.is_finished = true;
            }
            Seen::Event(Event::NodeNotReady(_)) => {
                self.is_told = true;
                self.owes = None;
            }
            Seen::Event(_) | Seen::Wait(_) => {}
            Seen::Cancel(id) => {
                let flight = self.end_flight().map(|flight| flight.sent.id);
                assert_eq!(flight, Some(*id), "L5: a cancel of what is not in flight");
            }
            Seen::Request(sent) => {
                assert!(self.flight.is_none(), "L5: two requests in flight");
                assert!(!self.dead.contains(&sent.id), "L5: an id came back");
                self.check_request(sent, now);
                if let Some(write) = &sent.write {
                    self.last_write = Some(write.clone());
                    self.highest = Some((write.renew_time, self.largest));
                }
                let sent_at = self.largest.min(now.instant);
                self.flight = Some(Flight {
                    sent_at,
                    sent: sent.clone(),
                });
            }
            Seen::Done => {
                assert!(self.is_finished, "an end without its event");
                assert!(self.flight.is_none(), "L5: the end came before the Cancel");
            }
        }
    }

    #[track_caller]
    fn settled(&self, machine: &Heart, last: &Seen, now: Now) {
        let effective = Now {
            instant: self.largest,
            ..now
        };
        assert_eq!(machine.last_beat(), self.last_beat, "L7: last_beat()");
        assert_eq!(self.owes, None, "a Node that is not ready is not told of");
        laws::steady(machine, self, last, now, effective);
    }
}
