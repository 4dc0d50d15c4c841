//! [`kl_health`]: whether an object can do its work, and numbers for a line of metrics.

use kubelease_core::elector::{Elector, Health};
use kubelease_core::time::Instant;

use crate::clock::KL_NEVER;
use crate::elector::kl_elector;
use crate::object::Object;
use crate::ptr::{self, SizedOut, Versioned};
use crate::status::{answer, kl_code, kl_status};

/// Values of kl_health.state. Others may come in a later version.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum kl_health_state {
    /// It can do its work.
    KL_HEALTH_OK = 1,
    /// No good answer for the lease duration and 20 s more.
    KL_HEALTH_UNREACHABLE = 2,
    /// Nobody polls it: its deadlines have passed unseen.
    KL_HEALTH_NOT_POLLED = 3,
    /// No beat of a heartbeat was acknowledged for a lease duration.
    KL_HEALTH_LAPSED = 4,
    /// kl_heartbeat_alive was not called for liveness_ttl_ms.
    KL_HEALTH_NOT_ALIVE = 5,
    /// What this version of the C interface has no word for.
    KL_HEALTH_OTHER = 255,
}

/// Whether an elector or heartbeat can do its work. Set size, or begin with KL_HEALTH_INIT.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kl_health {
    /// sizeof(kl_health); the caller sets it.
    pub size: u32,
    /// A kl_health_state.
    pub state: u32,
    /// Since the last answer came, whatever it said; KL_NEVER where none has.
    pub ms_since_answer: u64,
    /// Requests in a row that got no answer.
    pub failures: u32,
    /// Status code of the last answer; 0 where none has come.
    pub last_http_status: u32,
    /// The last kl_transport_error; 0 where there was none.
    pub last_transport_error: u32,
    /// 0.
    pub reserved: u32,
}

// SAFETY: `repr(C)`, numbers only, `u32` first, and no padding: see the test of the header under
// -Wpadded.
unsafe impl Versioned for kl_health {
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Whether the elector can do its work, as seen at mono_ms.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_SIZE, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_health(
    elector: *const kl_elector,
    mono_ms: u64,
    health: *mut kl_health,
) -> kl_status {
    let state = |machine: &Elector<'static>, at| match machine.health(at) {
        Health::Ok => kl_health_state::KL_HEALTH_OK,
        Health::Unreachable => kl_health_state::KL_HEALTH_UNREACHABLE,
        Health::NotPolled => kl_health_state::KL_HEALTH_NOT_POLLED,
        _ => kl_health_state::KL_HEALTH_OTHER,
    };
    // SAFETY: the contract of the header.
    answer(|| unsafe { tell(elector, mono_ms, health, state) })
}

/// # Safety
/// The contract of the header.
pub(crate) unsafe fn tell<O: Object>(
    object: *const O,
    mono_ms: u64,
    health: *mut kl_health,
    state: impl FnOnce(&O::Machine, Instant) -> kl_health_state,
) -> Result<(), kl_code> {
    // SAFETY: passed on to the caller.
    let (out, inner) = unsafe { (SizedOut::new(health)?, ptr::live(object)?) };
    let state = state(inner.session.machine(), Instant::from_millis(mono_ms));
    write(&out, state, &inner.head.tally, mono_ms);
    Ok(())
}

#[inline(never)]
fn write(out: &SizedOut<kl_health>, state: kl_health_state, tally: &Tally, mono_ms: u64) {
    out.write(&kl_health {
        size: out.size(),
        state: state as u32,
        ..tally.at(mono_ms)
    });
}

/// What came of the requests so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tally {
    answered_at: u64,
    failures: u32,
    begun_status: u16,
    http_status: u16,
    transport_error: u32,
}

impl Tally {
    pub(crate) const NEW: Self = Self {
        answered_at: KL_NEVER,
        failures: 0,
        begun_status: 0,
        http_status: 0,
        transport_error: 0,
    };

    /// An answer has begun.
    pub(crate) const fn begun(&mut self, status: u16) {
        self.begun_status = status;
    }

    /// It has ended; says with which status code.
    pub(crate) const fn answered(&mut self, mono_ms: u64) -> u16 {
        self.answered_at = mono_ms;
        self.failures = 0;
        self.http_status = self.begun_status;
        self.http_status
    }

    /// A request was given up.
    pub(crate) const fn failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }

    /// A transport has said why there is no answer.
    pub(crate) const fn transport_failed(&mut self, kind: u32) {
        self.failed();
        self.transport_error = kind;
    }

    const fn at(&self, mono_ms: u64) -> kl_health {
        kl_health {
            size: 0,
            state: 0,
            ms_since_answer: if self.answered_at == KL_NEVER {
                KL_NEVER
            } else {
                mono_ms.saturating_sub(self.answered_at)
            },
            failures: self.failures,
            last_http_status: self.http_status as u32,
            last_transport_error: self.transport_error,
            reserved: 0,
        }
    }
}
