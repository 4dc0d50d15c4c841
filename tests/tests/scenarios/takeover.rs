//! Slow and fast takeovers.

use kubelease_core::Timestamp;
use kubelease_core::lease::RecordTime;
use kubelease_tests::prelude::*;

/// Judged by the server's clock.
const TRUSTING: Config<'static> = Config {
    trust_renew_time: Some(Duration::from_secs(30)),
    ..A
};

fn ago(seconds: u64) -> Timestamp {
    wall(0).checked_sub_millis(seconds * 1_000).unwrap()
}

/// B's record, renewed so many seconds ago, in an answer with the time of the server.
fn renewed_ago(seconds: u64) -> Lease {
    let mut lease = held_by("B", 9).dated(wall(0));
    lease.record.creation_timestamp = Some(ago(100_000));
    lease.spec(|spec| spec.renew_time = RecordTime::Canonical(ago(seconds)))
}

#[track_caller]
fn takes_at_once(config: Config<'static>, lease: Lease) {
    let mut e = Driver::new(config);
    at!(e, 0 => ["GET"]);
    at!(e, 0, lease => ["Leader B", "PUT 9 acquire"]);
}

#[track_caller]
fn waits(config: Config<'static>, lease: Lease) {
    let mut e = Driver::new(config);
    at!(e, 0 => ["GET"]);
    at!(e, 0, lease.clone() => ["Leader B", "wait 2000"]);
    let mut store = Store::with(&lease);
    let seen = run(&mut e, 15_001, 10, |_, sent| store.serve(sent));
    let take = seen.iter().find(|(_, text)| text.starts_with("PUT"));
    assert_eq!(take, Some(&(15_001, "PUT 9 acquire".to_owned())));
}

#[test]
fn b18_a_long_dead_lease_is_waited_out_by_default() {
    waits(A, renewed_ago(600));
}

#[test]
fn b18_a_long_dead_lease_is_taken_at_once_where_times_are_trusted() {
    takes_at_once(TRUSTING, renewed_ago(600));
    takes_at_once(TRUSTING, renewed_ago(46));
}

#[test]
fn b18_a_lease_within_the_skew_is_waited_out() {
    waits(TRUSTING, renewed_ago(40));
    waits(TRUSTING, renewed_ago(44));
}

#[test]
fn b18_a_lease_from_the_future_is_waited_out() {
    waits(TRUSTING, renewed_ago(600).renewed(3_600_000));
}

#[test]
fn b18_without_the_servers_time_nothing_is_trusted() {
    let mut lease = renewed_ago(600);
    lease.server_time = None;
    waits(TRUSTING, lease);
}

#[test]
fn b18_a_renew_time_from_before_the_lease_existed_is_not_trusted() {
    let mut lease = renewed_ago(600);
    lease.record.creation_timestamp = Some(ago(569));
    waits(TRUSTING, lease.clone());
    lease.record.creation_timestamp = Some(ago(571));
    takes_at_once(TRUSTING, lease);
}

#[test]
fn b18_a_lease_whose_times_say_nothing_is_waited_out() {
    let absent = renewed_ago(600).spec(|spec| spec.renew_time = RecordTime::Absent);
    waits(TRUSTING, absent);
    let last =
        renewed_ago(600).spec(|spec| spec.renew_time = RecordTime::Canonical(Timestamp::MAX));
    waits(TRUSTING, last);
    let last = Timestamp::MAX.as_unix_micros() - 31_000_000;
    let last = RecordTime::Canonical(Timestamp::from_unix_micros(last).unwrap());
    waits(
        TRUSTING,
        renewed_ago(600).spec(|spec| spec.renew_time = last),
    );
    let mut unborn = renewed_ago(600);
    unborn.record.creation_timestamp = None;
    waits(TRUSTING, unborn);
}

#[test]
fn b26_a_record_that_never_changes_is_taken_when_its_duration_is_over() {
    for seconds in [1, 15, 60] {
        let mut e = Driver::new(A);
        let mut store = Store::with(&held_by("B", 1).duration(seconds));
        let due = u64::from(seconds.unsigned_abs()) * 1_000 + 1;
        let seen = run(&mut e, due, 0, |_, sent| store.serve(sent));
        let take = seen.iter().find(|(_, text)| text.starts_with("PUT"));
        assert_eq!(take, Some(&(due, "PUT 1 acquire".to_owned())));
    }
}

#[test]
fn b26_a_change_of_the_version_alone_does_not_put_the_takeover_off() {
    let mut e = standby(A);
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_000, held_by("B", 10) => ["wait 4000"]);
    let mut store = Store::with(&held_by("B", 10));
    let seen = run(&mut e, 15_001, 0, |_, sent| store.serve(sent));
    assert!(
        seen.contains(&(15_001, "PUT 10 acquire".to_owned())),
        "{seen:?}"
    );
}

#[test]
fn b26_every_change_of_a_spec_field_puts_the_takeover_off() {
    let changed = [
        held_by("B", 10).renewed(1),
        held_by("B", 10).duration(16),
        held_by("B", 10).transitions(1),
        held_by("B", 10).spec(|spec| spec.acquire_time = RecordTime::Null),
        held_by("B", 10).uid("u2"),
    ];
    for lease in changed {
        let mut e = standby(A);
        at!(e, 14_000 - 12_000 => ["GET"]);
        at!(e, 2_000, lease.clone() => []);
        let mut store = Store::with(&lease);
        let seconds = lease.record.spec.unwrap().lease_duration_seconds.unwrap();
        let due = 2_001 + u64::from(seconds.unsigned_abs()) * 1_000;
        let seen = run(&mut e, due, 0, |_, sent| store.serve(sent));
        let take = seen.iter().find(|(_, text)| text.starts_with("PUT"));
        assert_eq!(take.map(|(at, _)| *at), Some(due), "{seen:?}");
    }
}

#[test]
fn b38_a_released_lease_is_taken_at_once_with_our_own_duration() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 100, released(3) => ["PUT 3 acquire"]);
    let write = e.write();
    assert_eq!(write.holder, "A");
    assert_eq!(write.duration, 15);
    assert_eq!(write.transitions, Some(5));
    at!(e, 200, Accepted(4) => ["Started 1"]);
}

#[test]
fn b38_a_takeover_that_loses_the_race_looks_again() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 100, released(3) => ["PUT 3 acquire"]);
    at!(e, 200, Reply::Conflict => ["GET"]);
    at!(e, 300, held_by("B", 4) => ["Leader B"]);
}

#[test]
fn b91_polling_alone_finds_every_release() {
    let mut e = standby(A);
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_100, released(10) => ["Leader none", "PUT 10 acquire"]);
    at!(e, 2_200, Accepted(11) => ["Started 1"]);
}
