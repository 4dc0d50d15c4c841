//! Conflicts, deleted leases, missing namespaces.

use kubelease_tests::prelude::*;

#[test]
fn b58_of_two_that_create_at_once_the_slower_becomes_a_candidate() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 10, Reply::LeaseMissing => ["POST"]);
    at!(e, 20, Reply::Conflict => ["GET"]);
    at!(e, 30, held_by("B", 1) => ["Leader B"]);
}

#[test]
fn b59_a_renewal_that_was_done_but_not_answered_costs_nothing() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 6_000 => ["Cancel", "GET"]);
    at!(e, 6_010, Mine(8) => ["PUT 8 renew"]);
    at!(e, 6_020, Accepted(9) => ["wait 8000"]);
    assert_eq!(e.leading_until(), Some(16_010));
}

#[test]
fn b59_an_acquisition_that_was_done_but_not_answered_is_found_again() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 0, released(6) => ["PUT 6 acquire"]);
    at!(e, 4_000 => ["Cancel", "GET"]);
    e.take(Mine(7));
    let seen = e.settle();
    assert!(seen[0].starts_with("PUT 7"), "{seen:?}");
    assert_eq!(e.write().transitions, Some(5));
    at!(e, 4_100, Accepted(8) => ["Started 1"]);
    assert_eq!(e.leading_until(), Some(14_000));
}

#[test]
fn b59_a_creation_answered_504_may_have_been_done() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 0, Reply::LeaseMissing => ["POST"]);
    at!(e, 0, Reply::ServerError(504) => []);
    at!(e, 2_000 => ["GET"]);
    e.take(Mine(1));
    let seen = e.settle();
    assert!(seen[0].starts_with("PUT 1"), "{seen:?}");
    at!(e, 2_100, Accepted(2) => ["Started 1"]);
}

#[test]
fn b59_a_creation_that_lands_late_is_no_right_to_lead_at_once() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 0, Reply::LeaseMissing => ["POST"]);
    at!(e, 0, Failure::Unknown => []);
    let late = Lease::written(e.last_claim(), 30).uid("u2");
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_000, held_by("B", 20) => ["Leader B"]);
    at!(e, 4_000 => ["GET"]);
    at!(e, 4_000, late.clone() => ["Leader A", "wait 6000"]);
    let mut store = Store::with(&late);
    let seen = run(&mut e, 19_001, 0, |_, sent| store.serve(sent));
    let take = seen.iter().find(|(_, text)| text.starts_with("PUT"));
    assert_eq!(take, Some(&(19_001, "PUT 30 acquire".to_owned())));
}

#[test]
fn b59_many_renewals_that_got_lost_do_not_hide_the_own_record() {
    let slow = Timing {
        jitter_percent: 0,
        ..Timing::new(
            Duration::from_secs(60),
            Duration::from_secs(50),
            Duration::from_secs(2),
        )
    };
    let mut e = leading(Config { timing: slow, ..A });
    let mut store = Store::with(&Lease::written(e.last_claim(), 7));
    let seen = run(&mut e, 40_000, 0, |_, sent| {
        if sent.write.is_some() {
            Reply::ServerError(500).into()
        } else {
            store.serve(sent)
        }
    });
    let lost = seen
        .iter()
        .filter(|(_, text)| text == "PUT 7 renew")
        .count();
    assert!(lost > 8, "{seen:?}");
    let seen = run(&mut e, 60_000, 0, |_, sent| store.serve(sent));
    assert!(
        seen.iter()
            .all(|(_, text)| text == "GET" || text.starts_with("PUT")),
        "{seen:?}"
    );
    assert!(e.is_leading());
}

#[test]
fn b61_after_any_conflict_comes_a_read_and_a_write_with_its_version() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 0, Reply::LeaseMissing => ["POST"]);
    at!(e, 0, Reply::Conflict => ["GET"]);
    at!(e, 0, released(3) => ["PUT 3 acquire"]);
    at!(e, 0, Reply::Conflict => ["GET"]);
    at!(e, 0, released(5) => ["PUT 5 acquire"]);
    at!(e, 0, Accepted(6) => ["Started 1"]);
}

