//! Hearts before the judge that counts: the node controller of Kubernetes 1.37.
//!
//! It takes a `renewTime` above the saved one for a beat, and nothing else. A node whose lease
//! changed without one is never found dead any more (`NodeControllerLeaseCircuitBreaker`): here
//! that is an error at once.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may")]

use kubelease_core::Timestamp;
use kubelease_core::heartbeat::{HeartbeatConfig, HeartbeatIdentity, Retire};
use kubelease_core::lease::{LeaseRecord, Readiness, RecordTime};
use kubelease_tests::heart::server::HeartServer;
use kubelease_tests::heart::{A as HEART, GW1, HeartDriver, Node, STEADY, heart, watching};
use kubelease_tests::prelude::*;
use kubelease_tests::store::{Answer, run_with};

/// What the controller saved of a node, with the default of its grace period.
#[derive(Debug, Default)]
struct Controller {
    saved: Option<Timestamp>,
    version: String,
    /// When it last heard a beat.
    heard: u64,
    beats: u32,
}

const GRACE_MS: u64 = 50_000;

impl Controller {
    /// Looks at the lease after each request that could have changed it.
    #[track_caller]
    fn look(&mut self, now: u64, lease: Option<&LeaseRecord>) {
        let Some(record) = lease else { return };
        let version = record.version.resource_version.as_str();
        if version == self.version {
            return;
        }
        self.version = version.to_owned();
        let spec = record.spec.as_ref().expect("a spec");
        let renewed = spec.renew_time.timestamp();
        assert!(
            renewed.is_some() && renewed > self.saved,
            "the node would be Ready for ever: {renewed:?} after {:?}",
            self.saved
        );
        assert!(now - self.heard < GRACE_MS, "the node was found dead");
        self.saved = renewed;
        self.heard = now;
        self.beats += 1;
    }
}

/// A heart, its server and its judge.
struct World {
    h: HeartDriver,
    server: HeartServer,
    judge: Controller,
}

impl World {
    fn new(config: HeartbeatConfig, identity: HeartbeatIdentity<&'static str>) -> Self {
        Self {
            h: heart(config, identity),
            server: HeartServer::with_node("u1"),
            judge: Controller::default(),
        }
    }

    /// Lets the heart live to `until`; all that it does is judged.
    #[track_caller]
    fn live(&mut self, until: u64) {
        let Self { h, server, judge } = self;
        run_with(h, until, 20, |now, sent| {
            let answer = server.serve(sent);
            judge.look(now, server.store.lease.as_ref());
            answer
        });
    }

    /// Ends the heart; the controller must find the node dead afterwards.
    #[track_caller]
    fn retire(&mut self, how: Retire) {
        self.h.take(how);
        let until = self.h.now_ms() + GRACE_MS;
        self.live(until);
        assert!(self.h.is_done());
    }

    /// Another heart on the same lease, `ms` later; its civil clock says `wall`.
    #[track_caller]
    fn restart(&mut self, wall: Option<Timestamp>) {
        self.h = heart(STEADY, HEART);
        self.h.set_wall(wall);
        self.judge.heard = 0;
    }

    fn set_back_wall(&mut self, ms: u64) {
        let wall = self.h.now().wall.and_then(|it| it.checked_sub_millis(ms));
        self.h.set_wall(wall);
    }
}

fn time(text: &str) -> Option<Timestamp> {
    Some(Timestamp::parse(text).unwrap())
}

#[test]
fn a_beating_heart_is_heard_at_every_beat() {
    let mut world = World::new(STEADY, HEART);
    world.live(600_000);
    assert_eq!(world.judge.beats, 61);
}

#[test]
fn a_heart_with_an_owner_and_one_whose_lease_was_there_before_are_heard() {
    for config in [STEADY, HeartbeatConfig::NODE] {
        let mut world = World::new(
            HeartbeatConfig {
                owner_required: true,
                ..config
            },
            GW1,
        );
        world.server.store.put(&held_by("gw1", 5));
        world.live(600_000);
        assert!(world.judge.beats >= 57, "{:?}", world.judge);
        assert_eq!(world.server.owner.as_deref(), Some("u1"));
    }
}

