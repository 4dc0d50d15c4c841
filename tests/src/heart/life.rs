//! Random lives of hearts: whatever comes in, in whatever order. The driver asserts the laws.
#![allow(
    clippy::indexing_slicing,
    reason = "choices are below the length of what they choose from"
)]

use core::ops::{Deref, DerefMut};

use kubelease_core::Timestamp;
use kubelease_core::heartbeat::{HeartbeatConfig, HeartbeatIdentity, Retire};
use kubelease_core::lease::{NodeRecord, OwnerState, Readiness, RecordTime, Uid};

use super::{A, Alive, GW1, Heart, STEADY, heart};
use crate::choices::Choices;
use crate::lived::{Lived, REFUSALS};
use crate::prelude::{Duration, Lease, Reply, Response, held_by, released, wall};

/// A kind of heart.
pub type Kind = (HeartbeatConfig, HeartbeatIdentity<&'static str>);

/// Hearts of all kinds.
#[must_use]
pub fn kinds(seed: u64) -> Vec<Kind> {
    let (a, gw1) = (
        HeartbeatIdentity { seed, ..A },
        HeartbeatIdentity { seed, ..GW1 },
    );
    let known = HeartbeatIdentity {
        node_uid: Some("u1"),
        ..gw1
    };
    let node = HeartbeatConfig {
        watch_node: true,
        ..HeartbeatConfig::NODE
    };
    let required = HeartbeatConfig {
        owner_required: true,
        ..node
    };
    let quick = HeartbeatConfig {
        request_timeout: Duration::from_millis(400),
        ..HeartbeatConfig::new(Duration::from_secs(1))
    };
    vec![
        (STEADY, a),
        (HeartbeatConfig::NODE, a),
        (node, gw1),
        (required, gw1),
        (required, known),
        (node, known),
        (
            HeartbeatConfig {
                force_owner: true,
                create_with_put: true,
                ..HeartbeatConfig::NODE
            },
            a,
        ),
        (
            HeartbeatConfig {
                liveness_ttl: Some(Duration::from_secs(30)),
                ..required
            },
            gw1,
        ),
        (quick, a),
        (
            HeartbeatConfig {
                retire_budget: Duration::from_millis(300),
                jitter_percent: 100,
                ..HeartbeatConfig::new(Duration::from_secs(3_600))
            },
            a,
        ),
    ]
}

/// A random life of a heart.
#[derive(Debug)]
pub struct HeartLife<C> {
    lived: Lived<Heart, C>,
    kind: Kind,
    /// What the Node said last: that mostly lasts.
    readiness: Readiness,
}

impl<C> Deref for HeartLife<C> {
    type Target = Lived<Heart, C>;

    fn deref(&self) -> &Self::Target {
        &self.lived
    }
}

impl<C> DerefMut for HeartLife<C> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.lived
    }
}

impl<C: Choices> HeartLife<C> {
    /// The beginning of a life that goes on as `choices` says.
    #[must_use]
    pub fn new(kind: Kind, choices: C) -> Self {
        Self {
            lived: Lived::new(heart(kind.0, kind.1), choices),
            kind,
            readiness: Readiness::Ready,
        }
    }

