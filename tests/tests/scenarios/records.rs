//! Odd records.

use kubelease_core::Timestamp;
use kubelease_core::lease::{RecordSpec, RecordTime};
use kubelease_core::text::Hash;
use kubelease_tests::prelude::*;

/// The first look finds `lease`; the outputs.
#[track_caller]
fn first_look(lease: Lease) -> (Driver, Vec<String>) {
    let mut e = Driver::new(A);
    e.settle();
    e.take(lease);
    let seen = e.settle();
    (e, seen)
}

#[test]
fn b47_a_lease_without_a_holder_is_free() {
    let free = [
        Lease::new(None, 4),
        Lease::new(Some(RecordSpec::default()), 4),
        held_by("", 4),
        held_by("", 4).duration(3_600),
    ];
    for lease in free {
        let (e, seen) = first_look(lease);
        assert_eq!(seen[0], "PUT 4 acquire");
        assert_eq!(e.write().transitions, Some(1));
    }
}

#[test]
fn b47_a_holder_without_a_duration_is_waited_for_by_our_own() {
    let lease = held_by("B", 4).spec(|spec| spec.lease_duration_seconds = None);
    let (mut e, _) = first_look(lease.clone());
    let mut store = Store::with(&lease);
    let seen = run(&mut e, 15_001, 0, |_, sent| store.serve(sent));
    let take = seen.iter().find(|(_, text)| text.starts_with("PUT"));
    assert_eq!(take, Some(&(15_001, "PUT 4 acquire".to_owned())));
}

#[test]
fn b47_a_holder_without_times_and_count_is_waited_for() {
    let lease = held_by("B", 4).spec(|spec| {
        spec.renew_time = RecordTime::Absent;
        spec.acquire_time = RecordTime::Null;
        spec.lease_transitions = None;
    });
    let (mut e, seen) = first_look(lease.clone());
    assert_eq!(seen, ["Leader B", "wait 2000"]);
    let mut store = Store::with(&lease);
    run(&mut e, 15_000, 0, |_, sent| store.serve(sent));
    at!(e, 15_001 => ["PUT 4 acquire"]);
    assert_eq!(e.write().transitions, Some(1));
}

#[test]
fn b47_an_answer_without_a_version_is_a_bad_one() {
    let (mut e, seen) = first_look(held_by("", 4).version(""));
    assert_eq!(seen[0], "Trouble BadAnswer(NoVersion) get");
    at!(e, 2_000 => ["GET"]);
}

#[test]
fn b47_a_duration_below_zero_or_absurd_wedges_nothing() {
    for seconds in [0, -1, i32::MIN, i32::MAX] {
        let lease = held_by("B", 4).duration(seconds);
        let (mut e, seen) = first_look(lease.clone());
        assert_eq!(seen[0], "Leader B");
        let mut store = Store::with(&lease);
        let seen = run(&mut e, 60_000, 0, |_, sent| store.serve(sent));
        let leads = seen.iter().any(|(_, text)| text == "Started 1");
        assert_eq!(leads, seconds != i32::MAX, "{seconds}: {seen:?}");
    }
}

#[test]
fn b49_times_that_are_none_do_not_keep_the_lease_from_being_taken() {
    let odd = |text: &[u8]| RecordTime::Other {
        instant: None,
        hash: Hash::of(text),
    };
    let lease = held_by("B", 4).spec(|spec| {
        spec.renew_time = odd(b"20220804T135255.122Z");
        spec.acquire_time = odd(b"x");
    });
    let (mut e, _) = first_look(lease.clone());
    let mut store = Store::with(&lease);
    run(&mut e, 15_000, 0, |_, sent| store.serve(sent));
    at!(e, 15_001 => ["PUT 4 acquire"]);
    assert_eq!(e.write().renew_time, wall(15_001));
    assert_eq!(e.write().acquire_time, Some(wall(15_001)));
}

#[test]
fn b49_a_change_of_a_time_that_is_none_is_a_sign_of_life() {
    let odd = |text: &[u8]| {
        held_by("B", 4).spec(|spec| {
            spec.renew_time = RecordTime::Other {
                instant: None,
                hash: Hash::of(text),
            };
        })
    };
    let (mut e, _) = first_look(odd(b"x"));
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_000, odd(b"y") => []);
    let mut store = Store::with(&odd(b"y"));
    let seen = run(&mut e, 17_001, 0, |_, sent| store.serve(sent));
    let take = seen.iter().find(|(_, text)| text.starts_with("PUT"));
    assert_eq!(take, Some(&(17_001, "PUT 4 acquire".to_owned())));
}

