//! Identity, restarts, callbacks and health.

use kubelease_core::elector::{ConfigError, Elector, Health, TimingError};
use kubelease_core::time::Now;
use kubelease_tests::prelude::*;

#[test]
fn b42_an_empty_identity_is_refused() {
    let empty = Driver::try_new(Config { identity: "", ..A });
    assert_eq!(empty.unwrap_err(), ConfigError::IdentityEmpty);
}

#[test]
fn b42_an_identity_that_json_would_have_to_escape_is_refused() {
    for identity in ["a\"b", "a\\b", "a\nb", "a\u{7f}"] {
        let refused = Driver::try_new(Config { identity, ..A });
        assert_eq!(refused.unwrap_err(), ConfigError::IdentityCharacter);
    }
}

#[test]
fn b42_a_living_twin_is_noticed_and_obeyed() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_000, Reply::Conflict => ["GET"]);
    let twin = held_by("A", 8).renewed(1_234);
    at!(e, 2_000, twin.clone() => ["Stopped Lost", "IdentityCollision", "Leader A", "wait 4000"]);
    at!(e, 4_000 => ["GET"]);
    at!(e, 4_000, twin => ["wait 6000"]);
    let mut store = Store::with(&held_by("A", 8).renewed(1_234));
    let seen = run(&mut e, 17_001, 0, |_, sent| store.serve(sent));
    let writes: Vec<_> = seen
        .iter()
        .filter(|(_, text)| text.starts_with("PUT"))
        .collect();
    assert_eq!(writes, [&(17_001, "PUT 8 acquire".to_owned())]);
}

#[test]
fn b45_a_restart_takes_its_own_lease_at_once() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    let lease = held_by("A", 5).transitions(2);
    e.take(lease);
    let seen = e.settle();
    assert!(seen[0].starts_with("PUT 5"), "{seen:?}");
    let write = e.write();
    assert_eq!(write.transitions, Some(2));
    assert_eq!(write.acquire_time, Some(wall(0)));
    at!(e, 100, Accepted(6) => ["Started 1"]);
}

#[test]
fn b45_a_restart_never_repeats_the_renew_time_it_finds() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    e.take(held_by("A", 5).renewed(3_600_000));
    e.settle();
    assert!(e.write().renew_time > wall(3_600_000));
}

/// client-go's standbys see renewTime in whole seconds only, and would not see this leader live.
#[test]
fn b45_a_restart_over_a_time_from_the_future_is_seen_in_whole_seconds() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    e.take(held_by("A", 5).renewed(3_600_000));
    e.settle();
    assert!(e.write().renew_time.as_unix().0 > wall(3_600_000).as_unix().0);
}

#[test]
fn b45_a_restart_waits_where_it_was_told_to() {
    let mut e = Driver::new(Config {
        treat_own_as_foreign: true,
        ..A
    });
    at!(e, 0 => ["GET"]);
    at!(e, 0, held_by("A", 5) => ["Leader A", "wait 2000"]);
    let mut store = Store::with(&held_by("A", 5));
    let seen = run(&mut e, 15_001, 0, |_, sent| store.serve(sent));
    let writes: Vec<_> = seen
        .iter()
        .filter(|(_, text)| text.starts_with("PUT"))
        .collect();
    assert_eq!(writes, [&(15_001, "PUT 5 acquire".to_owned())]);
}

#[test]
fn b51_durations_that_the_record_can_not_hold_are_refused() {
    let millis = Duration::from_millis;
    let table = [
        (1_500, 1_000, TimingError::LeaseDurationNotWholeSeconds),
        (500, 300, TimingError::LeaseDurationNotWholeSeconds),
        (15_500, 10_000, TimingError::LeaseDurationNotWholeSeconds),
        (
            1_000,
            1_000,
            TimingError::RenewDeadlineNotBelowLeaseDuration,
        ),
    ];
    for (lease, renew, error) in table {
        let timing = Timing::new(millis(lease), millis(renew), millis(100));
        let refused = Driver::try_new(Config { timing, ..A });
        assert_eq!(refused.unwrap_err(), ConfigError::Timing(error), "{lease}");
    }
}

