//! What must hold when something of the process itself goes wrong: its clock, its tasks, its
//! readers.

mod support;

use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::Arc;

use kubelease::kubelease_core::time::{Instant, Now};
use kubelease::testing::ApiServer;
use kubelease::{
    Changes, Clock, Elector, Event, Finish, Handle, ShutdownError, StartError, StopReason,
    SystemClock,
};
use support::{FAST, HandClock, candidate, next_edge, until};

/// An elector that leads by `clock`, and its events after the start of its first term.
async fn leading_by(server: &ApiServer, clock: impl Clock) -> (Handle, Changes) {
    let handle = candidate(server, "a").clock(clock).start();
    let handle = handle.expect("good settings");
    let mut changes = handle.changes();
    until("leading", || handle.is_leading()).await;
    assert_eq!(
        next_edge(&mut changes).await,
        Some(Event::StartedLeading { term: 1 })
    );
    (handle, changes)
}

/// In suspend the runtime's timers stand still and the elector's clock does not.
#[tokio::test]
async fn after_suspend_the_first_look_says_that_nobody_leads_here() {
    let server = ApiServer::start().unwrap();
    let clock = HandClock::at(100_000);
    let (handle, mut changes) = leading_by(&server, clock.clone()).await;

    // By its own clock no time passes, so nothing is sent until it jumps.
    let before = server.requests().len();
    clock.advance(60_000);
    assert!(!handle.is_leading());
    assert_eq!(handle.fence(), None);
    let stopped = next_edge(&mut changes).await;
    assert!(
        matches!(
            stopped,
            Some(Event::StoppedLeading {
                reason: StopReason::Deadline,
                ..
            })
        ),
        "{stopped:?}"
    );
    until("a second term", || handle.term() == 2).await;
    // The renewal that was due in suspend was not sent: it looked first.
    assert_eq!(server.requests()[before].method, "GET");
}

/// A counter that starts anew after deep sleep says nothing about how long that took.
#[tokio::test]
async fn a_clock_that_was_reset_ends_leadership_at_once() {
    let server = ApiServer::start().unwrap();
    let clock = HandClock::at(100_000);
    let handle = candidate(&server, "a")
        .clock(clock.clone())
        .start()
        .unwrap();
    until("leading", || handle.is_leading()).await;
    let mut changes = handle.changes();
    assert_eq!(
        next_edge(&mut changes).await,
        Some(Event::StartedLeading { term: 1 })
    );
    clock.set(10);
    assert!(!handle.is_leading());
    let stopped = next_edge(&mut changes).await;
    assert!(
        matches!(
            stopped,
            Some(Event::StoppedLeading {
                reason: StopReason::ClockReset,
                ..
            })
        ),
        "{stopped:?}"
    );
}

#[tokio::test]
async fn leadership_ends_by_itself_while_the_runtime_is_blocked() {
    let server = ApiServer::start().unwrap();
    let handle = candidate(&server, "a").timing(FAST).start().unwrap();
    until("leading", || handle.is_leading()).await;
    // The only thread of the runtime: the elector's task can do nothing meanwhile.
    std::thread::sleep(Duration::from_millis(1_600));
    assert!(!handle.is_leading());
}

/// A handler that takes long holds up nobody's renewals.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocked_reader_of_events_stops_no_renewal() {
    let server = ApiServer::start().unwrap();
    let handle = candidate(&server, "a").start().unwrap();
    let unread = handle.changes();
    let mut changes = handle.changes();
    let reader = tokio::spawn(async move {
        assert_eq!(
            next_edge(&mut changes).await,
            Some(Event::StartedLeading { term: 1 })
        );
        std::thread::sleep(Duration::from_millis(2_500));
    });
    reader.await.unwrap();
    assert!(server.count("PUT") >= 5, "{} renewals", server.count("PUT"));
    assert!(handle.is_leading());
    assert_eq!(handle.term(), 1);
    assert_eq!(unread.missed(), 0);
}

#[tokio::test]
async fn a_late_reader_is_told_first_that_a_term_is_under_way() {
    let server = ApiServer::start().unwrap();
    let handle = candidate(&server, "a").start().unwrap();
    until("leading", || handle.is_leading()).await;
    for mut changes in [handle.changes(), handle.changes()] {
        assert_eq!(
            next_edge(&mut changes).await,
            Some(Event::StartedLeading { term: 1 })
        );
    }
}

/// Whatever is started ends.
#[tokio::test]
async fn a_hundred_cycles_leave_no_task_behind() {
    let server = ApiServer::start().unwrap();
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    for n in 0..100 {
        let handle = candidate(&server, "a")
            .name(format!("lock-{n}"))
            .start()
            .unwrap();
        let changes = handle.changes();
        until("leading", || handle.is_leading()).await;
        assert!(metrics.num_alive_tasks() > before);
        match n % 3 {
            0 => assert_eq!(handle.shutdown().await, Ok(Finish::Released)),
            1 => handle.kill(),
            _ => drop(handle),
        }
        drop(changes);
    }
    until("all tasks ended", || metrics.num_alive_tasks() == before).await;
}

#[tokio::test]
async fn a_hundred_failed_starts_start_nothing() {
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    for _ in 0..100 {
        let error = Elector::builder()
            .server("http://127.0.0.1:1")
            .start()
            .unwrap_err();
        assert_eq!(error, StartError::Missing("namespace"));
    }
    assert_eq!(metrics.num_alive_tasks(), before);
}

/// A clock whose timer panics when it is told to.
#[derive(Clone, Debug, Default)]
struct PanicClock(Arc<AtomicBool>);

impl Clock for PanicClock {
    fn now(&self) -> Now {
        SystemClock::new().now()
    }

    fn sleep_until(&self, _: Instant) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            assert!(!self.0.load(Ordering::SeqCst), "ordered by the test");
            tokio::time::sleep(Duration::from_millis(10)).await;
        })
    }
}

#[tokio::test]
async fn a_task_that_panics_leads_no_more_and_is_found_dead() {
    let server = ApiServer::start().unwrap();
    let clock = PanicClock::default();
    let (handle, mut changes) = leading_by(&server, clock.clone()).await;

    clock.0.store(true, Ordering::SeqCst);
    assert_eq!(next_edge(&mut changes).await, None);
    assert!(!handle.is_leading());
    assert_eq!(handle.leading_until(), None);
    let mut late = handle.changes();
    assert_eq!(next_edge(&mut late).await, None);
    assert_eq!(handle.shutdown().await, Err(ShutdownError::TaskDied));
}

#[test]
fn a_start_outside_any_runtime_is_refused() {
    let builder = Elector::builder()
        .server("http://127.0.0.1:1")
        .namespace("n")
        .name("l");
    assert_eq!(builder.start().unwrap_err(), StartError::NoRuntime);
}

#[test]
fn handles_guards_and_streams_go_to_any_thread() {
    fn assert_shared<T: Send + Sync + 'static>() {}
    fn assert_sent<T: Send + 'static>() {}
    assert_shared::<kubelease::Builder>();
    assert_shared::<Handle>();
    assert_shared::<kubelease::Guard>();
    assert_sent::<Changes>();
}