/// Rows of the table: a lease without renewTime, with one from 1970, 2099 or 9999, of a short
/// duration, without a holder, without a spec.
#[test]
fn whatever_is_in_the_lease_the_first_beat_passes_it() {
    let canonical = |text: &str| RecordTime::Canonical(time(text).unwrap());
    let times = [
        RecordTime::Absent,
        RecordTime::Null,
        canonical("1970-01-01T00:00:01.000001Z"),
        canonical("2001-02-03T04:05:06.000007Z"),
        canonical("2099-01-01T00:00:00.000000Z"),
        canonical("9999-01-01T00:00:00.000000Z"),
    ];
    for renew_time in times {
        for duration in [1, 40, 86_400] {
            for holder in ["A", ""] {
                let mut world = World::new(STEADY, HEART);
                let lease = held_by(holder, 5)
                    .duration(duration)
                    .spec(|spec| spec.renew_time = renew_time);
                world.judge.saved = renew_time.timestamp();
                "5".clone_into(&mut world.judge.version);
                world.server.store.put(&lease);
                world.live(100_000);
                assert_eq!(world.judge.beats, 11, "{renew_time:?}");
            }
        }
    }
    let mut world = World::new(STEADY, HEART);
    world.server.store.put(&Lease::new(None, 5));
    "5".clone_into(&mut world.judge.version);
    world.live(100_000);
    assert_eq!(world.judge.beats, 11);
}

/// Rule 1: an hour back between two beats.
#[test]
fn a_civil_clock_that_steps_back_is_not_noticed() {
    let mut world = World::new(STEADY, HEART);
    world.live(35_000);
    world.set_back_wall(3_600_000);
    world.live(95_000);
    world.set_back_wall(86_400_000 * 365);
    world.live(300_000);
    assert_eq!(world.judge.beats, 31);
    world.retire(Retire::Keep);
}

/// Rules 1 and 2: the last time is that in the store, whoever wrote it.
#[test]
fn a_restart_with_a_clock_a_year_behind_is_heard_at_once() {
    for wall in [
        None,
        time("2025-01-02T03:04:05Z"),
        time("1970-01-01T00:00:00Z"),
    ] {
        let mut world = World::new(STEADY, HEART);
        world.live(55_000);
        let beats = world.judge.beats;
        world.restart(wall);
        world.live(100_000);
        assert_eq!(world.judge.beats, beats + 11, "{wall:?}");
    }
}

/// Rule 2: a counter from 1970 will do, and a value from the future is counted up.
#[test]
fn no_clock_at_all_is_fine() {
    let mut world = World::new(STEADY, HEART);
    world.h.set_wall(None);
    world.live(100_000);
    assert_eq!(world.judge.beats, 11);
    let written = world.h.last_claim().renew_time;
    assert!(written < time("1970-01-01T00:02:00Z").unwrap(), "{written}");

    let mut world = World::new(STEADY, HEART);
    world.h.set_wall(time("2099-01-01T00:00:00Z"));
    world.live(55_000);
    world.h.set_wall(Some(wall(55_000)));
    world.live(100_000);
    assert_eq!(world.judge.beats, 11);
    let written = world.h.last_claim().renew_time;
    assert!(written > time("2099-01-01T00:01:00Z").unwrap(), "{written}");
}

/// Rule 3: whichever way it ends, the last write raised the time, and the holder stays.
#[test]
fn a_heart_that_ends_leaves_a_node_that_can_be_found_dead() {
    for how in [Retire::Keep, Retire::FinalBeat, Retire::Delete] {
        for at in [0, 5, 25, 10_000, 10_010, 34_567] {
            let mut world = World::new(STEADY, HEART);
            world.server.store.put(&held_by("A", 5));
            "5".clone_into(&mut world.judge.version);
            world.live(at);
            let beats = world.judge.beats;
            world.retire(how);
            let more = u32::from(how == Retire::FinalBeat);
            assert!(world.judge.beats <= beats + more, "{how:?} at {at}");
            match &world.server.store.lease {
                None => assert_eq!(how, Retire::Delete),
                Some(lease) => assert!(lease.spec.as_ref().unwrap().holder.matches("A")),
            }
        }
    }
}

