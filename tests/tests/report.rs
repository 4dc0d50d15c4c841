//! Every figure of a timing's report is true for the real machine, and tight: one more would be
//! too much.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may")]

use kubelease_core::elector::Elector;
use kubelease_core::protocol::{Event, Output};
use kubelease_core::time::Now;
use kubelease_tests::prelude::*;
use kubelease_tests::store::Answer;

const PRESETS: [Timing; 4] = [
    Timing::KUBERNETES,
    Timing::OPENSHIFT,
    Timing::OPENSHIFT_SINGLE_NODE,
    Timing::EDGE,
];

const fn steady(timing: Timing) -> Config<'static> {
    Config {
        timing: Timing {
            jitter_percent: 0,
            ..timing
        },
        ..A
    }
}

/// The times of the first `count` requests of a candidate to whom each answer is `reply`; without
/// the driver, whose checks take long.
fn looks(config: Config<'static>, count: usize, reply: Reply<'_>) -> Vec<u64> {
    let now = |ms| Now::monotonic(Instant::from_millis(ORIGIN + ms));
    let mut elector = Elector::new(config, now(0)).unwrap();
    let (mut at, mut times) = (0, Vec::new());
    while times.len() < count {
        let id = match elector.poll(now(at)) {
            Output::Request(request) => request.id,
            Output::WaitUntil(next) => {
                at = next.as_millis() - ORIGIN;
                continue;
            }
            Output::Event(_) | Output::Cancel(_) | Output::Done => continue,
        };
        times.push(at);
        elector
            .handle_response(now(at), id, Response::new(reply))
            .unwrap();
    }
    times
}

fn longest_gap(times: &[u64]) -> u64 {
    times
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .max()
        .unwrap()
}

/// When a candidate that sees a crashed leader's last write at 0 leads, on its own clock.
fn takeover(timing: Timing) -> u64 {
    let config = steady(timing);
    let mut e = Driver::new(config);
    let seconds = i32::try_from(timing.lease_duration.as_millis() / 1_000).unwrap();
    let mut store = Store::with(&held_by("B", 9).duration(seconds));
    let until = timing.lease_duration.as_millis() + 5_000;
    let seen = run(&mut e, until, 0, |_, sent| store.serve(sent));
    seen.iter().find(|(_, text)| text == "Started 1").unwrap().0
}

#[test]
fn tries_is_how_many_renewals_fit_before_the_deadline() {
    for timing in PRESETS {
        let mut e = leading(steady(timing));
        let end = timing.renew_deadline.as_millis();
        let seen = run(&mut e, end, 0, |_, _| Failure::NotSent.into());
        let tries = seen
            .iter()
            .filter(|(at, text)| text.starts_with("PUT") && *at < end);
        assert_eq!(tries.count(), timing.report().tries as usize);
        assert!(seen.contains(&(end, "Stopped Deadline".to_owned())));
    }
}

#[test]
fn grace_is_how_long_work_may_go_on() {
    for timing in PRESETS {
        let end = timing.renew_deadline.as_millis();
        let mut e = leading(steady(timing));
        e.be_late_until(end);
        let stopped = e.poll_once();
        let kubelease_tests::seen::Seen::Event(Event::StoppedLeading { must_cease_by, .. }) =
            stopped
        else {
            panic!("{stopped:?}");
        };
        let grace = must_cease_by.as_millis() - ORIGIN - end;
        assert_eq!(grace, timing.report().grace.as_millis());
    }
}

/// Whether a leader whose clock runs right, silent since 0, has ended its work when a candidate
/// whose clock runs faster by `permille` leads. `grace` is what the work uses up.
fn work_has_ended(timing: Timing, permille: u32, grace: Duration) -> bool {
    let leader = leading(steady(timing));
    let taken_at = takeover(timing) * 1_000 / u64::from(permille);
    let last_work = taken_at.saturating_sub(grace.as_millis());
    !leader
        .machine()
        .is_leading(Instant::from_millis(ORIGIN + last_work))
}

#[test]
fn clock_ratio_is_the_fastest_clock_that_never_makes_two_leaders() {
    for timing in PRESETS {
        let ratio = timing.report().clock_ratio_permille;
        assert!(work_has_ended(timing, ratio, Duration::ZERO), "{ratio}");
        assert!(
            !work_has_ended(timing, ratio + 1, Duration::ZERO),
            "{ratio}"
        );
    }
}

