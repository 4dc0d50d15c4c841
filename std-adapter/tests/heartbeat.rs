//! One heart over HTTP: its lease, and the Node that it beats for.
#![allow(clippy::indexing_slicing, reason = "tests may")]

#[path = "support/client.rs"]
mod client;
mod support;

use core::time::Duration;

use kubelease::kubelease_core::time;
use kubelease::testing::{ApiServer, CannedAnswer, Fault, LoggedRequest, Rule};
use kubelease::{
    Connection, Event, Finish, Heartbeat, HeartbeatBuilder, HeartbeatConfig, HeartbeatHandle,
    HeartbeatHealth, NodeHeartbeat, Retire, TroubleKind, Verb,
};
use serde_json::{Value, json};
use support::{next, until};

const UID: &str = "11111111-2222-3333-4444-555555555555";

/// A lease of 40 s, beaten five times a second and not spread: it neither expires nor times out,
/// however slow the machine is.
const FAST: HeartbeatConfig = HeartbeatConfig {
    interval: time::Duration::from_millis(200),
    request_timeout: time::Duration::from_secs(5),
    ..with_seconds(40)
};

/// The same for a server that says nothing.
const HASTY: HeartbeatConfig = HeartbeatConfig {
    request_timeout: time::Duration::from_millis(500),
    owner_required: true,
    ..FAST
};

const fn with_seconds(seconds: u64) -> HeartbeatConfig {
    HeartbeatConfig {
        spread_first_beat: false,
        owner_required: false,
        ..HeartbeatConfig::new(time::Duration::from_secs(seconds))
    }
}

fn lone(server: &ApiServer) -> HeartbeatBuilder {
    Heartbeat::builder()
        .connection(Connection::to(server.url()))
        .namespace("default")
        .name("pump-7")
        .config(FAST)
}

fn node(server: &ApiServer) -> HeartbeatBuilder {
    let config = HeartbeatConfig {
        owner_required: true,
        ..FAST
    };
    NodeHeartbeat::builder("gw1")
        .connection(Connection::to(server.url()))
        .config(config)
}

fn spec(server: &ApiServer, member: &str) -> Value {
    let lease = server.lease("default", "pump-7").unwrap_or_default();
    lease["spec"][member].clone()
}

fn renewed(server: &ApiServer) -> String {
    spec(server, "renewTime").to_string()
}

fn node_lease(server: &ApiServer) -> Option<Value> {
    server.lease("kube-node-lease", "gw1")
}

fn owner(server: &ApiServer) -> Value {
    let lease = node_lease(server).unwrap_or_default();
    lease["metadata"]["ownerReferences"][0]["uid"].clone()
}

/// The condition of the Node; null where there is none.
fn ready(server: &ApiServer) -> Value {
    let node = server.object("nodes", "", "gw1").unwrap_or_default();
    let conditions = node["status"]["conditions"].as_array();
    let is_ready = |condition: &&Value| condition["type"] == "Ready";
    let found = conditions.and_then(|all| all.iter().find(is_ready));
    found.cloned().unwrap_or_default()
}

fn posts_ready(request: &LoggedRequest) -> bool {
    request.method == "PATCH" && request.path == "/api/v1/nodes/gw1/status"
}

async fn beaten(handle: &HeartbeatHandle) {
    assert!(handle.beaten().await, "{:?}", handle.last_error());
}

/// Waits for another beat that is acknowledged.
async fn beats_on(handle: &HeartbeatHandle) {
    let before = handle.last_beat();
    until("another beat", || handle.last_beat() > before).await;
}

#[tokio::test]
async fn a_heart_creates_its_lease_beats_it_and_leaves_it() {
    let server = ApiServer::start().unwrap();
    let handle = lone(&server).holder("gateway-1").start().unwrap();
    assert_eq!(handle.age(), None);
    beaten(&handle).await;
    assert_eq!(handle.health(), HeartbeatHealth::Ok);
    assert!(handle.age().unwrap() < Duration::from_secs(20));
    assert_eq!(spec(&server, "holderIdentity"), "gateway-1");
    assert_eq!(spec(&server, "leaseDurationSeconds"), 40);
    let first = renewed(&server);
    beats_on(&handle).await;
    assert!(renewed(&server) > first);
    assert_eq!(server.count("PATCH"), 0);
    assert_eq!(handle.last_error(), None);
    assert_eq!(handle.retire(Retire::Keep).await, Ok(Finish::Kept));
    assert_eq!(spec(&server, "holderIdentity"), "gateway-1");
}

