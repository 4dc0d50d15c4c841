//! Hearts by the table: what they make of refusals, and when they look at the Node.
#![allow(clippy::indexing_slicing, reason = "tests may")]

use kubelease_core::heartbeat::{
    Health, Heartbeat, HeartbeatConfig, HeartbeatError, HeartbeatIdentity,
};
use kubelease_core::lease::{OwnerState, Readiness};
use kubelease_core::time::Now;
use kubelease_tests::heart::{
    A as HEART, Alive, AliveSince, GW1, HeartDriver, Node, NodeReplaced, STEADY, beating, heart,
    watching,
};
use kubelease_tests::prelude::*;
use kubelease_tests::store::{Answer, Give};

/// The look in vain was for a lease that had an owner, if an old one, and has none now.
#[test]
fn an_owner_that_is_required_and_vanishes_within_a_round_is_not_done_without() {
    for is_gone in [false, true] {
        let required = HeartbeatConfig {
            owner_required: true,
            ..STEADY
        };
        let known = HeartbeatIdentity {
            node_uid: Some("u1"),
            ..GW1
        };
        let mut h = heart(required, known);
        at!(h, 0 => ["GET"]);
        at!(h, 0, held_by("gw1", 3).owned(OwnerState::Current, false) => ["PUT 3 renew"]);
        at!(h, 0, Accepted(4) => ["wait 10000"]);
        at!(h, 10_000 => ["PUT 4 renew"]);
        at!(h, 10_000, Reply::Conflict => ["GET"]);
        at!(h, 10_000, held_by("gw1", 5).owned(OwnerState::Stale, false) => ["GET node gw1"]);
        at!(h, 10_000, Reply::LeaseMissing => ["Trouble NodeMissing get", "PUT 5 renew"]);
        if is_gone {
            at!(h, 10_000, Reply::LeaseMissing => ["GET node gw1"]);
        } else {
            at!(h, 10_000, Reply::Conflict => ["GET"]);
            at!(h, 10_000, held_by("gw1", 6) => ["GET node gw1"]);
        }
        at!(h, 10_000, Reply::LeaseMissing => ["wait 20000"]);
        let write = if is_gone { "POST" } else { "PUT 6 renew" };
        at!(h, 20_000 => ["GET node gw1"]);
        at!(h, 20_000, Node("u2", Readiness::Ready) => [write]);
        assert_eq!(h.write().owner.as_ref().unwrap().uid, "u2");
    }
}

#[test]
fn refused_credentials_are_read_again_once_in_a_round() {
    let mut h = beating(STEADY);
    at!(h, 10_000 => ["PUT 2 renew"]);
    at!(h, 10_000, Reply::Unauthorized => ["CredentialsRejected", "PUT 2 renew"]);
    at!(h, 10_000, Reply::Unauthorized => ["wait 11000"]);
    at!(h, 11_000 => ["GET"]);
    at!(h, 11_000, Mine(2) => ["PUT 2 renew"]);
}

#[test]
fn a_403_is_trouble_once_it_lasts_for_a_second() {
    let mut h = beating(STEADY);
    at!(h, 10_000 => ["PUT 2 renew"]);
    at!(h, 10_000, Reply::Forbidden => ["wait 11000"]);
    at!(h, 11_000 => ["GET"]);
    at!(h, 11_000, held_by("A", 2) => ["PUT 2 renew"]);
    at!(h, 11_000, Reply::Forbidden => ["Trouble Forbidden update", "wait 13000"]);
}

#[test]
fn an_unreachable_server_is_asked_with_growing_pauses() {
    let mut h = heart(STEADY, HEART);
    let seen = run(&mut h, 30_000, 0, |_, _| Failure::NotSent.into());
    let tries = seen.iter().filter(|(_, text)| text == "GET");
    let tries: Vec<u64> = tries.map(|(at, _)| *at).collect();
    let gaps: Vec<u64> = tries.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(
        gaps,
        [200, 400, 800, 1_600, 3_200, 6_400, 7_000, 7_000],
        "{tries:?}"
    );
}

#[test]
fn health_follows_the_beats() {
    let mut h = beating(STEADY);
    assert_eq!(h.health(), Health::Ok);
    let seen = run(&mut h, 45_000, 0, |_, _| Reply::ServerError(500).into());
    assert!(!seen.is_empty());
    assert_eq!(h.health(), Health::Lapsed);
    let later = h.now().instant.saturating_add(Duration::from_secs(41));
    assert_eq!(h.machine().health(later), Health::NotPolled);
}

