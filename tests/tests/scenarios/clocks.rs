//! Suspend, steps and skew.

use kubelease_core::Timestamp;
use kubelease_tests::prelude::*;

#[test]
fn b13_after_a_suspend_the_first_look_says_not_leading() {
    let mut e = leading(A);
    e.be_late_until(60_000);
    assert!(!e.is_leading());
    at!(e, 60_000 => ["Stopped Deadline", "GET"]);
}

/// The outputs of 30 s of leading, and the renewTimes, while the civil clock does as told.
fn lead_while(steps: &[(u64, i64)]) -> (Vec<(u64, String)>, Vec<Timestamp>) {
    let mut e = Driver::new(A);
    let (mut store, mut times) = (Store::default(), Vec::new());
    let mut seen = Vec::new();
    for (until, step) in steps.iter().chain([&(30_000, 0)]) {
        seen.extend(run(&mut e, *until, 50, |_, sent| {
            times.extend(sent.write.as_ref().map(|write| write.renew_time));
            store.serve(sent)
        }));
        let wall = e.now().wall.unwrap();
        let micros = wall.as_unix_micros() + step * 1_000_000;
        e.set_wall(Timestamp::from_unix_micros(micros));
    }
    (seen, times)
}

#[test]
fn b15_steps_of_the_civil_clock_change_nothing_for_a_leader() {
    let (steady, _) = lead_while(&[]);
    let (stepped, times) = lead_while(&[(5_000, -3_600), (9_000, 7_200)]);
    assert_eq!(steady, stepped);
    assert!(!stepped.iter().any(|(_, text)| text.starts_with("Stopped")));
    for pair in times.windows(2) {
        let passed = pair[1].millis_since(pair[0]).unwrap();
        assert!(passed >= 1_900, "renewTime crawls: {pair:?}");
    }
}

#[test]
fn b15_steps_of_the_civil_clock_change_nothing_for_a_candidate() {
    for step in [-3_600, 0, 7_200] {
        let mut e = standby(A);
        let micros = wall(0).as_unix_micros() + step * 1_000_000;
        e.set_wall(Timestamp::from_unix_micros(micros));
        let mut store = Store::with(&held_by("B", 9));
        let seen = run(&mut e, 15_500, 10, |_, sent| store.serve(sent));
        let take = seen.iter().find(|(_, text)| text.starts_with("PUT"));
        assert_eq!(take, Some(&(15_001, "PUT 9 acquire".to_owned())));
    }
}

#[test]
fn b17_a_board_that_boots_in_1970_leads_as_soon_as_its_clock_is_right() {
    let mut e = Driver::try_new_at(A, Some(Timestamp::UNIX_EPOCH)).unwrap();
    let seen = run(&mut e, 89_000, 10, |_, _| Failure::NotSent.into());
    let tries: Vec<u64> = seen
        .iter()
        .filter(|it| it.1 == "GET")
        .map(|it| it.0)
        .collect();
    assert!(
        tries.windows(2).all(|pair| pair[1] - pair[0] == 2_000),
        "{tries:?}"
    );

    e.set_wall(Timestamp::from_unix(1_767_225_600, 0));
    let mut store = Store::default();
    let seen = run(&mut e, 120_000, 10, |_, sent| store.serve(sent));
    let started = seen
        .iter()
        .position(|(_, text)| text == "Started 1")
        .unwrap();
    assert!(seen[started].0 <= 92_000, "{seen:?}");
    assert!(!seen.iter().any(|(_, text)| text.starts_with("Stopped")));
    let written = store
        .lease
        .unwrap()
        .spec
        .unwrap()
        .renew_time
        .timestamp()
        .unwrap();
    assert!(
        written.to_text().as_str().starts_with("2026-01-01T00:00:3"),
        "{written}"
    );
}

#[test]
fn b17_a_jump_of_the_civil_clock_while_leading_stops_nothing() {
    let mut e = Driver::try_new_at(A, Some(Timestamp::UNIX_EPOCH)).unwrap();
    let mut store = Store::default();
    run(&mut e, 9_000, 10, |_, sent| store.serve(sent));
    e.set_wall(Timestamp::from_unix(1_767_225_600, 0));
    let seen = run(&mut e, 30_000, 10, |_, sent| store.serve(sent));
    assert!(
        seen.iter().all(|(_, text)| text.starts_with("PUT")),
        "{seen:?}"
    );
}

