//! Random lives of hearts: answers of all kinds, lost ones, late ones, calls, a clock that steps.

use std::collections::BTreeMap;

use kubelease_core::heartbeat::{HeartbeatConfig, Retire};
use kubelease_core::lease::{NodeRecord, OwnerState, Owners, Readiness, Uid};
use kubelease_core::prng::Prng;
use kubelease_tests::driven::Ledger as _;
use kubelease_tests::heart::life::{Kind, kinds};
use kubelease_tests::heart::transcript::Beats as _;
use kubelease_tests::heart::{A as ALONE, GW1, STEADY};
use kubelease_tests::prelude::*;
use kubelease_tests::seen::Sent;

use crate::heart::{HeartPair, heart};

struct Life {
    h: Driver<HeartPair>,
    prng: Prng,
    version: u64,
    kind: Kind,
    /// How often each kind of output came up.
    outputs: BTreeMap<String, u64>,
}

impl Life {
    fn below(&mut self, end: u64) -> u64 {
        u64::from(self.prng.next_u32()) % end
    }

    fn step(&mut self) {
        match self.below(100) {
            0..45 => self.answer(),
            45..52 => {
                if let Some(sent) = self.h.flight_if_any().cloned() {
                    let failures = [Failure::NotSent, Failure::Unknown, Failure::TimedOut];
                    let failure = failures[self.below(3) as usize];
                    let _ = self.h.fail_of(sent.id, failure);
                }
            }
            52..55 => {
                for id in self.h.dead_ids() {
                    let response = Response::new(Reply::LeaseMissing);
                    assert!(self.h.respond_to(id, response).is_err());
                }
            }
            55..88 => self.pass_time(),
            88..92 => self.bend_time(),
            92..97 => {
                HeartPair::vouch(&mut self.h);
            }
            97 => {
                let how = [Retire::Keep, Retire::FinalBeat, Retire::Delete];
                let how = how[self.below(3) as usize];
                HeartPair::end(&mut self.h, how);
            }
            _ => {}
        }
        match self.below(20) {
            0 | 1 => {
                self.h.poll_once();
            }
            2 | 3 => {}
            _ => {
                for text in self.h.settle() {
                    let kind = text.split(' ').next().unwrap_or_default();
                    *self.outputs.entry(kind.to_owned()).or_default() += 1;
                }
            }
        }
        if self.h.is_done() {
            self.h = heart(self.kind.0, self.kind.1);
        }
    }

    fn answer(&mut self) {
        let Some(sent) = self.h.flight_if_any().cloned() else {
            return;
        };
        self.version += self.below(3);
        if self.below(3) == 0 {
            self.reply(&sent);
        } else if sent.node.is_some() {
            let uid = ["u1", "u2", "u3"][self.below(3) as usize];
            let uid = Uid::try_from(uid).unwrap();
            let words = [Readiness::Ready, Readiness::NotReady, Readiness::Unknown];
            let readiness = *words
                .get(self.below(4) as usize)
                .unwrap_or(&Readiness::Unsaid);
            let reply = Reply::Node(NodeRecord {
                uid: &uid,
                readiness,
            });
            let _ = self.h.respond_to(sent.id, Response::new(reply));
        } else if sent.deletes.is_some() {
            let _ = self.h.respond_to(sent.id, Response::new(Reply::Deleted));
        } else {
            let lease = self.lease(&sent);
            let _ = self.h.respond_to(sent.id, lease.response());
        }
    }

