//! `leaderelection_test.go`: `testReleaseLease`, `TestReleaseMethodCallsGet`,
//! `TestReleaseRetriesOnConflict`, `TestReleaseOnCancellation`.

use kubelease_tests::prelude::*;

use super::{BAZ, QUICK};

/// Upstream reads before each release; here the version of the last acknowledged write is enough.
#[test]
fn le_12_release_an_acquired_lock() {
    let mut e = Driver::new(BAZ);
    at!(e, 0 => ["GET"]);
    e.take(held_by("baz", 1));
    e.settle();
    at!(e, 10, Accepted(2) => ["Started 1"]);
    at!(e, 20, Stop => ["Stopped Stopped", "PUT 2 release"]);
    assert_eq!(e.write().holder, "");
    assert_eq!(e.write().transitions, Some(0));
    at!(e, 30, Accepted(3) => ["Finished Released", "Done"]);
    assert_eq!(e.machine().leader(), None);
}

#[test]
fn le_13_a_release_that_does_not_know_the_version_reads_first() {
    let mut e = leading(BAZ);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_100, Failure::Unknown => []);
    at!(e, 2_200, Stop => ["Stopped Stopped", "GET"]);
    at!(e, 2_300, Mine(8) => ["PUT 8 release"]);
    at!(e, 2_400, Accepted(9) => ["Finished Released", "Done"]);
}

#[test]
fn le_14_a_release_is_tried_again_after_a_conflict() {
    let mut e = leading(BAZ);
    at!(e, 100, Stop => ["Stopped Stopped", "PUT 7 release"]);
    at!(e, 200, Reply::Conflict => ["GET"]);
    at!(e, 300, Mine(7) => ["PUT 7 release"]);
    at!(e, 400, Accepted(8) => ["Finished Released", "Done"]);
}

#[test]
fn le_15_release_when_stopped_during_an_update() {
    let mut e = leading(QUICK);
    at!(e, 1_000 => ["PUT 7 renew"]);
    at!(e, 1_000, Reply::Conflict => ["GET"]);
    at!(e, 1_000, Mine(8) => ["PUT 8 renew"]);
    at!(e, 1_000, Accepted(9) => []);
    at!(e, 2_000 => ["PUT 9 renew"]);
    at!(e, 2_200, Stop => ["Stopped Stopped", "Cancel", "GET"]);
    at!(e, 2_300, Mine(9) => ["PUT 9 release"]);
    at!(e, 2_400, Accepted(10) => ["Finished Released", "Done"]);
}

/// As written upstream, the case passes on an ordinary renewal. Here the release really meets a
/// server that answers no read, and the end still comes, within the budget.
#[test]
fn le_16_stopped_during_a_read_that_never_answers() {
    let mut e = leading(QUICK);
    at!(e, 1_000 => ["PUT 7 renew"]);
    at!(e, 1_000, Reply::Conflict => ["GET"]);
    at!(e, 1_200, Stop => ["Stopped Stopped", "Cancel", "GET"]);
    let seen = run(&mut e, 10_000, 10, |_, _| Failure::Unknown.into());
    assert!(e.is_done(), "{seen:?}");
    let end = seen
        .iter()
        .find(|(_, text)| text.starts_with("Finished"))
        .unwrap();
    assert!(end.0 <= 3_200, "{seen:?}");
    assert!(!end.1.contains("Released"), "{seen:?}");
}
