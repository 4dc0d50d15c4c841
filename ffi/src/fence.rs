//! [`kl_fence`]: what a guarded store can compare.

use core::cmp::Ordering;

use kubelease_core::lease::{Fence, UID_MAX};

use crate::elector::kl_elector;
use crate::ptr::{self, Out};
use crate::status::{answer, kl_code, kl_status};

/// Bytes in kl_fence.lease_uid.
pub const KL_UID_MAX: usize = 40;

const _: [(); 1] = [(); (KL_UID_MAX == UID_MAX) as usize];

/// What a guarded store can compare, so that a leader of the past is refused. It never grows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kl_fence {
    /// metadata.resourceVersion that the acquiring write produced; 0 where it is no number.
    pub acquired_version: u64,
    /// spec.leaseTransitions that the acquiring write set.
    pub transitions: u32,
    /// How many bytes of lease_uid there are.
    pub lease_uid_len: u32,
    /// metadata.uid of the Lease that was acquired; zeros behind its end.
    pub lease_uid: [u8; KL_UID_MAX],
}

/// The fence of the term that leads now.
///
/// Answers KL_OK, KL_ERR_NOT_LEADING, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT,
/// KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_fence(
    elector: *const kl_elector,
    fence: *mut kl_fence,
) -> kl_status {
    answer(|| {
        // SAFETY: the contract of the header.
        let (out, inner) = unsafe { (Out::new(fence)?, ptr::live(elector)?) };
        let fence = inner.session.machine().fence_ref();
        out.write(flat(fence.ok_or(kl_code::KL_ERR_NOT_LEADING)?));
        Ok(())
    })
}

/// Which of two terms is later: negative where a is the earlier, 0 where they are one, positive
/// where a is the later. INT32_MIN where they have no order: a fence is NULL, or its
/// acquired_version is 0.
///
/// It orders all terms of a Lease on one API server, across deletion and re-creation of the Lease
/// too. It does not order them across a restored backup.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_fence_cmp(a: *const kl_fence, b: *const kl_fence) -> i32 {
    // SAFETY: the contract of the header.
    let (a, b) = unsafe { (kl_fence_token(a), kl_fence_token(b)) };
    if a == 0 || b == 0 {
        return i32::MIN;
    }
    match a.cmp(&b) {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }
}

/// The one number that a database or a file can compare: larger means later. 0 where there is
/// none: fence is NULL, or the server's versions are no numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_fence_token(fence: *const kl_fence) -> u64 {
    // SAFETY: the contract of the header.
    unsafe { ptr::read(fence) }.map_or(0, |fence| fence.acquired_version)
}

fn flat(fence: &Fence) -> kl_fence {
    let uid = fence.lease_uid.as_bytes();
    let mut lease_uid = [0; KL_UID_MAX];
    for (place, byte) in lease_uid.iter_mut().zip(uid) {
        *place = *byte;
    }
    kl_fence {
        acquired_version: fence.token().unwrap_or(0),
        transitions: fence.transitions,
        lease_uid_len: u32::try_from(uid.len()).unwrap_or(0),
        lease_uid,
    }
}
