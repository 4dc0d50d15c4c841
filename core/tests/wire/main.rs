//! The wire format against recorded bodies, thousands of broken ones, and two other parsers.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "helpers of tests fail their test by a panic"
)]

mod bodies;
mod decode;
mod heartbeat;
mod oracle;
mod replace;
mod session;
mod statuses;
mod watch;