/// Rule 4.
#[test]
fn the_very_first_creation_has_a_time() {
    let mut h = heart(STEADY, HEART);
    at!(h, 0 => ["GET"]);
    at!(h, 0, Reply::LeaseMissing => ["POST"]);
    assert_eq!(h.write().renew_time, wall(0));
}

/// A lease that is deleted and made again goes on from the time of the old one.
#[test]
fn a_lease_that_is_made_anew_has_no_older_time() {
    let mut world = World::new(STEADY, HEART);
    world.live(35_000);
    world.set_back_wall(3_600_000);
    world.server.store.lease = None;
    world.live(100_000);
    assert_eq!(world.judge.beats, 11);
}

/// The row of the harmless one: a foreign write between two beats, which keeps the time.
#[test]
fn a_label_that_somebody_writes_between_two_beats_is_passed_over() {
    let mut world = World::new(STEADY, HEART);
    world.live(35_000);
    let stored = world.server.store.lease.clone().unwrap();
    world.server.store.write(Lease {
        record: stored,
        server_time: None,
    });
    world.judge.version = {
        let stored = world.server.store.lease.as_ref().unwrap();
        stored.version.resource_version.as_str().to_owned()
    };
    world.live(100_000);
    assert_eq!(world.judge.beats, 11);
}

/// Rule 6: after an outage the heart looks at its node, and says that its beats do not help it.
#[test]
fn a_node_that_was_found_dead_is_told_until_it_is_ready() {
    let mut h = heart(
        HeartbeatConfig {
            watch_node: true,
            ..STEADY
        },
        HeartbeatIdentity {
            node_uid: Some("u1"),
            ..GW1
        },
    );
    at!(h, 0 => ["GET"]);
    at!(h, 0, Reply::LeaseMissing => ["POST"]);
    at!(h, 0, Accepted(1) => ["GET node gw1"]);
    at!(h, 10, Node("u1", Readiness::Ready) => ["wait 10000"]);
    at!(h, 10_000 => ["PUT 1 renew"]);
    at!(h, 10_000, Accepted(2) => ["wait 20000"]);
    at!(h, 20_000 => ["PUT 2 renew"]);
    at!(h, 20_000, retry_after(Reply::Throttled, 60) => ["wait 80000"]);
    at!(h, 80_000 => ["PUT 2 renew"]);
    at!(h, 80_000, Accepted(3) => ["GET node gw1"]);
    at!(h, 80_010, Node("u1", Readiness::Unknown) => ["NodeNotReady(Unknown)", "wait 90000"]);
    at!(h, 90_000 => ["PUT 3 renew"]);
    at!(h, 90_000, Accepted(4) => ["GET node gw1"]);
    at!(h, 90_000, Failure::Unknown => ["wait 100000"]);
    at!(h, 100_000 => ["PUT 4 renew"]);
    at!(h, 100_000, Accepted(5) => ["GET node gw1"]);
    at!(h, 100_000, Node("u1", Readiness::Unknown) => ["NodeNotReady(Unknown)"]);
    at!(h, 110_000 => ["PUT 5 renew"]);
    at!(h, 110_000, Accepted(6) => ["GET node gw1"]);
    at!(h, 110_000, Node("u1", Readiness::Ready) => ["wait 120000"]);
    at!(h, 120_000 => ["PUT 6 renew"]);
    at!(h, 120_000, Accepted(7) => ["wait 130000"]);
}

