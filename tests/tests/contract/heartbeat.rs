//! component-helpers `apimachinery/lease/controller_test.go`: what kubelet's heartbeat promises.

use kubelease_core::heartbeat::{Health, HeartbeatConfig, HeartbeatIdentity, Retire};
use kubelease_core::lease::{OwnerState, Readiness};
use kubelease_core::protocol::Changes;
use kubelease_tests::heart::server::HeartServer;
use kubelease_tests::heart::{A, Alive, HeartDriver, Node, STEADY, beating, heart};
use kubelease_tests::prelude::*;
use kubelease_tests::seen::Owner;
use kubelease_tests::store::run_with;

/// The upstream heart: node foo in 10 s, here with the owner required.
const FOO: HeartbeatConfig = HeartbeatConfig {
    owner_required: true,
    jitter_percent: 0,
    spread_first_beat: false,
    ..HeartbeatConfig::new(Duration::from_secs(10))
};

const NODE_FOO: HeartbeatIdentity<&'static str> = HeartbeatIdentity::of_node("foo");

/// The lease as foo left it 10 s before the origin.
fn of_foo(version: u64) -> Lease {
    let earlier = wall(0).checked_sub_millis(10_000).unwrap();
    held_by("foo", version).duration(10).spec(|spec| {
        spec.renew_time = kubelease_core::lease::RecordTime::Canonical(earlier);
    })
}

fn owner_foo(has_others: bool) -> Option<Box<Owner>> {
    Some(Box::new(Owner {
        name: "foo".to_owned(),
        uid: "foo-uid".to_owned(),
        has_others,
    }))
}

/// A heart with the lease in version 1, without a read since.
fn with_latest(version: u64) -> HeartDriver {
    let mut h = heart(FOO, NODE_FOO);
    at!(h, 0 => ["GET"]);
    let lease = of_foo(version).owned(OwnerState::Stale, false);
    at!(h, 0, lease => [&format!("PUT {version} renew")]);
    h
}

/// Upstream builds a lease without an owner and drops it; here none is ever made.
#[test]
fn hb_01_a_missing_node_has_no_lease() {
    let mut h = heart(FOO, NODE_FOO);
    at!(h, 0 => ["GET"]);
    at!(h, 0, Reply::LeaseMissing => ["GET node foo"]);
    at!(h, 0, Reply::LeaseMissing => ["Trouble NodeMissing get", "wait 2500"]);
    // Where no owner is required, the lease is made without.
    let config = HeartbeatConfig {
        owner_required: false,
        ..FOO
    };
    let mut h = heart(config, NODE_FOO);
    at!(h, 0 => ["GET"]);
    at!(h, 0, Reply::LeaseMissing => ["GET node foo"]);
    at!(h, 0, Reply::LeaseMissing => ["Trouble NodeMissing get", "POST"]);
    let write = h.write();
    assert_eq!((write.holder.as_str(), write.duration), ("foo", 10));
    assert_eq!(write.renew_time, wall(0));
    assert_eq!(write.owner, None);
}

#[test]
fn hb_02_a_new_lease_has_its_node_as_owner() {
    let mut h = heart(FOO, NODE_FOO);
    at!(h, 0 => ["GET"]);
    at!(h, 0, Reply::LeaseMissing => ["GET node foo"]);
    at!(h, 0, Node("foo-uid", Readiness::Ready) => ["POST"]);
    let write = h.write();
    assert_eq!((write.holder.as_str(), write.duration), ("foo", 10));
    assert_eq!(write.renew_time, wall(0));
    assert_eq!(write.owner, owner_foo(false));
}

#[test]
fn hb_03_a_lease_without_owner_gets_one() {
    let mut h = heart(FOO, NODE_FOO);
    at!(h, 0 => ["GET"]);
    at!(h, 0, of_foo(1).owned(OwnerState::Absent, true) => ["GET node foo"]);
    at!(h, 0, Node("foo-uid", Readiness::Ready) => ["PUT 1 renew"]);
    assert_eq!(h.write().owner, owner_foo(true));
    assert_eq!(h.write().renew_time, wall(0));
}