#[test]
fn an_owner_that_is_required_or_watched_has_a_name() {
    let now = Now::monotonic(Instant::from_millis(0));
    let owned = HeartbeatConfig {
        owner_required: true,
        ..STEADY
    };
    let watched = HeartbeatConfig {
        watch_node: true,
        ..STEADY
    };
    let error = |config: &HeartbeatConfig| Heartbeat::new(config, HEART, now).err();
    assert_eq!(
        error(&owned),
        Some(HeartbeatError::OwnerRequiredWithoutNode)
    );
    assert_eq!(error(&watched), Some(HeartbeatError::WatchWithoutNode));
    assert!(Heartbeat::new(&watched, GW1, now).is_ok());
}

#[test]
fn a_server_without_a_right_to_nodes_gets_a_lease_without_owner_where_none_is_required() {
    let mut h = heart(STEADY, GW1);
    at!(h, 0 => ["GET"]);
    at!(h, 0, Reply::LeaseMissing => ["GET node gw1"]);
    at!(h, 0, Reply::Forbidden => ["POST"]);
    assert_eq!(h.write().owner, None);
    at!(h, 0, Accepted(1) => ["wait 10000"]);
    // It is asked for again with each beat, until the lease has it.
    at!(h, 10_000 => ["GET node gw1"]);
    at!(h, 10_000, Failure::NotSent => ["PUT 1 renew"]);
    at!(h, 10_000, Accepted(2) => ["wait 20000"]);
}

/// One that has looked at its Node after its first beat.
#[track_caller]
fn watching_and_beating() -> HeartDriver {
    let mut h = watching();
    at!(h, 0 => ["GET"]);
    at!(h, 0, held_by("gw1", 1).owned(OwnerState::Current, false) => ["PUT 1 renew"]);
    at!(h, 0, Accepted(2) => ["GET node gw1"]);
    at!(h, 0, Node("u1", Readiness::Ready) => ["wait 10000"]);
    h
}

/// What its owner's readiness is does not matter before there are beats, and does from then on.
#[test]
fn a_node_that_was_read_for_its_uid_is_told_of_after_the_first_beat() {
    for readiness in [Readiness::NotReady, Readiness::Unknown, Readiness::Unsaid] {
        let told = format!("NodeNotReady({readiness:?})");
        let mut h = watching();
        at!(h, 0 => ["GET"]);
        at!(h, 0, Reply::LeaseMissing => ["GET node gw1"]);
        at!(h, 0, Node("u1", readiness) => ["POST"]);
        at!(h, 0, Accepted(1) => ["GET node gw1"]);
        at!(h, 0, Node("u1", readiness) => [told.as_str(), "wait 10000"]);
    }
}

#[test]
fn a_node_that_was_registered_anew_and_is_not_ready_is_told_of() {
    for readiness in [Readiness::NotReady, Readiness::Unknown, Readiness::Unsaid] {
        let told = format!("NodeNotReady({readiness:?})");
        let mut h = watching_and_beating();
        at!(h, 10_000 => ["PUT 2 renew"]);
        at!(h, 10_000, Reply::LeaseMissing => ["GET node gw1"]);
        at!(h, 10_000, Node("u2", readiness) => ["POST"]);
        at!(h, 10_000, Accepted(4) => ["LeaseRecreated", "GET node gw1"]);
        at!(h, 10_000, Node("u2", readiness) => [told.as_str(), "wait 20000"]);
    }
}

/// One whose Node is not ready, which was told.
#[track_caller]
fn told_of(readiness: Readiness) -> HeartDriver {
    let told = format!("NodeNotReady({readiness:?})");
    let mut h = watching_and_beating();
    at!(h, 10_000 => ["PUT 2 renew"]);
    at!(h, 10_000, Reply::LeaseMissing => ["GET node gw1"]);
    at!(h, 10_000, Node("u1", readiness) => ["POST"]);
    at!(h, 10_000, Accepted(4) => ["LeaseRecreated", "GET node gw1"]);
    at!(h, 10_000, Node("u1", readiness) => [told.as_str(), "wait 20000"]);
    h
}

