//! Hearts by the table: how they end.
#![allow(clippy::indexing_slicing, reason = "tests may")]

use kubelease_core::heartbeat::{HeartbeatConfig, Retire};
use kubelease_core::lease::OwnerState;
use kubelease_tests::heart::{A as HEART, GW1, STEADY, beating, heart};
use kubelease_tests::prelude::*;

#[test]
fn a_deletion_has_the_version_that_was_made_last() {
    let mut h = beating(STEADY);
    at!(h, 3_000, Retire::Delete => ["DELETE 2"]);
    at!(h, 3_100, Reply::Deleted => ["Finished Deleted", "Done"]);
}

#[test]
fn a_deletion_that_meets_a_conflict_looks_first_and_gives_up_after_three() {
    let mut h = beating(STEADY);
    at!(h, 3_000, Retire::Delete => ["DELETE 2"]);
    at!(h, 3_000, Reply::Conflict => ["GET"]);
    at!(h, 3_000, Mine(4) => ["DELETE 4"]);
    at!(h, 3_000, Reply::Conflict => ["GET"]);
    at!(h, 3_000, Mine(5) => ["DELETE 5"]);
    at!(h, 3_000, Reply::Conflict => ["Finished Failed", "Done"]);
}

#[test]
fn only_the_own_lease_is_deleted() {
    let mut h = beating(STEADY);
    at!(h, 10_000 => ["PUT 2 renew"]);
    // The beat on its way may still be done: look first.
    at!(h, 10_100, Retire::Delete => ["Cancel", "GET"]);
    at!(h, 10_200, held_by("B", 9) => ["Finished NotHolder", "Done"]);
    let mut h = beating(STEADY);
    at!(h, 10_000 => ["PUT 2 renew"]);
    at!(h, 10_100, Retire::Delete => ["Cancel", "GET"]);
    at!(h, 10_200, Reply::LeaseMissing => ["Finished NotHolder", "Done"]);
}

#[test]
fn a_deletion_without_an_answer_that_is_found_done_was_done() {
    let mut h = beating(STEADY);
    at!(h, 3_000, Retire::Delete => ["DELETE 2"]);
    at!(h, 3_100, Failure::Unknown => ["wait 3300"]);
    at!(h, 3_300 => ["GET"]);
    at!(h, 3_400, Reply::LeaseMissing => ["Finished Deleted", "Done"]);
}

#[test]
fn a_deletion_ends_with_its_budget() {
    let mut h = beating(STEADY);
    at!(h, 3_000, Retire::Delete => ["DELETE 2"]);
    at!(h, 8_000 => ["Cancel", "wait 8200"]);
    at!(h, 8_200 => ["GET", "wait 13000"]);
    at!(h, 13_000 => ["ReconnectAdvised", "Finished Unknown", "Cancel", "Done"]);
}

#[test]
fn a_final_beat_is_a_beat() {
    let mut h = beating(STEADY);
    at!(h, 3_000, Retire::FinalBeat => ["PUT 2 renew"]);
    at!(h, 3_100, Accepted(3) => ["Finished Kept", "Done"]);
    assert_eq!(h.last_beat_ms(), Some(3_000));
}

#[test]
fn a_final_beat_is_tried_five_times() {
    let mut h = beating(STEADY);
    at!(h, 3_000, Retire::FinalBeat => ["PUT 2 renew"]);
    for _ in 0..4 {
        h.take(Failure::NotSent);
        let seen = h.settle();
        assert!(seen.iter().any(|text| text == "PUT 2 renew"), "{seen:?}");
    }
    at!(h, 3_000, Failure::NotSent => ["Finished Failed", "Done"]);
}

#[test]
fn a_final_beat_makes_no_lease_and_takes_none() {
    let mut h = heart(STEADY, HEART);
    at!(h, 0, Retire::FinalBeat => ["GET"]);
    at!(h, 0, Reply::LeaseMissing => ["Finished NotHolder", "Done"]);
    let mut h = heart(STEADY, HEART);
    at!(h, 0, Retire::FinalBeat => ["GET"]);
    at!(h, 0, held_by("B", 3) => ["Finished NotHolder", "Done"]);
}

/// A lease that may not be without its owner is not beaten without it at the end either.
#[test]
fn a_final_beat_does_without_no_owner_that_is_required() {
    let required = HeartbeatConfig {
        owner_required: true,
        ..STEADY
    };
    let mut h = heart(required, GW1);
    at!(h, 0 => ["GET"]);
    at!(h, 0, held_by("B", 3).duration(40) => ["Trouble HeldByAnother update", "wait 10000"]);
    at!(h, 5_000, Retire::FinalBeat => ["GET"]);
    at!(h, 5_000, released(4) => ["Finished Failed", "Done"]);
    let mut h = heart(required, GW1);
    at!(h, 0 => ["GET"]);
    at!(h, 0, held_by("gw1", 3) => ["GET node gw1"]);
    at!(h, 0, Reply::LeaseMissing => ["Trouble NodeMissing get", "wait 10000"]);
    at!(h, 5_000, Retire::FinalBeat => ["GET"]);
    at!(h, 5_000, held_by("gw1", 3) => ["Finished Failed", "Done"]);
    let mut h = heart(required, GW1);
    at!(h, 0 => ["GET"]);
    at!(h, 0, held_by("gw1", 3).owned(OwnerState::Stale, false) => ["PUT 3 renew"]);
    at!(h, 0, Accepted(4) => ["wait 10000"]);
    at!(h, 5_000, Retire::FinalBeat => ["PUT 4 renew"]);
}

/// Who waits for the lease ends without having had it.
#[test]
fn the_end_of_a_heart_that_waits_for_the_lease_leaves_it_alone() {
    for how in [Retire::FinalBeat, Retire::Delete] {
        let mut h = heart(STEADY, HEART);
        at!(h, 0 => ["GET"]);
        let theirs = || held_by("B", 3).duration(40);
        at!(h, 0, theirs() => ["Trouble HeldByAnother update", "wait 10000"]);
        at!(h, 5_000, how => ["GET"]);
        at!(h, 5_000, theirs() => ["Finished NotHolder", "Done"]);
    }
}

/// Nor is one deleted that was taken over, and not beaten since.
#[test]
fn a_lease_that_nobody_holds_is_not_deleted() {
    let mut h = heart(STEADY, HEART);
    at!(h, 0 => ["GET"]);
    at!(h, 0, released(3) => ["PUT 3 acquire"]);
    // What was not done leaves nothing in doubt that had to be read anyway.
    at!(h, 100, Reply::Throttled => ["wait 1100"]);
    at!(h, 500, Retire::Delete => ["GET"]);
    at!(h, 500, released(3) => ["Finished NotHolder", "Done"]);
}

#[test]
fn the_end_can_be_shortened_and_turned_into_a_deletion() {
    let mut h = beating(STEADY);
    at!(h, 3_000, Retire::FinalBeat => ["PUT 2 renew"]);
    at!(h, 3_100, Retire::FinalBeat => []);
    at!(h, 3_100, Retire::Delete => ["Cancel", "GET"]);
    at!(h, 3_200, Retire::FinalBeat => []);
    at!(h, 3_200, Retire::Keep => ["Finished Kept", "Cancel", "Done"]);
}
