//! A seeded world of electors, network and API server, in which everything that can go wrong does,
//! and in which two must never lead.
//!
//! All machines are the shipped [`Elector`](kubelease_core::elector::Elector). True time is a
//! number of microseconds that jumps to whatever is due next: a machine's own deadline, a message,
//! an entry of the schedule. Each host has a clock of its own rate. One seed makes one world.
#![expect(
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "seats and entries are indices of vectors that never shrink"
)]

pub mod check;
pub mod clock;
pub mod contact;
mod finale;
mod gale;
pub mod guard;
mod happenings;
pub mod lawyer;
pub mod log;
pub mod minimise;
pub mod mix;
pub mod net;
pub mod op;
pub mod overlap;
pub mod plan;
pub mod process;
pub mod queue;
pub mod random;
pub mod schedule;
pub mod server;
pub mod stream;
pub mod totals;
mod traffic;
pub mod world;