/// What was posted since then was of the Node of before.
#[test]
fn a_node_that_is_registered_anew_between_two_looks_is_told_of_again() {
    for readiness in [Readiness::NotReady, Readiness::Unsaid] {
        let told = format!("NodeNotReady({readiness:?})");
        let mut h = told_of(readiness);
        at!(h, 20_000 => ["PUT 4 renew"]);
        at!(h, 20_000, Accepted(5) => ["GET node gw1"]);
        at!(h, 20_000, Node("u1", readiness) => ["wait 30000"]);
        at!(h, 30_000 => ["PUT 5 renew"]);
        at!(h, 30_000, Accepted(6) => ["GET node gw1"]);
        at!(h, 30_000, Node("u2", readiness) => [told.as_str(), "wait 40000"]);
    }
}

#[test]
fn a_node_that_the_host_made_anew_owns_the_lease_from_the_next_beat_on() {
    let mut h = watching();
    at!(h, 0 => ["GET"]);
    at!(h, 0, Reply::LeaseMissing => ["GET node gw1"]);
    at!(h, 0, Node("u1", Readiness::Ready) => ["POST"]);
    at!(h, 0, Accepted(1) => ["GET node gw1"]);
    at!(h, 0, Node("u1", Readiness::Ready) => ["wait 10000"]);
    at!(h, 1_000, NodeReplaced => ["wait 10000"]);
    at!(h, 10_000 => ["GET node gw1"]);
    at!(h, 10_000, Node("u2", Readiness::Ready) => ["PUT 1 renew"]);
    assert_eq!(h.machine().node_uid(), Some("u2"));
    at!(h, 10_000, Accepted(2) => ["wait 20000"]);
}

/// The owner that was read in the lease is one of the past then, though its uid is the same.
#[test]
fn a_node_that_the_host_made_anew_takes_the_lease_over_from_the_one_that_was_read() {
    let mut h = watching_and_beating();
    at!(h, 1_000, NodeReplaced => ["wait 10000"]);
    at!(h, 10_000 => ["GET node gw1"]);
    at!(h, 10_000, Node("u2", Readiness::Ready) => ["PUT 2 renew"]);
    assert_eq!(h.write().owner.as_ref().unwrap().uid, "u2");
    at!(h, 10_000, Accepted(3) => ["wait 20000"]);
}

#[test]
fn a_node_that_is_gone_between_two_looks_is_told_of_again() {
    let mut h = told_of(Readiness::Unsaid);
    at!(h, 20_000 => ["PUT 4 renew"]);
    at!(h, 20_000, Accepted(5) => ["GET node gw1"]);
    at!(h, 20_000, Reply::LeaseMissing => ["Trouble NodeMissing get", "wait 30000"]);
    at!(h, 30_000 => ["PUT 5 renew"]);
    at!(h, 30_000, Accepted(6) => ["GET node gw1"]);
    let told = "NodeNotReady(Unsaid)";
    at!(h, 30_000, Node("u2", Readiness::Unsaid) => [told, "wait 40000"]);
}

/// The look for the owner finds the new Node, and that after the beat finds the same one.
#[test]
fn a_node_that_is_registered_anew_and_read_for_its_uid_is_told_of_again() {
    for readiness in [Readiness::NotReady, Readiness::Unsaid] {
        let told = format!("NodeNotReady({readiness:?})");
        let mut h = told_of(readiness);
        at!(h, 20_000 => ["PUT 4 renew"]);
        at!(h, 20_000, Reply::LeaseMissing => ["GET node gw1"]);
        at!(h, 20_000, Node("u2", readiness) => ["POST"]);
        at!(h, 20_000, Accepted(6) => ["LeaseRecreated", "GET node gw1"]);
        at!(h, 20_000, Node("u2", readiness) => [told.as_str(), "wait 30000"]);
    }
}

/// 403 for a moment hides nothing that was seen before.
#[test]
fn a_node_that_was_not_ready_when_its_uid_was_read_is_looked_at_until_that_is_told() {
    let mut h = watching();
    at!(h, 0 => ["GET"]);
    at!(h, 0, Reply::LeaseMissing => ["GET node gw1"]);
    at!(h, 0, Node("u1", Readiness::Unknown) => ["POST"]);
    at!(h, 0, Accepted(1) => ["GET node gw1"]);
    at!(h, 0, Reply::Forbidden => ["wait 10000"]);
    at!(h, 10_000 => ["PUT 1 renew"]);
    at!(h, 10_000, Accepted(2) => ["GET node gw1"]);
    let told = "NodeNotReady(Unknown)";
    at!(h, 10_000, Node("u1", Readiness::Unknown) => [told, "wait 20000"]);
}

