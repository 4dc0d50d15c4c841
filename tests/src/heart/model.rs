//! Every run of a small world of hearts: one or two that beat one lease, one Node, and what can
//! happen to their messages.
//!
//! [`stateright`] walks through all of it. The hearts are the shipped ones, cloned at each fork.
//! Time goes from one wake to the next; a message that is not delivered by then is slow, and
//! arrives later or never. How much of each fault there is, is bounded. The worlds of
//! [`sim`](super::sim) have longer runs and more kinds of faults; this has all orders of few. Both
//! have the same judge.

#![expect(
    clippy::indexing_slicing,
    reason = "an index out of bounds is a fault of the model and ends the walk"
)]

mod world;

use stateright::{Checker as _, HasDiscoveries, Model, Property};

pub use world::{HeartWorld, Step};

use super::life::Kind;

/// How much may happen.
#[expect(clippy::exhaustive_structs, reason = "plain data of a test")]
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The hearts.
    pub hearts: &'static [Kind],
    /// When a run ends.
    pub horizon_ms: u64,
    /// Requests or answers that are not delivered in their instant.
    pub slow: u8,
    /// Connections that break.
    pub breaks: u8,
    /// Processes that die, and start anew at once.
    pub crashes: u8,
    /// Deletions of the lease by somebody else.
    pub deletions: u8,
    /// Nodes that take the place of the one before.
    pub registrations: u8,
    /// Hearts that are retired.
    pub ends: u8,
}

/// What some run passes.
const MILESTONES: [&str; 4] = [
    "a beat is stored",
    "a lease is made again",
    "a lease is owned by the second Node",
    "a heart has ended",
];

const RULE: &str = "laws and rules";

impl Model for Bounds {
    type State = HeartWorld;
    type Action = Step;

    fn init_states(&self) -> Vec<HeartWorld> {
        vec![HeartWorld::new(self)]
    }

    fn actions(&self, world: &HeartWorld, steps: &mut Vec<Step>) {
        if world.broken.is_none() {
            world.possible(self, steps);
        }
    }

    fn next_state(&self, world: &HeartWorld, step: Step) -> Option<HeartWorld> {
        let mut next = world.clone();
        next.take(self, step);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(RULE, |_, world: &HeartWorld| world.broken.is_none()),
            Property::sometimes(MILESTONES[0], |_, world: &HeartWorld| world.beats > 1),
            Property::sometimes(MILESTONES[1], |bounds, world: &HeartWorld| {
                world.is_made_again() || bounds.deletions + bounds.registrations == 0
            }),
            Property::sometimes(MILESTONES[2], |bounds, world: &HeartWorld| {
                world.owner() == Some("n2") || bounds.registrations == 0
            }),
            Property::sometimes(MILESTONES[3], |bounds, world: &HeartWorld| {
                world.has_ended() || bounds.ends == 0
            }),
        ]
    }
}

/// What a walk through all states found.
#[expect(clippy::exhaustive_structs, reason = "plain data of a test")]
#[derive(Clone, Debug)]
pub struct Walk {
    /// How many different states there are.
    pub states: usize,
    /// Most steps of one run.
    pub depth: usize,
    /// What was broken, and the shortest run that breaks it.
    pub broken: Option<String>,
    /// Each milestone that no run passed.
    pub missed: Vec<&'static str>,
}

/// Walks through all states within `bounds`, or until a rule is broken.
#[must_use]
pub fn walk(bounds: Bounds) -> Walk {
    let checker = bounds.checker().threads(2);
    let checker = checker.finish_when(HasDiscoveries::AnyFailures);
    let checker = checker.spawn_bfs().join();
    let found = checker.discoveries();
    let broken = found.get(RULE).map(|path| {
        let run = path.clone().into_vec();
        let steps: Vec<String> = run
            .iter()
            .map(|(world, step)| format!("{world}\n    {step:?}"))
            .collect();
        steps.join("\n")
    });
    let missed = MILESTONES.into_iter();
    Walk {
        states: checker.unique_state_count(),
        depth: checker.max_depth(),
        broken,
        missed: missed.filter(|it| !found.contains_key(it)).collect(),
    }
}
