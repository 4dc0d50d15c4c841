//! Leader election on a Kubernetes cluster, by a Lease.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use kubelease::{Elector, Timing};
//!
//! # async fn example(token: String, ca: Vec<u8>) -> Result<(), Box<dyn std::error::Error>> {
//! let handle = Elector::builder()
//!     .server("https://10.96.0.1")
//!     .bearer_token(token)
//!     .ca_pem(ca)
//!     .namespace("plant-3")
//!     .name("pump-control")
//!     .timing(Timing::EDGE)
//!     .start()?;
//!
//! while !shutdown_was_asked_for() {
//!     if handle.is_leading() {
//!         run_the_pump_for(Duration::from_millis(100)).await;
//!     } else {
//!         tokio::time::sleep(Duration::from_millis(100)).await;
//!     }
//! }
//! let finish = handle.shutdown().await?;
//! println!("the lease: {finish:?}");
//! # Ok(())
//! # }
//! # fn shutdown_was_asked_for() -> bool { true }
//! # async fn run_the_pump_for(_: Duration) {}
//! ```
//!
//! # What to rely on
//!
//! - [`Handle::is_leading`] compares with the clock at each call. It turns false in time by itself,
//!   before another process can lead, whatever happens to the server, to the elector's task or,
//!   through suspend, to the whole system. Ask it before each step of the work.
//!
//!   Two things are outside of anybody's reach. Identities must be unique: a second process with
//!   the same one takes the lease over at once, as a restart would, and the first notices at its
//!   next renewal. And nobody else may edit the lease: where a person clears its holder or deletes
//!   it, a newcomer may lead while the leader of before finds out, one retry period later. Fencing
//!   tokens order the two all the same.
//! - [`Handle::fence`] has a token that rises with each term of the lease. A store that refuses
//!   older tokens is safe from a leader that was paused between asking and writing.
//! - [`Handle::guard`] is one term: invalid from its end on, also when this process leads again.
//! - [`Handle::leading`] runs work in one term and cancels it when the term ends.
//! - [`Handle::changes`] is a stream of events. Reading it late or never holds up no renewal.
//! - [`Handle::shutdown`] waits for that work and releases the lease; dropping the handle does not.
//!   No task outlives it.
//!
//! # What it does on the network
//!
//! One connection of HTTP/1.1, no redirects, no retries but the machine's own, and a proxy only
//! where a [`Connection`] says so. A request that is given up takes its connection along, and
//! after two in a row that got no answer all connections are dialled anew. Time is the system's
//! clock that counts suspend; see [`Clock`].
//!
//! # What operators see
//!
//! With the feature `metrics`, through the facade of that name; the label `name` is the lease's:
//!
//! | metric | kind | what |
//! | --- | --- | --- |
//! | `leader_election_master_status` | gauge | 1 while this process leads, as in client-go |
//! | `leader_election_slowpath_total` | counter | reads of a leader, as in client-go |
//! | `leader_election_renew_duration_seconds` | histogram | how long acknowledged renewals took |
//! | `leader_election_failures_total` | counter | failed requests, by `kind` |
//! | `leader_election_time_left_seconds` | gauge | what was left of the term at the last turn |
//! | `leader_election_overstays_total` | counter | work that went on past its term |
//!
//! The kinds are `not_sent`, `unknown`, `timed_out`, `given_up` and `status_` with a number. With
//! the feature `tracing` the elector's task runs in the span `leader_election`, with the fields
//! `namespace`, `name` and `identity`; a term's begin and end are told in it, trouble is a warning,
//! and overstayed work an error. With the feature `events`, `Builder::record_events` posts what
//! `kubectl describe lease` shows. [`Handle::health`] is for probes. No secret is in any of them.
#![forbid(unsafe_code)]

#[cfg(feature = "annotation-lock")]
mod annotation;
mod builder;
mod changes;
mod client;
mod clock;
mod connection;
mod credentials;
mod error;
#[cfg(feature = "events")]
mod events;
mod fleet;
mod guard;
mod handle;
mod heartbeat;
mod http;
mod identity;
mod launch;
mod leading;
mod line;
pub mod openshift;
mod place;
mod settings;
mod shared_line;
mod state;
mod task;
mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;
mod watched;

pub use kubelease_core;
pub use kubelease_core::elector::{ConfigError, Create, Health, Report, Timing, TimingError};
pub use kubelease_core::heartbeat::{
    Health as HeartbeatHealth, HeartbeatConfig, HeartbeatError, Retire,
};
pub use kubelease_core::lease::Fence;
pub use kubelease_core::protocol::{Event, Finish, StopReason, TroubleKind, Verb};
pub use kubelease_core::time::Instant;
pub use kubelease_core::wire::path::PathError;

#[cfg(feature = "annotation-lock")]
pub use annotation::AnnotationLock;
pub use builder::{Builder, Elector};
pub use changes::Changes;
pub use client::{ApiAnswer, ApiClient, ApiError};
pub use clock::Clock;
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub use clock::SystemClock;
pub use connection::{Connection, ConnectionError};
pub use error::{ShutdownError, StartError};
pub use fleet::{AddError, Counters, Fleet, FleetBuilder, FleetEnd, FleetEvent, FleetLease};
pub use guard::Guard;
pub use handle::Handle;
pub use heartbeat::{Heartbeat, HeartbeatBuilder, HeartbeatHandle, NodeHeartbeat};
pub use identity::unique_identity;
pub use leading::{Contender, LeadingError};

/// The programs on the front page, which have to compile.
#[cfg(all(doctest, feature = "kubeconfig"))]
#[doc = include_str!("../README.md")]
mod readme {}