#[test]
fn clock_ratio_with_grace_holds_where_work_uses_up_its_grace() {
    for timing in PRESETS {
        let report = timing.report();
        let ratio = report.clock_ratio_with_grace_permille;
        assert!(work_has_ended(timing, ratio, report.grace), "{ratio}");
        assert!(!work_has_ended(timing, ratio + 1, report.grace), "{ratio}");
    }
}

/// What a request meets that is sent during an outage.
#[derive(Clone, Copy, Debug)]
enum Outage {
    /// Refused at once.
    Refused,
    /// No answer at all.
    Silent,
    /// Refused at first, silent for the tries that begin in the last part.
    SilentInTheEnd,
}

/// Whether leadership outlives an outage of that length, which begins `start` after a renewal.
fn survives(timing: Timing, kind: Outage, start: u64, length: u64, latency: u64) -> bool {
    let mut e = leading(steady(timing));
    let mut store = Store::with(&Lease::written(e.last_claim(), 7));
    let period = timing.retry_period.as_millis();
    let (begin, end) = (start, start + length);
    let until = end + timing.renew_deadline.as_millis();
    let seen = run(&mut e, until, latency, |now, sent| {
        let late = now + period > end;
        match kind {
            _ if now < begin || now >= end => store.serve(sent),
            Outage::Refused => Failure::NotSent.into(),
            Outage::Silent => Answer::Nothing,
            Outage::SilentInTheEnd if late => Answer::Nothing,
            Outage::SilentInTheEnd => Failure::Unknown.into(),
        }
    });
    !seen.iter().any(|(_, text)| text.starts_with("Stopped"))
}

fn survives_whatever_its_start(timing: Timing, length: u64, latency: u64) -> bool {
    let period = timing.retry_period.as_millis();
    let starts = [0, 1, period / 2, period - 1, period];
    starts.into_iter().all(|start| {
        [Outage::Refused, Outage::Silent, Outage::SilentInTheEnd]
            .into_iter()
            .all(|kind| survives(timing, kind, start, length, latency))
    })
}

/// The round trip of one request that is worst for this timing: the last try begins with just too
/// little time for two.
fn worst_latency(timing: Timing) -> u64 {
    let (r, p) = (
        timing.renew_deadline.as_millis(),
        timing.retry_period.as_millis(),
    );
    if timing.request_timeout > timing.retry_period {
        0
    } else {
        (r % p) / 2
    }
}

#[test]
fn survived_outage_is_survived_whatever_its_start() {
    for timing in PRESETS {
        let outage = timing.report().survived_outage.as_millis();
        for latency in [0, 10, 100, worst_latency(timing)] {
            let length = outage - 2 * latency;
            assert!(
                survives_whatever_its_start(timing, length, latency),
                "{timing:?} {latency}"
            );
        }
    }
}

#[test]
fn survived_outage_is_the_longest() {
    for timing in PRESETS {
        let (report, latency) = (timing.report(), worst_latency(timing));
        let length = report.survived_outage.as_millis() - 2 * latency + 1;
        assert!(
            !survives_whatever_its_start(timing, length, latency),
            "{timing:?} {report:?}"
        );
    }
}

#[test]
fn graceful_takeover_is_the_longest_time_between_two_looks() {
    for timing in PRESETS {
        let config = Config {
            timing,
            seed: 3,
            ..A
        };
        let lease = held_by("B", 9).duration(i32::MAX);
        let spread = u64::from(timing.jitter_percent) * timing.retry_period.as_millis() / 100;
        let count = usize::try_from(spread * 10).unwrap();
        let longest = longest_gap(&looks(config, count, Reply::Lease(&lease.record)));
        // The jitter is below its bound by at least a millisecond.
        assert_eq!(longest + 1, timing.report().graceful_takeover.as_millis());
    }
}

#[test]
fn crash_takeover_adds_the_duration_to_the_longest_time_between_two_looks() {
    for timing in PRESETS {
        let report = timing.report();
        let look = report.graceful_takeover.as_millis();
        assert_eq!(report.crash_takeover.as_millis(), look + takeover(timing));
    }
}

/// B's record, renewed at `ms`, with the duration of `timing`.
fn renewed(timing: Timing, version: u64, ms: u64) -> Lease {
    let seconds = i32::try_from(timing.lease_duration.as_millis() / 1_000).unwrap();
    held_by("B", version).duration(seconds).renewed(ms)
}

/// A candidate in watch mode that heard of B's record at 1 ms.
fn heard(timing: Timing) -> Driver {
    let mut e = Driver::watching(steady(timing));
    e.settle();
    e.take(renewed(timing, 9, 0));
    e.settle();
    e.go_to(1);
    e.take(Changed(renewed(timing, 10, 1)));
    e.settle();
    e
}

