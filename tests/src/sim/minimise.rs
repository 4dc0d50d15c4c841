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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::mix::Mix;
    use crate::sim::schedule::What;

    #[test]
    fn only_what_a_failure_needs_is_left() {
        let plan = Plan::new(Mix::named("everything").unwrap(), 3);
        let is_crash = |what: &What| matches!(what, What::Crash { .. });
        let crashes = |plan: &Plan| {
            plan.schedule
                .iter()
                .filter(|entry| is_crash(&entry.what))
                .count()
        };
        assert!(
            crashes(&plan) >= 1 && plan.schedule.len() > 5,
            "{:?}",
            plan.schedule
        );
        let least = minimise(&plan, |plan| crashes(plan) >= 1);
        assert_eq!(least.schedule.len(), 1);
        assert!(is_crash(&least.schedule[0].what));
    }

    #[test]
    fn an_explanation_names_the_seed_and_shows_every_start() {
        let plan = Plan::new(Mix::named("calm").unwrap(), 3);
        let text = explain(&plan);
        assert!(
            text.starts_with("seed 3, mix calm, 0 of 0 entries"),
            "{text}"
        );
        let starts = text
            .lines()
            .filter(|line| line.ends_with("  starts"))
            .count();
        assert_eq!(starts, plan.seats.len());
    }
}
