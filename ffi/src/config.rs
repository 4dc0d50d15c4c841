//! [`kl_elector_config`]: what an elector is told once.

use kubelease_core::elector::{Config, Create, JITTER_PERCENT_DEFAULT, Timing};
use kubelease_core::session::UpdateMode;
use kubelease_core::time::Duration;
use kubelease_core::wire::path::LeasePath;

use crate::ptr::{self, SizedOut, Versioned};
use crate::status::{answer, kl_code, kl_status};
use crate::text::{self, kl_label, kl_str};

/// How a Lease that exists is written. Both ways lose nothing of what others put into it.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum kl_write {
    /// PATCH (merge patch) with our own members only. It needs no memory, and the verbs get,
    /// create and patch in the Role.
    KL_WRITE_PATCH = 0,
    /// PUT of the whole Lease, what is not ours being kept in the caller's buffer. It needs the
    /// verbs get, create and update, which every Role made for client-go has.
    KL_WRITE_UPDATE = 1,
}

/// What to do where there is no Lease.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum kl_create {
    /// POST to the collection: needs create on all Leases of the namespace.
    KL_CREATE_POST = 0,
    /// PUT to the Lease's own URL, which a Role with resourceNames can grant.
    KL_CREATE_PUT = 1,
    /// Never create; wait until somebody has.
    KL_CREATE_NEVER = 2,
}

/// Bits of kl_elector_config.flags.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum kl_config_flag {
    /// Wait out a record of this identity that an earlier life left, like anybody's. Without it
    /// such a record is taken over at once.
    KL_CONFIG_OWN_IS_FOREIGN = 1,
    /// Take a Lease at once where its renewTime is past by its duration and max_skew_ms, judged by
    /// the server's clock. It rests on the clock of every process that writes the Lease.
    KL_CONFIG_TRUST_RENEW_TIME = 2,
    /// With KL_WRITE_UPDATE, where the keep buffer is too small: PATCH that once. Without it
    /// nothing is written then, and the event is KL_EVENT_TROUBLE with KL_TROUBLE_TOO_LARGE.
    KL_CONFIG_PATCH_WHEN_TOO_LARGE = 4,
}

/// What an elector is told once. Fill it with kl_elector_config_default first. Texts, labels and
/// the keep buffer are borrowed for the life of the elector; the structure itself only for the
/// call of kl_elector_init.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kl_elector_config {
    /// sizeof(kl_elector_config).
    pub size: u32,
    /// Bits of kl_config_flag.
    pub flags: u32,
    /// The namespace of the Lease.
    pub namespace_: kl_str,
    /// The name of the Lease.
    pub name: kl_str,
    /// The name of this candidate, 1 to 253 bytes. Unique for each living process: a host name and
    /// something random. One that is not costs leadership, not safety.
    pub identity: kl_str,
    /// Labels to assert on each write that acquires; all others are kept.
    pub labels: *const kl_label,
    /// How many, at most 4.
    pub label_count: usize,
    /// For KL_WRITE_UPDATE: takes all of the Lease that is not ours. 1 KiB serves most, 256 KiB
    /// all. Nobody else may use it while the elector lives.
    pub keep: *mut u8,
    /// Its length in bytes.
    pub keep_len: usize,
    /// A kl_write.
    pub write: u32,
    /// A kl_create.
    pub create: u32,
    /// How long others wait after a leader's last sign of life. Whole seconds; 15000 by default.
    pub lease_duration_ms: u32,
    /// How long a leader believes after its last acknowledged write was sent; 10000 by default.
    pub renew_deadline_ms: u32,
    /// Time between renewals, and between the looks of a candidate; 2000 by default.
    pub retry_period_ms: u32,
    /// How long one request may take; 0, the default: half of what renew deadline and retry period
    /// leave, at most 15000.
    pub request_timeout_ms: u32,
    /// Hundredths of the retry period by which a candidate's looks are spread; 20 by default.
    pub jitter_percent: u32,
    /// How long giving up the Lease may take; 0, the default: the renew deadline.
    pub release_budget_ms: u32,
    /// For KL_CONFIG_TRUST_RENEW_TIME: how far the clocks of those who write the Lease may differ.
    pub max_skew_ms: u32,
    /// 0.
    pub reserved: u32,
    /// Seeds the jitter. Give each process its own; nothing secret is made of it.
    pub seed: u64,
}

// SAFETY: `repr(C)`, numbers and pointers only, `u32` first, and no padding: see the test of the
// header under -Wpadded.
unsafe impl Versioned for kl_elector_config {
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Fills config with the defaults: those of the components of Kubernetes, KL_WRITE_PATCH, and no
/// names. config_size is sizeof(kl_elector_config) as the caller was compiled.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_config_default(
    config: *mut kl_elector_config,
    config_size: usize,
) -> kl_status {
    answer(|| {
        // SAFETY: the contract of the header.
        let out = unsafe { SizedOut::with_size(config, config_size)? };
        let value = kl_elector_config {
            size: out.size(),
            ..DEFAULT
        };
        out.write(&value);
        Ok(())
    })
}

pub(crate) const NO_TEXT: kl_str = kl_str {
    ptr: core::ptr::null(),
    len: 0,
};

