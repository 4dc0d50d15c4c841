//! Two never lead: thousands of seeded worlds, worst cases by design, and machines that are wrong
//! on purpose.
#![expect(clippy::std_instead_of_core, reason = "tests run on a host")]

mod adversary;
mod duel;
mod impostors;
mod promises;
mod worlds;
