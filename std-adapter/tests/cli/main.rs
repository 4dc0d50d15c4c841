//! The command `kubelease` as a user meets it: its processes, its exit codes, its words.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]
#![cfg(target_os = "linux")]

mod command;
mod connect;
mod guard;
mod heartbeat;
mod leases;
mod loss;
mod process;
mod run;
mod said;
mod values;
mod watch;
