//! A fleet against the API server for tests.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

use core::time::Duration;

use futures_core::Stream;
use kubelease::testing::{ApiServer, Fault, Rule};
use kubelease::{
    AddError, Connection, Event, Fleet, FleetBuilder, FleetLease, HeartbeatConfig, Retire,
};
use kubelease_core::time;
use tokio::time::{Instant, sleep};

/// Far longer than anything takes here, on the slowest machine.
const LONG: Duration = Duration::from_secs(60);

/// Beats every 0.4 s; it neither expires nor times out, however slow the machine is.
const QUICK: HeartbeatConfig = HeartbeatConfig {
    interval: time::Duration::from_millis(400),
    request_timeout: time::Duration::from_secs(5),
    ..HeartbeatConfig::new(time::Duration::from_secs(20))
};

/// The same for a server that says nothing.
const HASTY: HeartbeatConfig = HeartbeatConfig {
    request_timeout: time::Duration::from_millis(1500),
    ..HeartbeatConfig {
        interval: QUICK.interval,
        ..HeartbeatConfig::new(time::Duration::from_secs(8))
    }
};

fn fleet(server: &ApiServer) -> FleetBuilder {
    let builder = Fleet::builder().connection(Connection::to(server.url()));
    builder.namespace("default").config(QUICK)
}

fn add(fleet: &Fleet, leases: usize) {
    for index in 0..leases {
        let lease = FleetLease::new(format!("d-{index}")).holder("gateway");
        fleet.add(lease).unwrap();
    }
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < end, "{what}: not within {LONG:?}");
        sleep(Duration::from_millis(10)).await;
    }
}

fn renew_time(server: &ApiServer, name: &str) -> Option<String> {
    let lease = server.lease("default", name)?;
    Some(lease.pointer("/spec/renewTime")?.as_str()?.to_owned())
}

#[tokio::test]
async fn each_lease_is_beaten_by_one_patch_for_each_beat_once_it_is_there() {
    let server = ApiServer::start().unwrap();
    let fleet = fleet(&server).start().unwrap();
    add(&fleet, 20);
    until("80 beats", || fleet.counters().beats >= 80).await;
    let counters = fleet.counters();
    assert_eq!(counters.leases, 20);
    assert!(counters.oldest_age < LONG, "{counters:?}");
    let lease = server.lease("default", "d-7").unwrap();
    assert_eq!(lease.pointer("/spec/holderIdentity").unwrap(), "gateway");
    assert_eq!(server.count("GET"), 20);
    assert_eq!(server.count("POST"), 20);
    assert_eq!(server.count("PUT") + server.count("DELETE"), 0);
}

#[tokio::test]
async fn a_restart_over_the_leases_of_the_last_run_creates_and_deletes_nothing() {
    let server = ApiServer::start().unwrap();
    let first = fleet(&server).start().unwrap();
    add(&first, 10);
    until("a beat of each", || first.counters().beats >= 20).await;
    let end = first.shutdown(Retire::Keep, LONG).await;
    assert_eq!(end.left, 0);
    server.clear_requests();

    let before = renew_time(&server, "d-3").unwrap();
    let second = fleet(&server).start().unwrap();
    add(&second, 10);
    until("a beat of each", || second.counters().beats >= 10).await;
    assert!(renew_time(&server, "d-3").unwrap() > before);
    assert_eq!(server.count("POST") + server.count("DELETE"), 0);
    let gap = second.counters().longest_gap;
    assert!(gap < LONG, "{gap:?}");
}

#[tokio::test]
async fn a_lease_is_removed_by_its_name_and_generation_only() {
    let server = ApiServer::start().unwrap();
    let fleet = fleet(&server).start().unwrap();
    let first = fleet.add(FleetLease::new("pump")).unwrap();
    let again = fleet.add(FleetLease::new("pump"));
    assert_eq!(again, Err(AddError::Exists));
    until("a beat", || fleet.age("pump", first).is_some()).await;

    assert!(fleet.remove("pump", first, Retire::Keep));
    assert!(!fleet.remove("pump", first, Retire::Keep));
    let second = fleet.add(FleetLease::new("pump")).unwrap();
    assert_ne!(first, second);
    assert!(!fleet.remove("pump", first, Retire::Delete), "an old tag");
    assert_eq!(fleet.age("pump", first), None);
    until("a beat of the second", || {
        fleet.age("pump", second).is_some()
    })
    .await;
    assert_eq!(server.count("DELETE"), 0);

    assert!(fleet.remove("pump", second, Retire::Delete));
    until("a deletion", || server.lease("default", "pump").is_none()).await;
    until("no lease", || fleet.counters().leases == 0).await;
}

