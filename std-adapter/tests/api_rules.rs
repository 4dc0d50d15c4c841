//! What the test API server owes to a real one beside the recorded answers.

#![cfg(feature = "testing")]
#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that panics has failed; real connections take real time"
)]

#[path = "support/client.rs"]
mod client;

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use kubelease::testing::ApiServer;
use serde_json::{Value, json};

use client::{Answer, Client};

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases/db";
const PATIENCE: Duration = Duration::from_secs(10);

fn client(server: &ApiServer) -> Client {
    Client::connect(server.addr(), PATIENCE).unwrap()
}

fn lease(version: Option<&str>, spec: &Value) -> String {
    let mut meta = json!({"name": "db"});
    if let Some(version) = version {
        meta["resourceVersion"] = version.into();
    }
    json!({"metadata": meta, "spec": spec}).to_string()
}

/// A watch whose head has come.
struct Watch {
    stream: Client,
    /// What came behind the last line that was asked for.
    rest: String,
}

fn watch(server: &ApiServer, query: &str) -> Watch {
    let mut stream = client(server);
    let request = format!("GET {LEASES}?watch=1&{query} HTTP/1.1\r\nHost: x\r\n\r\n");
    stream.send(request.as_bytes()).unwrap();
    let head = stream.head().unwrap();
    assert_eq!((head.status, head.framing), (200, "chunked"));
    Watch {
        stream,
        rest: String::new(),
    }
}

impl Watch {
    /// The next line as its type, its object's version, and its object.
    fn next(&mut self) -> (String, u64, Value) {
        let line = loop {
            if let Some((line, rest)) = self.rest.split_once('\n') {
                let (line, rest) = (line.to_owned(), rest.to_owned());
                self.rest = rest;
                break line;
            }
            let chunk = self.stream.chunk().unwrap().expect("another line");
            self.rest.push_str(&String::from_utf8(chunk).unwrap());
        };
        let line: Value = serde_json::from_str(&line).unwrap();
        let object = line["object"].clone();
        let version = object
            .pointer("/metadata/resourceVersion")
            .and_then(Value::as_str);
        let version = version
            .and_then(|text| text.parse().ok())
            .unwrap_or_default();
        (line["type"].as_str().unwrap().to_owned(), version, object)
    }

    /// Whether the stream ends here, in order.
    fn is_over(&mut self) -> bool {
        self.rest.is_empty() && self.stream.chunk().unwrap().is_none()
    }
}

/// Sends the same request from eight connections at once; counts the statuses.
fn together(server: &ApiServer, method: &str, target: &str, body: &str) -> BTreeMap<u16, usize> {
    let start = Barrier::new(8);
    let ask = || {
        let mut client = client(server);
        start.wait();
        client.ask(method, target, body).unwrap().status
    };
    let mut counts = BTreeMap::new();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        for thread in threads {
            *counts.entry(thread.join().unwrap()).or_default() += 1;
        }
    });
    counts
}

#[test]
fn of_eight_writers_at_once_one_wins() {
    let server = ApiServer::start().unwrap();
    let spec = json!({"holderIdentity": "a"});
    let post = together(&server, "POST", LEASES, &lease(None, &spec));
    assert_eq!(post, BTreeMap::from([(201, 1), (409, 7)]));
    let stored = server.lease("default", "db").unwrap();
    let version = stored
        .pointer("/metadata/resourceVersion")
        .unwrap()
        .as_str();
    let renewal = lease(version, &json!({"holderIdentity": "b"}));
    let put = together(&server, "PUT", LEASE, &renewal);
    assert_eq!(put, BTreeMap::from([(200, 1), (409, 7)]));
    assert!(server.delete_lease("default", "db"));
    // The losers find a lease and bring no version.
    let creating = together(&server, "PUT", LEASE, &lease(None, &spec));
    assert_eq!(creating, BTreeMap::from([(201, 1), (422, 7)]));
}

