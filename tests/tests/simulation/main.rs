//! Two never lead: thousands of seeded worlds, worst cases by design, and machines that are wrong
//! on purpose.

mod adversary;
mod duel;
mod impostors;
mod promises;
mod worlds;