/// A look that got lost is made up for, and one that is refused after it, a lease duration later.
#[test]
fn a_node_that_may_not_be_read_costs_one_request_in_a_lease_duration() {
    let mut h = heart(
        HeartbeatConfig {
            watch_node: true,
            ..STEADY
        },
        HeartbeatIdentity {
            node_uid: Some("u1"),
            ..GW1
        },
    );
    at!(h, 0 => ["GET"]);
    at!(h, 0, Reply::LeaseMissing => ["POST"]);
    at!(h, 0, Accepted(1) => ["GET node gw1"]);
    at!(h, 0, Failure::NotSent => ["wait 10000"]);
    at!(h, 10_000 => ["PUT 1 renew"]);
    at!(h, 10_000, Accepted(2) => ["GET node gw1"]);
    at!(h, 10_000, Reply::Forbidden => ["wait 20000"]);
    at!(h, 20_000 => ["PUT 2 renew"]);
    at!(h, 20_000, Accepted(3) => ["wait 30000"]);
    at!(h, 30_000 => ["PUT 3 renew"]);
    at!(h, 30_000, Accepted(4) => ["wait 40000"]);
    at!(h, 40_000 => ["PUT 4 renew"]);
    at!(h, 40_000, Accepted(5) => ["wait 50000"]);
    at!(h, 50_000 => ["PUT 5 renew"]);
    at!(h, 50_000, Accepted(6) => ["GET node gw1"]);
    at!(h, 50_000, Reply::Forbidden => ["Trouble Forbidden get", "wait 60000"]);
    for beat in 6..9 {
        let ms = beat * 10_000;
        at!(h, ms => [format!("PUT {beat} renew").as_str()]);
        at!(h, ms, Accepted(beat + 1) => [format!("wait {}", ms + 10_000).as_str()]);
    }
    at!(h, 90_000 => ["PUT 9 renew"]);
    at!(h, 90_000, Accepted(10) => ["GET node gw1"]);
    at!(h, 90_000, Reply::Forbidden => ["wait 100000"]);
}

/// Whatever a server says of the Node, beats go on; only one that is overloaded or broken keeps a
/// lease from being made without its owner.
#[test]
fn no_answer_about_the_node_holds_up_a_beat() {
    let passing = [Reply::Throttled, Reply::ServerError(503)];
    let replies = [
        Reply::LeaseMissing,
        Reply::Conflict,
        Reply::Unauthorized,
        Reply::Forbidden,
        Reply::BadAnswer(BadAnswer::Malformed),
        Reply::NamespaceMissing,
        Reply::ApiUnavailable,
        Reply::BadRequest,
        Reply::NamespaceTerminating,
        Reply::Invalid,
        Reply::Refused(418),
        Reply::TooLarge,
        Reply::Deleted,
        Reply::WatchEnded,
    ];
    let cases = replies.iter().map(|reply| (reply, false));
    let cases = cases.chain(passing.iter().chain(&replies).map(|reply| (reply, true)));
    for (reply, is_there) in cases {
        let (mut h, mut server) = (watching(), HeartServer::with_node("u1"));
        let mut judge = Controller::default();
        if is_there {
            server.store.put(&held_by("gw1", 5));
        }
        run_with(&mut h, 305_000, 20, |now, sent| {
            let answer = if sent.node.is_some() {
                Answer::from(*reply).into()
            } else {
                server.serve(sent)
            };
            judge.look(now, server.store.lease.as_ref());
            answer
        });
        let beats = judge.beats - u32::from(is_there);
        assert_eq!(beats, 31, "{reply:?}");
    }
}

/// Law of the heart alone: where no time is left, nothing is written, and that is told.
#[test]
fn at_the_end_of_times_nothing_is_written() {
    let mut h = heart(STEADY, HEART);
    at!(h, 0 => ["GET"]);
    let last = held_by("A", 5).spec(|spec| spec.renew_time = RecordTime::Canonical(Timestamp::MAX));
    at!(h, 0, last => ["Trouble TimeUsedUp update", "wait 10000"]);
    at!(h, 10_000 => ["wait 20000"]);
}
