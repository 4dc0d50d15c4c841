//! `leaderelection_test.go`: `testTryAcquireOrRenew`, `TestTryCoordinatedRenew`, the round trip of
//! records, and the config.

use kubelease_core::elector::{ConfigError, Elector};
use kubelease_core::lease::{LeaseSpec, RecordSpec, RecordTime};
use kubelease_core::protocol::Changes;
use kubelease_tests::prelude::*;

use super::{BAZ, QUICK, held_by_bing};

#[test]
fn le_01_acquire_from_no_object() {
    let mut e = Driver::new(BAZ);
    at!(e, 0 => ["GET"]);
    at!(e, 10, Reply::LeaseMissing => ["POST"]);
    assert_eq!(e.write().holder, "baz");
    assert_eq!(e.write().transitions, Some(0));
    at!(e, 20, Accepted(1) => ["Started 1"]);
    assert_eq!(e.machine().leader(), Some("baz"));
}

#[test]
fn le_02_acquire_from_an_object_without_a_spec() {
    let mut e = Driver::new(BAZ);
    at!(e, 0 => ["GET"]);
    at!(e, 10, Lease::new(None, 1) => ["PUT 1 acquire"]);
    assert_eq!(e.write().transitions, Some(1));
    at!(e, 20, Accepted(2) => ["Started 1"]);
}

/// Upstream reads once more before it writes; here the condition on the version is enough.
#[test]
fn le_03_acquire_from_a_led_object_with_its_own_duration() {
    let mut e = Driver::new(BAZ);
    at!(e, 0 => ["GET"]);
    at!(e, 0, held_by_bing(1, 3) => ["Leader bing"]);
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_000, held_by_bing(1, 3) => ["wait 3001"]);
    at!(e, 3_001 => ["PUT 1 acquire"]);
    assert_eq!(e.write().transitions, Some(1));
    at!(e, 3_010, Accepted(2) => ["Started 1"]);
}

#[test]
fn le_04_acquire_from_an_unled_object() {
    let zero = RecordSpec {
        acquire_time: RecordTime::Null,
        renew_time: RecordTime::Null,
        lease_duration_seconds: Some(0),
        lease_transitions: Some(0),
        ..RecordSpec::default()
    };
    let mut e = Driver::new(BAZ);
    at!(e, 0 => ["GET"]);
    at!(e, 0, Lease::new(Some(zero), 1) => ["PUT 1 acquire"]);
    assert_eq!(e.write().transitions, Some(1));
}

/// Upstream takes a duration of 0, which no server stores, for an expiry at second sight. Here it
/// counts as no duration: the own one is waited.
#[test]
fn le_05_acquire_from_a_led_object_that_is_not_renewed() {
    let mut e = Driver::new(BAZ);
    let mut store = Store::with(&held_by_bing(1, 0));
    let seen = run(&mut e, 10_001, 0, |_, sent| store.serve(sent));
    let take = seen.iter().find(|(_, text)| text.starts_with("PUT"));
    assert_eq!(take, Some(&(10_001, "PUT 1 acquire".to_owned())));
}

#[test]
fn le_06_acquire_from_a_released_object_that_was_led_until_now() {
    let mut e = Driver::new(BAZ);
    at!(e, 0 => ["GET"]);
    at!(e, 0, held_by_bing(1, 3_600) => ["Leader bing"]);
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_000, held_by("", 2) => ["Leader none", "PUT 2 acquire"]);
    assert_eq!(e.write().transitions, Some(1));
}

#[test]
fn le_07_do_not_acquire_from_a_led_object_seen_first() {
    let mut e = Driver::new(BAZ);
    at!(e, 0 => ["GET"]);
    at!(e, 0, held_by_bing(1, 0) => ["Leader bing", "wait 2000"]);
    assert_eq!(e.machine().leader(), Some("bing"));
    assert!(!e.is_leading());
}

#[test]
fn le_08_renew_an_object_that_already_names_this_identity() {
    let mut e = Driver::new(BAZ);
    at!(e, 0 => ["GET"]);
    e.take(held_by("baz", 1));
    assert!(e.settle()[0].starts_with("PUT 1"));
    assert_eq!(e.write().transitions, Some(0));
    at!(e, 10, Accepted(2) => ["Started 1"]);
}

/// Upstream this is the coordinated mode; a plain elector does the same.
#[test]
fn le_09_do_not_acquire_from_a_led_object() {
    let mut e = Driver::new(BAZ);
    at!(e, 0 => ["GET"]);
    at!(e, 0, held_by_bing(1, 10) => ["Leader bing", "wait 2000"]);
}

/// Upstream this is the coordinated mode; a plain elector does the same.
#[test]
fn le_10_renew_an_object_after_a_look() {
    let mut e = leading(BAZ);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_000, Failure::Unknown => []);
    at!(e, 4_000 => ["GET"]);
    at!(e, 4_000, Mine(7) => ["PUT 7 renew"]);
    assert_eq!(e.write().transitions, Some(5));
    at!(e, 4_000, Accepted(8) => []);
    assert!(e.is_leading());
}

#[test]
fn le_11_what_is_written_and_read_back_is_the_same_record() {
    let written = LeaseSpec {
        holder_identity: "foo",
        lease_duration_seconds: 10,
        acquire_time: Some(wall(1)),
        renew_time: wall(2),
        lease_transitions: Some(1),
    };
    let read = RecordSpec::from(written);
    assert!(read.holder.matches("foo"));
    assert_eq!(read.lease_duration_seconds, Some(10));
    assert_eq!(read.acquire_time, RecordTime::Canonical(wall(1)));
    assert_eq!(read.renew_time, RecordTime::Canonical(wall(2)));
    assert_eq!(read.lease_transitions, Some(1));
}

#[test]
fn le_17_the_config_is_checked() {
    assert!(Driver::try_new(QUICK).is_ok());
    let empty = Driver::try_new(Config {
        identity: "",
        ..QUICK
    });
    let error = empty.unwrap_err();
    assert_eq!(error, ConfigError::IdentityEmpty);
    assert_eq!(
        error.to_string(),
        "expected an identity, found an empty one"
    );
}

/// Upstream runs the health check beside the loop and lets the race detector judge. Here the
/// compiler does: asking takes a shared reference, and an elector may be shared.
#[test]
fn le_20_asking_from_another_thread_is_no_race() {
    fn shared<T: Send + Sync>(value: &T) -> &T {
        value
    }
    let e = leading(BAZ);
    let elector: &Elector<'static> = shared(e.machine());
    let now = e.now().instant;
    std::thread::scope(|scope| {
        let answers = [(); 4].map(|()| scope.spawn(|| elector.is_leading(now)));
        for answer in answers {
            assert!(answer.join().unwrap());
        }
    });
}

#[test]
fn a_takeover_changes_all_fields_and_a_renewal_only_its_time() {
    let mut e = Driver::new(BAZ);
    at!(e, 0 => ["GET"]);
    at!(e, 0, released(1) => ["PUT 1 acquire"]);
    assert_eq!(e.write().changes(), Some(Changes::Acquire));
    at!(e, 0, Accepted(2) => ["Started 1"]);
    at!(e, 2_000 => ["PUT 2 renew"]);
    assert_eq!(e.write().changes(), Some(Changes::Renew));
    assert_eq!(e.write().duration, 10);
}
