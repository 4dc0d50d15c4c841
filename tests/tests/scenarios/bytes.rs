//! The same in bytes: what an elector in a session sends, and what it makes of bodies.

use kubelease_core::Timestamp;
use kubelease_core::elector::{Elector, Health};
use kubelease_core::protocol::{Event, Finish, RequestId};
use kubelease_core::session::{Action, Session, UpdateMode};
use kubelease_core::time::Now;
use kubelease_core::wire::http::Method;
use kubelease_core::wire::path::{LeasePath, PathError};
use kubelease_tests::prelude::*;
use serde_json::{Value, json};

/// A client without jitter, its clock, and what it said last.
struct Client<'a> {
    session: Session<'a, Elector<'static>>,
    now: Now,
    id: RequestId,
    events: Vec<Event>,
    wakes_at: u64,
}

impl<'a> Client<'a> {
    fn new(mode: UpdateMode<'a>) -> Self {
        let now = Now {
            instant: Instant::from_millis(ORIGIN),
            wall: Some(wall(0)),
        };
        let path = LeasePath::new("default", "a").unwrap();
        Self {
            session: Session::new(Elector::new(A, now).unwrap(), path, mode),
            now,
            id: RequestId::default(),
            events: Vec::new(),
            wakes_at: 0,
        }
    }

    /// Polls to the next wait; the request that was sent meanwhile, if one was.
    fn sent(&mut self) -> Option<(Method, String, Value)> {
        let mut sent = None;
        loop {
            match self.session.poll(self.now) {
                Action::Event(event) => self.events.push(event),
                Action::Cancel(_) => {}
                Action::Send { id, .. } => {
                    self.id = id;
                    let mut room = [0; 4_096];
                    let request = self.session.request(id, &mut room).unwrap();
                    let body = serde_json::from_slice(request.body).unwrap_or_default();
                    sent = Some((request.method, request.path().to_owned(), body));
                }
                Action::WaitUntil(at) => {
                    self.wakes_at = at.as_millis() - ORIGIN;
                    return sent;
                }
                Action::Done => return sent,
            }
        }
    }

    fn answer(&mut self, status: u16, body: &str) -> Option<(Method, String, Value)> {
        self.session.response_begin(self.id, status).unwrap();
        self.session
            .response_body(self.id, body.as_bytes())
            .unwrap();
        self.session.response_end(self.now, self.id).unwrap();
        self.sent()
    }

    fn at(&mut self, ms: u64) -> Option<(Method, String, Value)> {
        self.now.instant = Instant::from_millis(ORIGIN + ms);
        self.now.wall = Some(wall(ms));
        self.sent()
    }
}

const FREE: &str =
    r#"{"metadata":{"uid":"u1","resourceVersion":"6"},"spec":{"holderIdentity":""}}"#;

/// What a server answers to a write: the body it got, as version `version`.
fn stored(body: &Value, version: u64) -> String {
    let mut lease = body.clone();
    lease["metadata"]["uid"] = json!("u1");
    lease["metadata"]["resourceVersion"] = json!(version.to_string());
    lease.to_string()
}

#[test]
fn b31_the_body_of_a_release_is_one_that_every_server_takes() {
    let mut keep = [0; 512];
    let mut client = Client::new(UpdateMode::Update {
        keep: &mut keep,
        patch_when_too_large: false,
    });
    client.sent();
    let (_, _, acquire) = client.answer(200, FREE).unwrap();
    client.answer(200, &stored(&acquire, 7));
    client.session.machine_mut().stop(client.now);
    let (method, _, release) = client.sent().unwrap();
    assert_eq!(method, Method::Put);
    let renewed = &release["spec"]["renewTime"];
    let expected = json!({
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "acquireTime": acquire["spec"]["acquireTime"],
        "renewTime": renewed,
        "leaseTransitions": acquire["spec"]["leaseTransitions"],
    });
    assert_eq!(release["spec"], expected);
    assert!(Timestamp::parse(renewed.as_str().unwrap()).is_ok());
    assert_ne!(*renewed, acquire["spec"]["renewTime"]);
    client.answer(200, &stored(&release, 8));
    assert_eq!(
        client.events.last(),
        Some(&Event::Finished(Finish::Released))
    );
}

#[test]
fn b47_bodies_without_some_fields_are_free_leases_or_bad_answers() {
    let free = [
        "",
        r#","spec":null"#,
        r#","spec":{}"#,
        r#","spec":{"holderIdentity":null}"#,
    ];
    for spec in free {
        let mut client = Client::new(UpdateMode::MergePatch);
        client.sent();
        let body = format!(r#"{{"metadata":{{"resourceVersion":"6"}}{spec}}}"#);
        let (method, _, patch) = client.answer(200, &body).expect(spec);
        assert_eq!(method, Method::Patch);
        assert_eq!(patch["spec"]["holderIdentity"], "A");
    }
    let held = r#"{"metadata":{"resourceVersion":"6"},"spec":{"holderIdentity":"B",
        "renewTime":null,"leaseDurationSeconds":null,"leaseTransitions":null}}"#;
    let mut client = Client::new(UpdateMode::MergePatch);
    client.sent();
    assert_eq!(client.answer(200, held), None);
    assert_eq!(client.session.machine().leader(), Some("B"));
    for body in [
        r#"{"metadata":{}}"#,
        "{}",
        r#"{"metadata":{"resourceVersion":""}}"#,
    ] {
        let mut client = Client::new(UpdateMode::MergePatch);
        client.sent();
        assert_eq!(client.answer(200, body), None, "no write without a version");
        assert!(
            client
                .events
                .iter()
                .any(|it| matches!(it, Event::Trouble { .. }))
        );
        assert_eq!(
            client.session.machine().health(client.now.instant),
            Health::Ok
        );
    }
}

