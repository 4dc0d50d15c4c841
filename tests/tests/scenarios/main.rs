//! What goes wrong for people who run leader election, each under the number of its entry in
//! `tests/scenarios.txt`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may")]

mod admission;
mod bytes;
mod clocks;
mod deletion;
mod heartbeats;
mod lifecycle;
mod losses;
mod numbers;
mod records;
mod release;
mod stuck;
mod takeover;
mod throttling;