/// One change of a good timing, and what is wrong then.
struct BadTiming(fn(&mut Timing), TimingError);

const BAD_TIMINGS: &[BadTiming] = &[
    BadTiming(
        |it| it.lease_duration = Duration::ZERO,
        TimingError::LeaseDurationZero,
    ),
    BadTiming(
        |it| it.lease_duration = Duration::from_millis(15_001),
        TimingError::LeaseDurationNotWholeSeconds,
    ),
    BadTiming(
        |it| it.lease_duration = Duration::from_secs(1 << 31),
        TimingError::LeaseDurationTooLong,
    ),
    BadTiming(
        |it| it.renew_deadline = Duration::ZERO,
        TimingError::RenewDeadlineZero,
    ),
    BadTiming(
        |it| it.retry_period = Duration::ZERO,
        TimingError::RetryPeriodZero,
    ),
    BadTiming(
        |it| it.request_timeout = Duration::ZERO,
        TimingError::RequestTimeoutZero,
    ),
    BadTiming(|it| it.jitter_percent = 501, TimingError::JitterTooLarge),
    BadTiming(
        |it| it.renew_deadline = Duration::from_secs(15),
        TimingError::RenewDeadlineNotBelowLeaseDuration,
    ),
    BadTiming(
        |it| it.renew_deadline = Duration::from_millis(14_901),
        TimingError::MarginTooSmall,
    ),
    BadTiming(
        |it| it.retry_period = Duration::from_secs(10),
        TimingError::RetryPeriodNotBelowRenewDeadline,
    ),
    BadTiming(
        |it| it.jitter_percent = 400,
        TimingError::JitteredRetryPeriodNotBelowRenewDeadline,
    ),
    BadTiming(
        |it| it.request_timeout = Duration::from_millis(4_001),
        TimingError::RequestTimeoutLeavesNoRetry,
    ),
];

#[test]
fn b90_each_bad_relation_has_its_own_error() {
    for BadTiming(change, error) in BAD_TIMINGS {
        let mut timing = STEADY;
        change(&mut timing);
        let refused = Driver::try_new(Config { timing, ..A });
        assert_eq!(refused.unwrap_err(), ConfigError::Timing(*error));
    }
}

#[test]
fn b72_two_requests_and_a_period_have_to_fit_and_just_fitting_is_enough() {
    let fits = Timing {
        request_timeout: Duration::from_secs(4),
        ..STEADY
    };
    assert!(Driver::try_new(Config { timing: fits, ..A }).is_ok());
}

#[test]
fn b90_every_preset_and_the_default_are_valid() {
    let presets = [
        Timing::default(),
        Timing::KUBERNETES,
        Timing::OPENSHIFT,
        Timing::OPENSHIFT_SINGLE_NODE,
        Timing::EDGE,
    ];
    for timing in presets {
        assert!(
            Driver::try_new(Config { timing, ..A }).is_ok(),
            "{timing:?}"
        );
    }
}

#[test]
fn b96_a_candidate_that_is_stopped_never_stopped_leading() {
    let mut e = standby(A);
    at!(e, 1_000, Stop => ["Finished NotHolder", "Done"]);
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 100, Stop => ["Finished NotHolder", "Cancel", "Done"]);
    let mut e = Driver::new(A);
    at!(e, 0, Stop => ["Finished NotHolder", "Done"]);
}

#[test]
fn b98_stepping_down_gives_the_lease_away_for_a_while() {
    let mut e = leading(A);
    at!(e, 1_000, StepDown(30_000) => ["Stopped SteppedDown", "PUT 7 release"]);
    at!(e, 1_100, Accepted(8) => []);
    let mut store = Store::with(&released(8));
    let seen = run(&mut e, 40_000, 10, |_, sent| store.serve(sent));
    let take = seen
        .iter()
        .find(|(_, text)| text.starts_with("PUT"))
        .unwrap();
    assert!((31_000..=33_000).contains(&take.0), "{seen:?}");
    assert!(seen.iter().any(|(_, text)| text == "Started 2"), "{seen:?}");
}

