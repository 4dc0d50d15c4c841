//! A Kubernetes API server for tests of programs that use Leases.
//!
//! [`ApiServer`] speaks HTTP/1.1 on a loopback port, in the process of the test. It answers what a
//! real kube-apiserver answers to requests on Leases, down to the texts of errors; its answers were
//! compared one by one with those of a real server. It also does what a real server is hard to
//! bring to: it loses answers, stalls, cuts bodies short, and goes away and comes back, whenever a
//! test orders that.
//!
//! It is not a cluster. It serves Leases in full, and of Namespaces, Nodes, Events, ConfigMaps,
//! Endpoints, Roles and RoleBindings what programs around Leases need; it speaks JSON only, without
//! TLS and compression; and nothing runs beside it (no garbage collector, no node controller).
//!
//! # Example
//!
//! A program renews its lease, and the answer to its first write is lost:
//!
//! ```
//! use std::io::{Read, Write};
//! use std::net::TcpStream;
//!
//! use kubelease::testing::{ApiServer, Fault, Rule};
//! use serde_json::json;
//!
//! # fn main() -> std::io::Result<()> {
//! let server = ApiServer::start()?;
//! server.put_lease("default", "db", json!({"spec": {"holderIdentity": "a"}}));
//! server.inject(Rule::new(Fault::DropAnswer).method("PATCH").times(1));
//!
//! // Here a test would start the program under test with `server.url()`.
//! let renew = |time: &str| -> std::io::Result<String> {
//!     let body = format!(r#"{{"spec":{{"renewTime":"{time}"}}}}"#);
//!     let mut client = TcpStream::connect(server.addr())?;
//!     write!(
//!         client,
//!         "PATCH /apis/coordination.k8s.io/v1/namespaces/default/leases/db HTTP/1.1\r\n\
//!          Host: x\r\nConnection: close\r\nContent-Type: application/merge-patch+json\r\n\
//!          Content-Length: {}\r\n\r\n{body}",
//!         body.len(),
//!     )?;
//!     let mut answer = String::new();
//!     client.read_to_string(&mut answer)?;
//!     Ok(answer)
//! };
//! assert_eq!(renew("2001-02-03T04:05:06.000007Z")?, "");
//! assert!(renew("2001-02-03T04:05:07.000008Z")?.starts_with("HTTP/1.1 200 OK"));
//!
//! // Both writes were stored, and the log tells which one was not answered.
//! let log = server.requests();
//! assert_eq!(log.len(), 2);
//! assert!(log[0].is_applied && log[0].status.is_none());
//! assert_eq!(log[1].status, Some(200));
//! let lease = server.lease("default", "db").unwrap();
//! assert_eq!(lease["spec"]["renewTime"], "2001-02-03T04:05:07.000008Z");
//! # Ok(())
//! # }
//! ```

//!
//! # Faults
//!
//! A [`Rule`] says which requests meet a [`Fault`]; [`ApiServer::inject`] orders it. Faults of the
//! whole server are methods of it:
//!
//! ```
//! use core::time::Duration;
//! use kubelease::testing::{ApiServer, CannedAnswer, Fault, Rule};
//!
//! # fn main() -> std::io::Result<()> {
//! # let server = ApiServer::start()?;
//! // Priority and fairness turns the next two renewals away.
//! let too_many = CannedAnswer::too_many_requests(1);
//! server.inject(Rule::new(Fault::Answer(too_many)).method("PUT").times(2));
//! // A write is stored 3 s late, and its client has long given up.
//! server.inject(Rule::new(Fault::DelayBefore(Duration::from_secs(3))).writes().nth(5));
//! // The network of one client is cut: nothing comes back, and nothing tells it so.
//! server.inject(Rule::new(Fault::BlackHole).user_agent("node-7/"));
//! // A write is answered by a gateway's error, and yet stored.
//! server.inject(Rule::new(Fault::AnswerAfterApplying(CannedAnswer::html(504))).writes());
//!
//! server.clear_faults();
//! server.pause(); // an outage: connections are refused and ended
//! server.resume();
//! server.compact(); // watches from older versions end with 410
//! server.set_clock_skew_s(-3600); // the server's clock is an hour behind
//! # Ok(())
//! # }
//! ```

mod access;
mod answer;
mod api;
mod apply;
mod body;
mod builder;
mod clock;
mod cluster;
mod connection;
mod create;
mod decode;
mod delete;
mod encode;
mod fault;
mod fields;
mod go_json;
mod json_patch;
mod listener;
mod log;
mod managed;
mod merge;
mod micro_time;
mod negotiate;
mod object;
mod outgoing;
mod page;
mod patch;
mod read;
mod request;
mod route;
mod schema;
mod select;
mod server;
mod socket;
mod status;
mod store;
mod update;
mod validate;
mod watch;

/// The stack of the server's thread. Deeply nested bodies need room: Go allows 10000 levels.
const STACK_SIZE: usize = 32 << 20;

pub use builder::Builder;
pub use fault::{CannedAnswer, Fault, Rule};
pub use log::LoggedRequest;
pub use server::ApiServer;
