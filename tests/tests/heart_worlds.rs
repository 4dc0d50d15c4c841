//! Seeded worlds of hearts.
//!
//! `KUBELEASE_SEED=n` begins with another seed; a failure prints the seed and what happened last.

use kubelease_tests::heart::sim::{Totals, run};

/// Worlds: more where they are quick.
const WORLDS: u64 = if cfg!(debug_assertions) { 24 } else { 400 };

fn base() -> u64 {
    let given = std::env::var("KUBELEASE_SEED").ok();
    given.map_or(20_260_102, |text| text.parse().expect("a number"))
}

#[test]
fn hearts_beat_through_everything_and_all_is_well_in_the_end() {
    let base = base();
    println!("KUBELEASE_SEED={base}");
    let mut totals = Totals::new();
    for seed in base..base + WORLDS {
        for (what, count) in run(seed) {
            *totals.entry(what).or_default() += count;
        }
    }
    assert_eq!(totals["well"], WORLDS, "{totals:#?}");
    for (what, least) in EXPECTED {
        let count = totals.get(*what).copied().unwrap_or(0);
        assert!(count >= *least, "{what}: {count} of {least}: {totals:#?}");
    }
}

/// A check that never had anything to check is none.
const EXPECTED: &[(&str, u64)] = &[("renew", 1_000)];

#[test]
fn one_seed_makes_one_world() {
    for seed in 7..10 {
        assert_eq!(run(seed), run(seed), "seed {seed}");
    }
}
