//! [`kl_heartbeat_config`]: what a heartbeat is told once.

use kubelease_core::heartbeat::{HeartbeatConfig, HeartbeatIdentity, JITTER_PERCENT_DEFAULT};
use kubelease_core::session::UpdateMode;
use kubelease_core::time::Duration;
use kubelease_core::wire::path::LeasePath;

use crate::config::{self, NO_TEXT, kl_create, kl_write};
use crate::ptr::{self, SizedOut, Versioned};
use crate::status::{answer, kl_code, kl_status};
use crate::text::kl_str;

/// Bits of kl_heartbeat_config.flags.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum kl_heartbeat_flag {
    /// The first beat comes at once. Without it, at a random moment of the first interval, so that
    /// a thousand that start together do not beat together.
    KL_HEARTBEAT_AT_ONCE = 1,
    /// Nothing is ever created without the owner, nor a Lease beaten that has no owner of the
    /// Node's name. Leases without one stay behind when their Node goes.
    KL_HEARTBEAT_OWNER_REQUIRED = 2,
    /// Beat a Lease although somebody else holds it. Without it his record is waited out.
    KL_HEARTBEAT_FORCE_OWNER = 4,
    /// Look at the Node after the first beat and after an outage of a lease duration or more, and
    /// say KL_EVENT_NODE_NOT_READY until it is ready: a beating Lease does not bring a Node back
    /// that was found dead. It needs the verb get on that Node.
    KL_HEARTBEAT_WATCH_NODE = 8,
    /// With KL_WRITE_UPDATE, where the keep buffer is too small: PATCH that once. Without it
    /// nothing is written then, and the event is KL_EVENT_TROUBLE with KL_TROUBLE_TOO_LARGE.
    KL_HEARTBEAT_PATCH_WHEN_TOO_LARGE = 16,
}

/// What a heartbeat is told once. Fill it with kl_heartbeat_config_default first. Texts and the
/// keep buffer are borrowed for the life of the heartbeat; the structure itself only for the call
/// of kl_heartbeat_init.
///
/// A node's heartbeat has the namespace kube-node-lease, and the Node's name for name, holder and
/// node.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kl_heartbeat_config {
    /// sizeof(kl_heartbeat_config).
    pub size: u32,
    /// Bits of kl_heartbeat_flag.
    pub flags: u32,
    /// The namespace of the Lease.
    pub namespace_: kl_str,
    /// The name of the Lease.
    pub name: kl_str,
    /// Who lives, 1 to 253 bytes: holderIdentity. It is never cleared.
    pub holder: kl_str,
    /// The Node that owns the Lease; empty: none does.
    pub node: kl_str,
    /// The Node's uid, where the host knows it; empty: it is read from the server where it is
    /// needed, and whenever the Lease was deleted in any case. Reading it needs the verb get on
    /// that Node.
    pub node_uid: kl_str,
    /// For KL_WRITE_UPDATE: takes all of the Lease that is not ours. 1 KiB serves most, 256 KiB
    /// all. Nobody else may use it while the heartbeat lives.
    pub keep: *mut u8,
    /// Its length in bytes.
    pub keep_len: usize,
    /// A kl_write.
    pub write: u32,
    /// A kl_create, but not KL_CREATE_NEVER.
    pub create: u32,
    /// leaseDurationSeconds of the Lease in milliseconds. Whole seconds; 40000 by default.
    pub lease_duration_ms: u32,
    /// Time between beats; 0, the default: a quarter of the lease duration. It is counted from the
    /// schedule: slow calls do not delay later beats.
    pub interval_ms: u32,
    /// How long one request may take; 0, the default: half of the default interval, at most 15000.
    pub request_timeout_ms: u32,
    /// Hundredths of the interval by which beats are spread, at most 100; 4 by default.
    pub jitter_percent: u32,
    /// How long kl_heartbeat_retire may take; 0, the default: the interval.
    pub retire_budget_ms: u32,
    /// How long one call of kl_heartbeat_alive lets the heart beat; 0, the default: for ever, so
    /// that it need not be called. The heartbeat vouches for the host's work then, not for the
    /// loop that polls it.
    pub liveness_ttl_ms: u32,
    /// Seeds the jitter. Give each heartbeat its own; nothing secret is made of it.
    pub seed: u64,
}

// SAFETY: `repr(C)`, numbers and pointers only, `u32` first, and no padding: see the test of the
// header under -Wpadded.
unsafe impl Versioned for kl_heartbeat_config {
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Fills config with the defaults: kubelet's durations, KL_WRITE_PATCH, and no names. config_size
/// is sizeof(kl_heartbeat_config) as the caller was compiled.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_heartbeat_config_default(
    config: *mut kl_heartbeat_config,
    config_size: usize,
) -> kl_status {
    answer(|| {
        // SAFETY: the contract of the header.
        let out = unsafe { SizedOut::with_size(config, config_size)? };
        let value = kl_heartbeat_config {
            size: out.size(),
            ..DEFAULT
        };
        out.write(&value);
        Ok(())
    })
}

