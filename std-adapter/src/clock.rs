//! The elector's clocks: nothing else in it reads one.

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod system;

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::time::Duration;
use std::sync::Arc;

use kubelease_core::drive;
use kubelease_core::time::{Instant, Now};

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub use self::system::SystemClock;

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
    /// The default looks at the clock every 250 ms, so it needs no timer that counts suspend. It
    /// ends too soon where the clock went back, for the machine to find that out.
    fn sleep_until(&self, at: Instant) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(nap_until(self, at))
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

/// Sleeps in short pieces, and looks at the clock between them. A clock that was reset ends it:
/// nobody can say how long the rest would be.
async fn nap_until<C: Clock + ?Sized>(clock: &C, at: Instant) {
    let mut latest = Instant::default();
    loop {
        let now = clock.now().instant;
        let left = Duration::from(at.saturating_since(now));
        if left.is_zero() || now < latest {
            return;
        }
        latest = now;
        tokio::time::sleep(left.min(NAP)).await;
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