#[test]
fn hb_04_an_owner_that_is_there_is_kept() {
    let h = with_latest(1);
    assert_eq!(h.write().owner, None, "the owners stay as they are");
    assert_eq!(h.write().renew_time, wall(0));
}

#[test]
fn hb_05_the_duration_is_asserted_again() {
    let mut h = heart(STEADY, NODE_FOO);
    at!(h, 0 => ["GET"]);
    let lease = held_by("foo", 1).duration(123);
    at!(h, 0, lease.owned(OwnerState::Stale, false) => ["PUT 1 renew"]);
    assert_eq!(h.write().duration, 40);
    assert_eq!(h.write().changes(), Some(Changes::Renew));
}

#[test]
fn hb_06_one_update_that_works_is_enough() {
    let mut h = with_latest(1);
    at!(h, 0, Accepted(2) => ["wait 2500"]);
    assert_eq!(h.last_beat_ms(), Some(0));
}

/// Upstream gives up after five tries and waits for the next interval; so does this machine.
#[test]
fn hb_07_five_tries_fail_and_the_next_beat_follows() {
    let mut h = with_latest(1);
    let failed = Reply::ServerError(500);
    at!(h, 0, failed => ["PUT 1 renew"]);
    at!(h, 0, failed => ["ReconnectAdvised", "PUT 1 renew"]);
    at!(h, 0, failed => ["PUT 1 renew"]);
    at!(h, 0, failed => ["ReconnectAdvised", "PUT 1 renew"]);
    at!(h, 0, failed => ["wait 2500"]);
    assert_eq!(h.last_beat_ms(), None);
    at!(h, 2_500 => ["PUT 1 renew"]);
}

#[test]
fn hb_08_a_conflict_is_followed_by_a_read_and_is_no_failure() {
    let mut h = with_latest(1);
    at!(h, 0, Reply::ServerError(500) => ["PUT 1 renew"]);
    at!(h, 0, Reply::Conflict => ["GET"]);
    at!(h, 0, of_foo(2).owned(OwnerState::Stale, false) => ["PUT 2 renew"]);
    at!(h, 0, Accepted(3) => ["wait 2500"]);
    let told = h.transcript().iter();
    assert_eq!(told.filter(|line| line.contains("Reconnect")).count(), 0);
}

#[test]
fn hb_09_nothing_is_written_without_the_node() {
    let mut h = heart(FOO, NODE_FOO);
    at!(h, 0 => ["GET"]);
    at!(h, 0, of_foo(1) => ["GET node foo"]);
    at!(h, 0, Reply::LeaseMissing => ["Trouble NodeMissing get", "wait 2500"]);
    at!(h, 2_500 => ["GET node foo"]);
    at!(h, 2_500, Node("foo-uid", Readiness::Ready) => ["PUT 1 renew"]);
}

#[test]
fn hb_10_a_lease_that_was_just_made_is_not_beaten_at_once() {
    let mut h = heart(FOO, NODE_FOO);
    at!(h, 0 => ["GET"]);
    at!(h, 0, Reply::LeaseMissing => ["GET node foo"]);
    at!(h, 0, Node("foo-uid", Readiness::Ready) => ["POST"]);
    at!(h, 0, Accepted(1) => ["wait 2500"]);
    assert_eq!(h.last_beat_ms(), Some(0));
    at!(h, 2_500 => ["PUT 1 renew"]);
}

#[test]
fn hb_11_nothing_is_created_without_the_node() {
    let mut h = heart(FOO, NODE_FOO);
    let mut server = HeartServer::default();
    let seen = run_with(&mut h, 9_000, 10, |_, sent| server.serve(sent));
    assert!(seen.iter().all(|(_, text)| text != "POST"), "{seen:?}");
    let looks = seen.iter().filter(|(_, text)| text == "GET node foo");
    assert_eq!(looks.count(), 4, "again each interval: {seen:?}");
}

#[test]
fn hb_12_a_lease_of_the_last_run_is_beaten() {
    let mut h = with_latest(1);
    at!(h, 0, Accepted(2) => ["wait 2500"]);
    at!(h, 2_500 => ["PUT 2 renew"]);
}

