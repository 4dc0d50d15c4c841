//! [`Step`]: what can happen next.

use super::bounds::Bounds;
use super::network::Body;
use super::world::World;

/// One thing that happens. Messages are named by their place in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The server gets a request, and its answer arrives at once.
    Serve(usize),
    /// The server gets a request, and its answer is slow.
    ServeSlowly(usize),
    /// The server does what a write asks, and a proxy answers 504.
    ServeBehind504(usize),
    /// A proxy answers 504, and the request is on its way yet.
    Answer504(usize),
    /// The connection breaks, and the request is on its way yet.
    Break(usize),
    /// A slow answer arrives.
    Deliver(usize),
    /// Time goes on; what is under way becomes slow.
    Tick,
    /// A process dies.
    Crash(usize),
    /// It starts again, under the same name.
    Restart(usize),
    /// It is told to stop.
    Stop(usize),
    /// It is told to give the lease up and rest for a retry period.
    StepDown(usize),
    /// It is not run from now on.
    Stall(usize),
    /// It is run again.
    Wake(usize),
    /// Somebody deletes the lease.
    Delete,
}

/// Everything that can happen to `world`.
pub(super) fn possible(bounds: &Bounds, world: &World, steps: &mut Vec<Step>) {
    for (at, message) in world.messages().iter().enumerate() {
        let Body::Ask(wish) = message.body else {
            steps.push(Step::Deliver(at));
            continue;
        };
        steps.push(Step::Serve(at));
        if !world.awaits(message) {
            continue;
        }
        let (failures, slow) = (world.left.failures > 0, world.left.slow > 0);
        if slow || message.slow {
            steps.push(Step::ServeSlowly(at));
        }
        if failures && wish.is_write() {
            steps.extend([Step::ServeBehind504(at), Step::Answer504(at)]);
        }
        if failures {
            steps.push(Step::Break(at));
        }
    }
    let fresh = world.messages().iter().filter(|message| !message.slow);
    let can_wait = fresh.count() <= usize::from(world.left.slow);
    if can_wait && world.now_us < bounds.horizon_us {
        steps.push(Step::Tick);
    }
    for (at, node) in world.nodes().enumerate() {
        if !node.is_up {
            steps.push(Step::Restart(at));
            continue;
        }
        let left = &world.left;
        let may = [
            (left.crashes, Step::Crash(at)),
            (left.stops, Step::Stop(at)),
            (left.step_downs, Step::StepDown(at)),
            (left.stalls, Step::Stall(at)),
        ];
        if node.is_stalled {
            steps.push(Step::Wake(at));
        } else if !node.is_done() {
            steps.extend(
                may.iter()
                    .filter(|(left, _)| *left > 0)
                    .map(|(_, step)| *step),
            );
        }
    }
    if world.left.deletions > 0 && world.can_stand_a_deletion(bounds) {
        steps.push(Step::Delete);
    }
}
