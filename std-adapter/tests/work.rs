//! Work that runs only while its process leads: `Handle::leading` and what ends it.

mod support;

use core::future::{Future, pending};
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::Arc;

use kubelease::kubelease_core::time::{Instant, Now};
use kubelease::testing::ApiServer;
use kubelease::{
    Clock, Finish, Guard, Handle, Health, LeadingError, ShutdownError, StopReason, SystemClock,
};
use serde_json::json;
use support::{FAST, LONG, STEADY, candidate, holder, until};

/// Notes that it was dropped.
struct Flag(Arc<AtomicBool>);

impl Drop for Flag {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Work without end, and whether it is running and was dropped.
fn endless() -> (impl FnOnce(Guard) -> Work, Arc<AtomicBool>, Arc<AtomicBool>) {
    let (began, dropped) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let (begins, flag) = (Arc::clone(&began), Flag(Arc::clone(&dropped)));
    let work = move |guard: Guard| -> Work {
        Box::pin(async move {
            let _flag = flag;
            assert!(guard.is_valid());
            begins.store(true, Ordering::SeqCst);
            pending().await
        })
    };
    (work, began, dropped)
}

fn is(flag: &AtomicBool) -> bool {
    flag.load(Ordering::SeqCst)
}

fn start(server: &ApiServer) -> Handle {
    candidate(server, "a").start().expect("good settings")
}

#[tokio::test]
async fn work_begins_with_the_term_and_its_value_comes_back() {
    let server = ApiServer::start().unwrap();
    let handle = start(&server);
    assert!(!handle.is_leading());
    let work = async |guard: Guard| (guard.is_valid(), guard.term(), guard.fence());
    let (is_valid, term, fence) = handle.leading(work).await.unwrap();
    assert_eq!((is_valid, term), (true, 1));
    assert_eq!(fence, handle.fence());
    assert!(fence.is_some());
    assert!(
        handle.is_leading(),
        "the end of work is not the end of leadership"
    );
}

#[tokio::test]
async fn silence_of_the_server_cancels_work_in_time() {
    let server = ApiServer::start().unwrap();
    let handle = candidate(&server, "a").timing(STEADY).start().unwrap();
    let (work, began, dropped) = endless();
    let job = tokio::spawn(handle.leading(work));
    until("work runs", || is(&began)).await;
    server.pause();
    let error = job.await.unwrap().unwrap_err();
    let expected = LeadingError::Cancelled {
        term: 1,
        reason: StopReason::Deadline,
        overstay: None,
    };
    assert_eq!(error, expected);
    assert!(is(&dropped));

    server.resume();
    assert_eq!(handle.leading(async |guard| guard.term()).await, Ok(2));
}

#[tokio::test]
async fn another_holder_cancels_work_at_once() {
    let server = ApiServer::start().unwrap();
    let handle = start(&server);
    let (work, began, dropped) = endless();
    let job = tokio::spawn(handle.leading(work));
    until("work runs", || is(&began)).await;
    let spec = json!({"holderIdentity": "b", "leaseDurationSeconds": 60,
        "renewTime": "2026-01-01T00:00:00.000000Z"});
    server.put_lease("default", "lock", json!({"spec": spec}));
    let error = job.await.unwrap().unwrap_err();
    let LeadingError::Cancelled {
        term: 1,
        reason: StopReason::Lost,
        overstay,
    } = error
    else {
        panic!("{error:?}")
    };
    // Of work that yields only the way from one task to another counts.
    assert!(overstay < Some(Duration::from_secs(5)), "{overstay:?}");
    assert!(is(&dropped));
    assert_eq!(handle.leader().as_deref(), Some("b"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_blocks_past_its_term_is_found_to_overstay() {
    let server = ApiServer::start().unwrap();
    let handle = candidate(&server, "a").timing(FAST).start().unwrap();
    let is_paused = Arc::<AtomicBool>::default();
    let seen = Arc::clone(&is_paused);
    let job = tokio::spawn(handle.leading(async move |guard: Guard| {
        while !is(&seen) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // The term ends within 1.5 s, and the work has 0.25 s more.
        std::thread::sleep(Duration::from_millis(2_500));
        assert!(!guard.is_valid());
        pending::<()>().await;
    }));
    until("leading", || handle.is_leading()).await;
    server.pause();
    is_paused.store(true, Ordering::SeqCst);
    let error = job.await.unwrap().unwrap_err();
    let LeadingError::Cancelled {
        overstay: Some(overstay),
        ..
    } = error
    else {
        panic!("{error:?}")
    };
    assert!(overstay >= Duration::from_millis(700), "{overstay:?}");
}

#[tokio::test]
async fn a_panic_in_the_work_steps_down_and_goes_on_to_the_caller() {
    let server = ApiServer::start().unwrap();
    let start = |identity| candidate(&server, identity).timing(STEADY).start().unwrap();
    let first = start("a");
    until("a leads", || first.is_leading()).await;
    let second = start("b");
    until("b knows", || second.leader().as_deref() == Some("a")).await;
    let job = tokio::spawn(first.leading(async |_| panic!("ordered by the test")));
    assert!(job.await.unwrap_err().is_panic());
    let took = until("b leads", || second.is_leading()).await;
    assert!(took < Duration::from_secs(5), "{took:?}: after expiry");
    assert!(!first.is_leading());
    // It rests, and then runs again.
    assert_eq!(second.shutdown().await, Ok(Finish::Released));
    until("a leads again", || first.is_leading()).await;
    assert_eq!(first.term(), 2);
}

#[tokio::test]
async fn a_future_that_is_dropped_takes_its_work_along_and_nothing_else() {
    let server = ApiServer::start().unwrap();
    let handle = start(&server);
    let (work, began, dropped) = endless();
    let job = tokio::spawn(handle.leading(work));
    until("work runs", || is(&began)).await;
    job.abort();
    until("dropped", || is(&dropped)).await;
    assert!(handle.is_leading());
    assert_eq!(handle.shutdown().await, Ok(Finish::Released));
}

#[tokio::test]
async fn shutdown_asks_work_to_end_and_releases_after_it() {
    let server = ApiServer::start().unwrap();
    let handle = candidate(&server, "a").work_budget(Duration::from_secs(20));
    let handle = handle.timing(STEADY).start().unwrap();
    let (began, held) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let (begins, still_held) = (Arc::clone(&began), Arc::clone(&held));
    let contender = handle.contender();
    let job = tokio::spawn(handle.leading(async move |guard: Guard| {
        begins.store(true, Ordering::SeqCst);
        assert!(!guard.is_shutdown_asked());
        guard.shutdown_asked().await;
        assert!(guard.is_shutdown_asked());
        // Longer than the lease: it is renewed meanwhile.
        tokio::time::sleep(Duration::from_millis(6_500)).await;
        still_held.store(guard.is_valid(), Ordering::SeqCst);
        "done"
    }));
    until("work runs", || is(&began)).await;
    let finish = tokio::spawn(handle.shutdown());
    tokio::time::sleep(Duration::from_millis(100)).await;
    // No work begins any more.
    let late = contender.leading(async |_| ()).await;
    assert_eq!(late, Err(LeadingError::Finished));
    assert_eq!(holder(&server), "a");
    assert_eq!(finish.await.unwrap(), Ok(Finish::Released));
    assert!(is(&held), "the term did not last as long as the work");
    assert_eq!(job.await.unwrap(), Ok("done"));
    assert_eq!(holder(&server), "");
}

#[tokio::test]
async fn shutdown_cancels_work_that_uses_up_its_budget() {
    let server = ApiServer::start().unwrap();
    let handle = candidate(&server, "a").work_budget(Duration::from_millis(300));
    let handle = handle.start().unwrap();
    let (work, began, dropped) = endless();
    let job = tokio::spawn(handle.leading(work));
    until("work runs", || is(&began)).await;
    let asked = support::instant();
    assert_eq!(handle.shutdown().await, Ok(Finish::Released));
    let took = asked.elapsed();
    assert!(took >= Duration::from_millis(290), "{took:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert!(is(&dropped));
    let error = job.await.unwrap().unwrap_err();
    let expected = LeadingError::Cancelled {
        term: 1,
        reason: StopReason::Stopped,
        overstay: None,
    };
    assert_eq!(error, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_does_not_release_under_work_that_does_not_end() {
    let server = ApiServer::start().unwrap();
    let handle = candidate(&server, "a").work_budget(Duration::from_millis(100));
    let handle = handle.timing(FAST).start().unwrap();
    let (began, ends) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let (begins, ended) = (Arc::clone(&began), Arc::clone(&ends));
    let job = tokio::spawn(handle.leading(async move |_| {
        begins.store(true, Ordering::SeqCst);
        while !is(&ended) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }));
    until("work runs", || is(&began)).await;
    let asked = support::instant();
    assert_eq!(handle.shutdown().await, Err(ShutdownError::WorkStuck));
    assert!(
        asked.elapsed() < Duration::from_secs(10),
        "{:?}",
        asked.elapsed()
    );
    assert_eq!(holder(&server), "a");
    ends.store(true, Ordering::SeqCst);
    assert_eq!(job.await.unwrap(), Ok(()));
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
            assert!(!is(&self.0), "ordered by the test");
            tokio::time::sleep(Duration::from_millis(10)).await;
        })
    }
}

#[tokio::test]
async fn the_death_of_the_electors_task_cancels_work_and_is_an_error_everywhere() {
    let server = ApiServer::start().unwrap();
    let clock = PanicClock::default();
    let handle = candidate(&server, "a")
        .clock(clock.clone())
        .start()
        .unwrap();
    let (work, began, dropped) = endless();
    let job = tokio::spawn(handle.leading(work));
    until("work runs", || is(&began)).await;
    assert_eq!(handle.health(), Health::Ok);

    clock.0.store(true, Ordering::SeqCst);
    assert_eq!(job.await.unwrap(), Err(LeadingError::TaskDied));
    assert!(is(&dropped));
    assert!(!handle.is_leading());
    assert_eq!(handle.health(), Health::NotPolled);
    assert_eq!(handle.ended().await, Err(ShutdownError::TaskDied));
    let next = handle.leading(async |_| ()).await;
    assert_eq!(next, Err(LeadingError::TaskDied));
    assert_eq!(handle.shutdown().await, Err(ShutdownError::TaskDied));
}

#[test]
fn a_dedicated_thread_needs_no_runtime_and_ends_with_the_handle() {
    let server = ApiServer::start().unwrap();
    let handle = candidate(&server, "a").dedicated_thread().start().unwrap();
    wait_until("leading", || handle.is_leading());
    wait_until("a renewal", || server.count("PUT") > 1);
    drop(handle);
    let sent = server.requests().len();
    std::thread::sleep(Duration::from_millis(600));
    assert!(server.requests().len() <= sent + 1, "it goes on renewing");
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = support::instant();
    while !holds() {
        assert!(start.elapsed() < LONG, "{what}: not in time");
        std::thread::sleep(Duration::from_millis(2));
    }
}