#[test]
fn watch_silence_is_how_long_a_stream_that_died_goes_unnoticed() {
    let slow_looks = Timing {
        retry_period: Duration::from_secs(9),
        request_timeout: Duration::from_millis(500),
        ..Timing::KUBERNETES
    };
    for timing in PRESETS.into_iter().chain([slow_looks]) {
        let silence = timing.report().watch_silence.as_millis();
        // The release comes just after the last sign of life: it is found by the look.
        let mut e = heard(timing);
        assert_eq!(e.wakes_at(), Some(1 + silence));
        e.go_to(1 + silence);
        e.settle();
        e.take(released(11));
        e.settle();
        assert!(e.write().changes().is_some());
        // A last renewal that went unheard, just after the last sign of life.
        let mut e = heard(timing);
        let mut store = Store::with(&renewed(timing, 11, 2));
        let until = timing.lease_duration.as_millis() * 2;
        let seen = run(&mut e, until, 0, |_, sent| store.serve(sent));
        let took = seen.iter().find(|(_, text)| text == "Started 1").unwrap().0;
        let bound = timing.lease_duration.as_millis() + silence + 1;
        assert_eq!(took, 1 + bound, "{timing:?}");
    }
}

#[test]
fn while_the_stream_lives_a_crashed_leader_is_followed_after_its_duration() {
    for timing in PRESETS {
        let duration = timing.lease_duration.as_millis();
        let mut e = heard(timing);
        while e.now_ms() < 1 + duration + 1 {
            let next = e.wakes_at().unwrap().min(1 + duration + 1);
            e.go_to((e.now_ms() + 1_000).min(next));
            if e.flight().watch.is_some() && e.now_ms() < e.wakes_at().unwrap_or(0) {
                e.take(Bookmark);
            }
            e.settle();
        }
        assert_eq!(e.write().version().unwrap().resource_version.as_str(), "10");
    }
}

#[test]
fn slowest_retry_is_the_longest_time_between_two_refused_tries() {
    for timing in PRESETS {
        let config = Config {
            timing,
            seed: 3,
            ..A
        };
        let slowest = timing.report().slowest_retry.as_millis();
        let longest = longest_gap(&looks(config, 100_000, Reply::BadRequest));
        assert_eq!(longest + 1, slowest);
    }
}

fn with_margin(millis: u64) -> Timing {
    let lease = Duration::from_secs(15);
    let renew = lease.saturating_sub(Duration::from_millis(millis));
    Timing::new(lease, renew, Duration::from_secs(2))
}

#[test]
fn a_margin_below_a_second_is_narrow() {
    assert!(with_margin(999).report().margin_is_narrow);
    assert!(!with_margin(1_000).report().margin_is_narrow);
}

#[test]
fn beside_client_go_leadership_ends_a_second_before_the_lease() {
    for millis in [100, 999, 1_000, 1_001, 5_000] {
        let timing = with_margin(millis);
        let e = leading(steady(timing));
        // client-go compares whole seconds, and so may begin its wait a second too early.
        let earliest = timing.lease_duration.as_millis() - 1_000;
        let ended = !e
            .machine()
            .is_leading(Instant::from_millis(ORIGIN + earliest));
        assert_eq!(timing.report().safe_beside_client_go, ended, "{millis}");
    }
}

#[test]
fn the_writes_of_an_hour_are_counted() {
    for timing in PRESETS {
        let mut e = leading(steady(timing));
        let mut store = Store::with(&Lease::written(e.last_claim(), 7));
        let seen = run(&mut e, 3_600_000, 0, |_, sent| store.serve(sent));
        let writes = seen
            .iter()
            .filter(|(_, text)| text.starts_with("PUT"))
            .count();
        assert_eq!(writes, timing.report().leader_writes_per_hour as usize);
    }
}

#[test]
fn the_reads_of_an_hour_are_counted() {
    let lease = held_by("B", 9).duration(i32::MAX);
    for timing in PRESETS {
        let most = timing.report().candidate_reads_per_hour;
        let reads = |config| {
            let times = looks(config, most as usize + 2, Reply::Lease(&lease.record));
            // The look at the start belongs to the hour before.
            times
                .iter()
                .filter(|at| (1..=3_600_000).contains(*at))
                .count()
        };
        assert_eq!(reads(steady(timing)), most as usize);
        assert!(reads(Config { timing, ..A }) <= most as usize);
    }
}
