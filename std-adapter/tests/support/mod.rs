//! What the tests of the elector share.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file uses its own part"
)]

use core::future::poll_fn;
use core::pin::Pin;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use futures_core::Stream;
use kubelease::kubelease_core::time::{self, Now};
use kubelease::testing::{ApiServer, LoggedRequest};
use kubelease::{Builder, Changes, Clock, Elector, Event, Timing};

/// 2 s, 1.5 s, 0.2 s, and so a request timeout of 0.65 s: for what waits for an expiry. On a
/// machine that is busy with other tests such a term may end by itself.
pub const FAST: Timing = Timing::new(
    time::Duration::from_millis(2_000),
    time::Duration::from_millis(1_500),
    time::Duration::from_millis(200),
);

/// 6 s, 4 s, 0.4 s, and so a request timeout of 1.8 s: for terms that must outlive a fault.
pub const STEADY: Timing = Timing::new(
    time::Duration::from_millis(6_000),
    time::Duration::from_millis(4_000),
    time::Duration::from_millis(400),
);

/// 30 s, 20 s, 0.2 s, and so a request timeout of 9.9 s: for all that neither expires nor times
/// out, however slow the machine is.
pub const PATIENT: Timing = Timing::new(
    time::Duration::from_millis(30_000),
    time::Duration::from_millis(20_000),
    time::Duration::from_millis(200),
);

/// Far longer than anything takes here, on the slowest machine.
pub const LONG: Duration = Duration::from_secs(60);

pub fn candidate(server: &ApiServer, identity: &str) -> Builder {
    Elector::builder()
        .server(server.url())
        .namespace("default")
        .name("lock")
        .identity(identity)
        .timing(PATIENT)
}

/// Waits until `holds`; answers with how long that took.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) -> Duration {
    let start = instant();
    while !holds() {
        assert!(start.elapsed() < LONG, "{what}: not within {LONG:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    start.elapsed()
}

/// The next event; `None` at the end of the stream.
pub async fn next(changes: &mut Changes) -> Option<Event> {
    let next = poll_fn(|context| Pin::new(&mut *changes).poll_next(context));
    tokio::time::timeout(LONG, next)
        .await
        .expect("an event within the time")
}

/// The next event that is not only about who leads.
pub async fn next_edge(changes: &mut Changes) -> Option<Event> {
    loop {
        match next(changes).await {
            Some(Event::LeaderChanged) => {}
            event => return event,
        }
    }
}

pub fn holder(server: &ApiServer) -> String {
    let lease = server.lease("default", "lock").expect("a lease");
    let holder = lease
        .pointer("/spec/holderIdentity")
        .and_then(|holder| holder.as_str());
    holder.unwrap_or_default().to_owned()
}

/// Between the last write of the old leader and the first of the new one, as the server read them.
pub fn handover(server: &ApiServer) -> Duration {
    let requests = server.requests();
    let writes: Vec<_> = requests.iter().filter(|it| it.is_applied).collect();
    let new = writes.last().expect("a write").connection;
    let of_old = |it: &&&LoggedRequest| it.connection != new;
    let old = writes.iter().rfind(of_old).expect("two leaders");
    let first = writes.iter().find(|it| it.connection == new);
    first.expect("a write").at.saturating_sub(old.at)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the test's own watch, not the elector's"
)]
pub fn instant() -> Instant {
    Instant::now()
}

/// A pair of clocks, set by hand, that sleeps by looking at itself every 250 ms.
#[derive(Clone, Debug, Default)]
pub struct HandClock(Arc<AtomicU64>);

impl HandClock {
    pub fn at(millis: u64) -> Self {
        Self(Arc::new(AtomicU64::new(millis)))
    }

    pub fn set(&self, millis: u64) {
        self.0.store(millis, Ordering::SeqCst);
    }

    pub fn advance(&self, millis: u64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Now {
        Now::monotonic(time::Instant::from_millis(self.0.load(Ordering::SeqCst)))
    }
}