#[test]
fn hb_13_a_beat_needs_no_read() {
    let mut h = with_latest(1);
    at!(h, 0, Accepted(2) => []);
    for (beat, version) in (1_u64..).zip(2..9) {
        at!(h, beat * 2_500 => [&format!("PUT {version} renew")]);
        at!(h, beat * 2_500, Accepted(version + 1) => []);
    }
}

/// Upstream writes over a 404 once more, as if it were any failure. Here it is believed: the lease
/// is gone, and its Node is asked for first.
#[test]
fn hb_14_a_lease_that_is_gone_is_made_anew_in_the_same_beat() {
    let mut h = with_latest(1);
    at!(h, 0, Reply::LeaseMissing => ["GET node foo"]);
    at!(h, 0, Node("foo-uid", Readiness::Ready) => ["POST"]);
    at!(h, 0, Accepted(3) => ["LeaseRecreated", "wait 2500"]);
    assert_eq!(h.last_beat_ms(), Some(0));
}

#[test]
fn hb_15_an_endless_retry_of_the_creation_can_be_stopped() {
    let config = HeartbeatConfig {
        owner_required: false,
        ..FOO
    };
    let mut h = heart(config, HeartbeatIdentity::new("foo_"));
    at!(h, 0 => ["GET"]);
    at!(h, 0, Reply::LeaseMissing => ["POST"]);
    at!(h, 0, Reply::Invalid => ["Trouble Invalid create", "wait 1000"]);
    at!(h, 1_000 => ["GET"]);
    assert_eq!(h.health(), Health::Ok);
    at!(h, 1_000, Retire::Keep => ["Finished Kept", "Cancel", "Done"]);
    at!(h, 1_000, Retire::Keep => ["Done"]);
}

/// The lease as A wrote it so many milliseconds and microseconds after the origin.
fn renewed_at(version: u64, ms: u64, micros: u64) -> Lease {
    let time = wall(ms).checked_add_micros(micros).unwrap();
    held_by("A", version).duration(40).spec(|spec| {
        spec.renew_time = kubelease_core::lease::RecordTime::Canonical(time);
    })
}

/// As a second process of the same name may have written it.
#[test]
fn a_time_that_was_read_is_passed_where_it_is_just_what_was_reckoned() {
    let mut h = beating(STEADY);
    at!(h, 10_000 => ["PUT 2 renew"]);
    assert_eq!(
        h.write().renew_time,
        wall(10_000).checked_add_micros(1).unwrap()
    );
    at!(h, 10_100, Reply::Conflict => ["GET"]);
    at!(h, 10_200, renewed_at(3, 10_200, 1) => ["PUT 3 renew"]);
    assert_eq!(
        h.write().renew_time,
        wall(10_200).checked_add_micros(2).unwrap()
    );
}

/// It lies below what was reckoned before, and above what the new clock would begin with.
#[test]
fn a_time_that_was_read_is_passed_although_the_clock_is_reset_before_the_next_beat() {
    let config = HeartbeatConfig {
        liveness_ttl: Some(Duration::from_secs(30)),
        ..STEADY
    };
    let mut h = heart(config, A);
    at!(h, 0, Alive => ["GET"]);
    at!(h, 0, renewed_at(1, 0, 0) => ["PUT 1 renew"]);
    at!(h, 0, Accepted(2) => ["wait 10000"]);
    at!(h, 10_000 => ["PUT 2 renew"]);
    at!(h, 10_000, Accepted(3) => ["wait 20000"]);
    at!(h, 20_000 => ["PUT 3 renew"]);
    at!(h, 20_000, Accepted(4) => ["wait 30000"]);
    at!(h, 30_000 => ["PUT 4 renew"]);
    at!(h, 30_000, Reply::Conflict => ["GET"]);
    at!(h, 34_000, renewed_at(5, 33_000, 0) => ["Trouble NotAlive update", "wait 40000"]);
    h.set_wall(None);
    h.set_instant(Instant::from_millis(5));
    assert!(h.settle().contains(&"PUT 5 renew".to_owned()));
    assert_eq!(
        h.write().renew_time,
        wall(34_000).checked_add_micros(2).unwrap()
    );
}
