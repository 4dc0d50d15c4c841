//! The C ABI of kubelease: `kl_elector_*` over one [`Session`] and its [`Elector`], and
//! `kl_heartbeat_*` over one and its [`Heartbeat`].
//!
//! The documentation of every function is written for the reader of `include/kubelease.h`, which
//! is made from these files. Rules that hold for all of them are at the top of that header
//! (`ffi/cbindgen.toml`). Names are those of C, so that a search finds both sides.
//!
//! One file for each C type. What both objects do is written once, for any `object::Object`, beside
//! the elector's function. `ptr` has all that reads or writes through a caller's pointer.
//!
//! [`Session`]: kubelease_core::session::Session
//! [`Elector`]: kubelease_core::elector::Elector
//! [`Heartbeat`]: kubelease_core::heartbeat::Heartbeat
#![no_std]
#![allow(
    non_camel_case_types,
    reason = "types and enumerators are spelled as C spells them"
)]
#![allow(
    clippy::missing_safety_doc,
    reason = "the contract of every pointer is at the top of the header, once"
)]
#![deny(clippy::undocumented_unsafe_blocks)]
#![warn(clippy::arithmetic_side_effects)]

mod action;
mod clock;
mod config;
mod control;
mod elector;
mod event;
mod fence;
mod health;
mod heartbeat;
mod log;
mod names;
mod object;
mod panic;
mod pieces;
mod ptr;
mod query;
mod request;
mod response;
mod status;
mod text;
mod version;
mod watch;

pub use action::{kl_action, kl_action_kind, kl_elector_poll};
pub use clock::{KL_NEVER, KL_WALL_UNKNOWN, kl_clock32_extend, kl_now};
pub use config::{
    kl_config_flag, kl_create, kl_elector_config, kl_elector_config_default, kl_write,
};
pub use control::{
    kl_elector_step_down, kl_elector_stop, kl_elector_stop_when_idle, kl_elector_work_done,
};
pub use elector::{KL_ELECTOR_WORDS, kl_elector, kl_elector_init, kl_elector_size};
pub use event::{kl_event, kl_finish, kl_readiness, kl_stop_reason, kl_trouble_kind, kl_verb};
pub use fence::{KL_UID_MAX, kl_elector_fence, kl_fence, kl_fence_cmp, kl_fence_token};
pub use health::{kl_elector_health, kl_health, kl_health_state};
pub use heartbeat::{
    KL_HEARTBEAT_WORDS, kl_heartbeat, kl_heartbeat_alive, kl_heartbeat_config,
    kl_heartbeat_config_default, kl_heartbeat_flag, kl_heartbeat_health, kl_heartbeat_init,
    kl_heartbeat_last_beat, kl_heartbeat_node_uid, kl_heartbeat_poll, kl_heartbeat_request,
    kl_heartbeat_request_pieces, kl_heartbeat_request_read, kl_heartbeat_response_begin,
    kl_heartbeat_response_body, kl_heartbeat_response_end, kl_heartbeat_response_header,
    kl_heartbeat_retire, kl_heartbeat_set_log, kl_heartbeat_size, kl_heartbeat_transport_error,
    kl_retire,
};
pub use log::{kl_elector_set_log, kl_log_code, kl_log_fn, kl_log_level};
pub use names::{
    kl_action_name, kl_event_name, kl_finish_name, kl_log_name, kl_readiness_name, kl_status_name,
    kl_stop_reason_name, kl_trouble_name,
};
pub use pieces::{KL_PIECES_SCRATCH, kl_elector_request_pieces, kl_piece};
pub use query::{
    kl_elector_is_leading, kl_elector_leader, kl_elector_leading_until, kl_elector_term,
};
pub use request::{
    kl_elector_request, kl_elector_request_read, kl_method, kl_request, kl_request_part,
};
pub use response::{
    kl_elector_response_begin, kl_elector_response_body, kl_elector_response_end,
    kl_elector_response_header, kl_elector_transport_error, kl_transport_error,
};
pub use status::{kl_code, kl_status};
pub use text::{kl_label, kl_label_init, kl_str};
pub use version::{kl_abi_version, kl_version_number, kl_version_string};
pub use watch::{kl_elector_response_body_at, kl_elector_watch};
