//! What an application tells its elector. Poll after each of these.

use kubelease_core::elector::Elector;
use kubelease_core::time::{Duration, Now};

use crate::clock::{self, kl_now};
use crate::elector::kl_elector;
use crate::object::Object;
use crate::ptr;
use crate::status::{answer, kl_code, kl_status};

/// Gives up leadership and the Lease, and contends again after cooldown_ms. A candidate only
/// rests: it observes and writes nothing. Poll next: KL_EVENT_STOPPED_LEADING comes before the
/// Lease is given up.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_step_down(
    elector: *mut kl_elector,
    now: *const kl_now,
    cooldown_ms: u64,
) -> kl_status {
    let cooldown = Duration::from_millis(cooldown_ms);
    // SAFETY: the contract of the header.
    answer(|| unsafe {
        tell(elector, now, |machine, now| {
            machine.step_down(now, cooldown)
        })
    })
}

/// Gives up leadership and the Lease, and ends. KL_ACTION_STOPPED follows in any case, at the
/// latest when the release budget is used up. Poll next.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_stop(
    elector: *mut kl_elector,
    now: *const kl_now,
) -> kl_status {
    // SAFETY: the contract of the header.
    answer(|| unsafe { tell(elector, now, Elector::stop) })
}

/// Leads on while the application's work goes on, and never acquires again; kl_elector_work_done
/// ends it. Whoever does not lead ends at once. Poll next.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_stop_when_idle(
    elector: *mut kl_elector,
    now: *const kl_now,
) -> kl_status {
    // SAFETY: the contract of the header.
    answer(|| unsafe { tell(elector, now, Elector::stop_when_idle) })
}

/// The application's work has ended: the same as kl_elector_stop. Poll next.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_work_done(
    elector: *mut kl_elector,
    now: *const kl_now,
) -> kl_status {
    // SAFETY: the contract of the header.
    answer(|| unsafe { tell(elector, now, Elector::work_done) })
}

/// # Safety
/// The contract of the header.
pub(crate) unsafe fn tell<O: Object>(
    object: *mut O,
    now: *const kl_now,
    what: impl FnOnce(&mut O::Machine, Now),
) -> Result<(), kl_code> {
    // SAFETY: passed on to the caller.
    let (now, inner) = unsafe { (clock::now(now)?, ptr::live_mut(object)?) };
    what(inner.session.machine_mut(), now);
    Ok(())
}
