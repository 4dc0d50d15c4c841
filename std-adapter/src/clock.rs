//! The only reader of clocks in the project.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::time::Duration;
use std::sync::Arc;
use std::time::SystemTime;

use kubelease_core::drive;
use kubelease_core::time::{Instant, Now};
use kubelease_core::timestamp::Timestamp;

/// The longest sleep on a timer that may stand still in suspend: a suspended leader finds out at
/// most this long after it woke.
const NAP: Duration = Duration::from_millis(250);

/// A source of time. [`SystemClock`] is the usual one; tests and unusual systems bring their own.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The monotonic clock, in milliseconds from any origin, and the civil clock.
    ///
    /// The monotonic one must go on while the system is suspended, as `CLOCK_BOOTTIME` does on
    /// Linux. A leader whose clock stood still would wake up and believe that it leads.
    fn now(&self) -> Now;

    /// Waits until the monotonic clock has reached `at`.
    ///
    /// The default looks at the clock every 250 ms, so it needs no timer that counts suspend.
    fn sleep_until(&self, at: Instant) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(nap_until(self, at))
    }
}

/// The system's clocks: one that goes on in suspend (`CLOCK_BOOTTIME` on Linux and Android,
/// `CLOCK_MONOTONIC` on Apple's systems) and the civil one.
///
/// On other systems there is no such type, since no clock is known there to count suspend; give
/// the builder a [`Clock`] of your own.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock(());

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
impl SystemClock {
    /// The clock.
    #[must_use]
    pub const fn new() -> Self {
        Self(())
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
impl Clock for SystemClock {
    fn now(&self) -> Now {
        Now {
            instant: suspend::now(),
            wall: wall(),
        }
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn sleep_until(&self, at: Instant) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            // Out of descriptors, or forbidden: short sleeps do as well, only less quietly.
            if suspend::alarm_at(at).await.is_err() {
                nap_until(self, at).await;
            }
        })
    }
}

/// A shared clock as the core's loop takes it.
#[derive(Clone, Debug)]
pub(crate) struct SharedClock(pub(crate) Arc<dyn Clock>);

impl drive::Clock for SharedClock {
    fn now(&self) -> Now {
        self.0.now()
    }

    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()> {
        self.0.sleep_until(at)
    }
}

/// The system's clock, where there is one that counts suspend.
pub(crate) fn system() -> Option<Arc<dyn Clock>> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    return Some(Arc::new(SystemClock::new()));
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    return None;
}

/// Sleeps in short pieces, and looks at the clock between them.
async fn nap_until<C: Clock + ?Sized>(clock: &C, at: Instant) {
    loop {
        let left = Duration::from(at.saturating_since(clock.now().instant));
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left.min(NAP)).await;
    }
}

/// The civil clock, where it has been set to a time that can be written.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
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

/// The clock that goes on in suspend.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod suspend {
    use kubelease_core::time::Instant;
    use rustix::time::{ClockId, clock_gettime};

    /// Darwin's `CLOCK_MONOTONIC` goes on in sleep; its `CLOCK_UPTIME_RAW` is the one that stops.
    #[cfg(target_vendor = "apple")]
    const CLOCK: ClockId = ClockId::Monotonic;

    /// Linux's `CLOCK_MONOTONIC`, under `std::time::Instant`, stops in suspend.
    #[cfg(not(target_vendor = "apple"))]
    const CLOCK: ClockId = ClockId::Boottime;

    pub(super) fn now() -> Instant {
        let time = clock_gettime(CLOCK);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        let millis = u64::try_from(time.tv_nsec / 1_000_000).unwrap_or(0);
        Instant::from_millis(seconds.saturating_mul(1_000).saturating_add(millis))
    }

    /// Waits on a timer of the same clock: it fires in suspend's first waking moment.
    #[cfg(not(target_vendor = "apple"))]
    pub(super) async fn alarm_at(at: Instant) -> std::io::Result<()> {
        use rustix::time::{
            Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
            timerfd_settime,
        };
        use tokio::io::Interest;
        use tokio::io::unix::AsyncFd;

        // An instant of zero would disarm the timer.
        if at <= now() {
            return Ok(());
        }
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Boottime, flags)?;
        let millis = at.as_millis();
        let time = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: Timespec {
                // An instant past the kernel's last one is never reached either way.
                tv_sec: (millis / 1_000).try_into().unwrap_or(i64::MAX),
                tv_nsec: (millis % 1_000 * 1_000_000).try_into().unwrap_or(0),
            },
        };
        timerfd_settime(&timer, TimerfdTimerFlags::ABSTIME, &time)?;
        #[allow(
            deprecated,
            reason = "unsound for types that change their descriptor, which an OwnedFd never does; \
                      what replaces it is an unsafe function, and this crate has none"
        )]
        let timer = AsyncFd::with_interest(timer, Interest::READABLE)?;
        let _ = timer.readable().await?;
        Ok(())
    }
}

#[cfg(all(test, any(target_os = "linux", target_vendor = "apple")))]
mod tests {
    use kubelease_core::time;

    use super::*;

    /// Far longer than any sleep here, on the slowest machine.
    const LONG: Duration = Duration::from_secs(10);

    async fn sleeps_until_its_instant<C: Clock>(clock: C) {
        for millis in [0, 1, 40] {
            let start = clock.now().instant;
            let at = start.saturating_add(time::Duration::from_millis(millis));
            let sleep = tokio::time::timeout(LONG, clock.sleep_until(at));
            sleep.await.expect("the timer fires");
            assert!(clock.now().instant >= at, "{millis} ms");
        }
    }

    #[tokio::test]
    async fn the_system_clock_sleeps_until_its_own_instant() {
        sleeps_until_its_instant(SystemClock::new()).await;
    }

    #[tokio::test]
    async fn a_sleep_until_the_past_or_the_origin_ends_at_once() {
        let clock = SystemClock::new();
        for at in [Instant::default(), clock.now().instant] {
            let sleep = tokio::time::timeout(LONG, clock.sleep_until(at));
            sleep.await.expect("no wait at all");
        }
    }

    /// A clock with the default sleep.
    #[derive(Debug)]
    struct Napping(SystemClock);

    impl Clock for Napping {
        fn now(&self) -> Now {
            self.0.now()
        }
    }

    #[tokio::test]
    async fn the_default_sleep_ends_at_its_instant_too() {
        sleeps_until_its_instant(Napping(SystemClock::new())).await;
    }

    #[test]
    fn the_civil_clock_says_a_time_of_this_century() {
        let wall = SystemClock::new().now().wall.unwrap();
        let (seconds, _) = wall.as_unix();
        assert!(
            (1_700_000_000..4_102_444_800).contains(&seconds),
            "{seconds}"
        );
    }
}