#[tokio::test]
async fn leases_whose_requests_hang_hold_up_no_others() {
    let server = ApiServer::start().unwrap();
    let hangs = |name: &str| Rule::new(Fault::BlackHole).lease(name);
    for slow in ["d-0", "d-1", "d-2"] {
        server.inject(hangs(slow));
    }
    let fleet = fleet(&server).config(HASTY).max_in_flight(6);
    let fleet = fleet.start().unwrap();
    add(&fleet, 40);
    until("ten beats of each other", || fleet.counters().beats >= 370).await;
    let begun = Instant::now();
    until("ten more", || fleet.counters().beats >= 740).await;
    // Ten beats of 0.4 s: three of six workers are with the dead, and the rest keep the pace.
    assert!(
        begun.elapsed() < Duration::from_secs(12),
        "{:?}",
        begun.elapsed()
    );
    assert!(fleet.counters().in_flight >= 1);
}

#[tokio::test]
async fn a_server_that_comes_back_is_not_met_by_a_storm() {
    let server = ApiServer::start().unwrap();
    let config = HeartbeatConfig {
        interval: time::Duration::from_secs(2),
        ..HASTY
    };
    let fleet = fleet(&server).config(config).start().unwrap();
    add(&fleet, 400);
    until("each lease", || fleet.counters().beats >= 400).await;
    server.pause();
    sleep(Duration::from_secs(4)).await;
    server.clear_requests();
    server.resume();
    let beats = fleet.counters().beats;
    until("each lease again", || fleet.counters().beats >= beats + 400).await;

    let times: Vec<_> = server.requests().iter().map(|it| it.at).collect();
    let second_from = |begin: &Duration| {
        let end = begin.saturating_add(Duration::from_secs(1));
        times.iter().filter(|at| (*begin..end).contains(at)).count()
    };
    // 200 a second are due, and all 400 are overdue. A machine under load may hand out the places
    // of some tenths at once.
    let busiest = times.iter().map(second_from).max().unwrap_or(0);
    assert!(busiest <= 200 * 14 / 10 + 80, "{busiest} in a second");
}

#[tokio::test]
async fn a_lease_is_beaten_only_while_its_host_is_alive() {
    let server = ApiServer::start().unwrap();
    let config = HeartbeatConfig {
        liveness_ttl: Some(time::Duration::from_millis(300)),
        spread_first_beat: false,
        ..QUICK
    };
    let fleet = fleet(&server).config(config).start().unwrap();
    let pump = fleet.add(FleetLease::new("pump")).unwrap();
    sleep(Duration::from_millis(600)).await;
    assert_eq!(fleet.counters().beats, 0);
    until("a beat", || {
        assert!(fleet.alive("pump", pump));
        fleet.counters().beats >= 1
    })
    .await;
    sleep(Duration::from_secs(1)).await;
    assert!(fleet.counters().beats <= 2, "{:?}", fleet.counters());
    assert!(!fleet.alive("pump", pump + 1));
}

#[tokio::test]
async fn an_end_with_a_last_beat_beats_each_lease_once_more_and_takes_none_away() {
    let server = ApiServer::start().unwrap();
    let fleet = fleet(&server).start().unwrap();
    add(&fleet, 5);
    until("a beat of each", || fleet.counters().beats >= 10).await;
    let before: Vec<_> = (0..5)
        .map(|index| renew_time(&server, &format!("d-{index}")))
        .collect();
    let mut changes = fleet.changes();
    let end = fleet.shutdown(Retire::FinalBeat, LONG).await;
    assert_eq!(end.left, 0);
    for (index, before) in before.into_iter().enumerate() {
        assert!(
            renew_time(&server, &format!("d-{index}")) > before,
            "{index}"
        );
    }
    let mut finished = 0;
    while let Some(change) = next(&mut changes).await {
        finished += usize::from(matches!(change.event, Event::Finished(_)));
    }
    assert_eq!(finished, 5);
}

async fn next<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    core::future::poll_fn(|context| core::pin::Pin::new(&mut *stream).poll_next(context)).await
}
