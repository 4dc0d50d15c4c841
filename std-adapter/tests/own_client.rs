//! Elections over a client that the program has already.
#![cfg(feature = "own-client")]
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

mod support;

use core::future::ready;

use core::time::Duration;

use kubelease::testing::{ApiServer, Fault, Rule};
use kubelease::{
    ApiClient, Connection, Elector, Finish, Fleet, FleetLease, Handle, HeartbeatConfig,
};
use support::{PATIENT, until};

/// A connection over a client that finds `server` and has a token by itself.
fn over(server: &ApiServer) -> Connection {
    let (client, url) = (reqwest::Client::new(), server.url());
    Connection::over(move |request: http::Request<Vec<u8>>| {
        let (client, url) = (client.clone(), url.clone());
        async move {
            let (head, body) = request.into_parts();
            let request = client
                .request(head.method, format!("{url}{}", head.uri))
                .headers(head.headers)
                .bearer_auth("one")
                .body(body);
            let answer: reqwest::Result<_> = request.send().await;
            answer.map(http::Response::<reqwest::Body>::from)
        }
    })
}

fn start(connection: Connection) -> Handle {
    let builder = Elector::builder().connection(connection.namespace("default"));
    builder.name("lock").timing(PATIENT).start().unwrap()
}

#[tokio::test]
async fn a_client_of_the_program_s_own_leads_and_releases() {
    let server = ApiServer::builder()
        .token("one", "its own")
        .start()
        .unwrap();
    let handle = start(over(&server));
    until("leading", || handle.is_leading()).await;
    until("a renewal", || server.count("PUT") >= 2).await;
    assert_eq!(handle.last_error(), None);
    let is_its_own = |user: Option<&str>| user == Some("its own");
    let all = server.requests().len();
    assert_eq!(
        server.count_if(|request| is_its_own(request.user.as_deref())),
        all
    );
    assert_eq!(handle.shutdown().await, Ok(Finish::Released));

    let mut client = ApiClient::new(&over(&server), Duration::from_secs(20)).unwrap();
    let answer = client
        .get("/apis/coordination.k8s.io/v1/leases")
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    let list: serde_json::Value = serde_json::from_slice(&answer.body().await.unwrap()).unwrap();
    assert_eq!(list["items"][0]["metadata"]["name"], "lock");
}

/// After a write that got no answer, it may have been done: it is looked for before another.
#[tokio::test]
async fn a_failure_is_told_in_its_own_words_and_leaves_the_outcome_open() {
    let tunnel = |_| {
        ready(Err::<http::Response<reqwest::Body>, _>(
            "the tunnel is down",
        ))
    };
    let handle = start(Connection::over(tunnel));
    until("an error", || handle.last_error().is_some()).await;
    assert_eq!(handle.last_error().unwrap(), "the tunnel is down");

    let server = ApiServer::builder()
        .token("one", "its own")
        .start()
        .unwrap();
    server.inject(Rule::new(Fault::DropAnswer).method("POST").times(1));
    let handle = start(over(&server));
    until("leading", || handle.is_leading()).await;
    let methods: Vec<String> = server
        .requests()
        .into_iter()
        .map(|request| request.method)
        .collect();
    assert_eq!(methods[..3], ["GET", "POST", "GET"]);
}

#[tokio::test]
async fn a_fleet_beats_over_a_client_of_the_program_s_own() {
    let server = ApiServer::builder()
        .token("one", "its own")
        .start()
        .unwrap();
    let config = HeartbeatConfig {
        spread_first_beat: false,
        ..HeartbeatConfig::NODE
    };
    let builder = Fleet::builder().connection(over(&server).namespace("default"));
    let fleet = builder.config(config).start().unwrap();
    fleet.add(FleetLease::new("pump-7")).unwrap();
    until("a beat", || fleet.counters().beats > 0).await;
    assert!(server.lease("default", "pump-7").is_some());
}