#[test]
fn b52_written_times_have_six_digits_whatever_the_microseconds() {
    for (micros, digits) in [
        (0, "000000"),
        (1, "000001"),
        (103_000, "103000"),
        (500_000, "500000"),
        (999_999, "999999"),
    ] {
        let wall = Timestamp::from_unix(1_767_323_045, micros);
        let mut e = Driver::try_new_at(A, wall).unwrap();
        e.settle();
        e.take(released(6));
        e.settle();
        let text = e.write().renew_time.to_text();
        assert_eq!(text.as_str(), format!("2026-01-02T03:04:05.{digits}Z"));
    }
}

#[test]
fn b54_an_acquire_time_without_a_fraction_is_written_back_as_the_same_instant() {
    let acquired = Timestamp::parse("2026-01-02T03:04:05Z").unwrap();
    let lease = held_by("A", 4).spec(|spec| {
        spec.acquire_time = RecordTime::Other {
            instant: Some(acquired),
            hash: Hash::of(b"2026-01-02T03:04:05Z"),
        };
    });
    let (mut e, _) = first_look(lease);
    assert_eq!(e.write().acquire_time, Some(acquired));
    at!(e, 0, Accepted(5) => ["Started 1"]);
    at!(e, 2_000 => ["PUT 5 renew"]);
    assert_eq!(e.write().acquire_time, Some(acquired));
}

#[test]
fn a_holder_longer_than_any_buffer_is_told_apart_from_others_and_from_us() {
    let long = |end: &str| format!("{}{end}", "x".repeat(400));
    let (mut e, seen) = first_look(held_by(&long("1"), 4));
    assert!(seen[0].starts_with("Leader xxx"), "{seen:?}");
    at!(e, 2_000 => ["GET"]);
    e.take(held_by(&long("2"), 5));
    assert!(e.settle()[0].starts_with("Leader xxx"));
}

#[test]
fn a_version_that_goes_back_is_a_change_seen_now() {
    let mut e = standby(A);
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_000, held_by("B", 3) => ["VersionWentBack", "wait 4000"]);
    let mut store = Store::with(&held_by("B", 3));
    let seen = run(&mut e, 17_001, 0, |_, sent| store.serve(sent));
    let take = seen.iter().find(|(_, text)| text.starts_with("PUT"));
    assert_eq!(take, Some(&(17_001, "PUT 3 acquire".to_owned())));
}

#[test]
fn versions_that_are_no_numbers_have_not_gone_back() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 0, held_by("B", 9).version("b") => ["Leader B"]);
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_000, held_by("B", 9).version("a") => ["wait 4000"]);
}

#[test]
fn a_lease_marked_for_deletion_is_told_once_and_believed_on() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    let mut lease = Lease::written(e.write(), 8);
    lease.record.being_deleted = true;
    at!(e, 2_000, lease => ["LeaseBeingDeleted"]);
    assert!(e.is_leading());
    at!(e, 4_000 => ["PUT 8 renew"]);
    let mut lease = Lease::written(e.write(), 9);
    lease.record.being_deleted = true;
    at!(e, 4_000, lease => []);
}

#[test]
fn a_candidate_tells_of_a_lease_marked_for_deletion_too() {
    let mut lease = held_by("B", 4);
    lease.record.being_deleted = true;
    let (mut e, seen) = first_look(lease);
    assert_eq!(seen[..2], ["Leader B", "LeaseBeingDeleted"]);
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_000, held_by("B", 5) => ["wait 4000"]);
}

#[test]
fn the_deletion_of_the_next_lease_is_told_again() {
    let marked = |uid: &str| {
        let mut lease = held_by("B", 4).uid(uid);
        lease.record.being_deleted = true;
        lease
    };
    let (mut e, _) = first_look(marked("u1"));
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_000, Reply::LeaseMissing => ["Leader none"]);
    at!(e, 4_000 => ["GET"]);
    at!(e, 4_000, marked("u2") => ["Leader B", "LeaseBeingDeleted"]);
}
