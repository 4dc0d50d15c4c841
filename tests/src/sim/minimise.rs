//! The smallest schedule that still goes wrong.

use super::plan::Plan;

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