#[test]
fn answers_of_up_to_2048_bytes_have_a_length_and_longer_ones_come_in_chunks() {
    let server = ApiServer::start().unwrap();
    let ask = |holder: usize| -> Answer {
        let spec = json!({"holderIdentity": "h".repeat(holder)});
        server.put_lease("default", "db", json!({"spec": spec}));
        client(&server).ask("GET", LEASE, "").unwrap()
    };
    let base = ask(1000).body.len() - 1000;
    let longest = ask(2048 - base);
    assert_eq!((longest.body.len(), longest.framing), (2048, "length"));
    let shortest = ask(2049 - base);
    assert_eq!((shortest.body.len(), shortest.framing), (2049, "chunked"));
}

#[test]
fn members_come_in_the_order_of_go_and_a_newline_ends_the_answer() {
    let server = ApiServer::start().unwrap();
    let body = r#"{"spec":{"renewTime":"2001-02-03T04:05:06.000007Z","holderIdentity":"a<"},
        "metadata":{"labels":{"b":"1","a":"2"},"name":"db"}}"#;
    let answer = client(&server).ask("POST", LEASES, body).unwrap();
    assert_eq!(answer.status, 201);
    let text = answer.text();
    let mut rest = text.as_str();
    for part in [
        r#"{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"db","#,
        r#""namespace":"default","uid":""#,
        r#"","resourceVersion":""#,
        r#"","creationTimestamp":""#,
        r#"Z","labels":{"a":"2","b":"1"},"managedFields":[{"manager":"unknown","#,
        r#""operation":"Update","apiVersion":"coordination.k8s.io/v1","time":""#,
        r#"Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:a":{},"#,
        r#""f:b":{}}},"f:spec":{"f:holderIdentity":{},"f:renewTime":{}}}}]},"#,
        r#""spec":{"holderIdentity":"a\u003c","renewTime":"2001-02-03T04:05:06.000007Z"}}"#,
        "\n",
    ] {
        let at = rest
            .find(part)
            .unwrap_or_else(|| panic!("{part} is not in {rest}"));
        rest = &rest[at + part.len()..];
    }
    assert_eq!(rest, "");
}

#[test]
fn a_watch_sees_what_is_changed_from_outside() {
    let server = ApiServer::start().unwrap();
    let version = server.resource_version();
    let started = Instant::now();
    let query = format!("fieldSelector=metadata.name%3Ddb&resourceVersion={version}");
    let mut stream = watch(&server, &query);
    assert!(
        started.elapsed() < PATIENCE / 2,
        "the head must come before any event"
    );
    server.put_lease("default", "db", json!({"spec": {"holderIdentity": "a"}}));
    server.put_lease("default", "other", json!({"spec": {"holderIdentity": "a"}}));
    assert!(
        server.edit_lease("default", "db", |lease| lease["spec"]["holderIdentity"] =
            "b".into())
    );
    assert!(server.edit_lease("default", "db", |_| {}));
    assert!(server.delete_lease("default", "db"));
    let (kind, first, object) = stream.next();
    assert_eq!((kind.as_str(), first), ("ADDED", version + 1));
    assert_eq!(object["spec"]["holderIdentity"], "a");
    let (kind, second, object) = stream.next();
    assert_eq!((kind.as_str(), second), ("MODIFIED", version + 3));
    assert_eq!(object["spec"]["holderIdentity"], "b");
    let (kind, third, object) = stream.next();
    assert_eq!((kind.as_str(), third), ("DELETED", version + 4));
    assert_eq!(object["spec"]["holderIdentity"], "b");
}

#[test]
fn bookmarks_come_on_order_and_before_the_end_where_they_are_allowed() {
    let server = ApiServer::start().unwrap();
    let version = server.resource_version();
    let query = format!("resourceVersion={version}&timeoutSeconds=2");
    let mut silent = watch(&server, &query);
    let mut marked = watch(&server, &format!("{query}&allowWatchBookmarks=true"));
    server.send_bookmarks();
    for _ in 0..2 {
        let (kind, at, object) = marked.next();
        assert_eq!((kind.as_str(), at), ("BOOKMARK", version));
        let expected = json!({
            "kind": "Lease", "apiVersion": "coordination.k8s.io/v1",
            "metadata": {"resourceVersion": version.to_string()}, "spec": {},
        });
        assert_eq!(object, expected);
    }
    assert!(marked.is_over());
    assert!(silent.is_over());
}

