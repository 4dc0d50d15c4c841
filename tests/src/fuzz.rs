//! The bodies of the fuzz targets, so that the tests replay what a fuzzer found.
//!
//! Each takes any bytes and panics where something is wrong. `tests/fuzz` runs them.
#![allow(
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    reason = "a target fails by a panic"
)]

mod bodies;
mod booked;
mod decode;
mod elector;
mod heart;
mod heart_session;
#[path = "../../core/tests/wire/oracle.rs"]
mod oracle;
mod server;
mod session;
mod stub;
mod text;
mod timestamp;
mod told;
mod watch;
mod watched;

pub use decode::decode;
pub use elector::elector;
pub use heart::heart;
pub use heart_session::heart_session;
pub use session::session;
pub use text::text;
pub use timestamp::timestamp;
pub use watch::watch;

/// A fuzz target.
pub type Target = fn(&[u8]);

/// All targets and their names.
pub const TARGETS: &[(&str, Target)] = &[
    ("decode", decode),
    ("elector", elector),
    ("heart", heart),
    ("heart_session", heart_session),
    ("session", session),
    ("text", text),
    ("timestamp", timestamp),
    ("watch", watch),
];
