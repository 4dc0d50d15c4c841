//! Kubernetes Lease-based leader election.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

pub mod lease;
pub mod machine;
pub mod prng;
pub mod protocol;
pub mod session;
pub mod text;
pub mod time;
pub mod timestamp;
pub mod wire;

pub use timestamp::{Timestamp, TimestampError, TimestampPart, TimestampText};