#[test]
fn a_watch_from_nothing_begins_with_what_is_there_and_marks_the_end_of_it() {
    let server = ApiServer::start().unwrap();
    server.put_lease("default", "db", json!({"spec": {"holderIdentity": "a"}}));
    let mut stream = watch(&server, "allowWatchBookmarks=true&timeoutSeconds=1");
    assert_eq!(stream.next().0, "ADDED");
    let (kind, _, object) = stream.next();
    assert_eq!(kind, "BOOKMARK");
    let marks = &object["metadata"]["annotations"];
    assert_eq!(marks, &json!({"k8s.io/initial-events-end": "true"}));
}

#[test]
fn a_version_that_was_compacted_is_too_old_for_a_watch() {
    let server = ApiServer::start().unwrap();
    let version = server.resource_version();
    server.compact();
    let mut stream = watch(&server, &format!("resourceVersion={version}"));
    let (kind, _, status) = stream.next();
    assert_eq!(
        (kind.as_str(), &status["code"], &status["reason"]),
        ("ERROR", &json!(410), &json!("Expired"))
    );
    assert!(stream.is_over());
    let now = server.resource_version();
    server.put_lease("default", "db", json!({}));
    let mut stream = watch(&server, &format!("resourceVersion={now}"));
    assert_eq!(stream.next().0, "ADDED");
}

fn with_token(server: &ApiServer, method: &str, target: &str, token: &str) -> Answer {
    let mut client = client(server);
    let head = format!("{method} {target} HTTP/1.1\r\nHost: x\r\n");
    client
        .send(format!("{head}Authorization: Bearer {token}\r\n\r\n").as_bytes())
        .unwrap();
    client.answer(method).unwrap()
}

#[test]
fn tokens_are_asked_for_once_there_is_one_and_rights_can_be_denied() {
    let server = ApiServer::builder()
        .token("t", "jane")
        .deny("jane", "get", "leases")
        .start();
    let server = server.unwrap();
    assert_eq!(with_token(&server, "GET", LEASES, "t").status, 200);
    assert_eq!(with_token(&server, "GET", LEASES, "u").status, 401);
    assert_eq!(client(&server).ask("GET", LEASES, "").unwrap().status, 403);
    let denied = with_token(&server, "GET", LEASE, "t");
    assert_eq!(denied.status, 403);
    let message = "leases.coordination.k8s.io \"db\" is forbidden: User \"jane\" cannot get \
                   resource \"leases\" in API group \"coordination.k8s.io\" in the namespace \
                   \"default\"";
    assert_eq!(denied.at("/message"), message);
    server.allow("jane", "get", "leases");
    assert_eq!(with_token(&server, "GET", LEASE, "t").status, 404);
    server.deny("*", "list", "leases");
    assert_eq!(with_token(&server, "GET", LEASES, "t").status, 403);
    let users: Vec<_> = server
        .requests()
        .into_iter()
        .map(|request| request.user)
        .collect();
    assert_eq!(
        users[..3],
        [
            Some("jane".to_owned()),
            None,
            Some("system:anonymous".to_owned())
        ]
    );
}

#[test]
fn namespaces_come_die_and_go() {
    let server = ApiServer::start().unwrap();
    let mut client = client(&server);
    let spec = json!({"holderIdentity": "a"});
    let leases = LEASES.replace("default", "mine");
    let post = |client: &mut Client| client.ask("POST", &leases, &lease(None, &spec)).unwrap();
    let missing = post(&mut client);
    assert_eq!(
        (missing.status, missing.at("/details/kind")),
        (404, "namespaces".into())
    );
    server.create_namespace("mine");
    assert_eq!(post(&mut client).status, 201);
    assert!(server.terminate_namespace("mine"));
    let dying = post(&mut client);
    assert_eq!(dying.at("/details/causes/0/reason"), "NamespaceTerminating");
    let renewed = client.ask(
        "PATCH",
        &format!("{leases}/db"),
        r#"{"spec":{"leaseTransitions":1}}"#,
    );
    assert_eq!(renewed.unwrap().status, 200);
    assert!(server.delete_namespace("mine"));
    assert_eq!(server.lease("mine", "db"), None);
    assert!(!server.terminate_namespace("mine"));
}

