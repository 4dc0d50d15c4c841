//! Kubernetes Lease-based leader election.
#![no_std]
#![forbid(unsafe_code)]
