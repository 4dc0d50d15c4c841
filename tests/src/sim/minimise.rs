//! The smallest schedule that still goes wrong, and what to show of it.

use core::fmt::Write;

use super::plan::Plan;
use super::world;

/// Drops entries of the schedule, the largest runs first, as long as `fails` holds.
#[must_use]
pub fn minimise(plan: &Plan, fails: impl Fn(&Plan) -> bool) -> Plan {
    let mut least = plan.clone();
    let mut run = least.schedule.len();
    while run > 0 {
        let mut first = 0;
        while first < least.schedule.len() {
            let mut fewer = least.clone();
            let end = (first + run).min(fewer.schedule.len());
            fewer.schedule.drain(first..end);
            if fails(&fewer) {
                least = fewer;
            } else {
                first += run;
            }
        }
        run /= 2;
    }
    least
}

/// What somebody needs to understand how a world went wrong: the seed, the smallest schedule and
/// the log that it makes.
#[must_use]
pub fn explain(plan: &Plan) -> String {
    let least = minimise(plan, |plan| world::run(plan, false).violation.is_some());
    let mut text = format!(
        "seed {}, mix {}, {} of {} entries of the schedule:\n",
        plan.seed,
        plan.mix.name,
        least.schedule.len(),
        plan.schedule.len()
    );
    for entry in &least.schedule {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {entry:?}");
    }
    text + &world::run(&least, true).log
}