#[tokio::test]
async fn each_end_does_what_it_says() {
    let server = ApiServer::start().unwrap();
    let handle = lone(&server).patch_mode().start().unwrap();
    beaten(&handle).await;
    beats_on(&handle).await;
    assert!(server.count("PATCH") > 0);
    let before = renewed(&server);
    let mut changes = handle.changes();
    assert_eq!(handle.retire(Retire::FinalBeat).await, Ok(Finish::Kept));
    assert!(renewed(&server) > before);
    assert_eq!(
        next(&mut changes).await,
        Some(Event::Finished(Finish::Kept))
    );
    assert_eq!(next(&mut changes).await, None);

    let handle = lone(&server).start().unwrap();
    beaten(&handle).await;
    assert_eq!(handle.retire(Retire::Delete).await, Ok(Finish::Deleted));
    assert_eq!(server.lease("default", "pump-7"), None);
}

#[tokio::test]
async fn what_others_wrote_into_the_lease_survives_the_beats() {
    let server = ApiServer::start().unwrap();
    let theirs = json!({"metadata": {"annotations": {"site": "a \"b\""}}, "spec": {}});
    server.put_lease("default", "pump-7", theirs);
    let handle = lone(&server).start().unwrap();
    beaten(&handle).await;
    let lease = server.lease("default", "pump-7").unwrap();
    assert_eq!(lease["metadata"]["annotations"]["site"], "a \"b\"");
}

#[tokio::test]
async fn b59_a_beat_that_was_done_but_not_answered_costs_no_later_beat() {
    let server = ApiServer::start().unwrap();
    let handle = lone(&server).start().unwrap();
    beaten(&handle).await;
    server.inject(Rule::new(Fault::DropAnswer).method("PUT").times(1));
    beats_on(&handle).await;
    beats_on(&handle).await;
    assert_eq!(handle.health(), HeartbeatHealth::Ok);
    assert_eq!(server.count("DELETE"), 0);
}

#[tokio::test]
async fn b70_a_server_that_asks_for_time_is_left_alone() {
    let server = ApiServer::start().unwrap();
    let handle = lone(&server).start().unwrap();
    beaten(&handle).await;
    let busy = Fault::Answer(CannedAnswer::too_many_requests(1));
    server.inject(Rule::new(busy).method("PUT").times(1));
    let refused = |request: &LoggedRequest| request.status == Some(429);
    until("a refusal", || server.count_if(refused) == 1).await;
    beats_on(&handle).await;
    let requests = server.requests();
    let at = requests.iter().position(refused).unwrap();
    let gap = requests[at + 1].at.saturating_sub(requests[at].at);
    assert!(gap >= Duration::from_millis(950), "{gap:?}");
}

#[tokio::test]
async fn b111_a_lease_of_the_last_run_is_beaten_by_read_and_update() {
    let server = ApiServer::start().unwrap();
    server.create_node("gw1", UID);
    let first = node(&server).start().unwrap();
    beaten(&first).await;
    drop(first);
    server.clear_requests();
    let second = node(&server).start().unwrap();
    beaten(&second).await;
    assert_eq!(server.count("POST") + server.count("DELETE"), 0);
    // A beat of the first run may still have been on its way: each run has its own connection.
    let requests = server.requests();
    let own = requests.last().unwrap().connection;
    let second = requests.iter().filter(|it| it.connection == own);
    let methods: Vec<_> = second.map(|it| it.method.as_str()).collect();
    assert_eq!(methods[..2], ["GET", "PUT"]);
}

#[tokio::test]
async fn b120_a_host_that_falls_silent_stops_the_beats_and_the_posts() {
    let server = ApiServer::start().unwrap();
    server.create_node("gw1", UID);
    let config = HeartbeatConfig {
        liveness_ttl: Some(time::Duration::from_millis(400)),
        ..FAST
    };
    let handle = node(&server).config(config).keep_ready().start().unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(handle.health(), HeartbeatHealth::NotAlive);
    assert_eq!(node_lease(&server), None);
    assert_eq!(server.count_if(posts_ready), 0);
    until("the post", || {
        handle.alive();
        server.count_if(posts_ready) == 1
    })
    .await;
    assert!(handle.last_beat().is_some());
    until("the silence", || {
        handle.health() == HeartbeatHealth::NotAlive
    })
    .await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    server.clear_requests();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(server.requests().len(), 0);
    let before = handle.last_beat();
    until("another beat", || {
        handle.alive();
        handle.last_beat() > before
    })
    .await;
}

