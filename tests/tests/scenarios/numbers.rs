//! Counters, jitter, and numbers that run out.

use kubelease_core::Timestamp;
use kubelease_tests::prelude::*;

#[test]
fn b102_a_created_lease_has_no_transitions() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 0, Reply::LeaseMissing => ["POST"]);
    assert_eq!(e.write().transitions, Some(0));
    assert_eq!(e.write().acquire_time, Some(wall(0)));
}

#[test]
fn b102_renewals_keep_the_count_and_the_acquire_time() {
    let mut e = leading(A);
    for (n, at) in [(7, 2_000), (8, 4_000), (9, 6_000)] {
        e.go_to(at);
        assert_eq!(e.settle()[0], format!("PUT {n} renew"));
        assert_eq!(e.write().transitions, Some(5));
        assert_eq!(e.write().acquire_time, Some(wall(0)));
        assert_eq!(e.write().duration, 15);
        e.take(Accepted(n + 1));
        e.settle();
    }
}

#[test]
fn b102_a_takeover_counts_one_more_and_starts_the_acquire_time_anew() {
    let mut e = standby(A);
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_500, released(10) => ["Leader none", "PUT 10 acquire"]);
    assert_eq!(e.write().transitions, Some(5));
    assert_eq!(e.write().acquire_time, Some(wall(2_500)));
}

#[test]
fn b102_the_count_ends_at_31_bits_and_odd_counts_are_none() {
    for (found, written) in [
        (i32::MAX, i32::MAX.unsigned_abs()),
        (i32::MAX - 1, i32::MAX.unsigned_abs()),
        (-5, 1),
    ] {
        let mut e = Driver::new(A);
        at!(e, 0 => ["GET"]);
        at!(e, 0, released(6).transitions(found) => ["PUT 6 acquire"]);
        assert_eq!(e.write().transitions, Some(written));
    }
}

#[test]
fn b102_a_takeover_back_from_another_counts_once() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_000, Reply::Conflict => ["GET"]);
    at!(e, 2_000, held_by("B", 8).duration(1).transitions(6) => ["Stopped Lost", "Leader B"]);
    at!(e, 3_001 => ["PUT 8 acquire"]);
    assert_eq!(e.write().transitions, Some(7));
}

#[test]
fn b105_ten_thousand_looks_keep_their_distance() {
    let config = Config {
        timing: Timing::KUBERNETES,
        seed: 7,
        ..A
    };
    let mut e = Driver::new(config);
    let (mut gaps, mut last) = (Vec::new(), 0);
    e.settle();
    for round in 0..10_000_u64 {
        e.take(held_by("B", 9 + round).renewed(round));
        e.settle();
        let next = e.wakes_at().unwrap();
        gaps.push(next - last);
        last = next;
        e.go_to(next);
        e.settle();
    }
    assert!(gaps.iter().all(|gap| (2_000..2_400).contains(gap)));
    let mean = |gaps: &[u64]| gaps.iter().sum::<u64>() / gaps.len() as u64;
    for part in [&gaps[..], &gaps[..1_000], &gaps[9_000..]] {
        assert!((2_190..=2_210).contains(&mean(part)), "{}", mean(part));
    }
}

/// Leads across `ms`, then falls silent: leadership ends exactly there.
fn leads_across(start: u64) {
    let instant = |ms: u64| Instant::from_millis(start + ms);
    let mut e = leading(A);
    // A step forward is a long sleep; the next term begins beyond it.
    e.set_instant(instant(0));
    let mut store = Store::with(&released(20));
    let mut last_sent = 0;
    for _ in 0..60 {
        let now = e.now().instant.as_millis();
        converse(&mut e, |sent| {
            if sent.write.is_some() {
                last_sent = now;
            }
            store.serve(sent)
        });
        let wait = e.waits_until().unwrap();
        e.set_instant(wait);
    }
    assert!(last_sent > start + 100_000);
    let end = Instant::from_millis(last_sent + 10_000);
    assert_eq!(e.machine().leading_until(), Some(end));
    assert!(
        e.machine()
            .is_leading(Instant::from_millis(last_sent + 9_999))
    );
    assert!(!e.machine().is_leading(end));
}

#[test]
fn b124_leadership_is_exact_on_the_far_side_of_every_wrap() {
    let around = [1_u64 << 31, 1 << 32, 1 << 33, 1 << 53];
    for wrap in around {
        leads_across(wrap - 60_000);
    }
}

#[test]
fn b124_a_candidates_expiry_is_exact_across_a_wrap() {
    let start = (1 << 32) - 5_000;
    let mut e = Driver::new(A);
    e.set_instant(Instant::from_millis(start));
    let lease = held_by("B", 9);
    let mut store = Store::with(&lease);
    while !converse(&mut e, |sent| store.serve(sent)).contains(&"Started 1".to_owned()) {
        let wait = e.waits_until().unwrap();
        e.set_instant(wait);
    }
    assert_eq!(e.now().instant.as_millis(), start + 15_001);
}

#[test]
fn b124_a_gap_of_any_length_between_polls_ends_leadership() {
    for gap in [1 << 31, 1 << 32, 1 << 40, (1 << 62) - ORIGIN] {
        let mut e = leading(A);
        e.set_instant(Instant::from_millis(ORIGIN + gap));
        assert!(!e.is_leading());
        assert_eq!(e.settle()[0], "Stopped Deadline");
    }
}

#[test]
fn b126_civil_times_of_any_century_are_written() {
    let table = [
        (2_147_483_647, "2038-01-19T03:14:07.000000Z"),
        (2_147_483_648, "2038-01-19T03:14:08.000000Z"),
        (4_294_967_295, "2106-02-07T06:28:15.000000Z"),
        (4_294_967_296, "2106-02-07T06:28:16.000000Z"),
        (253_402_300_799, "9999-12-31T23:59:59.000000Z"),
    ];
    for (seconds, text) in table {
        let wall = Timestamp::from_unix(seconds, 0);
        let mut e = Driver::try_new_at(A, wall).unwrap();
        e.settle();
        e.take(Reply::LeaseMissing);
        e.settle();
        assert_eq!(e.write().renew_time.to_text().as_str(), text);
    }
}

#[test]
fn b126_past_the_last_year_the_wall_is_taken_and_leading_goes_on() {
    let mut e = Driver::try_new_at(A, Some(Timestamp::MAX)).unwrap();
    let mut store = Store::default();
    let seen = run(&mut e, 60_000, 10, |_, sent| store.serve(sent));
    assert!(seen.iter().any(|(_, text)| text == "Started 1"));
    let record = store.lease.unwrap().spec.unwrap();
    assert!(record.renew_time.timestamp().is_some());
}

#[test]
fn b126_a_record_from_the_last_year_does_not_end_the_restart() {
    let mut e = Driver::new(A);
    e.settle();
    let last = kubelease_core::lease::RecordTime::Canonical(Timestamp::MAX);
    e.take(held_by("A", 5).spec(|spec| spec.renew_time = last));
    assert!(e.settle()[0].starts_with("PUT 5"));
    e.take(Accepted(6));
    e.expect(&["Started 1"]);
    at!(e, 2_000 => ["PUT 6 renew"]);
}