#[test]
fn a_node_that_is_missing_after_an_outage_is_looked_for_until_it_is_there() {
    let mut h = watching();
    at!(h, 0 => ["GET"]);
    at!(h, 0, held_by("gw1", 1).owned(OwnerState::Current, false) => ["PUT 1 renew"]);
    at!(h, 0, Accepted(2) => ["GET node gw1"]);
    at!(h, 0, Reply::LeaseMissing => ["Trouble NodeMissing get"]);
    at!(h, 10_000 => ["PUT 2 renew"]);
    at!(h, 10_000, Accepted(3) => ["GET node gw1"]);
    at!(h, 10_000, Reply::LeaseMissing => ["wait 20000"]);
    at!(h, 20_000 => ["PUT 3 renew"]);
    at!(h, 20_000, Accepted(4) => ["GET node gw1"]);
    at!(h, 20_000, Node("u2", Readiness::Unsaid) => ["NodeNotReady(Unsaid)", "wait 30000"]);
}

/// Somebody who knows of a newer Node wrote its uid: to write the old one back would have the
/// garbage collector delete the lease.
#[test]
fn an_owner_that_became_another_is_looked_at_before_it_is_replaced() {
    let mut h = watching_and_beating();
    at!(h, 10_000 => ["PUT 2 renew"]);
    at!(h, 10_000, Accepted(3) => ["wait 20000"]);
    at!(h, 20_000 => ["PUT 3 renew"]);
    at!(h, 20_000, Reply::Conflict => ["GET"]);
    at!(h, 20_000, held_by("gw1", 4).owned(OwnerState::Stale, false) => ["GET node gw1"]);
    at!(h, 20_000, Node("u2", Readiness::Ready) => ["PUT 4 renew"]);
    assert_eq!(h.write().owner.as_ref().unwrap().uid, "u2");
}

/// 403 for a moment, as of a server that has just started.
#[test]
fn a_look_that_is_refused_is_made_up_for_and_from_then_on_once_in_a_lease_duration() {
    let mut h = watching();
    at!(h, 0 => ["GET"]);
    at!(h, 0, held_by("gw1", 1).owned(OwnerState::Current, false) => ["PUT 1 renew"]);
    at!(h, 0, Accepted(2) => ["GET node gw1"]);
    at!(h, 0, Reply::Forbidden => ["wait 10000"]);
    at!(h, 10_000 => ["PUT 2 renew"]);
    at!(h, 10_000, Accepted(3) => ["GET node gw1"]);
    at!(h, 10_000, Reply::Forbidden => ["Trouble Forbidden get", "wait 20000"]);
    at!(h, 20_000 => ["PUT 3 renew"]);
    at!(h, 20_000, Accepted(4) => ["wait 30000"]);
    at!(h, 30_000 => ["PUT 4 renew"]);
    at!(h, 30_000, Accepted(5) => ["wait 40000"]);
    at!(h, 40_000 => ["PUT 5 renew"]);
    at!(h, 40_000, Accepted(6) => ["wait 50000"]);
    at!(h, 50_000 => ["PUT 6 renew"]);
    at!(h, 50_000, Accepted(7) => ["GET node gw1"]);
    let told = "NodeNotReady(Unknown)";
    at!(h, 50_000, Node("u1", Readiness::Unknown) => [told, "wait 60000"]);
}

/// The look for the owner is another one, before the beat.
#[test]
fn a_look_that_is_owed_is_not_forgotten_over_the_owner() {
    for answer in [
        Answer::from(Failure::NotSent),
        Answer::from(Reply::Forbidden),
    ] {
        let mut h = watching();
        at!(h, 0 => ["GET"]);
        at!(h, 0, held_by("gw1", 1) => ["GET node gw1"]);
        at!(h, 0, Reply::Invalid => ["Trouble Invalid get", "PUT 1 renew"]);
        at!(h, 0, Accepted(2) => ["GET node gw1"]);
        at!(h, 0, Failure::NotSent => ["wait 10000"]);
        at!(h, 10_000 => ["GET node gw1"]);
        let sent = h.flight().clone();
        answer.give(&mut h, &sent);
        assert!(h.settle().iter().any(|text| text == "PUT 2 renew"));
        at!(h, 10_000, Accepted(3) => ["GET node gw1"]);
    }
}

