//! Quiet hours and twins.

use kubelease_core::elector::{Config, Timing};
use kubelease_tests::sim::clock::{Clock, TRUE_RATE};
use kubelease_tests::sim::mix::{Mix, Rates};
use kubelease_tests::sim::plan::{Finale, Plan, Seat};
use kubelease_tests::sim::world::{Outcome, run};

const SECOND_US: u64 = 1_000_000;
const HOUR_US: u64 = 3_600 * SECOND_US;

#[test]
fn nobody_asks_more_often_in_a_quiet_hour_than_the_report_says() {
    let presets = [
        Timing::KUBERNETES,
        Timing::EDGE,
        Timing::OPENSHIFT,
        Timing::OPENSHIFT_SINGLE_NODE,
    ];
    for timing in presets {
        let outcome = hour(&["ada", "bob", "cyd"], timing, false);
        assert_eq!(outcome.violation, None, "{timing:?}");
        assert_eq!(outcome.totals.quiet, 3);
        assert_eq!(outcome.totals.terms, 1, "{timing:?}");
        // With the two minutes before the hour nobody can have asked a tenth too rarely.
        let report = timing.report();
        let most = report.leader_writes_per_hour + 2 * report.candidate_reads_per_hour;
        let least = u64::from(most) * 7 / 10;
        assert!(
            outcome.totals.requests > least,
            "{timing:?}: {}",
            outcome.totals.requests
        );
    }
}

#[test]
fn twins_notice_each_other_once_and_one_goes_on_leading() {
    let outcome = hour(&["ada", "ada"], Timing::KUBERNETES, true);
    assert_eq!(outcome.violation, None);
    assert_eq!(outcome.totals.collisions, 1, "the first notices the second");
    assert_eq!(outcome.totals.terms, 2);
    assert_eq!(outcome.totals.overlaps, 1, "until the first looks again");
    assert!(
        outcome.totals.overlap_max_us < 2_100_000,
        "{}",
        outcome.totals.overlap_max_us
    );
}

#[test]
fn three_twins_and_a_stranger_agree_on_one_of_them() {
    let outcome = hour(&["ada", "bob", "ada", "ada"], Timing::KUBERNETES, true);
    assert_eq!(outcome.violation, None);
    assert!(
        outcome.totals.collisions <= 3,
        "{}",
        outcome.totals.collisions
    );
    assert!(outcome.totals.terms <= 3, "{}", outcome.totals.terms);
}

/// A quiet hour of processes with these identities, which start a second apart.
fn hour(identities: &[&'static str], timing: Timing, twins: bool) -> Outcome {
    let calm = *Mix::named("calm").expect("a mix");
    let mix = Mix {
        twins,
        rates: Rates::Same,
        ..calm
    };
    let seat = |(identity, number): (&&'static str, u64)| Seat {
        config: Config {
            timing,
            ..Config::new(identity)
        },
        clock: Clock::new(1_000 * SECOND_US, TRUE_RATE, Some(0)),
        starts_us: number * SECOND_US,
        late_us: 0,
        noise_ms: 0,
        watches: false,
    };
    let plan = Plan {
        seats: identities.iter().zip(0..).map(seat).collect(),
        schedule: Vec::new(),
        band: (TRUE_RATE, TRUE_RATE),
        calm_us: 10 * SECOND_US,
        due_us: 120 * SECOND_US,
        finale: Finale::Quiet,
        quiet_us: HOUR_US,
        ..Plan::new(&mix, 1)
    };
    run(&plan, false)
}
