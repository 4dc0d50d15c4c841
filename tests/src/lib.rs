//! The shared test harness.
