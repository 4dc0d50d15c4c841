//! [`kl_heartbeat`]: the object, its storage and its beginning.

mod config;
mod control;
mod exchange;

pub use config::{kl_heartbeat_config, kl_heartbeat_config_default, kl_heartbeat_flag};
pub use control::{
    kl_heartbeat_alive, kl_heartbeat_health, kl_heartbeat_last_beat, kl_heartbeat_node_uid,
    kl_heartbeat_retire, kl_heartbeat_set_log, kl_retire,
};
pub use exchange::{
    kl_heartbeat_poll, kl_heartbeat_request, kl_heartbeat_request_pieces,
    kl_heartbeat_request_read, kl_heartbeat_response_begin, kl_heartbeat_response_body,
    kl_heartbeat_response_end, kl_heartbeat_response_header, kl_heartbeat_transport_error,
};

use kubelease_core::heartbeat::{Heartbeat, HeartbeatConfig};
use kubelease_core::session::Session;
use kubelease_core::time::Now;

use crate::clock::{self, kl_now};
use crate::object::{self, Head, Inner, Object};
use crate::ptr;
use crate::status::{answer, kl_code, kl_status};

/// Words of 64 bits in a kl_heartbeat.
#[cfg(target_pointer_width = "64")]
pub const KL_HEARTBEAT_WORDS: usize = 160;

/// Words of 64 bits in a kl_heartbeat.
#[cfg(target_pointer_width = "32")]
pub const KL_HEARTBEAT_WORDS: usize = 116;

/// A heartbeat: keeps one Lease renewed, as kubelet does for its node. There is no election: the
/// Lease says that its holder lives. The storage is the caller's, under the rules of kl_elector.
#[repr(C)]
#[derive(Debug)]
pub struct kl_heartbeat {
    /// Not for callers.
    pub _opaque: [u64; KL_HEARTBEAT_WORDS],
}

/// The config lies in the object, and its texts are the caller's.
pub(crate) type Heart = Heartbeat<HeartbeatConfig, &'static str>;

// SAFETY: the constants below do not compile, on every target, where it is too small or misaligned.
unsafe impl Object for kl_heartbeat {
    type Machine = Heart;
    const MARK: u32 = 0x4b4c_bea7;
}

type Content = Inner<Heart>;
const _: [(); 1] = [(); (size_of::<Content>() <= size_of::<kl_heartbeat>()) as usize];
const _: [(); 1] = [(); (align_of::<Content>() <= align_of::<u64>()) as usize];

/// Makes a heartbeat in storage. It reads the Lease at its first poll, or at a moment of the first
/// interval.
///
/// heartbeat: storage of heartbeat_size bytes, aligned as a kl_heartbeat; whatever is in it is
/// written over. config: see kl_heartbeat_config for what is borrowed. now: the clocks.
///
/// Answers KL_OK; KL_ERR_ARG; KL_ERR_STORAGE (less than kl_heartbeat_size(), or misaligned);
/// KL_ERR_SIZE; a code that names the member of config that is wrong; KL_ERR_UNSUPPORTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_heartbeat_init(
    heartbeat: *mut kl_heartbeat,
    heartbeat_size: usize,
    config: *const kl_heartbeat_config,
    now: *const kl_now,
) -> kl_status {
    answer(|| {
        let place = object::place(heartbeat, heartbeat_size)?;
        // SAFETY: the contract of the header.
        let (now, config) = unsafe { (clock::now(now)?, ptr::versioned(config)?) };
        // SAFETY: neither NULL, nor misaligned, nor too small; the caller vouches for the rest.
        unsafe { make(place, config, now) }
    })
}

/// Writes an object.
///
/// # Safety
/// `to` points to storage for it, and what `config` borrows outlives it.
#[inline(never)]
unsafe fn make(to: *mut Content, config: &kl_heartbeat_config, now: Now) -> Result<(), kl_code> {
    // SAFETY: the contract of this function.
    let (path, update) = unsafe { (config.path()?, config.update()?) };
    // SAFETY: the same.
    let identity = unsafe { config.identity()? };
    let machine = Heartbeat::new(config.rules()?, identity, now)?;
    let inner = Inner {
        head: Head::new(kl_heartbeat::MARK),
        session: Session::new(machine, path, update),
    };
    // SAFETY: the same.
    unsafe { to.write(inner) };
    Ok(())
}

/// The least heartbeat_size that kl_heartbeat_init takes, at most sizeof(kl_heartbeat): for
/// languages that cannot read the header.
#[unsafe(no_mangle)]
pub extern "C" fn kl_heartbeat_size() -> usize {
    size_of::<Content>()
}
