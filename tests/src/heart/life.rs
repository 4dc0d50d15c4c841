//! Random lives of hearts: whatever comes in, in whatever order. The driver asserts the laws.
#![allow(
    clippy::indexing_slicing,
    reason = "choices are below the length of what they choose from"
)]

use std::collections::{BTreeMap, VecDeque};

use kubelease_core::Timestamp;
use kubelease_core::heartbeat::{HeartbeatConfig, HeartbeatIdentity, Retire};
use kubelease_core::lease::{NodeRecord, OwnerState, Readiness, RecordTime, Uid};

use super::{A, Alive, GW1, HeartDriver, STEADY, heart};
use crate::choices::Choices;
use crate::prelude::{
    BadAnswer, Duration, Failure, Instant, Lease, Reply, Response, held_by, released, retry_after,
    wall,
};

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

/// A random life, and how often each kind of output came up.
#[derive(Debug)]
pub struct HeartLife<C> {
    h: HeartDriver,
    kind: Kind,
    choices: C,
    version: u64,
    /// What was done last.
    pub done: VecDeque<String>,
    /// How often each kind of output came up.
    pub outputs: BTreeMap<String, u64>,
}

impl<C: Choices> HeartLife<C> {
    /// The beginning of a life that goes on as `choices` says.
    #[must_use]
    pub fn new(kind: Kind, choices: C) -> Self {
        Self {
            h: heart(kind.0, kind.1),
            kind,
            choices,
            version: 10,
            done: VecDeque::new(),
            outputs: BTreeMap::new(),
        }
    }

