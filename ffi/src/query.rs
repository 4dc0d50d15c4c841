//! What an application asks its elector.

use kubelease_core::time::Instant;

use crate::elector::kl_elector;
use crate::ptr::{self, Out};
use crate::status::{answer, kl_status};
use crate::text::kl_str;

/// Whether this process leads at mono_ms. It turns false by itself when time passes, with no poll,
/// no thread and no answer. Ask it, with a fresh clock, before every side effect. False for NULL
/// and for storage that was not initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_is_leading(elector: *const kl_elector, mono_ms: u64) -> bool {
    // SAFETY: the contract of the header.
    unsafe { ptr::live(elector) }.is_ok_and(|inner| {
        let machine = inner.session.machine();
        machine.is_leading(Instant::from_millis(mono_ms))
    })
}

/// The instant at which leadership ends unless a write is acknowledged before; 0 where this
/// process does not lead. A copy of it is what an interrupt handler may compare with the clock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_leading_until(elector: *const kl_elector) -> u64 {
    // SAFETY: the contract of the header.
    let inner = unsafe { ptr::live(elector) };
    let until = inner
        .ok()
        .and_then(|inner| inner.session.machine().leading_until());
    until.map_or(0, Instant::as_millis)
}

/// How many terms this elector has begun; 0 for NULL and for storage that was not initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_term(elector: *const kl_elector) -> u64 {
    // SAFETY: the contract of the header.
    unsafe { ptr::live(elector) }.map_or(0, |inner| inner.session.machine().term())
}

/// Who leads, by what was seen last: this process while it leads, or the holder in the Lease, of
/// which the beginning where it is very long. identity is empty where nobody is known; it is a
/// view into the elector or into the configuration, good until the next call that changes the
/// elector or until the elector is moved.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_leader(
    elector: *const kl_elector,
    identity: *mut kl_str,
) -> kl_status {
    answer(|| {
        // SAFETY: the contract of the header.
        let (out, inner) = unsafe { (Out::new(identity)?, ptr::live(elector)?) };
        out.write(ptr::view_bytes(inner.session.machine().leader_bytes()));
        Ok(())
    })
}