    /// Whether there is nothing left to choose by.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.choices.is_over()
    }

    /// Does something, and polls mostly.
    ///
    /// # Panics
    /// Where a law is broken.
    pub fn step(&mut self) {
        match self.below(100) {
            0..44 => self.answer(),
            44..51 => self.fail(),
            51..54 => self.answer_the_dead(),
            54..86 => self.pass_time(60_000),
            86..90 => self.bend_time(),
            90..96 => {
                self.note("alive");
                self.driver.take(Alive);
            }
            96 => self.retire(),
            _ => {}
        }
        if self.chance(90) {
            self.settle();
        }
    }

    fn settle(&mut self) {
        if self.lived.settle() {
            self.driver = heart(self.kind.0, self.kind.1);
        }
    }

    fn answer(&mut self) {
        let Some(sent) = self.flight() else {
            return;
        };
        let id = sent.id;
        if self.chance(55) {
            if sent.node.is_some() {
                let uid = ["u1", "u2", "u3"][self.below(3) as usize];
                self.node(id, uid);
                return;
            }
            if sent.deletes.is_some() {
                self.note((id, "deleted"));
                let _ = self.driver.respond_to(id, Response::new(Reply::Deleted));
                return;
            }
            if let Some(write) = &sent.write {
                self.version += 1 + self.below(3);
                let mut lease = Lease::written(write, self.version);
                if write.owner.is_some() {
                    lease = lease.owned(OwnerState::Current, false);
                }
                self.note((id, "done"));
                let _ = self.driver.respond_to(id, lease.response());
                return;
            }
        }
        if self.chance(65) {
            let lease = self.lease();
            self.answer_with(id, &lease);
        } else if self.chance(90) {
            self.refuse(id, &REFUSALS);
        } else {
            self.refuse(id, &[Reply::LeaseMissing, Reply::Deleted]);
        }
    }

    fn node(&mut self, id: kubelease_core::protocol::RequestId, uid: &str) {
        let said = [
            Readiness::Ready,
            Readiness::Ready,
            Readiness::NotReady,
            Readiness::Unknown,
            Readiness::Unsaid,
        ];
        if self.chance(50) {
            self.readiness = said[self.below(5) as usize];
        }
        let readiness = self.readiness;
        self.note((id, uid, readiness));
        let uid = Uid::try_from(uid).expect("a short uid");
        let node = NodeRecord {
            uid: &uid,
            readiness,
        };
        let _ = self.driver.respond_to(id, Response::new(Reply::Node(node)));
    }

    fn lease(&mut self) -> Lease {
        match self.below(20) {
            0..12 => self.version += self.below(3),
            12 => self.version = self.version.saturating_sub(self.below(9)),
            _ => {}
        }
        let (version, past) = (self.version, self.below(1_000_000));
        let holder = self.kind.1.holder;
        let mut lease = match self.below(10) {
            0..4 => held_by(holder, version).renewed(past),
            4 => held_by("B", version),
            5 => held_by("C", version).renewed(past),
            6 => released(version),
            7 => held_by(&"long".repeat(60), version),
            8 => match self.driver.last_claim_if_any() {
                Some(claim) => Lease::written(claim, version),
                None => held_by(holder, version),
            },
            _ => Lease::new(None, version),
        };
        let owners = [OwnerState::Absent, OwnerState::Stale, OwnerState::Current];
        lease = lease.owned(owners[self.below(3) as usize], self.chance(20));
        if self.chance(30) {
            let odd = [0, 1, 2, 15, 30, -1, i32::MAX, i32::MIN];
            lease = lease.duration(odd[self.below(8) as usize]);
        }
        if self.chance(2) {
            lease = lease.spec(|spec| spec.renew_time = RecordTime::Canonical(Timestamp::MAX));
        }
        // Somebody beats by the same clock, to the microsecond.
        let reckoned = self.driver.ledger_mut().reckoned();
        if let Some(reckoned) = reckoned.filter(|_| self.chance(5)) {
            lease = lease.spec(|spec| spec.renew_time = RecordTime::Canonical(reckoned));
        }
        if self.chance(3) {
            lease = lease.version(["", "x", "01"][self.below(3) as usize]);
        }
        lease.record.being_deleted = self.chance(5);
        if self.chance(20) {
            lease = lease.dated(wall(self.below(1 << 40)));
        }
        lease
    }

    fn answer_the_dead(&mut self) {
        for id in self.driver.dead_ids() {
            let lease = self.lease();
            self.lived.answer_the_dead(id, &lease);
        }
    }

    fn retire(&mut self) {
        let ways = [
            Retire::Keep,
            Retire::FinalBeat,
            Retire::Delete,
            Retire::Delete,
        ];
        let how = ways[self.below(4) as usize];
        self.note(how);
        self.driver.take(how);
    }
}
