//! Every run of a small world: two or three instances of the shipped elector, one server, and
//! all that a network can do to them.
//!
//! [`stateright`] walks through all of it, so a test that passes has seen every order of messages
//! and faults within its [`Bounds`], and one that fails prints the shortest way there.
//!
//! * **Electors.** The crate's own [`Elector`](kubelease_core::elector::Elector), cloned at each
//!   fork. Nothing of its logic is written a second time here.
//! * **Time.** True time goes on in steps of [`GRID_US`], and stops besides wherever an elector
//!   wants to wake. Each elector has a clock of its own [`Rate`].
//! * **Network.** A message that is not delivered in its instant is *slow*: it arrives at any
//!   later instant or never. That is loss, delay, reordering, and the write that is applied while
//!   its answer gets lost or long after its sender gave up. How many may be slow is bounded.
//! * **Server.** One lease, and the rule that a write needs the version that it was made for.
//! * **Processes.** They crash, start again under the same name, stall, stop and step down.
//!
//! A state is told apart by all that an elector holds, but for request numbers (kept relative),
//! the count of terms, when the last good answer came, and the jitter's generator: the timing has
//! no jitter, and nothing that the rules speak of depends on the others.

#![expect(
    clippy::indexing_slicing,
    reason = "an index out of bounds is a fault of the model and ends the walk"
)]

mod bounds;
mod network;
mod node;
pub(crate) mod print;
mod rules;
mod scenes;
mod server;
mod step;
mod world;

use core::num::NonZeroUsize;

use stateright::{Checker as _, HasDiscoveries, Model, Property};

pub use bounds::{Bounds, GRID_US, NODES_MAX, Rate, Work};
pub use rules::{Milestone, Rule};
pub use scenes::{BEYOND, SCENES, Scene, THREE};
pub use step::Step;
pub use world::World;

/// How many threads walk through the states.
const THREADS: usize = 2;

impl Model for Bounds {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Step>) {
        if !world.is_broken() {
            step::possible(self, world, actions);
        }
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut next = world.clone();
        next.take(self, step);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let always = [
            Property::always(Rule::OneLeader.name(), |_, world: &World| {
                !world.breaks(Rule::OneLeader)
            }),
            Property::always(Rule::WorkHasCeased.name(), |_, world: &World| {
                !world.breaks(Rule::WorkHasCeased)
            }),
            Property::always(Rule::NobodyWritesOverALeader.name(), |_, world: &World| {
                !world.breaks(Rule::NobodyWritesOverALeader)
            }),
            Property::always(Rule::ReleaseIsOfOwn.name(), |_, world: &World| {
                !world.breaks(Rule::ReleaseIsOfOwn)
            }),
            Property::always(Rule::FencesRise.name(), |_, world: &World| {
                !world.breaks(Rule::FencesRise)
            }),
            Property::always(Rule::Laws.name(), |_, world: &World| {
                !world.breaks(Rule::Laws)
            }),
        ];
        let sometimes = [
            Property::sometimes(Milestone::FirstLeads.name(), |_, world: &World| {
                world.passed() == Some(Milestone::FirstLeads)
            }),
            Property::sometimes(Milestone::SecondLeads.name(), |_, world: &World| {
                world.passed() == Some(Milestone::SecondLeads)
            }),
            Property::sometimes(Milestone::ThirdLeads.name(), |_, world: &World| {
                world.passed() == Some(Milestone::ThirdLeads)
            }),
            Property::sometimes(Milestone::ChangeByRelease.name(), |_, world: &World| {
                world.passed() == Some(Milestone::ChangeByRelease)
            }),
            Property::sometimes(Milestone::ChangeByExpiry.name(), |_, world: &World| {
                world.passed() == Some(Milestone::ChangeByExpiry)
            }),
            Property::sometimes(Milestone::OwnRestart.name(), |_, world: &World| {
                world.passed() == Some(Milestone::OwnRestart)
            }),
            Property::sometimes(Milestone::LostAnswerRecovered.name(), |_, world: &World| {
                world.passed() == Some(Milestone::LostAnswerRecovered)
            }),
            Property::sometimes(Milestone::Recreated.name(), |_, world: &World| {
                world.passed() == Some(Milestone::Recreated)
            }),
        ];
        let wanted = |property: &Property<Self>| {
            Milestone::ALL
                .iter()
                .any(|milestone| milestone.name() == property.name && milestone.is_within(self))
        };
        let sometimes = sometimes.into_iter().filter(wanted);
        always.into_iter().chain(sometimes).collect()
    }
}

/// What a walk through all states found.
#[derive(Clone, Debug)]
pub struct Walk {
    /// How many different states there are.
    pub states: usize,
    /// How many steps lead from one to another.
    pub steps: usize,
    /// Most steps of one run.
    pub depth: usize,
    /// Each rule that was broken, with the shortest run that breaks it.
    pub broken: Vec<(&'static str, String)>,
    /// Each milestone that no run passed.
    pub missed: Vec<&'static str>,
}

/// Walks through all states within `bounds`, or until a rule is broken.
#[must_use]
pub fn walk(bounds: Bounds) -> Walk {
    walk_at_most(bounds, None)
}

/// The same, but ends after about `states` states.
#[must_use]
pub fn walk_at_most(bounds: Bounds, states: Option<NonZeroUsize>) -> Walk {
    let properties = bounds.properties();
    let mut builder = bounds
        .checker()
        .threads(THREADS)
        .finish_when(HasDiscoveries::AnyFailures);
    if let Some(states) = states {
        builder = builder.target_state_count(states.get());
    }
    let checker = builder.spawn_bfs().join();
    let found = checker.discoveries();
    let broken = properties
        .iter()
        .filter(|property| property.expectation.discovery_is_failure())
        .filter_map(|property| Some((property.name, found.get(property.name)?)))
        .map(|(name, path)| (name, transcript(path.clone().into_vec())))
        .collect();
    let missed = properties
        .iter()
        .filter(|property| !property.expectation.discovery_is_failure())
        .map(|property| property.name)
        .filter(|name| !found.contains_key(name))
        .collect();
    Walk {
        states: checker.unique_state_count(),
        steps: checker.state_count(),
        depth: checker.max_depth(),
        broken,
        missed,
    }
}

/// A run as text: each state in short, and the step that follows.
fn transcript(path: Vec<(World, Option<Step>)>) -> String {
    let mut text = String::new();
    for (world, step) in path {
        text.push_str(&world.to_string());
        if let Some(step) = step {
            text.push_str(&format!("    {step:?}\n"));
        }
    }
    text
}