#[test]
fn b98_a_candidate_that_steps_down_only_waits() {
    let mut e = standby(A);
    e.step_down(Duration::from_secs(30));
    let mut store = Store::with(&released(10));
    let seen = run(&mut e, 40_000, 10, |_, sent| store.serve(sent));
    let take = seen
        .iter()
        .find(|(_, text)| text.starts_with("PUT"))
        .unwrap();
    assert!(take.0 >= 30_000, "{seen:?}");
}

#[test]
fn b98_a_candidate_that_steps_down_drops_the_write_it_was_about() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 0, released(6) => ["PUT 6 acquire"]);
    at!(e, 100, StepDown(30_000) => ["Cancel"]);
    let mut store = Store::with(&released(6));
    let seen = run(&mut e, 29_999, 10, |_, sent| store.serve(sent));
    assert!(seen.iter().all(|(_, text)| text == "GET"), "{seen:?}");
}

#[test]
fn b100_a_new_leader_asks_to_be_woken_within_the_retry_period() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 100, released(6) => ["PUT 6 acquire"]);
    at!(e, 200, Accepted(7) => ["Started 1"]);
    assert!(e.wakes_at().unwrap() <= 2_100);
}

fn health(e: &Driver, ms: u64) -> Health {
    e.machine().health(Instant::from_millis(ORIGIN + ms))
}

#[test]
fn b104_a_fresh_leader_is_healthy_until_its_deadline_passes_unseen() {
    let e = leading(A);
    assert_eq!(health(&e, 0), Health::Ok);
    assert_eq!(health(&e, 9_999), Health::Ok);
    assert_eq!(health(&e, 10_000), Health::NotPolled);
}

#[test]
fn b104_a_candidate_without_a_good_answer_is_unreachable() {
    let mut e = standby(A);
    run(&mut e, 5_000, 10, |_, _| Failure::NotSent.into());
    assert_eq!(health(&e, 5_000), Health::Ok);
    run(&mut e, 35_000, 10, |_, _| Failure::NotSent.into());
    assert_eq!(health(&e, 35_000), Health::Ok);
    run(&mut e, 36_000, 10, |_, _| Failure::NotSent.into());
    assert_eq!(health(&e, 36_000), Health::Unreachable);
}

#[test]
fn b104_a_candidate_that_is_never_polled_says_so() {
    let e = standby(A);
    assert_eq!(health(&e, 36_000), Health::NotPolled);
}

#[test]
fn labels_are_asserted_on_writes_that_acquire_and_on_no_other() {
    use kubelease_core::lease::Label;
    const LABELS: &[Label<'static>] = &[Label {
        key: "example.com/zone",
        value: "west",
    }];
    let mut e = Driver::new(Config {
        labels: LABELS,
        ..A
    });
    at!(e, 0 => ["GET"]);
    at!(e, 0, released(6) => ["PUT 6 acquire"]);
    assert_eq!(e.write().labels.len(), 1);
    at!(e, 0, Accepted(7) => ["Started 1"]);
    at!(e, 2_000 => ["PUT 7 renew"]);
    assert!(e.write().labels.is_empty());
    at!(e, 2_000, Stop => ["Stopped Stopped", "Cancel", "GET"]);
    at!(e, 2_000, Mine(8) => ["PUT 8 release"]);
    assert!(e.write().labels.is_empty());
}

#[test]
fn a_new_elector_with_a_bad_config_is_an_error_before_anything_is_sent() {
    let labels = &[kubelease_core::lease::Label {
        key: "no spaces",
        value: "",
    }];
    let now = Now::monotonic(Instant::from_millis(1));
    let refused = Elector::new(Config { labels, ..A }, now);
    assert_eq!(refused.unwrap_err(), ConfigError::LabelInvalid);
}
