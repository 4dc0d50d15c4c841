//! Two leaders at once, and how it is prevented.

use kubelease_tests::prelude::*;

#[test]
fn b01_a_leader_that_sees_another_holder_stops_at_once() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_100, Reply::Forbidden => []);
    at!(e, 4_000 => ["GET"]);
    at!(e, 4_100, held_by("B", 9).renewed(3_000) => ["Stopped Lost", "Leader B"]);
    assert!(!e.is_leading());

    // B's lease runs out and a second term begins.
    let mut store = Store::with(&held_by("B", 9).renewed(3_000));
    let seen = run(&mut e, 20_000, 10, |_, sent| store.serve(sent));
    assert!(
        seen.contains(&(19_101, "PUT 9 acquire".to_owned())),
        "{seen:?}"
    );
    assert!(seen.contains(&(19_111, "Started 2".to_owned())), "{seen:?}");
}

#[test]
fn b01_a_leader_that_finds_no_holder_stops_at_once() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_100, Reply::Conflict => ["GET"]);
    at!(e, 2_200, released(9) => ["Stopped Lost", "PUT 9 acquire"]);
    assert!(!e.is_leading());
    at!(e, 2_300, Accepted(10) => ["Started 2"]);
}

#[test]
fn b04_a_restart_that_loses_the_race_for_its_old_lease_never_started() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    e.take(held_by("A", 5));
    assert_eq!(e.settle().first().map(|text| &text[..5]), Some("PUT 5"));
    at!(e, 100, Reply::Conflict => ["GET"]);
    at!(e, 200, held_by("B", 6) => ["Leader B"]);
    assert_eq!(e.machine().term(), 0);
}

#[test]
fn b05_a_renewal_that_hangs_ends_with_the_deadline() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew", "wait 6000"]);
    let renewal = e.flight().id;
    at!(e, 6_000 => ["Cancel", "GET", "wait 10000"]);
    at!(e, 10_000 => ["Stopped Deadline", "ReconnectAdvised", "Cancel", "GET"]);
    assert!(!e.is_leading());
    e.be_late_until(60_000);
    let late = held_by("A", 8);
    assert!(e.respond_to(renewal, late.response()).is_err());
    assert!(!e.is_leading());
}

#[test]
fn b06_a_request_sent_just_before_the_deadline_adds_nothing_to_it() {
    let slow = Timing {
        request_timeout: Duration::from_secs(5),
        jitter_percent: 0,
        ..Timing::new(
            Duration::from_secs(20),
            Duration::from_secs(14),
            Duration::from_secs(1),
        )
    };
    let mut e = leading(Config { timing: slow, ..A });
    e.be_late_until(13_900);
    at!(e, 13_900 => ["PUT 7 renew", "wait 14000"]);
    assert_eq!(e.leading_until(), Some(14_000));
    e.go_to(14_000);
    assert!(!e.is_leading());
    assert_eq!(e.settle()[0], "Stopped Deadline");
}

#[test]
fn b09_a_conflict_is_enough_to_notice_the_loss() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_050, Reply::Conflict => ["GET"]);
    at!(e, 2_100, held_by("B", 8) => ["Stopped Lost", "Leader B"]);
}

#[test]
fn b11_terms_only_rise_and_their_tokens_with_them() {
    let mut e = leading(A);
    let first = e.machine().fence().unwrap();
    assert_eq!(e.machine().term(), 1);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_050, Reply::Conflict => ["GET"]);
    at!(e, 2_100, held_by("B", 8) => ["Stopped Lost", "Leader B"]);
    assert!(e.machine().fence().is_none());
    let observed = &e.machine().observed_version().resource_version;
    assert_eq!(observed.as_str(), "8");
    at!(e, 4_000 => ["GET"]);
    at!(e, 4_100, released(10) => ["Leader none", "PUT 10 acquire"]);
    at!(e, 4_200, Accepted(11) => ["Started 2"]);
    let second = e.machine().fence().unwrap();
    assert_eq!(e.machine().term(), 2);
    assert!(second.token() > first.token());
}

#[test]
fn b12_expiry_is_the_duration_in_the_record_not_our_own() {
    let short = Timing {
        jitter_percent: 0,
        ..Timing::new(
            Duration::from_secs(10),
            Duration::from_secs(7),
            Duration::from_secs(1),
        )
    };
    let mut e = Driver::new(Config { timing: short, ..A });
    let mut store = Store::with(&held_by("B", 1).duration(30));
    let mut renewed = false;
    let seen = run(&mut e, 50_501, 500, |now, sent| {
        if now >= 20_000 && !renewed {
            renewed = true;
            store.write(held_by("B", 2).duration(30).renewed(20_000));
        }
        store.serve(sent)
    });
    let writes: Vec<_> = seen
        .iter()
        .filter(|(_, text)| text.starts_with("PUT"))
        .collect();
    assert_eq!(writes, [&(50_501, "PUT 2 acquire".to_owned())]);
}
