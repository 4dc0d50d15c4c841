//! Terms that come and go, in a process of its own: its memory is measured.

mod support;

use core::future::pending;
use core::time::Duration;

use kubelease::testing::ApiServer;
use kubelease::{Guard, Handle, LeadingError};
use support::{candidate, until};
use tokio::sync::oneshot;

/// B93: a hundred terms cost what one does. What the test server remembers of their requests is
/// found by a hundred terms without work.
#[tokio::test]
async fn a_hundred_lost_and_regained_terms_leave_nothing_behind() {
    let server = ApiServer::start().unwrap();
    let handle = candidate(&server, "a").start().unwrap();
    let metrics = tokio::runtime::Handle::current().metrics();
    for _ in 0..10 {
        lose_under_work(&handle).await;
    }
    let tasks = metrics.num_alive_tasks();
    let before = resident_kib();
    for _ in 0..100 {
        until("leading", || handle.is_leading()).await;
        handle.step_down(Duration::ZERO);
        until("not leading", || !handle.is_leading()).await;
    }
    let without_work = resident_kib().saturating_sub(before);
    let before = resident_kib();
    for _ in 0..100 {
        lose_under_work(&handle).await;
    }
    let with_work = resident_kib().saturating_sub(before);
    until("no task", || metrics.num_alive_tasks() == tasks).await;
    assert!(
        with_work < without_work + 1_024,
        "{with_work} KiB in a hundred terms with work, {without_work} KiB without"
    );
}

/// One term that ends under its work.
async fn lose_under_work(handle: &Handle) {
    let (began, begins) = oneshot::channel();
    let job = tokio::spawn(handle.leading(async move |guard: Guard| {
        began.send(guard.term()).expect("somebody waits");
        pending::<()>().await
    }));
    let term = begins.await.expect("work begins");
    handle.step_down(Duration::ZERO);
    let error = job.await.expect("no panic").expect_err("it has no end");
    let LeadingError::Cancelled { term: found, .. } = error else {
        panic!("{error:?}")
    };
    assert_eq!(found, term);
}

/// What the process has in memory; nothing where the system does not say.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    kib.and_then(|kib| kib.parse().ok()).unwrap_or_default()
}