const DEFAULT: kl_heartbeat_config = kl_heartbeat_config {
    size: 0,
    flags: 0,
    namespace_: NO_TEXT,
    name: NO_TEXT,
    holder: NO_TEXT,
    node: NO_TEXT,
    node_uid: NO_TEXT,
    keep: core::ptr::null_mut(),
    keep_len: 0,
    write: kl_write::KL_WRITE_PATCH as u32,
    create: kl_create::KL_CREATE_POST as u32,
    lease_duration_ms: 40_000,
    interval_ms: 0,
    request_timeout_ms: 0,
    jitter_percent: JITTER_PERCENT_DEFAULT,
    retire_budget_ms: 0,
    liveness_ttl_ms: 0,
    seed: 0,
};

impl kl_heartbeat_config {
    const KNOWN_FLAGS: u32 = kl_heartbeat_flag::KL_HEARTBEAT_AT_ONCE as u32
        | kl_heartbeat_flag::KL_HEARTBEAT_OWNER_REQUIRED as u32
        | kl_heartbeat_flag::KL_HEARTBEAT_FORCE_OWNER as u32
        | kl_heartbeat_flag::KL_HEARTBEAT_WATCH_NODE as u32
        | kl_heartbeat_flag::KL_HEARTBEAT_PATCH_WHEN_TOO_LARGE as u32;

    const fn has(&self, flag: kl_heartbeat_flag) -> bool {
        self.flags & flag as u32 != 0
    }

    /// How to beat, in the words of the core.
    pub(super) fn rules(&self) -> Result<HeartbeatConfig, kl_code> {
        if self.flags & !Self::KNOWN_FLAGS != 0 {
            return Err(kl_code::KL_ERR_UNSUPPORTED);
        }
        let create_with_put = match self.create {
            0 => false,
            1 => true,
            _ => return Err(kl_code::KL_ERR_ARG),
        };
        let millis = |number: u32| Duration::from_millis(u64::from(number));
        let or = |number: u32, default| if number == 0 { default } else { millis(number) };
        let default = HeartbeatConfig::new(millis(self.lease_duration_ms));
        let interval = or(self.interval_ms, default.interval);
        Ok(HeartbeatConfig {
            interval,
            jitter_percent: self.jitter_percent,
            request_timeout: or(self.request_timeout_ms, default.request_timeout),
            retire_budget: or(self.retire_budget_ms, interval),
            spread_first_beat: !self.has(kl_heartbeat_flag::KL_HEARTBEAT_AT_ONCE),
            create_with_put,
            owner_required: self.has(kl_heartbeat_flag::KL_HEARTBEAT_OWNER_REQUIRED),
            force_owner: self.has(kl_heartbeat_flag::KL_HEARTBEAT_FORCE_OWNER),
            liveness_ttl: (self.liveness_ttl_ms != 0).then_some(millis(self.liveness_ttl_ms)),
            watch_node: self.has(kl_heartbeat_flag::KL_HEARTBEAT_WATCH_NODE),
            ..default
        })
    }

    /// Whose heart it is.
    ///
    /// # Safety
    /// Texts and keep buffer are as the header wants them.
    pub(super) unsafe fn identity(&self) -> Result<HeartbeatIdentity<&'static str>, kl_code> {
        // SAFETY: the contract of this function.
        let (holder, node, node_uid) = unsafe {
            (
                ptr::text(self.holder, kl_code::KL_ERR_IDENTITY)?,
                ptr::text(self.node, kl_code::KL_ERR_NODE)?,
                ptr::text(self.node_uid, kl_code::KL_ERR_NODE)?,
            )
        };
        Ok(HeartbeatIdentity {
            holder,
            node: Some(node).filter(|name| !name.is_empty()),
            node_uid: Some(node_uid).filter(|uid| !uid.is_empty()),
            seed: self.seed,
        })
    }

    /// # Safety
    /// As for [`identity`](Self::identity).
    pub(super) unsafe fn path(&self) -> Result<LeasePath<'static>, kl_code> {
        // SAFETY: the contract of this function.
        unsafe { config::path(self.namespace_, self.name) }
    }

    /// # Safety
    /// As for [`identity`](Self::identity).
    pub(super) unsafe fn update(&self) -> Result<UpdateMode<'static>, kl_code> {
        let or_patch = self.has(kl_heartbeat_flag::KL_HEARTBEAT_PATCH_WHEN_TOO_LARGE);
        // SAFETY: the contract of this function.
        unsafe { config::update(self.write, self.keep, self.keep_len, or_patch) }
    }
}