#[test]
fn without_a_civil_clock_the_servers_date_is_written() {
    let mut e = Driver::without_wall(A);
    at!(e, 0 => ["GET"]);
    at!(e, 100, released(6).dated(wall(5_000)) => ["PUT 6 acquire"]);
    assert_eq!(e.write().renew_time, wall(5_000));
    at!(e, 200, Accepted(7) => ["Started 1"]);
    at!(e, 2_000 => ["PUT 7 renew"]);
    assert_eq!(e.write().renew_time, wall(6_900));
}

#[test]
fn without_any_date_the_time_counts_up_from_the_record() {
    let mut e = Driver::without_wall(A);
    at!(e, 0 => ["GET"]);
    at!(e, 100, released(6).renewed(8_000) => ["PUT 6 acquire"]);
    assert!(e.write().renew_time >= wall(8_000));
    assert!(e.write().renew_time < wall(8_200));
}

#[test]
fn without_any_date_and_record_the_time_counts_up_from_1970() {
    let mut e = Driver::without_wall(A);
    at!(e, 0 => ["GET"]);
    at!(e, 0, Reply::LeaseMissing => ["POST"]);
    let text = e.write().renew_time.to_text();
    assert_eq!(text.as_str(), "1970-01-01T00:00:01.000000Z");
}

#[test]
fn a_clock_that_was_reset_ends_the_term_and_starts_every_timer_anew() {
    let mut e = leading(A);
    e.set_instant(Instant::from_millis(500));
    assert!(!e.is_leading());
    let seen = e.settle();
    assert_eq!(seen[0], "Stopped ClockReset");
    assert!(seen.contains(&"GET".to_owned()), "{seen:?}");
}

#[test]
fn a_candidates_wait_counts_anew_after_a_reset() {
    let mut e = standby(A);
    e.set_instant(Instant::from_millis(ORIGIN - 900_000));
    let mut store = Store::with(&held_by("B", 9));
    while !converse(&mut e, |sent| store.serve(sent)).contains(&"Started 1".to_owned()) {
        let wait = e.waits_until().unwrap();
        e.set_instant(wait);
    }
    let waited = e.now().instant.as_millis() - (ORIGIN - 900_000);
    assert!((15_001..=17_001).contains(&waited), "{waited}");
}

/// Sets the monotonic clock back to `ms` milliseconds before the origin.
fn reset(e: &mut Driver, ms: u64) {
    e.set_instant(Instant::from_millis(ORIGIN - ms));
}

#[test]
fn after_a_reset_renew_times_still_rise_by_the_time_that_passes() {
    let mut e = leading(A);
    e.set_wall(wall(0).checked_sub_millis(3_600_000));
    reset(&mut e, 600_000);
    let (mut store, mut times) = (Store::with(&released(20)), Vec::new());
    for _ in 0..8 {
        converse(&mut e, |sent| {
            times.extend(sent.write.as_ref().map(|write| write.renew_time));
            store.serve(sent)
        });
        let wait = e.waits_until().unwrap();
        e.set_instant(wait);
    }
    assert!(times.len() >= 8, "{times:?}");
    for pair in times.windows(2) {
        assert!(pair[1].millis_since(pair[0]) >= Some(2_000), "{pair:?}");
    }
}

#[test]
fn after_a_reset_a_candidate_without_answers_is_unreachable_as_soon_as_before() {
    use kubelease_core::elector::Health;
    let mut e = standby(A);
    reset(&mut e, 900_000);
    let start = ORIGIN - 900_000;
    while e.now().instant.as_millis() < start + 36_000 {
        converse(&mut e, |_| Failure::NotSent.into());
        let wait = e.waits_until().unwrap();
        e.set_instant(wait);
    }
    let health = e.machine().health(e.now().instant);
    assert_eq!(health, Health::Unreachable);
}

#[test]
fn after_a_reset_a_release_no_longer_waits_for_the_old_clock() {
    let mut e = leading(A);
    e.be_late_until(11_000);
    at!(e, 11_000, Stop => ["Stopped Deadline", "wait 12500"]);
    reset(&mut e, 900_000);
    assert_eq!(e.settle()[0], "GET");
}
