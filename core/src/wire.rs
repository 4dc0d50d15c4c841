//! The Kubernetes wire format of a Lease: requests out, answers in, byte by byte where need be.
//!
//! Nothing here knows a machine. An [`Answer`] is read in any split and in constant memory; what a
//! PUT has to put back lies in a caller's buffer, a [`Keep`].

mod answer;
mod body;
pub mod http;
mod json_reader;
mod json_writer;
mod keep;
mod lease;
mod owner;
pub mod path;
mod scan;
mod scratch;
mod status;
mod watch;

pub use self::answer::{Answer, BODY_MAX, Reading};
pub(crate) use self::answer::{Content, NODE_WIRE, NodeWire};
pub(crate) use self::body::{LeaseBody, write_preconditions};
pub(crate) use self::json_writer::ByteWriter;
pub use self::keep::Keep;
pub(crate) use self::watch::{WATCH_WIRE, WatchLines, WatchWire};
