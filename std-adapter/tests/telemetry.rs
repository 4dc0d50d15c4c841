//! What operators see: metrics and Events.
#![cfg(all(feature = "metrics", feature = "events"))]

mod support;

use core::time::Duration;

use kubelease::testing::ApiServer;
use kubelease::{ApiClient, Connection, Finish, Health};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use serde_json::json;
use support::{STEADY, candidate, until};

/// The value of a line of the exporter's page; nothing where there is none.
fn metric(page: &PrometheusHandle, line: &str) -> Option<f64> {
    let text = page.render();
    let rest = |found: &str| found.strip_prefix(line)?.trim().parse().ok();
    text.lines().find_map(rest)
}

#[tokio::test]
async fn metrics_follow_a_term_from_its_begin_to_its_end() {
    const STATUS: &str = "leader_election_master_status{name=\"lock\"}";
    const LEFT: &str = "leader_election_time_left_seconds{name=\"lock\"}";
    const SLOW: &str = "leader_election_slowpath_total{name=\"lock\"}";
    const RENEWED: &str = "leader_election_renew_duration_seconds_count{name=\"lock\"}";
    const NOT_SENT: &str = "leader_election_failures_total{name=\"lock\",kind=\"not_sent\"}";
    let recorder = PrometheusBuilder::new().build_recorder();
    let page = recorder.handle();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let server = ApiServer::start().unwrap();
    let handle = candidate(&server, "a").timing(STEADY).start().unwrap();
    assert_eq!(metric(&page, STATUS), Some(0.0));
    until("leading", || handle.is_leading()).await;
    until("renewals", || metric(&page, RENEWED) >= Some(2.0)).await;
    assert_eq!(metric(&page, STATUS), Some(1.0));
    let left = metric(&page, LEFT).unwrap();
    assert!(left > 0.0 && left <= 4.0, "{left}");
    assert_eq!(metric(&page, SLOW), None);

    // Somebody labels the lease: the next renewal is a conflict, and needs a read.
    let connection = Connection::to(server.url());
    let mut client = ApiClient::new(&connection, Duration::from_secs(10)).unwrap();
    let target = "/apis/coordination.k8s.io/v1/namespaces/default/leases/lock";
    let patch = json!({"metadata": {"labels": {"a": "b"}}}).to_string();
    let kind = "application/merge-patch+json";
    let answer = client
        .request("PATCH", target, kind, patch.as_bytes())
        .await;
    assert_eq!(answer.unwrap().status(), 200);
    until("a slow path", || metric(&page, SLOW) == Some(1.0)).await;
    assert!(handle.is_leading());
    assert_eq!(metric(&page, NOT_SENT), None);

    server.pause();
    until("it shows", || metric(&page, STATUS) == Some(0.0)).await;
    assert!(!handle.is_leading());
    assert!(metric(&page, NOT_SENT) >= Some(1.0), "{}", page.render());
    until("nothing left", || metric(&page, LEFT) == Some(0.0)).await;
}

#[tokio::test]
async fn events_about_the_lease_are_posted_when_terms_begin_and_end() {
    let server = ApiServer::start().unwrap();
    let handle = candidate(&server, "a")
        .record_events("pumps")
        .start()
        .unwrap();
    until("leading", || handle.is_leading()).await;
    until("an Event", || server.events().len() == 1).await;
    let fence = handle.fence().unwrap();
    let event = server.events().remove(0);
    assert_eq!(event["message"], "a became leader");
    assert_eq!(
        (&event["type"], &event["reason"]),
        (&json!("Normal"), &json!("LeaderElection"))
    );
    assert_eq!(
        event["involvedObject"],
        json!({
            "kind": "Lease", "namespace": "default", "name": "lock",
            "uid": fence.lease_uid.as_str(), "apiVersion": "coordination.k8s.io/v1",
            "resourceVersion": fence.acquired_version.as_str(),
        })
    );
    assert_eq!(event["source"]["component"], "pumps");
    // Of two renewals the first was answered.
    until("renewals", || server.count("PUT") >= 2).await;
    assert_eq!(handle.shutdown().await, Ok(Finish::Released));
    let events = server.events();
    let stopped = events
        .iter()
        .find(|event| event["message"] == "a stopped leading");
    let version = &stopped.unwrap()["involvedObject"]["resourceVersion"];
    let version: u64 = version.as_str().unwrap().parse().unwrap();
    // The version of the last renewal, and not of the release that follows it.
    let acquired: u64 = fence.acquired_version.as_str().parse().unwrap();
    let released = server.lease("default", "lock").unwrap()["metadata"]["resourceVersion"].clone();
    let released: u64 = released.as_str().unwrap().parse().unwrap();
    assert!(
        (acquired + 1..released).contains(&version),
        "{acquired} {version} {released}"
    );
    assert_eq!(events.len(), 2);
}

#[tokio::test]
async fn a_server_that_takes_no_events_holds_up_nothing() {
    let server = ApiServer::start().unwrap();
    server.deny("*", "create", "events");
    let handle = candidate(&server, "a")
        .record_events("pumps")
        .start()
        .unwrap();
    until("leading", || handle.is_leading()).await;
    until("renewals", || server.count("PUT") >= 4).await;
    assert!(handle.is_leading());
    assert_eq!(handle.health(), Health::Ok);
    let asked = support::instant();
    assert_eq!(handle.shutdown().await, Ok(Finish::Released));
    assert!(
        asked.elapsed() < Duration::from_secs(10),
        "{:?}",
        asked.elapsed()
    );
    assert_eq!(server.events().len(), 0);
    let refused = |request: &kubelease::testing::LoggedRequest| request.path.ends_with("/events");
    assert!(server.requests().iter().any(refused));
}
