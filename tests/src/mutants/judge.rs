//! [`judge`]: what runs inside a copy and finds the fault, or not.

use core::fmt;

use kubelease_core::prng::Prng;

use crate::heart;
use crate::heart::life::{HeartLife, kinds};
use crate::model::{SCENES, THREE, walk};
use crate::sim::mix::Mix;
use crate::sim::plan::Plan;
use crate::sim::world;

/// Worlds that the simulation runs.
const SEEDS: u64 = 400;

/// Worlds of hearts, the first seed of them, and the steps of each random life.
const WORLDS_OF_HEARTS: u64 = 60;
const HEARTS: u64 = 20_260_102;
const STEPS: u32 = 1_000;

/// What was found in how much.
#[expect(clippy::exhaustive_enums, reason = "there is nothing else to find")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing in so many states and simulated worlds.
    Sound {
        /// States of the model.
        states: usize,
        /// Worlds of the simulation.
        worlds: u64,
    },
    /// The model found a rule broken.
    ByModel {
        /// States walked through until then.
        states: usize,
        /// The rule and the scene.
        what: String,
    },
    /// The simulation did.
    BySimulation {
        /// Worlds until then.
        worlds: u64,
        /// What was wrong.
        what: String,
    },
}

impl fmt::Display for Verdict {
    /// One line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sound { states, worlds } => {
                write!(f, "sound in {states} states and {worlds} worlds")
            }
            Self::ByModel { states, what } => write!(f, "model, {states} states: {what}"),
            Self::BySimulation { worlds, what } => {
                write!(f, "simulation, {worlds} worlds: {what}")
            }
        }
    }
}

/// Looks for a fault in the heartbeat that this program was built with.
///
/// # Panics
/// Where it finds one: what the driver and the worlds say of it.
#[must_use]
pub fn judge_hearts() -> Verdict {
    for (kind, seed) in kinds(HEARTS).into_iter().zip(HEARTS..) {
        let mut life = HeartLife::new(kind, Prng::new(seed));
        for _ in 0..STEPS {
            life.step();
        }
    }
    for seed in HEARTS..HEARTS + WORLDS_OF_HEARTS {
        let _ = heart::sim::run(seed);
    }
    Verdict::Sound {
        states: STEPS as usize,
        worlds: WORLDS_OF_HEARTS,
    }
}

/// Looks for a fault in the elector that this program was built with.
#[must_use]
pub fn judge() -> Verdict {
    let mut states = 0;
    for scene in SCENES.iter().chain(&THREE) {
        let walk = walk(scene.small);
        states += walk.states;
        if let Some((rule, _)) = walk.broken.first() {
            let what = format!("{rule} ({})", scene.name);
            return Verdict::ByModel { states, what };
        }
    }
    for seed in 0..SEEDS {
        let plan = Plan::new(Mix::of_seed(seed), seed);
        if let Some(violation) = world::run(&plan, false).violation {
            let what = format!("{violation} (seed {seed})");
            return Verdict::BySimulation {
                worlds: seed + 1,
                what,
            };
        }
    }
    Verdict::Sound {
        states,
        worlds: SEEDS,
    }
}