    /// Whether there is nothing left to choose by.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.choices.is_over()
    }

    fn below(&mut self, end: u64) -> u64 {
        self.choices.below(end)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn note(&mut self, what: impl core::fmt::Debug) {
        let text = format!("{:?}: {what:?}", self.h.now().instant);
        self.done.push_back(text);
        if self.done.len() > 30 {
            self.done.pop_front();
        }
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
            54..86 => self.pass_time(),
            86..90 => self.bend_time(),
            90..96 => {
                self.note("alive");
                self.h.take(Alive);
            }
            96 => self.retire(),
            _ => {}
        }
        if self.chance(90) {
            self.settle();
        }
    }

    fn settle(&mut self) {
        let seen = self.h.settle();
        self.note(&seen);
        for text in seen {
            let kind = text.split(' ').next().unwrap_or_default();
            let detail = match kind {
                "PUT" => text.split(' ').next_back().unwrap_or_default(),
                "Finished" => &text,
                "GET" if text.len() > 3 => "GET node",
                _ => kind,
            };
            *self.outputs.entry(detail.to_owned()).or_default() += 1;
        }
        if self.h.is_done() {
            self.h = heart(self.kind.0, self.kind.1);
        }
    }

    fn answer(&mut self) {
        let Some(sent) = self.h.flight_if_any().cloned() else {
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
                let _ = self.h.respond_to(id, Response::new(Reply::Deleted));
                return;
            }
            if let Some(write) = &sent.write {
                self.version += 1 + self.below(3);
                let mut lease = Lease::written(write, self.version);
                if write.owner.is_some() {
                    lease = lease.owned(OwnerState::Current, false);
                }
                self.note((id, "done"));
                let _ = self.h.respond_to(id, lease.response());
                return;
            }
        }
        if self.chance(65) {
            let lease = self.lease();
            self.note((id, &lease));
            let _ = self.h.respond_to(id, lease.response());
        } else {
            let response = self.response();
            self.note((id, response));
            let _ = self.h.respond_to(id, response);
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
        let readiness = said[self.below(5) as usize];
        self.note((id, uid, readiness));
        let uid = Uid::try_from(uid).expect("a short uid");
        let node = NodeRecord {
            uid: &uid,
            readiness,
        };
        let _ = self.h.respond_to(id, Response::new(Reply::Node(node)));
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
            8 => match self.h.last_claim_if_any() {
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
        if self.chance(3) {
            lease = lease.version(["", "x", "01"][self.below(3) as usize]);
        }
        lease.record.being_deleted = self.chance(5);
        if self.chance(20) {
            lease = lease.dated(wall(self.below(1 << 40)));
        }
        lease
    }

    fn response(&mut self) -> Response<'static> {
        let replies = [
            Reply::LeaseMissing,
            Reply::LeaseMissing,
            Reply::LeaseMissing,
            Reply::Conflict,
            Reply::Conflict,
            Reply::NamespaceMissing,
            Reply::ApiUnavailable,
            Reply::BadRequest,
            Reply::Unauthorized,
            Reply::Forbidden,
            Reply::NamespaceTerminating,
            Reply::Invalid,
            Reply::Throttled,
            Reply::ServerError(503),
            Reply::ServerError(500),
            Reply::Refused(418),
            Reply::BadAnswer(BadAnswer::Truncated),
            Reply::TooLarge,
            Reply::Deleted,
            Reply::WatchEnded,
        ];
        let reply = replies[self.below(20) as usize];
        if self.chance(20) {
            let far = [0, 1, 7, 61, 1 << 40, u64::MAX];
            retry_after(reply, far[self.below(6) as usize])
        } else {
            Response::new(reply)
        }
    }

    fn fail(&mut self) {
        let Some(sent) = self.h.flight_if_any().cloned() else {
            return;
        };
        let failures = [Failure::NotSent, Failure::Unknown, Failure::TimedOut];
        let failure = failures[self.below(3) as usize];
        self.note((sent.id, failure));
        let _ = self.h.fail_of(sent.id, failure);
    }

    fn answer_the_dead(&mut self) {
        for id in self.h.dead_ids() {
            let lease = self.lease();
            self.note((id, &lease));
            let taken = self.h.respond_to(id, lease.response());
            assert!(taken.is_err(), "a dead id");
        }
    }

    fn pass_time(&mut self) {
        let now = self.h.now().instant.as_millis();
        let wake = self.h.waits_until().map_or(now, Instant::as_millis);
        let left = wake.saturating_sub(now);
        let next = match self.below(10) {
            0..6 => wake,
            6 | 7 => now + self.below(left.min(u64::from(u32::MAX)) + 1),
            8 => wake.saturating_add(self.below(60_000)),
            _ => now.saturating_add(self.below(200)),
        };
        self.move_to(next.min((1 << 62) + 5));
    }

    /// Lets the civil clock go along where the monotonic one goes forward.
    fn move_to(&mut self, next: u64) {
        self.note(("time", next));
        let now = self.h.now();
        let passed = next.saturating_sub(now.instant.as_millis());
        let wall = now.wall.map(|wall| {
            let micros = i64::try_from(passed).map_or(0, |passed| passed.saturating_mul(1_000));
            let sum = wall.as_unix_micros().saturating_add(micros);
            Timestamp::from_unix_micros(sum).unwrap_or(Timestamp::MAX)
        });
        self.h.set_instant(Instant::from_millis(next));
        self.h.set_wall(wall);
    }

    fn bend_time(&mut self) {
        let now = self.h.now().instant.as_millis();
        let (noise, back) = (self.below(1_000), self.below(100_000));
        let (leap, start) = (self.below(1 << 32), self.below(3_000));
        match self.below(40) {
            0..12 => self.move_to(now.saturating_sub(noise)),
            12..16 => self.move_to(now.saturating_sub(back)),
            16..18 => self.move_to(now.saturating_add(leap)),
            18 => self.move_to(start),
            20..28 => {
                let micros = i64::try_from(leap).unwrap_or_default() * 60_000_000;
                self.note(("wall", micros));
                self.h.set_wall(Timestamp::from_unix_micros(micros));
            }
            28 => self.h.set_wall(Some(Timestamp::MAX)),
            29..34 => self.h.set_wall(None),
            34 => self.h.set_wall(Some(Timestamp::MIN)),
            _ => self.h.set_wall(Some(wall(leap << 1))),
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
        self.h.take(how);
    }
}
