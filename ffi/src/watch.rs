//! Watch mode: a candidate holds one watch instead of reading the Lease again and again.

use kubelease_core::protocol::RequestId;

use crate::clock::{self, kl_now};
use crate::elector::kl_elector;
use crate::object::Handle;
use crate::ptr;
use crate::status::{answer, kl_status};

/// Turns watch mode on, for good: call it once, after kl_elector_init. From its next look on a
/// candidate holds one watch on the Lease instead of reading it every retry period, takes a
/// release over at once, and sends next to nothing meanwhile. It wants the right watch; without
/// it, and whenever a stream ends, fails or falls silent, the candidate reads as before.
///
/// The answer to a watch is a stream that may last for minutes: hand in what comes of it as it
/// comes, by kl_elector_response_body_at, and poll after each piece. Only the polls say for how
/// long to wait for more: the deadline of KL_ACTION_SEND is the first of them. A program that
/// never calls this function does not link what it takes.
///
/// Answers KL_OK, KL_ERR_STORAGE, KL_ERR_ARG, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_watch(elector: *mut kl_elector) -> kl_status {
    answer(|| {
        // SAFETY: the contract of the header.
        let inner = unsafe { ptr::live_mut(elector)? };
        inner.session.watch();
        Ok(())
    })
}

/// kl_elector_response_body with the time: in watch mode give the bodies of all answers to this
/// one, and poll next. Read the clock after the bytes have come, not before the wait for them: what
/// they tell counts from now. KL_ERR_STALE says that the elector wants no more of the answer.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_response_body_at(
    elector: *mut kl_elector,
    request_id: u32,
    data: *const u8,
    len: usize,
    now: *const kl_now,
) -> kl_status {
    answer(|| {
        // SAFETY: the contract of the header.
        let (piece, now) = unsafe { (ptr::bytes(data, len)?, clock::now(now)?) };
        // SAFETY: the same.
        let inner = unsafe { ptr::any(Handle::new(elector))? };
        let id = RequestId::from_number(request_id);
        inner.session.response_body_at(now, id, piece)?;
        Ok(())
    })
}
