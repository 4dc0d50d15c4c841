//! Half a minute of real time, by the usual durations. Its parts wait side by side, which tests do
//! only where there are processors enough.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

mod support;

use core::time::Duration;
use std::{panic, thread};

use kubelease::testing::ApiServer;
use kubelease::{Finish, Guard, Timing};
use support::{candidate, until};
use tokio::runtime;

/// Fifteen retry periods of 2 s.
const LENGTH: Duration = Duration::from_secs(30);

const TIMING: Timing = Timing::KUBERNETES;

#[test]
fn half_a_minute_passes_with_a_standby_with_a_watch_and_with_work_that_blocks() {
    let parts = [
        thread::spawn(|| run(the_leader_only_puts_and_the_standby_only_gets())),
        thread::spawn(|| run(a_standby_that_watches_sends_nothing())),
        thread::spawn(|| run(work_that_blocks_its_runtime_stops_no_renewal())),
    ];
    for part in parts {
        // Its panic says which one it was.
        part.join()
            .unwrap_or_else(|panic| panic::resume_unwind(panic));
    }
}

fn run(part: impl Future<Output = ()>) {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(part);
}

async fn the_leader_only_puts_and_the_standby_only_gets() {
    let server = ApiServer::start().unwrap();
    let leader = candidate(&server, "leader").timing(TIMING).start().unwrap();
    until("a leader", || leader.is_leading()).await;
    let standby = candidate(&server, "standby")
        .timing(TIMING)
        .start()
        .unwrap();
    until("a look of the standby", || standby.leader().is_some()).await;

    server.clear_requests();
    tokio::time::sleep(LENGTH).await;
    let requests = server.requests();
    assert!(leader.is_leading() && !standby.is_leading());

    // Each has one connection of its own, so that the connection tells who sent what.
    let of = |method: &str| {
        let sent = requests.iter().filter(|request| request.method == method);
        let mut connections: Vec<u64> = sent.clone().map(|request| request.connection).collect();
        connections.dedup();
        (sent.count(), connections.len())
    };
    let (puts, writers) = of("PUT");
    let (gets, readers) = of("GET");
    assert_eq!(puts + gets, requests.len(), "nothing else is sent");
    assert!(
        (12..=16).contains(&puts),
        "{puts} renewals in 15 retry periods"
    );
    assert!(
        (10..=16).contains(&gets),
        "{gets} looks, one for each jittered retry period"
    );
    assert_eq!((writers, readers), (1, 1));
    let by = |method| requests.iter().find(|request| request.method == method);
    assert_ne!(
        by("PUT").map(|put| put.connection),
        by("GET").map(|get| get.connection)
    );
}

async fn a_standby_that_watches_sends_nothing() {
    let server = ApiServer::start().unwrap();
    let leader = candidate(&server, "leader").timing(TIMING).start().unwrap();
    until("a leader", || leader.is_leading()).await;
    let standby = candidate(&server, "standby").timing(TIMING).watch();
    let standby = standby.start().unwrap();
    let watches = || server.count_if(|request| request.query.contains("watch=1"));
    until("a watch", || watches() == 1).await;

    server.clear_requests();
    tokio::time::sleep(LENGTH).await;
    assert!(leader.is_leading() && standby.leader().as_deref() == Some("leader"));
    let others = server.count_if(|request| request.method != "PUT");
    assert_eq!(others, 0, "{:?}", server.requests());
    assert!(server.count("PUT") >= 12, "the leader renews meanwhile");
}

/// The only thread of the runtime blocks for two leases.
async fn work_that_blocks_its_runtime_stops_no_renewal() {
    let server = ApiServer::start().unwrap();
    let builder = candidate(&server, "a").timing(TIMING).dedicated_thread();
    let handle = builder.start().unwrap();
    let work = async |guard: Guard| {
        let before = server.count("PUT");
        thread::sleep(LENGTH);
        assert!(guard.is_valid());
        server.count("PUT") - before
    };
    let renewed = handle.leading(work).await.unwrap();
    assert!(renewed >= 12, "{renewed} renewals in 15 retry periods");
    assert_eq!(handle.term(), 1);
    assert_eq!(handle.shutdown().await, Ok(Finish::Released));
}
