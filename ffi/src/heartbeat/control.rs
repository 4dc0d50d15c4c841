//! What an application tells its heartbeat and asks it.

use core::ffi::c_void;

use kubelease_core::heartbeat::{Health, Retire};
use kubelease_core::time::Instant;

use super::{Heart, kl_heartbeat};
use crate::clock::{KL_NEVER, kl_now};
use crate::control::tell;
use crate::health::{self, kl_health, kl_health_state};
use crate::log::{self, kl_log_fn};
use crate::object::Handle;
use crate::ptr::{self, Out};
use crate::status::{answer, kl_code, kl_status};
use crate::text::kl_str;

/// What becomes of the Lease: the argument how of kl_heartbeat_retire.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum kl_retire {
    /// It stays as it is, and runs out. KL_FINISH_KEPT follows at once.
    KL_RETIRE_KEEP = 1,
    /// It is beaten once more, so that it lasts through a short restart; then KL_FINISH_KEPT.
    KL_RETIRE_FINAL_BEAT = 2,
    /// It is deleted, if it still names this holder. The node controller notices that no sooner
    /// than silence; but nothing is left behind. It needs the verb delete.
    KL_RETIRE_DELETE = 3,
}

/// The host is alive: with liveness_ttl_ms, beats are allowed for as long from now, and one that
/// was left out meanwhile follows at once; without, it does nothing. Poll next.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_heartbeat_alive(
    heartbeat: *mut kl_heartbeat,
    now: *const kl_now,
) -> kl_status {
    // SAFETY: the contract of the header.
    answer(|| unsafe { tell(heartbeat, now, Heart::alive) })
}

/// Ends the heartbeat, as how (a kl_retire) says. KL_ACTION_STOPPED follows in any case, at the
/// latest when the retire budget is used up. A second call can only shorten the end, or turn it
/// into a deletion. The holder is never cleared: a node is found dead by its silence. Poll next.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_heartbeat_retire(
    heartbeat: *mut kl_heartbeat,
    now: *const kl_now,
    how: u32,
) -> kl_status {
    answer(|| {
        let how = match how {
            1 => Retire::Keep,
            2 => Retire::FinalBeat,
            3 => Retire::Delete,
            _ => return Err(kl_code::KL_ERR_ARG),
        };
        // SAFETY: the contract of the header.
        unsafe { tell(heartbeat, now, |machine, now| machine.retire(now, how)) }
    })
}

/// The instant of the poll that handed out the last acknowledged beat; KL_NEVER where there was
/// none, for NULL, and for storage that was not initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_heartbeat_last_beat(heartbeat: *const kl_heartbeat) -> u64 {
    // SAFETY: the contract of the header.
    let inner = unsafe { ptr::live(heartbeat) };
    let beat = inner
        .ok()
        .and_then(|inner| inner.session.machine().last_beat());
    beat.map_or(KL_NEVER, Instant::as_millis)
}

/// The uid of the Node, as far as it is known; empty otherwise. It is a view into the heartbeat,
/// good until the next call that changes it or until it is moved.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_heartbeat_node_uid(
    heartbeat: *const kl_heartbeat,
    uid: *mut kl_str,
) -> kl_status {
    answer(|| {
        // SAFETY: the contract of the header.
        let (out, inner) = unsafe { (Out::new(uid)?, ptr::live(heartbeat)?) };
        out.write(ptr::view_bytes(inner.session.machine().node_uid_bytes()));
        Ok(())
    })
}

/// Whether the heart beats, as seen at mono_ms.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_SIZE, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_heartbeat_health(
    heartbeat: *const kl_heartbeat,
    mono_ms: u64,
    health: *mut kl_health,
) -> kl_status {
    let state = |machine: &Heart, at| match machine.health(at) {
        Health::Ok => kl_health_state::KL_HEALTH_OK,
        Health::Lapsed => kl_health_state::KL_HEALTH_LAPSED,
        Health::NotAlive => kl_health_state::KL_HEALTH_NOT_ALIVE,
        Health::NotPolled => kl_health_state::KL_HEALTH_NOT_POLLED,
        _ => kl_health_state::KL_HEALTH_OTHER,
    };
    // SAFETY: the contract of the header.
    answer(|| unsafe { health::tell(heartbeat, mono_ms, health, state) })
}

/// Sets the log hook, NULL for none. user is handed to each call of it, as it is.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_heartbeat_set_log(
    heartbeat: *mut kl_heartbeat,
    log: kl_log_fn,
    user: *mut c_void,
) -> kl_status {
    // SAFETY: the contract of the header.
    unsafe { log::set(Handle::new(heartbeat), log, user) }
}