#[test]
fn a_look_that_the_host_was_not_alive_for_is_made_up_for() {
    let mut h = heart(
        HeartbeatConfig {
            watch_node: true,
            liveness_ttl: Some(Duration::from_secs(30)),
            ..STEADY
        },
        GW1,
    );
    at!(h, 0, Alive => ["GET"]);
    at!(h, 0, retry_after(Reply::Throttled, 30) => ["wait 30000"]);
    at!(h, 30_000 => ["GET"]);
    at!(h, 30_000, held_by("gw1", 1).owned(OwnerState::Current, false) => ["PUT 1 renew"]);
    at!(h, 30_001, Accepted(2) => ["Trouble NotAlive update", "wait 40001"]);
    at!(h, 35_000, Alive => ["PUT 2 renew"]);
    at!(h, 35_000, Accepted(3) => ["GET node gw1"]);
}

#[test]
fn a_sign_of_life_counts_from_when_it_was_given() {
    let config = HeartbeatConfig {
        liveness_ttl: Some(Duration::from_secs(30)),
        ..STEADY
    };
    let mut h = heart(config, HEART);
    at!(h, 0 => ["Trouble NotAlive update", "wait 10000"]);
    at!(h, 9_000, AliveSince(0) => ["GET"]);
    at!(h, 9_000, held_by("A", 1).duration(40) => ["PUT 1 renew"]);
    at!(h, 9_000, Accepted(2) => ["wait 19000"]);
    let health = |h: &HeartDriver, ms: u64| h.machine().health(Instant::from_millis(ORIGIN + ms));
    for given in [5_000, 1_000] {
        h.take(AliveSince(given));
        assert_eq!(health(&h, 35_000), Health::Ok, "{given}");
        assert_eq!(health(&h, 35_001), Health::NotAlive, "{given}");
    }
}

/// A round that began before its slot keeps that slot, which may have passed too.
#[test]
fn an_early_round_that_is_polled_late_is_left_out_with_its_slot() {
    let config = HeartbeatConfig {
        liveness_ttl: Some(Duration::from_secs(30)),
        ..STEADY
    };
    let mut h = heart(config, HeartbeatIdentity::new("neighbour"));
    let held = |renewed| held_by("manager", 7).duration(25).renewed(renewed);
    at!(h, 0, Alive => ["GET"]);
    at!(h, 0, held(0) => ["Trouble HeldByAnother update", "wait 10000"]);
    at!(h, 10_000 => ["GET"]);
    at!(h, 10_000, held(1) => ["wait 20000"]);
    at!(h, 20_000 => ["GET"]);
    at!(h, 20_000, held(2) => ["wait 30000"]);
    at!(h, 30_000 => ["GET"]);
    at!(h, 30_000, held(3) => ["wait 40000"]);
    at!(h, 40_000 => ["Trouble NotAlive update", "wait 50000"]);
    at!(h, 50_000, Alive => ["GET"]);
    at!(h, 50_000, Reply::LeaseMissing => ["wait 60000"]);
    at!(h, 60_000 => ["GET"]);
    at!(h, 60_000, Reply::LeaseMissing => ["wait 70000"]);
    at!(h, 70_000 => ["GET"]);
    at!(h, 70_000, Reply::LeaseMissing => ["wait 75001"]);
    at!(h, 75_001 => ["POST"]);
    at!(h, 75_001, retry_after(Reply::Throttled, 4) => ["wait 79001"]);
    // Nobody has said since 80000 that the host is alive, and the round had that slot.
    h.be_late_until(90_000);
    h.expect(&["wait 100000"]);
    at!(h, 95_000, Alive => ["POST"]);
}

#[test]
fn a_sign_of_life_that_is_too_old_makes_up_for_nothing() {
    let config = HeartbeatConfig {
        liveness_ttl: Some(Duration::from_secs(30)),
        ..STEADY
    };
    let mut h = heart(config, HEART);
    at!(h, 0 => ["Trouble NotAlive update", "wait 10000"]);
    at!(h, 10_000 => ["wait 20000"]);
    at!(h, 20_000 => ["wait 30000"]);
    at!(h, 30_000 => ["wait 40000"]);
    at!(h, 35_000, AliveSince(4_999) => ["wait 40000"]);
    at!(h, 35_000, AliveSince(5_000) => ["GET"]);
}
