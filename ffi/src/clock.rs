//! [`kl_now`]: time is an argument.

use kubelease_core::time::{Instant, Now};
use kubelease_core::timestamp::Timestamp;

use crate::ptr;
use crate::status::kl_code;

/// kl_now.unix_us where there is no civil clock, or it is not set.
pub const KL_WALL_UNKNOWN: i64 = i64::MIN;

/// An instant that never comes, and a length of time that has not begun.
pub const KL_NEVER: u64 = u64::MAX;

/// The two clocks at the moment of a call. It never grows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kl_now {
    /// Monotonic milliseconds from any origin that lies in the past. All decisions rest on it. It
    /// must go on while the system sleeps (CLOCK_BOOTTIME on Linux). A step back of up to 1 s is
    /// ignored; a longer one is a reset of the clock, and ends leadership. A value beyond 2^62 is
    /// no time but a mistake: nobody leads then, and nothing else happens until there is a time.
    pub mono_ms: u64,
    /// Microseconds since 1970-01-01T00:00:00Z, or KL_WALL_UNKNOWN. It is written into the Lease
    /// and decides nothing. Without it the server's Date header is used.
    pub unix_us: i64,
}

/// Makes a 64-bit count of ticks from a counter of 32 bits, such as that of FreeRTOS.
///
/// state is 0 before the first call and belongs to the function from then on. Call it at least
/// once in 2^31 ticks (24 days of milliseconds). A tick that lies before the last one, by less
/// than 2^31, counts as that one. Answers the count, or ticks where state is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_clock32_extend(state: *mut u64, ticks: u32) -> u64 {
    // SAFETY: the contract of the header.
    let (Ok(before), Ok(out)) = (unsafe { ptr::read(state) }, unsafe { ptr::Out::new(state) })
    else {
        return u64::from(ticks);
    };
    let after = extend(before, ticks);
    out.write(after);
    after
}

const fn extend(before: u64, ticks: u32) -> u64 {
    if before == 0 {
        return ticks as u64;
    }
    let passed = ticks.wrapping_sub(before as u32);
    if passed >> 31 == 0 {
        before.saturating_add(passed as u64)
    } else {
        before
    }
}

/// # Safety
/// `now` is NULL or points to a `kl_now`.
pub(crate) unsafe fn now(now: *const kl_now) -> Result<Now, kl_code> {
    // SAFETY: passed on to the caller.
    let kl_now { mono_ms, unix_us } = unsafe { ptr::read(now)? };
    Ok(Now {
        instant: Instant::from_millis(mono_ms),
        // A time that no Lease can carry is as good as none.
        wall: Timestamp::from_unix_micros(unix_us),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_32_bit_counter_goes_on_across_its_end_and_never_back() {
        assert_eq!(extend(0, 7), 7);
        assert_eq!(extend(0, 0xffff_fff0), 0xffff_fff0);
        assert_eq!(extend(0xffff_fff0, 4), 0x1_0000_0004);
        assert_eq!(extend(0x1_0000_0004, 3), 0x1_0000_0004);
        assert_eq!(extend(5, 0x8000_0004), 0x8000_0004);
        assert_eq!(extend(5, 0x8000_0005), 5);
        assert_eq!(extend(u64::MAX, 5), u64::MAX);
    }
}
