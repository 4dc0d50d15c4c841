//! Kubernetes Lease-based leader election.
#![no_std]
#![forbid(unsafe_code)]

pub mod timestamp;

pub use timestamp::{Timestamp, TimestampError, TimestampPart, TimestampText};