/// Looks for the lease that `body` describes, until it is taken.
fn taken_at(body: &str) -> (u64, Value) {
    let mut client = Client::new(UpdateMode::MergePatch);
    client.sent();
    let mut sent = client.answer(200, body);
    loop {
        let now = client.now.instant.as_millis() - ORIGIN;
        match sent {
            Some((Method::Get, _, _)) => sent = client.answer(200, body),
            Some((_, _, patch)) => return (now, patch),
            None => sent = client.at(client.wakes_at),
        }
    }
}

#[test]
fn b49_a_body_with_times_that_are_none_is_waited_out_and_written_over() {
    let body = r#"{"metadata":{"resourceVersion":"6"},"spec":{"holderIdentity":"B",
        "leaseDurationSeconds":15,"renewTime":"20220804T135255.122Z","acquireTime":"x"}}"#;
    let (at, patch) = taken_at(body);
    assert_eq!(at, 15_001);
    for time in ["acquireTime", "renewTime"] {
        assert_eq!(patch["spec"][time], json!(wall(at).to_string()));
    }
}

#[test]
fn b56_a_put_keeps_everything_that_is_not_ours() {
    let mut lease: Value = serde_json::from_str(FREE).unwrap();
    lease["metadata"]["labels"] = json!({"app": "x", "z": ""});
    lease["metadata"]["annotations"] = json!({"note": "\"\\\u{e9}\n"});
    lease["metadata"]["ownerReferences"] = json!([{"kind": "Node", "uid": "n1"}, {"uid": "n2"}]);
    lease["metadata"]["finalizers"] = json!(["example.com/hold"]);
    lease["spec"]["strategy"] = json!("OldestEmulationVersion");
    lease["spec"]["preferredHolder"] = json!("B");
    lease["spec"]["future"] = json!({"a": [1]});
    let mut read = lease.clone();
    read["metadata"]["managedFields"] = json!([{"manager": "kubectl"}]);
    let mut keep = [0; 1_024];
    let mut client = Client::new(UpdateMode::Update {
        keep: &mut keep,
        patch_when_too_large: false,
    });
    client.sent();
    let (method, _, put) = client.answer(200, &read.to_string()).unwrap();
    assert_eq!(method, Method::Put);
    lease["apiVersion"] = json!("coordination.k8s.io/v1");
    lease["kind"] = json!("Lease");
    lease["metadata"]["namespace"] = json!("default");
    lease["metadata"]["name"] = json!("a");
    for own in [
        "holderIdentity",
        "leaseDurationSeconds",
        "acquireTime",
        "renewTime",
        "leaseTransitions",
    ] {
        lease["spec"][own] = put["spec"][own].clone();
    }
    assert_eq!(put["spec"]["holderIdentity"], "A");
    assert_eq!(put, lease);
    // A renewal does the same from the answer to the first write.
    client.answer(200, &stored(&put, 7));
    let (_, _, renewal) = client.at(2_000).unwrap();
    lease["metadata"]["resourceVersion"] = json!("7");
    lease["spec"]["renewTime"] = json!(wall(2_000).to_string());
    assert_eq!(renewal, lease);
}

#[test]
fn b119_a_404_says_what_is_missing() {
    let names = json!({"kind": "namespaces", "name": "default"});
    let missing = json!({"reason": "NotFound", "details": {"kind": "leases", "name": "a"}});
    let namespace = json!({"reason": "NotFound", "details": names}).to_string();
    let mut client = Client::new(UpdateMode::MergePatch);
    client.sent();
    let (method, _, _) = client.answer(404, &missing.to_string()).unwrap();
    assert_eq!(method, Method::Post, "no lease: make it");
    assert_eq!(client.answer(404, &namespace), None);
    assert_eq!(troubles(&client), ["NamespaceMissing"]);
    let mut client = Client::new(UpdateMode::MergePatch);
    client.sent();
    assert_eq!(client.answer(404, "404 page not found\n"), None);
    assert_eq!(troubles(&client), ["ApiUnavailable"]);
}

fn troubles(client: &Client<'_>) -> Vec<String> {
    let mut kinds = Vec::new();
    for event in &client.events {
        if let Event::Trouble { kind, .. } = event {
            kinds.push(format!("{kind:?}"));
        }
    }
    kinds
}

#[test]
fn b67_the_first_body_names_the_place_that_it_is_sent_to() {
    let mut client = Client::new(UpdateMode::MergePatch);
    let (_, lease, _) = client.sent().unwrap();
    let missing = r#"{"reason":"NotFound","details":{"name":"a"}}"#;
    let (method, collection, body) = client.answer(404, missing).unwrap();
    assert_eq!(method, Method::Post);
    assert_eq!(lease, format!("{collection}/a"));
    assert!(collection.ends_with("/namespaces/default/leases"));
    let metadata = json!({"namespace": "default", "name": "a"});
    assert_eq!(body["metadata"], metadata, "and no version");
    client.answer(201, &stored(&body, 1));
    assert_eq!(client.events, [Event::StartedLeading { term: 1 }]);
}

#[test]
fn b89_a_name_that_the_server_would_refuse_is_an_error_before_any_request() {
    let (longest, longer) = ("a".repeat(253), "a".repeat(254));
    let table = [
        ("Cluster Coordinator", Some(PathError::NameMalformed)),
        ("Node-A", Some(PathError::NameMalformed)),
        ("", Some(PathError::NameEmpty)),
        (&longest, None),
        (&longer, Some(PathError::NameTooLong)),
        ("a/b", Some(PathError::NameMalformed)),
        ("..", Some(PathError::NameMalformed)),
    ];
    for (name, error) in table {
        assert_eq!(LeasePath::new("default", name).err(), error, "{name:?}");
    }
}