#[tokio::test]
async fn b123_somebody_elses_lease_is_waited_for_unless_told_otherwise() {
    let server = ApiServer::start().unwrap();
    let theirs = json!({"spec": {"holderIdentity": "old", "leaseDurationSeconds": 1200}});
    server.put_lease("default", "pump-7", theirs);
    let polite = lone(&server).start().unwrap();
    until("a look", || server.count("GET") > 0).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(polite.last_beat(), None);
    drop(polite);
    let config = HeartbeatConfig {
        force_owner: true,
        ..FAST
    };
    let handle = lone(&server).config(config).start().unwrap();
    beaten(&handle).await;
    assert_eq!(spec(&server, "holderIdentity"), "pump-7");
}

#[tokio::test]
async fn b109_no_lease_is_made_for_a_node_that_is_missing_until_it_is_there() {
    let server = ApiServer::start().unwrap();
    let handle = node(&server).start().unwrap();
    let mut changes = handle.changes();
    let missing = Event::Trouble {
        kind: TroubleKind::NodeMissing,
        verb: Verb::GetNode,
    };
    while next(&mut changes).await != Some(missing) {}
    assert_eq!((node_lease(&server), server.count("POST")), (None, 0));
    server.create_node("gw1", UID);
    beaten(&handle).await;
    assert_eq!(owner(&server), UID);
}

#[tokio::test]
async fn a_node_is_registered_owns_the_lease_and_is_said_to_be_ready() {
    let server = ApiServer::start().unwrap();
    let handle = node(&server).register().keep_ready().start().unwrap();
    beaten(&handle).await;
    let made = server.object("nodes", "", "gw1").unwrap();
    assert_eq!(owner(&server), made["metadata"]["uid"]);
    until("the condition", || ready(&server)["status"] == "True").await;
    let condition = ready(&server);
    assert!(condition["lastHeartbeatTime"].is_string(), "{condition}");
    assert_eq!(
        condition["lastHeartbeatTime"],
        condition["lastTransitionTime"]
    );
    // Posted after the first beat, and never again while all is well.
    beats_on(&handle).await;
    beats_on(&handle).await;
    assert_eq!(server.count_if(posts_ready), 1);
    let requests = server.requests();
    let beat = |r: &LoggedRequest| r.path.contains("/leases") && r.method == "POST";
    assert!(requests.iter().position(beat) < requests.iter().position(posts_ready));
}

#[tokio::test]
async fn a_node_that_was_deleted_is_registered_anew_with_a_new_lease() {
    let server = ApiServer::start().unwrap();
    let handle = node(&server).register().keep_ready().start().unwrap();
    beaten(&handle).await;
    until("the condition", || ready(&server)["status"] == "True").await;
    let old = owner(&server);
    server.delete_node("gw1");
    server.delete_lease("kube-node-lease", "gw1");
    until("another Node's lease", || {
        let new = owner(&server);
        new.is_string() && new != old
    })
    .await;
    until("the condition", || ready(&server)["status"] == "True").await;
}

/// Where nobody collects garbage, the lease of a deleted Node lives on.
#[tokio::test]
async fn a_node_that_is_deleted_while_its_lease_lives_is_registered_anew() {
    let server = ApiServer::start().unwrap();
    let config = HeartbeatConfig {
        interval: time::Duration::from_millis(250),
        owner_required: true,
        ..with_seconds(1)
    };
    let handle = node(&server).config(config).register().keep_ready();
    let handle = handle.start().unwrap();
    beaten(&handle).await;
    until("the condition", || ready(&server)["status"] == "True").await;
    let old = owner(&server);
    server.delete_node("gw1");
    until("another owner", || {
        let new = server.object("nodes", "", "gw1").unwrap_or_default();
        let new = &new["metadata"]["uid"];
        new.is_string() && *new != old && owner(&server) == *new
    })
    .await;
    until("the condition", || ready(&server)["status"] == "True").await;
    assert_eq!(server.count("DELETE"), 0, "the lease is the same");
    // Once in a lease duration, and by the heart after each registration.
    server.clear_requests();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let looks = |r: &LoggedRequest| r.method == "GET" && r.path == "/api/v1/nodes/gw1";
    let looks = server.count_if(looks);
    assert!((1..=5).contains(&looks), "{looks}");
    assert_eq!(handle.retire(Retire::Keep).await, Ok(Finish::Kept));
}

