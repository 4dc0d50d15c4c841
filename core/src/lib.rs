//! Kubernetes Lease-based leader election.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod backoff;
pub mod elector;
mod inflight;
pub mod lease;
pub mod machine;
mod monotonic;
pub mod prng;
pub mod protocol;
mod renewal_clock;
pub mod text;
pub mod time;
pub mod timestamp;

pub use timestamp::{Timestamp, TimestampError, TimestampPart, TimestampText};