const DEFAULT: kl_elector_config = kl_elector_config {
    size: 0,
    flags: 0,
    namespace_: NO_TEXT,
    name: NO_TEXT,
    identity: NO_TEXT,
    labels: core::ptr::null(),
    label_count: 0,
    keep: core::ptr::null_mut(),
    keep_len: 0,
    write: kl_write::KL_WRITE_PATCH as u32,
    create: kl_create::KL_CREATE_POST as u32,
    lease_duration_ms: 15_000,
    renew_deadline_ms: 10_000,
    retry_period_ms: 2_000,
    request_timeout_ms: 0,
    jitter_percent: JITTER_PERCENT_DEFAULT,
    release_budget_ms: 0,
    max_skew_ms: 0,
    reserved: 0,
    seed: 0,
};

impl kl_elector_config {
    const KNOWN_FLAGS: u32 = kl_config_flag::KL_CONFIG_OWN_IS_FOREIGN as u32
        | kl_config_flag::KL_CONFIG_TRUST_RENEW_TIME as u32
        | kl_config_flag::KL_CONFIG_PATCH_WHEN_TOO_LARGE as u32;

    const fn has(&self, flag: kl_config_flag) -> bool {
        self.flags & flag as u32 != 0
    }

    fn timing(&self) -> Timing {
        let millis = |number: u32| Duration::from_millis(u64::from(number));
        let mut timing = Timing::new(
            millis(self.lease_duration_ms),
            millis(self.renew_deadline_ms),
            millis(self.retry_period_ms),
        );
        if self.request_timeout_ms != 0 {
            timing.request_timeout = millis(self.request_timeout_ms);
        }
        timing.jitter_percent = self.jitter_percent;
        timing
    }

    fn create(&self) -> Result<Create, kl_code> {
        match self.create {
            0 => Ok(Create::Post),
            1 => Ok(Create::Put),
            2 => Ok(Create::Never),
            _ => Err(kl_code::KL_ERR_ARG),
        }
    }

    /// The same in the words of the core.
    ///
    /// # Safety
    /// Texts, labels and keep buffer are as the header wants them.
    pub(crate) unsafe fn elector(&self) -> Result<Config<'static>, kl_code> {
        if self.flags & !Self::KNOWN_FLAGS != 0 || self.reserved != 0 {
            return Err(kl_code::KL_ERR_UNSUPPORTED);
        }
        // SAFETY: the contract of this function.
        let (identity, labels) = unsafe {
            (
                ptr::text(self.identity, kl_code::KL_ERR_IDENTITY)?,
                text::labels(self.labels, self.label_count)?,
            )
        };
        let millis = |number: u32| Duration::from_millis(u64::from(number));
        Ok(Config {
            timing: self.timing(),
            labels,
            create: self.create()?,
            treat_own_as_foreign: self.has(kl_config_flag::KL_CONFIG_OWN_IS_FOREIGN),
            trust_renew_time: self
                .has(kl_config_flag::KL_CONFIG_TRUST_RENEW_TIME)
                .then_some(millis(self.max_skew_ms)),
            release_budget: (self.release_budget_ms != 0).then_some(millis(self.release_budget_ms)),
            seed: self.seed,
            ..Config::new(identity)
        })
    }

    /// # Safety
    /// As for [`elector`](Self::elector).
    pub(crate) unsafe fn path(&self) -> Result<LeasePath<'static>, kl_code> {
        // SAFETY: the contract of this function.
        unsafe { path(self.namespace_, self.name) }
    }

    /// # Safety
    /// As for [`elector`](Self::elector).
    pub(crate) unsafe fn update(&self) -> Result<UpdateMode<'static>, kl_code> {
        let or_patch = self.has(kl_config_flag::KL_CONFIG_PATCH_WHEN_TOO_LARGE);
        // SAFETY: the contract of this function.
        unsafe { update(self.write, self.keep, self.keep_len, or_patch) }
    }
}

/// The Lease that a configuration names.
///
/// # Safety
/// The texts stay as they are for the life of the process.
pub(crate) unsafe fn path(namespace: kl_str, name: kl_str) -> Result<LeasePath<'static>, kl_code> {
    // SAFETY: the contract of this function.
    let (namespace, name) = unsafe {
        (
            ptr::text(namespace, kl_code::KL_ERR_NAMESPACE)?,
            ptr::text(name, kl_code::KL_ERR_NAME)?,
        )
    };
    Ok(LeasePath::new(namespace, name)?)
}

/// How a configuration has a Lease written; `or_patch` where it does not fit into the buffer.
///
/// # Safety
/// `keep` points to `length` bytes that nobody else uses for the life of the process.
pub(crate) unsafe fn update(
    write: u32,
    keep: *mut u8,
    length: usize,
    or_patch: bool,
) -> Result<UpdateMode<'static>, kl_code> {
    match write {
        0 => Ok(UpdateMode::MergePatch),
        1 if keep.is_null() || length == 0 => Err(kl_code::KL_ERR_KEEP),
        1 => Ok(UpdateMode::Update {
            // SAFETY: the contract of this function.
            keep: unsafe { ptr::bytes_mut(keep, length)? },
            patch_when_too_large: or_patch,
        }),
        _ => Err(kl_code::KL_ERR_ARG),
    }
}
