//! Random lives of hearts: whatever comes in, in whatever order, the laws hold.
//!
//! `KUBELEASE_SEED=n` replays one seed; a failure prints the seed and what was done last.

use core::panic::AssertUnwindSafe;
use std::collections::BTreeMap;
use std::panic::{catch_unwind, resume_unwind};

use kubelease_core::prng::Prng;
use kubelease_tests::heart::life::{HeartLife, kinds};

const SEEDS: [u64; 2] = [0x6b75_6265, 20_260_102];
const STEPS_PER_KIND: u32 = 2_000;

fn lives(seed: u64) -> BTreeMap<String, u64> {
    println!("KUBELEASE_SEED={seed}");
    let mut outputs = BTreeMap::new();
    for (number, kind) in kinds(seed).into_iter().enumerate() {
        let mut life = HeartLife::new(kind, Prng::new(seed.wrapping_add(number as u64)));
        for _ in 0..STEPS_PER_KIND {
            let result = catch_unwind(AssertUnwindSafe(|| life.step()));
            if let Err(panic) = result {
                println!("KUBELEASE_SEED={seed}, kind {number}: {kind:?}");
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
fn the_laws_hold_in_random_lives_of_hearts_and_everything_happens_in_them() {
    let seeds = match std::env::var("KUBELEASE_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => SEEDS.to_vec(),
    };
    let mut outputs = BTreeMap::<String, u64>::new();
    for seed in seeds {
        for (output, count) in lives(seed) {
            *outputs.entry(output).or_default() += count;
        }
    }
    let expected = [
        "Cancel",
        "CredentialsRejected",
        "DELETE",
        "Done",
        "Finished Deleted",
        "Finished Failed",
        "Finished Kept",
        "Finished NotHolder",
        "Finished Unknown",
        "GET",
        "GET node",
        "LeaseBeingDeleted",
        "LeaseRecreated",
        "NodeNotReady(NotReady)",
        "NodeNotReady(Unknown)",
        "NodeNotReady(Unsaid)",
        "POST",
        "ReconnectAdvised",
        "Trouble",
        "acquire",
        "new",
        "renew",
        "wait",
    ];
    let found: Vec<&str> = outputs.keys().map(String::as_str).collect();
    assert_eq!(found, expected, "{outputs:?}");
    assert!(outputs["renew"] > 1_000, "{outputs:?}");
}
