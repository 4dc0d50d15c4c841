//! The shared test harness.
#![expect(
    clippy::std_instead_of_core,
    clippy::alloc_instead_of_core,
    reason = "tests run on a host"
)]

pub mod model;
