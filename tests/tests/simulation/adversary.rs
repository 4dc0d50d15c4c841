//! The worst that clocks can do: a slow leader loses the network right after a renewal that a
//! fast candidate saw at once, on a network that takes no time.

use kubelease_core::elector::{Config, Timing};
use kubelease_core::time::Duration;
use kubelease_tests::sim::clock::{Clock, TRUE_RATE};
use kubelease_tests::sim::mix::{MIXES, Mix, Rates};
use kubelease_tests::sim::net::Weather;
use kubelease_tests::sim::plan::{Finale, Plan, Seat};
use kubelease_tests::sim::random::Random;
use kubelease_tests::sim::schedule::{Entry, What};
use kubelease_tests::sim::world::{Outcome, run};

const SECOND_US: u64 = 1_000_000;

/// Timings whose margins are of all sizes.
const TIMINGS: [Timing; 4] = [
    Timing::KUBERNETES,
    Timing::EDGE,
    Timing::new(
        Duration::from_secs(30),
        Duration::from_secs(10),
        Duration::from_secs(3),
    ),
    Timing::new(
        Duration::from_secs(15),
        Duration::from_millis(14_500),
        Duration::from_secs(2),
    ),
];

/// Worlds per timing and side of a bound.
const SEEDS: u64 = 50;

#[test]
fn leaders_overlap_by_clocks_one_percent_past_d_by_r_and_not_one_percent_below() {
    for timing in TIMINGS {
        let (d, r) = (
            timing.lease_duration.as_millis(),
            timing.renew_deadline.as_millis(),
        );
        for seed in 0..SEEDS {
            let below = duel(timing, d * TRUE_RATE / r * 99 / 100, Rates::Within, seed);
            assert_eq!(below.violation, None, "{timing:?} seed {seed}");
            assert!(below.totals.changes >= 2, "the candidate took over");
            let exact = duel(timing, d * TRUE_RATE / r, Rates::Within, seed);
            assert_eq!(exact.violation, None, "{timing:?} seed {seed}");
            let past = duel(timing, d * TRUE_RATE / r * 101 / 100, Rates::Within, seed);
            let violation = past.violation.unwrap_or_default();
            assert!(
                violation.contains("still leads"),
                "{timing:?} seed {seed}: {violation}"
            );
        }
    }
}

#[test]
fn work_overlaps_by_clocks_one_percent_past_2d_by_r_and_d_and_not_one_percent_below() {
    for timing in TIMINGS {
        let (d, r) = (
            timing.lease_duration.as_millis(),
            timing.renew_deadline.as_millis(),
        );
        let bound = 2 * d * TRUE_RATE / (r + d);
        for seed in 0..SEEDS {
            let below = duel(timing, bound * 99 / 100, Rates::WithinGrace, seed);
            assert_eq!(below.violation, None, "{timing:?} seed {seed}");
            assert!(below.totals.changes >= 2, "the candidate took over");
            let past = duel(timing, bound * 101 / 100, Rates::WithinGrace, seed);
            let violation = past.violation.unwrap_or_default();
            assert!(
                violation.contains("still works"),
                "{timing:?} seed {seed}: {violation}"
            );
        }
    }
}

#[test]
fn overlaps_by_clocks_beyond_the_ratio_are_counted_and_no_violation() {
    let timing = Timing::KUBERNETES;
    let outcome = duel(timing, TRUE_RATE * 2, Rates::Beyond, 0);
    assert_eq!(outcome.violation, None);
    assert_eq!(outcome.totals.by_clocks, 1);
}

/// A leader at true rate that loses the network, and a candidate at `rate` that looks all the time.
fn duel(timing: Timing, rate: u64, rates: Rates, seed: u64) -> Outcome {
    let mut random = Random::of(&[seed, 0x6475_656c]);
    let period_us = timing.retry_period.as_millis() * 1_000;
    let cut_us = 10 * period_us + random.below(period_us);
    let over_us = cut_us + 4 * timing.lease_duration.as_millis() * 1_000;
    let watchful = Timing {
        retry_period: Duration::from_millis(20),
        request_timeout: Duration::from_millis(500),
        jitter_percent: 0,
        ..timing
    };
    let mix = Mix {
        weather: Weather::STILL,
        rates,
        ..MIXES[0]
    };
    let seat = |identity, timing, rate, starts_us| Seat {
        config: Config {
            timing,
            ..Config::new(identity)
        },
        clock: Clock::new(1_000 * SECOND_US, rate, Some(0)),
        starts_us,
        late_us: 0,
        noise_ms: 0,
    };
    let plan = Plan {
        seats: vec![
            seat("ada", timing, TRUE_RATE, 0),
            seat("bob", watchful, rate, SECOND_US),
        ],
        schedule: vec![Entry {
            at_us: cut_us,
            until_us: over_us,
            what: What::Weather(Some(0), Weather::CUT),
        }],
        band: (TRUE_RATE, rate),
        calm_us: over_us,
        due_us: over_us + 2 * timing.lease_duration.as_millis() * 1_000,
        finale: Finale::Quiet,
        quiet_us: SECOND_US,
        ..Plan::new(&mix, seed)
    };
    run(&plan, false)
}
