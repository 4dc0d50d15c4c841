//! Kubernetes Lease-based leader election for programs that client-go cannot reach.
//!
//! The core is `no_std`, needs no heap, reads no clock, opens no socket and cannot panic. An
//! [`Elector`](elector::Elector) is a plain value: time and answers go in, and
//! [`poll`](elector::Elector::poll) says what to do next. C firmware, async services, simulators
//! and fuzzers all drive this one machine.
//!
//! What it is not: a general Kubernetes client, a cache of objects, or a lock that stops a
//! paused process from finishing an old write. For the last there is the
//! [`Fence`](lease::Fence): a number that rises with every term, to be checked by whatever
//! store the leader writes to.
//!
//! # Layers
//!
//! * [`time`], [`timestamp`], [`text`], [`prng`]: the ground floor.
//! * [`lease`], [`protocol`]: the record, and the words between a machine and its driver.
//! * [`machine`]: what every machine can do.
//! * [`elector`]: leader election.
//! * [`heartbeat`]: a lease that says that its holder lives.
//! * [`wire`]: the REST API in bytes, with constant memory.
//! * [`session`]: one machine and the wire format together, for drivers that deal in bytes.
//! * `drive` (feature `async`): one async loop for every runtime.
//!
//! # The laws
//!
//! The shared test driver asserts them on every step, and so do seeded lives and worlds.
//!
//! * **L1 settle.** After any input at most [`POLLS_MAX`](elector::POLLS_MAX) polls reach
//!   `WaitUntil` or `Done`; polling again says the same.
//! * **L2 progress.** Given `WaitUntil(t)`, polling at `t` or later yields something else than a
//!   wait at or before that instant.
//! * **L3 quiet.** Polling before `t` changes no output, and nothing useful waits before `t`.
//! * **L4 order.** `StoppedLeading`, then other events, then `Cancel`, then `Request`, then
//!   `WaitUntil`. No write of a new term and no release leaves before `StoppedLeading` was taken.
//!   Starts and stops alternate.
//! * **L5 lost answers.** A request's deadline is the sooner of its timeout and the end of
//!   leadership. At and past it the id is dead, and the machine goes on without an answer. That of
//!   a watch ends its silence: each line puts it off.
//! * **L6 time.** An instant up to 1 s below the largest seen is taken for that one; further back
//!   the clock was reset, and every timer starts anew. Instants above 2⁶² are ignored. No input
//!   panics, wedges or ends the machine.
//! * **L7 truth.** Leadership counts from the poll that handed out the last write that was
//!   acknowledged. No read, failure or stale answer extends it, and it ends with no input at all.
//! * **L8 atomic errors.** A call that returns `Err` changed nothing observable.
//!
//! # A whole election, driven by hand
//!
//! ```
#![doc = include_str!("../doc/by_hand.rs")]
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::arithmetic_side_effects)]

#[cfg(test)]
extern crate std;

mod backoff;
mod contact;
mod division;
mod dns;
#[cfg(feature = "async")]
pub mod drive;
pub mod elector;
mod fix;
pub mod heartbeat;
mod identity;
mod inflight;
pub mod lease;
pub mod machine;
mod monotonic;
pub mod prng;
pub mod protocol;
mod renewal_clock;
pub mod session;
pub mod text;
pub mod time;
pub mod timestamp;
pub mod wire;

pub use timestamp::{Timestamp, TimestampError, TimestampPart, TimestampText};
