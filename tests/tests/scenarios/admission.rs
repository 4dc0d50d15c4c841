//! Rights and credentials.

use kubelease_tests::prelude::*;

#[test]
fn b68_a_role_without_create_is_named_and_the_election_waits_for_a_lease() {
    let mut e = Driver::new(A);
    let mut store = Store::default();
    let seen = run(&mut e, 600_000, 0, |_, sent| {
        if sent.write.is_some() {
            Reply::Forbidden.into()
        } else {
            store.serve(sent)
        }
    });
    let troubles: Vec<_> = seen
        .iter()
        .filter(|(_, text)| text.starts_with("Trouble"))
        .collect();
    assert_eq!(troubles, [&(2_000, "Trouble Forbidden create".to_owned())]);
    let tries: Vec<u64> = seen
        .iter()
        .filter(|it| it.1 == "POST")
        .map(|it| it.0)
        .collect();
    assert!(tries.len() < 30, "{tries:?}");

    store.put(&Lease::new(None, 5));
    let seen = run(&mut e, 640_000, 0, |_, sent| store.serve(sent));
    assert!(seen.iter().any(|(_, text)| text == "Started 1"), "{seen:?}");
    assert!(!seen.iter().any(|(_, text)| text == "POST"), "{seen:?}");
}

#[test]
fn b68_a_server_that_has_just_started_is_not_accused() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 100, Reply::Forbidden => ["wait 2000"]);
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_000, held_by("B", 9) => ["Leader B"]);
}

#[test]
fn b68_the_retry_after_a_403_comes_no_sooner_than_a_second() {
    let quick = Timing {
        jitter_percent: 0,
        ..Timing::new(
            Duration::from_secs(5),
            Duration::from_secs(3),
            Duration::from_millis(200),
        )
    };
    let mut e = Driver::new(Config { timing: quick, ..A });
    at!(e, 0 => ["GET"]);
    at!(e, 100, Reply::Forbidden => ["wait 1100"]);
}

#[test]
fn b68_a_leader_goes_on_trying_each_period() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_100, Reply::Forbidden => ["wait 4000"]);
    at!(e, 4_000 => ["GET"]);
    at!(e, 4_100, Reply::Forbidden => ["wait 6000"]);
    at!(e, 6_000 => ["GET"]);
    at!(e, 6_100, Reply::Forbidden => ["Trouble Forbidden get", "wait 8000"]);
}

#[test]
fn b68_a_trouble_is_told_again_after_the_verb_worked() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 0, Reply::BadRequest => ["Trouble BadRequest get"]);
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_000, held_by("B", 9) => ["Leader B"]);
    at!(e, 4_000 => ["GET"]);
    at!(e, 4_000, Reply::BadRequest => ["Trouble BadRequest get"]);
}

#[test]
fn b77_a_refused_token_is_read_again_and_tried_once_more() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_010, Reply::Unauthorized => ["CredentialsRejected", "PUT 7 renew"]);
    at!(e, 2_020, Reply::Unauthorized => ["wait 4000"]);
    e.go_to(4_000);
    let first = e.settle().swap_remove(0);
    assert!(first == "PUT 7 renew" || first == "GET", "{first}");
    at!(e, 4_010, Reply::Unauthorized => ["CredentialsRejected", first.as_str()]);
    at!(e, 4_020, Reply::Unauthorized => ["wait 6000"]);
}

#[test]
fn b77_the_second_try_with_a_new_token_renews() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_010, Reply::Unauthorized => ["CredentialsRejected", "PUT 7 renew"]);
    at!(e, 2_020, Accepted(8) => ["wait 4000"]);
    assert_eq!(e.leading_until(), Some(12_010));
}

#[test]
fn b77_a_token_that_stays_bad_ends_leadership_at_the_deadline_and_no_more() {
    let mut e = leading(A);
    let mut store = Store::with(&Lease::written(e.last_claim(), 7));
    let seen = run(&mut e, 200_000, 10, |now, sent| {
        if now < 100_000 {
            Reply::Unauthorized.into()
        } else {
            store.serve(sent)
        }
    });
    let stops: Vec<_> = seen
        .iter()
        .filter(|(_, text)| text.starts_with("Stopped"))
        .collect();
    assert_eq!(stops, [&(10_000, "Stopped Deadline".to_owned())]);
    assert!(seen.iter().any(|(_, text)| text == "Started 2"), "{seen:?}");
    let refreshes = seen
        .iter()
        .filter(|(_, text)| text == "CredentialsRejected")
        .count();
    let tries = seen
        .iter()
        .filter(|(at, text)| *at < 100_000 && text.len() > 2);
    assert!(refreshes * 2 <= tries.count(), "{seen:?}");
}

#[test]
fn b68_after_an_answer_the_pauses_between_refusals_begin_anew() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 0, Reply::BadRequest => ["Trouble BadRequest get", "wait 2000"]);
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_000, Reply::BadRequest => ["wait 6000"]);
    at!(e, 6_000 => ["GET"]);
    at!(e, 6_000, held_by("B", 9) => ["Leader B", "wait 8000"]);
    at!(e, 8_000 => ["GET"]);
    at!(e, 8_000, Reply::BadRequest => ["Trouble BadRequest get", "wait 10000"]);
}

#[test]
fn b68_after_a_term_the_pauses_between_refusals_begin_anew() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 0, Reply::BadRequest => ["Trouble BadRequest get", "wait 2000"]);
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_000, Reply::BadRequest => ["wait 6000"]);
    at!(e, 6_000 => ["GET"]);
    at!(e, 6_000, released(9) => ["PUT 9 acquire"]);
    at!(e, 6_000, Accepted(10) => ["Started 1"]);
    e.be_late_until(16_000);
    at!(e, 16_000 => ["Stopped Deadline", "GET"]);
    at!(e, 16_000, Reply::BadRequest => ["Trouble BadRequest get", "wait 18000"]);
}