#[test]
fn b61_conflicts_without_end_do_not_become_a_storm() {
    let mut e = Driver::new(A);
    let mut version = 10;
    let seen = run(&mut e, 20_000, 1, |_, sent| {
        version += 1;
        if sent.write.is_some() {
            Reply::Conflict.into()
        } else {
            released(version).into()
        }
    });
    let writes = seen
        .iter()
        .filter(|(_, text)| text.starts_with("PUT"))
        .count();
    assert!((10..=45).contains(&writes), "{writes}");
}

/// A leader whose renewal finds that the lease is gone.
fn deleted_under_the_leader() -> Driver {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_050, Reply::Conflict => ["GET"]);
    at!(e, 2_100, Reply::LeaseMissing => ["POST"]);
    e
}

#[test]
fn b63_a_leader_makes_its_lease_anew() {
    let mut e = deleted_under_the_leader();
    let before = e.machine().fence().unwrap();
    let lease = Lease::written(e.write(), 20).uid("u2");
    at!(e, 2_200, lease => ["LeaseRecreated"]);
    assert_eq!(e.machine().term(), 1);
    assert_eq!(e.leading_until(), Some(12_100));
    let after = e.machine().fence().unwrap();
    assert_eq!(after.lease_uid.as_str(), "u2");
    assert!(after.token() > before.token());
    at!(e, 4_000 => ["PUT 20 renew"]);
}

#[test]
fn b63_a_patch_that_finds_no_lease_is_enough() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_100, Reply::LeaseMissing => ["POST"]);
    at!(e, 2_200, Accepted(20) => ["LeaseRecreated"]);
    assert_eq!(e.leading_until(), Some(12_100));
}

#[test]
fn b63_a_leader_that_finds_another_in_the_place_has_lost() {
    let mut e = deleted_under_the_leader();
    at!(e, 2_200, Reply::Conflict => ["GET"]);
    at!(e, 2_300, held_by("B", 21).uid("u2") => ["Stopped Lost", "Leader B"]);
}

#[test]
fn b63_a_lost_creation_does_not_extend_leadership() {
    let mut e = deleted_under_the_leader();
    at!(e, 2_200, Failure::Unknown => []);
    assert_eq!(e.leading_until(), Some(10_000));
}

#[test]
fn b63_a_candidate_waits_for_the_leader_who_may_not_know_yet() {
    let mut e = standby(A);
    at!(e, 2_000 => ["GET"]);
    at!(e, 3_000, Reply::LeaseMissing => ["Leader none", "wait 4000"]);
    let mut store = Store::default();
    let seen = run(&mut e, 18_001, 0, |_, sent| store.serve(sent));
    let creations: Vec<_> = seen.iter().filter(|(_, text)| text == "POST").collect();
    assert_eq!(creations, [&(18_001, "POST".to_owned())]);
}

#[test]
fn b63_a_deletion_after_a_release_is_nothing_to_wait_for() {
    let mut e = standby(A);
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_000, released(10) => ["Leader none", "PUT 10 acquire"]);
    at!(e, 2_000, Reply::Conflict => ["GET"]);
    at!(e, 2_000, Reply::LeaseMissing => ["POST"]);
}

#[test]
fn b65_a_missing_namespace_is_told_once_and_waited_for() {
    let mut e = Driver::new(A);
    let mut store = Store::default();
    let seen = run(&mut e, 300_000, 0, |now, sent| {
        if now < 200_000 && sent.write.is_some() {
            Reply::NamespaceMissing.into()
        } else {
            store.serve(sent)
        }
    });
    let troubles = seen.iter().filter(|(_, text)| text.starts_with("Trouble"));
    assert_eq!(troubles.count(), 1, "{seen:?}");
    let tries: Vec<u64> = seen
        .iter()
        .filter(|(at, text)| text == "POST" && *at < 200_000)
        .map(|it| it.0)
        .collect();
    let gaps: Vec<u64> = tries.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps[..6], [2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    let started = seen.iter().find(|(_, text)| text == "Started 1").unwrap();
    assert!(started.0 <= 230_000, "{seen:?}");
}

#[test]
fn b67_the_first_election_starts_from_an_empty_store() {
    let mut e = Driver::new(A);
    let mut store = Store::default();
    let seen = run(&mut e, 1_000, 10, |_, sent| store.serve(sent));
    let texts: Vec<_> = seen.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["GET", "POST", "Started 1"]);
}

