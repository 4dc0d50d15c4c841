//! The tolerated ratios of clocks are true, and tight to a hundredth.

use kubelease_core::elector::Timing;
use kubelease_core::time::Duration;
use kubelease_tests::sim::clock::TRUE_RATE;
use kubelease_tests::sim::mix::Rates;
use kubelease_tests::sim::world::{Outcome, run};

use crate::duel::Duel;

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

/// Moments of the cut, per timing and side of a bound.
const SEEDS: u64 = 3;

#[test]
fn leaders_overlap_by_clocks_one_percent_past_d_by_r_and_never_up_to_it() {
    for timing in TIMINGS {
        let (d, r) = lengths(&timing);
        let bound = d * TRUE_RATE / r;
        for seed in 0..SEEDS {
            let name = format!("{timing:?} seed {seed}");
            for rate in [bound * 99 / 100, bound] {
                never(&duel(timing, rate, Rates::Within, seed), &name);
            }
            let past = duel(timing, bound * 101 / 100, Rates::Within, seed);
            let violation = past.violation.unwrap_or_default();
            assert!(violation.contains("still leads"), "{name}: {violation}");
        }
    }
}

#[test]
fn work_overlaps_by_clocks_one_percent_past_2d_by_r_and_d_and_never_one_percent_below() {
    for timing in TIMINGS {
        let (d, r) = lengths(&timing);
        let bound = 2 * d * TRUE_RATE / (r + d);
        for seed in 0..SEEDS {
            let name = format!("{timing:?} seed {seed}");
            never(
                &duel(timing, bound * 99 / 100, Rates::WithinGrace, seed),
                &name,
            );
            let past = duel(timing, bound * 101 / 100, Rates::WithinGrace, seed);
            let violation = past.violation.unwrap_or_default();
            assert!(violation.contains("still works"), "{name}: {violation}");
        }
    }
}

#[test]
fn overlaps_by_clocks_beyond_the_ratio_are_counted_and_no_violation() {
    let outcome = duel(Timing::KUBERNETES, TRUE_RATE * 2, Rates::Beyond, 0);
    assert_eq!(outcome.violation, None);
    assert_eq!(outcome.totals.by_clocks, 1);
}

/// The candidate took over, and nothing overlapped.
#[track_caller]
fn never(outcome: &Outcome, name: &str) {
    assert_eq!(outcome.violation, None, "{name}");
    assert!(outcome.totals.changes >= 2, "{name}: nobody took over");
}

fn duel(timing: Timing, rate: u64, rates: Rates, seed: u64) -> Outcome {
    let duel = Duel {
        timing,
        rate,
        rates,
        way_us: 0,
        seed,
    };
    run(&duel.plan(), false)
}

/// Lease duration and renew deadline in milliseconds.
fn lengths(timing: &Timing) -> (u64, u64) {
    (
        timing.lease_duration.as_millis(),
        timing.renew_deadline.as_millis(),
    )
}
