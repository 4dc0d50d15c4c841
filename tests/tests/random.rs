//! Random lives: whatever comes in, in whatever order, the laws hold.
//!
//! `KUBELEASE_SEED=n` replays one seed; a failure prints the seed and what was done last.

use core::panic::AssertUnwindSafe;
use std::collections::BTreeMap;
use std::panic::{catch_unwind, resume_unwind};

use kubelease_core::prng::Prng;
use kubelease_tests::life::{Life, configs};

const SEEDS: [u64; 2] = [0x6b75_6265, 20_260_102];
const STEPS_PER_CONFIG: u32 = 2_000;

fn lives(seed: u64, watching: bool) -> BTreeMap<String, u64> {
    println!("KUBELEASE_SEED={seed}");
    let mut outputs = BTreeMap::new();
    for (number, config) in configs(seed).into_iter().enumerate() {
        let mut life = Life::new(config, Prng::new(seed.wrapping_add(number as u64)));
        if watching {
            life = life.watching();
        }
        for _ in 0..STEPS_PER_CONFIG {
            let result = catch_unwind(AssertUnwindSafe(|| life.step()));
            if let Err(panic) = result {
                println!(
                    "KUBELEASE_SEED={seed}, config {number}, watching: {watching}: {config:?}"
                );
                for line in &life.done {
                    println!("  {line}");
                }
                resume_unwind(panic);
            }
        }
        for (output, count) in core::mem::take(&mut life.outputs) {
            *outputs.entry(output).or_default() += count;
        }
    }
    outputs
}

#[test]
fn the_laws_hold_in_random_lives_and_everything_happens_in_them() {
    let seeds = match std::env::var("KUBELEASE_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => SEEDS.to_vec(),
    };
    let mut outputs = BTreeMap::new();
    for seed in seeds {
        for watching in [false, true] {
            for (output, count) in lives(seed, watching) {
                *outputs.entry(output).or_default() += count;
            }
        }
    }
    let expected = [
        "Cancel",
        "CredentialsRejected",
        "Finished Failed",
        "Finished NotHolder",
        "Finished Released",
        "Finished Unknown",
        "GET",
        "IdentityCollision",
        "Leader",
        "LeaseBeingDeleted",
        "LeaseRecreated",
        "POST",
        "ReconnectAdvised",
        "Started",
        "Stopped ClockReset",
        "Stopped Deadline",
        "Stopped Lost",
        "Stopped SteppedDown",
        "Stopped Stopped",
        "Trouble",
        "VersionWentBack",
        "WATCH",
        "acquire",
        "new",
        "release",
        "renew",
    ];
    for output in expected {
        let count: u64 = outputs.get(output).copied().unwrap_or(0);
        assert!(count > 0, "{output} never came up: {outputs:?}");
    }
}