#[test]
fn b119_an_unknown_api_is_not_a_missing_lease() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 0, Reply::ApiUnavailable => ["Trouble ApiUnavailable get", "wait 2000"]);
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_000, Reply::ApiUnavailable => ["wait 6000"]);
}

#[test]
fn without_the_right_to_create_the_lease_is_waited_for() {
    let mut e = Driver::new(Config {
        create: Create::Never,
        ..A
    });
    let mut store = Store::default();
    let seen = run(&mut e, 20_000, 0, |_, sent| store.serve(sent));
    assert!(
        seen.iter().all(|(_, text)| !text.starts_with('P')),
        "{seen:?}"
    );
    let troubles = seen
        .iter()
        .filter(|(_, text)| text == "Trouble LeaseMissing get");
    assert_eq!(troubles.count(), 1, "{seen:?}");
    store.put(&Lease::new(None, 5));
    let seen = run(&mut e, 60_000, 0, |_, sent| store.serve(sent));
    assert!(seen.iter().any(|(_, text)| text == "Started 1"), "{seen:?}");
}

#[test]
fn a_creation_by_put_that_comes_second_is_a_conflict() {
    let mut e = Driver::new(Config {
        create: Create::Put,
        ..A
    });
    at!(e, 0 => ["GET"]);
    at!(e, 0, Reply::LeaseMissing => ["PUT new"]);
    at!(e, 0, Reply::Conflict => ["GET"]);
    at!(e, 0, held_by("B", 3) => ["Leader B"]);
}

#[test]
fn a_creation_by_put_that_is_refused_as_invalid_is_told_once_and_slows_down() {
    let mut e = Driver::new(Config {
        create: Create::Put,
        ..A
    });
    let seen = run(&mut e, 120_000, 0, |_, sent| match &sent.write {
        None => Reply::LeaseMissing.into(),
        Some(_) => Reply::Invalid.into(),
    });
    let count = |wanted: &str| seen.iter().filter(|(_, text)| text == wanted).count();
    assert_eq!(count("Trouble Invalid create"), 1, "{seen:?}");
    assert!((5..=9).contains(&count("PUT new")), "{seen:?}");
}

#[test]
fn a_new_uid_under_the_leader_with_another_holder_is_a_loss() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_000, Reply::Conflict => ["GET"]);
    at!(e, 2_000, held_by("", 3).uid("u2") => [
        "Stopped Lost",
        "VersionWentBack",
        "PUT 3 acquire",
    ]);
}

#[test]
fn b63_a_leader_that_may_not_create_looks_for_its_lease_until_the_deadline() {
    let mut e = leading(Config {
        create: Create::Never,
        ..A
    });
    let mut store = Store::default();
    let seen = run(&mut e, 20_000, 0, |_, sent| store.serve(sent));
    let writes = seen.iter().filter(|(_, text)| text.starts_with('P'));
    assert_eq!(writes.count(), 1, "{seen:?}");
    let looks = |from: u64, to: u64| {
        let inside = seen.iter().filter(|(at, _)| (from..to).contains(at));
        inside.filter(|(_, text)| text == "GET").count()
    };
    assert!(looks(0, 10_000) >= 3, "{seen:?}");
    assert!(looks(10_000, 20_000) >= 1, "{seen:?}");
    let stops = seen.iter().filter(|(_, text)| text.starts_with("Stopped"));
    let stops: Vec<_> = stops.map(|(at, text)| (*at, text.as_str())).collect();
    assert_eq!(stops, [(10_000, "Stopped Deadline")]);
}
