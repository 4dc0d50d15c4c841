//! Seeded worlds of every kind.

use std::env;
use std::thread;

use kubelease_tests::sim::minimise::explain;
use kubelease_tests::sim::mix::{MIXES, Mix};
use kubelease_tests::sim::plan::Plan;
use kubelease_tests::sim::process::Watch;
use kubelease_tests::sim::totals::Totals;
use kubelease_tests::sim::world::{World, elector, run};

/// Where the seeds begin unless `KUBELEASE_SEED` says.
const SEED_DEFAULT: u64 = 20_260_102;

/// How many worlds there are, the mixes taking turns.
const WORLDS: u64 = 2_000;

/// How many of them a full assertion of all laws is affordable for.
const WORLDS_WITH_ALL_LAWS: u64 = 20;

#[test]
fn two_never_lead_in_thousands_of_worlds() {
    let base = base();
    println!("KUBELEASE_SEED={base}");
    let workers = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let totals = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers)
            .map(|first| scope.spawn(move || run_every(base + first, base + WORLDS, workers)))
            .collect();
        let mut totals = Totals::default();
        for worker in workers {
            totals.add(&worker.join().expect("a worker that found no violation"));
        }
        totals
    });
    println!("{totals}");
    assert_eq!((totals.worlds, totals.violations), (WORLDS, 0));
    nothing_is_left_out(&totals);
}

#[test]
fn all_laws_hold_on_every_step() {
    let base = base() + 500_000;
    for seed in base..base + WORLDS_WITH_ALL_LAWS {
        println!("KUBELEASE_SEED={seed}");
        let mut plan = Plan::new(Mix::of_seed(seed), seed);
        // The laws are those of single steps, and most of what happens is over by then.
        plan.quiet_us = 1_000_000;
        let outcome = World::new(plan, false, Watch::Full, elector).run();
        assert_eq!(outcome.violation, None, "seed {seed}");
    }
}

#[test]
fn one_seed_makes_one_world() {
    for seed in 7..7 + MIXES.len() as u64 {
        let plan = Plan::new(Mix::of_seed(seed), seed);
        let (once, again) = (run(&plan, true), run(&Plan::new(&plan.mix, seed), true));
        assert_eq!(once.log, again.log, "seed {seed}");
        assert_eq!(once.totals, again.totals, "seed {seed}");
    }
}

fn base() -> u64 {
    let given = env::var("KUBELEASE_SEED").ok();
    given.map_or(SEED_DEFAULT, |text| {
        text.parse().expect("a number in KUBELEASE_SEED")
    })
}

fn run_every(from: u64, to: u64, step: u64) -> Totals {
    let mut totals = Totals::default();
    let step = usize::try_from(step).unwrap_or(1);
    for seed in (from..to).step_by(step) {
        let plan = Plan::new(Mix::of_seed(seed), seed);
        let outcome = run(&plan, false);
        if let Some(violation) = outcome.violation {
            panic!("{violation}\n{}", explain(&plan));
        }
        totals.add(&outcome.totals);
    }
    totals
}

/// A check that never had anything to check is none.
fn nothing_is_left_out(totals: &Totals) {
    let faults = [
        "401",
        "403",
        "409",
        "429",
        "503",
        "5xx",
        "answer lost",
        "bad answer",
        "broken",
        "call",
        "clock rate",
        "clock reset",
        "crash",
        "echo",
        "edit",
        "late",
        "lost",
        "namespace",
        "no spec",
        "not sent",
        "other 4xx",
        "pause",
        "server down",
        "starting server",
        "storm",
        "twice",
        "wall step",
        "weather",
    ];
    for fault in faults {
        assert!(
            totals.faults.get(fault).is_some_and(|count| *count >= 20),
            "too few: {fault}"
        );
    }
    assert!(totals.terms > 2 * WORLDS, "terms: {}", totals.terms);
    assert!(
        totals.takeovers > WORLDS / 2,
        "takeovers: {}",
        totals.takeovers
    );
    assert!(totals.quiet > WORLDS, "quiet processes: {}", totals.quiet);
    assert!(
        totals.overlaps_prompt > 50,
        "overlaps: {}",
        totals.overlaps_prompt
    );
    assert!(totals.collisions > 50, "twins: {}", totals.collisions);
    assert!(
        totals.by_clocks > 5,
        "overlaps by clocks: {}",
        totals.by_clocks
    );
}