#[test]
fn nodes_can_be_read_and_replaced() {
    let server = ApiServer::start().unwrap();
    server.create_node("n", "11111111-2222-3333-4444-555555555555");
    let mut client = client(&server);
    let node = client.ask("GET", "/api/v1/nodes/n", "").unwrap();
    assert_eq!(
        node.at("/metadata/uid"),
        "11111111-2222-3333-4444-555555555555"
    );
    assert_eq!(node.at("/status/conditions/0/type"), "Ready");
    let unknown = r#"{"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}"#;
    let status = |answer: Answer| answer.at("/status/conditions/0/status");
    let patched = client.ask("PATCH", "/api/v1/nodes/n", unknown).unwrap();
    assert_eq!(
        status(patched),
        "True",
        "the status is written by its own path only"
    );
    let patched = client
        .ask("PATCH", "/api/v1/nodes/n/status", unknown)
        .unwrap();
    assert_eq!(status(patched), "Unknown");
    assert_eq!(
        client.ask("DELETE", "/api/v1/nodes/n", "").unwrap().status,
        200
    );
    assert_eq!(
        client.ask("GET", "/api/v1/nodes/n", "").unwrap().status,
        404
    );
    let made = client
        .ask("POST", "/api/v1/nodes", r#"{"metadata":{"name":"n"}}"#)
        .unwrap();
    assert_eq!(made.status, 201);
    let taint = made.at("/spec/taints/0/key");
    assert_eq!(taint, "node.kubernetes.io/not-ready");
    assert!(server.delete_node("n"));
}

#[test]
fn events_that_were_posted_can_be_read_from_outside() {
    let server = ApiServer::start().unwrap();
    let event = r#"{"metadata":{"name":"e","namespace":"default"},"reason":"LeaderElection",
        "message":"a became leader","involvedObject":{"kind":"Lease","namespace":"default"}}"#;
    let answer = client(&server).ask("POST", "/api/v1/namespaces/default/events", event);
    assert_eq!(answer.unwrap().status, 201);
    let [event] = server.events().try_into().unwrap();
    assert_eq!(event["message"], "a became leader");
}

#[test]
fn what_is_put_from_outside_may_be_what_no_client_could_store() {
    let server = ApiServer::start().unwrap();
    let spec = json!({"renewTime": "10000-01-01T00:00:00.000000Z", "leaseDurationSeconds": 0});
    let stored = server.put_lease("nowhere", "db", json!({"spec": spec}));
    assert_eq!(server.lease("nowhere", "db"), Some(stored));
    let answer = client(&server)
        .ask("GET", &LEASE.replace("default", "nowhere"), "")
        .unwrap();
    assert_eq!(answer.at("/spec/renewTime"), "10000-01-01T00:00:00.000000Z");
}

#[test]
fn labels_keep_the_rules_of_the_real_server() {
    let server = ApiServer::start().unwrap();
    let status = |key: &str, value: &str| {
        let labels = json!({key: value});
        let body = json!({"metadata": {"name": "db", "labels": labels}}).to_string();
        server.delete_lease("default", "db");
        client(&server).ask("POST", LEASES, &body).unwrap().status
    };
    for (key, value) in [("a", ""), ("A_b.c-9", "V.1"), ("example.com/zone", "a")] {
        assert_eq!(status(key, value), 201, "{key}={value}");
    }
    let long = "k".repeat(64);
    for key in ["", "-a", "a/", "/a", "a/b/c", "a b", "ä", "UP/x", &long] {
        assert_eq!(status(key, "v"), 422, "{key}");
    }
    assert_eq!(status("a", "-v"), 422);
}