    /// A lease: mostly what was just written, or what was written last.
    fn lease(&mut self, sent: &Sent) -> Lease {
        let (past, is_done) = (self.below(1_000), self.below(4) != 0);
        if let Some(write) = sent.write.as_ref().filter(|_| is_done) {
            self.version += 1;
            let owners = self.h.ledger_mut().owners();
            return self.owned(Lease::written(write, self.version), owners);
        }
        let (holder, version) = (self.kind.1.holder, self.version);
        let mut lease = match self.below(8) {
            0..3 => self.h.last_claim_if_any().map_or_else(
                || held_by(holder, version),
                |claim| Lease::written(claim, version),
            ),
            3 => held_by(holder, version).renewed(past),
            4 => held_by("B", version).renewed(past),
            5 => held_by(&"long".repeat(60), version),
            6 => released(version),
            _ => Lease::new(None, version).uid("u2"),
        };
        let states = [OwnerState::Absent, OwnerState::Stale, OwnerState::Current];
        let node = states[self.below(3) as usize];
        let has_others = self.below(4) == 0;
        lease.record.being_deleted = self.below(10) == 0;
        self.owned(lease, Owners { node, has_others })
    }

    /// With these owners, as far as a server can have them.
    fn owned(&self, lease: Lease, owners: Owners) -> Lease {
        match (self.h.machine().node(), owners.node) {
            (None, _) => lease,
            (Some(node), OwnerState::Current) if node.uid.is_empty() => {
                lease.owned(OwnerState::Stale, owners.has_others)
            }
            (Some(_), state) => lease.owned(state, owners.has_others),
        }
    }

    fn reply(&mut self, sent: &Sent) {
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
            Reply::Refused(418),
            Reply::BadAnswer(BadAnswer::Truncated),
        ];
        // To a deletion each success is one: nothing of it is read.
        let count = replies.len() as u64 - u64::from(sent.deletes.is_some());
        let reply = replies[self.below(count) as usize];
        let response = if self.below(4) == 0 {
            retry_after(reply, self.below(70))
        } else {
            Response::new(reply)
        };
        let _ = self.h.respond_to(sent.id, response);
    }

    fn pass_time(&mut self) {
        let now = self.h.now().instant.as_millis();
        let wake = self.h.waits_until().map_or(now, Instant::as_millis);
        let next = match self.below(4) {
            0 | 1 => wake.max(now),
            2 => now + self.below(3_000),
            _ => wake.max(now) + self.below(60_000),
        };
        self.h.set_instant(Instant::from_millis(next));
    }

    fn bend_time(&mut self) {
        let now = self.h.now().instant.as_millis();
        let back = [500, 1_000, 1_001, 90_000][self.below(4) as usize];
        let (leap, wall) = (self.below(1 << 32), wall(self.below(1 << 32)));
        match self.below(6) {
            0 | 1 => self.h.set_instant(Instant::from_millis(now - back)),
            2 => self.h.set_instant(Instant::from_millis(now + leap)),
            3 => self.h.set_wall(None),
            _ => self.h.set_wall(Some(wall)),
        }
    }
}

#[test]
fn the_laws_hold_in_random_lives_of_hearts() {
    let unready = HeartbeatConfig {
        watch_node: true,
        ..STEADY
    };
    let mut kinds = kinds(0x6b6c);
    kinds.extend([(unready, GW1), (STEADY, ALONE)]);
    let mut outputs = BTreeMap::new();
    for (seed, kind) in (0x6b6c_u64..).zip(kinds) {
        let mut life = Life {
            h: heart(kind.0, kind.1),
            prng: Prng::new(seed),
            version: 10,
            kind,
            outputs,
        };
        for _ in 0..600 {
            life.step();
        }
        outputs = life.outputs;
    }
    let found: Vec<&str> = outputs.keys().map(String::as_str).collect();
    let expected = [
        "Cancel",
        "CredentialsRejected",
        "DELETE",
        "Done",
        "Finished",
        "GET",
        "LeaseBeingDeleted",
        "LeaseRecreated",
        "NodeNotReady(NotReady)",
        "NodeNotReady(Unknown)",
        "NodeNotReady(Unsaid)",
        "POST",
        "PUT",
        "ReconnectAdvised",
        "Trouble",
        "wait",
    ];
    assert_eq!(found, expected, "{outputs:?}");
}
