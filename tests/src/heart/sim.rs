//! A seeded world of hearts: flaky links, a server that comes and goes, leases that are deleted,
//! Nodes that are registered anew, hosts that stand still or die, and clocks that somebody sets.
//!
//! All machines are the shipped [`Heartbeat`](kubelease_core::heartbeat::Heartbeat), in the driver
//! that asserts all laws on every step; network, clocks and happenings are those of the
//! [`sim`](crate::sim) of electors. The world has a node controller, a garbage collector and hosts
//! that say "Ready" of their Nodes when they are told that it is wanted, and adds what only a world
//! can see: every write is a beat, nobody is written over, no owner is lost, no storm of requests;
//! and in a calm at the end every lease is beaten and every watched Node is Ready.
//!
//! A broken rule is a panic, after which the world tells its seed, its schedule and what happened
//! last.
#![expect(
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "seats, places and entries are indices of vectors that never shrink"
)]

mod calm;
mod happenings;
mod host;
pub(crate) mod place;
mod plan;
mod server;
mod world;

pub use plan::Plan;
pub use world::{Totals, World, run};