#[tokio::test]
async fn a_node_that_was_found_dead_in_an_outage_is_said_to_be_ready_again() {
    let server = ApiServer::start().unwrap();
    server.create_node("gw1", UID);
    let config = HeartbeatConfig {
        interval: time::Duration::from_millis(100),
        request_timeout: time::Duration::from_secs(1),
        owner_required: true,
        ..with_seconds(3)
    };
    let handle = node(&server).config(config).keep_ready().start().unwrap();
    beaten(&handle).await;
    until("the greeting", || server.count_if(posts_ready) == 1).await;
    let away = Fault::Answer(CannedAnswer::status(503));
    server.inject(Rule::new(away).path("/leases"));
    until("the lapse", || handle.health() == HeartbeatHealth::Lapsed).await;
    controller_says(&server, "Unknown");
    assert_eq!(
        server.count_if(posts_ready),
        2,
        "one of them the controller's"
    );
    server.clear_faults();
    until("the condition", || ready(&server)["status"] == "True").await;
    assert!(ready(&server)["lastTransitionTime"].is_string());
    assert_eq!(handle.health(), HeartbeatHealth::Ok);
}

/// Has the node controller say something.
fn controller_says(server: &ApiServer, status: &str) {
    let addr = server.addr();
    let mut client = client::Client::connect(addr, Duration::from_secs(5)).expect("a connection");
    let body = json!({"status": {"conditions": [{"type": "Ready", "status": status}]}});
    let target = "/api/v1/nodes/gw1/status";
    let answer = client
        .ask("PATCH", target, &body.to_string())
        .expect("an answer");
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn what_goes_wrong_with_the_node_holds_up_no_beat_and_is_tried_again() {
    let server = ApiServer::start().unwrap();
    server.create_node("gw1", UID);
    let hangs = |method| Rule::new(Fault::BlackHole).method(method).path("/nodes");
    server.inject(hangs("PATCH").times(2));
    let handle = node(&server).config(HASTY).keep_ready().start().unwrap();
    beaten(&handle).await;
    until("a post that hangs", || server.count_if(posts_ready) == 1).await;
    for _ in 0..3 {
        beats_on(&handle).await;
    }
    let said = |handle: &HeartbeatHandle| handle.last_error().unwrap_or_default();
    until("the words", || {
        said(&handle).starts_with("PATCH nodes/status")
    })
    .await;
    until("a post that is answered", || {
        ready(&server)["reason"] == "HeartbeatReady"
    })
    .await;
    until("no words", || handle.last_error().is_none()).await;
    assert_eq!(handle.health(), HeartbeatHealth::Ok);
}

#[tokio::test]
async fn a_registration_that_hangs_holds_up_the_first_beat_for_one_timeout() {
    let server = ApiServer::start().unwrap();
    server.create_node("gw1", UID);
    server.inject(Rule::new(Fault::BlackHole).method("POST").path("/nodes"));
    let handle = node(&server).config(HASTY).register().start().unwrap();
    let took = until("a beat", || handle.last_beat().is_some()).await;
    assert!(took >= Duration::from_millis(450), "{took:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert!(handle.last_error().unwrap().starts_with("POST nodes"));
    assert_eq!(handle.retire(Retire::Keep).await, Ok(Finish::Kept));
}

#[tokio::test]
async fn a_heart_that_is_retired_while_it_registers_ends_at_once() {
    let server = ApiServer::start().unwrap();
    server.pause();
    let config = with_seconds(40);
    let handle = node(&server).config(config).register().start().unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let end = tokio::time::timeout(Duration::from_secs(3), handle.retire(Retire::Keep));
    assert_eq!(end.await, Ok(Ok(Finish::Kept)));
}
