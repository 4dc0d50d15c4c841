//! The system's clocks, where one of them is known to count the time in suspend.

use core::future::Future;
use core::pin::Pin;
use std::time::SystemTime;

use kubelease_core::time::{Instant, Now};
use kubelease_core::timestamp::Timestamp;
use rustix::time::{ClockId, clock_gettime};

use super::Clock;

/// Darwin's `CLOCK_MONOTONIC` goes on in sleep; its `CLOCK_UPTIME_RAW` is the one that stops.
#[cfg(target_vendor = "apple")]
const CLOCK: ClockId = ClockId::Monotonic;

/// Linux's `CLOCK_MONOTONIC`, which is under `std::time::Instant`, stops in suspend.
#[cfg(not(target_vendor = "apple"))]
const CLOCK: ClockId = ClockId::Boottime;

/// The system's clocks: one that goes on in suspend (`CLOCK_BOOTTIME` on Linux and Android,
/// `CLOCK_MONOTONIC` on Apple's systems) and the civil one.
///
/// On other systems there is no such type, since no clock is known there to count suspend; give
/// the builder a [`Clock`] of your own.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock(());

impl SystemClock {
    /// The clock.
    #[must_use]
    pub const fn new() -> Self {
        Self(())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Now {
        Now {
            instant: now(),
            wall: wall(),
        }
    }

    #[cfg(not(target_vendor = "apple"))]
    fn sleep_until(&self, at: Instant) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            // Out of descriptors, or forbidden: short sleeps do as well, only less quietly.
            if alarm::at(at).await.is_err() {
                super::nap_until(self, at).await;
            }
        })
    }
}

fn now() -> Instant {
    let time = clock_gettime(CLOCK);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let millis = u64::try_from(time.tv_nsec / 1_000_000).unwrap_or(0);
    Instant::from_millis(seconds.saturating_mul(1_000).saturating_add(millis))
}

/// The civil clock, where it has been set to a time that can be written.
fn wall() -> Option<Timestamp> {
    #[expect(
        clippy::disallowed_methods,
        reason = "this module is the adapter's clock"
    )]
    let since_epoch = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .ok()?;
    let seconds = i64::try_from(since_epoch.as_secs()).ok()?;
    Timestamp::from_unix(seconds, since_epoch.subsec_micros())
}

/// A timer on the clock itself, which fires in the first waking moment after suspend.
#[cfg(not(target_vendor = "apple"))]
mod alarm {
    use std::io;

    use kubelease_core::time::Instant;
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    /// Waits until the clock has reached `at`.
    pub(super) async fn at(at: Instant) -> io::Result<()> {
        // An instant of zero would disarm the timer.
        if at <= super::now() {
            return Ok(());
        }
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Boottime, flags)?;
        timerfd_settime(&timer, TimerfdTimerFlags::ABSTIME, &once(at))?;
        #[allow(
            deprecated,
            reason = "unsound for types that change their descriptor, which an OwnedFd never does; \
                      what replaces it is an unsafe function, and this crate has none"
        )]
        let timer = AsyncFd::with_interest(timer, Interest::READABLE)?;
        let _ = timer.readable().await?;
        Ok(())
    }

    fn once(at: Instant) -> Itimerspec {
        let millis = at.as_millis();
        Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: Timespec {
                // An instant past the kernel's last one is never reached either way.
                tv_sec: (millis / 1_000).try_into().unwrap_or(i64::MAX),
                tv_nsec: (millis % 1_000 * 1_000_000).try_into().unwrap_or(0),
            },
        }
    }
}
