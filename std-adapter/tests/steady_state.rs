//! A quiet minute of real time, counted by the server.

mod support;

use core::time::Duration;

use kubelease::Timing;
use kubelease::testing::ApiServer;
use support::{candidate, until};

#[tokio::test]
async fn in_a_quiet_minute_the_leader_only_puts_and_the_standby_only_gets() {
    let server = ApiServer::start().unwrap();
    let timing = Timing::KUBERNETES;
    let leader = candidate(&server, "leader").timing(timing).start().unwrap();
    until("a leader", || leader.is_leading()).await;
    let standby = candidate(&server, "standby")
        .timing(timing)
        .start()
        .unwrap();
    until("a look of the standby", || standby.leader().is_some()).await;

    server.clear_requests();
    tokio::time::sleep(Duration::from_secs(60)).await;
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
        (25..=31).contains(&puts),
        "{puts} renewals in 30 retry periods"
    );
    assert!(
        (20..=31).contains(&gets),
        "{gets} looks, one for each jittered retry period"
    );
    assert_eq!((writers, readers), (1, 1));
    let by = |method| requests.iter().find(|request| request.method == method);
    assert_ne!(
        by("PUT").map(|put| put.connection),
        by("GET").map(|get| get.connection)
    );
}
