//! A heartbeat in a session: Nodes, owners and deletions in bytes.

use kubelease_core::heartbeat::{Heartbeat, HeartbeatConfig, HeartbeatIdentity, Retire};
use kubelease_core::lease::Readiness;
use kubelease_core::protocol::{BadAnswer, Event, RequestId, TroubleKind, Verb};
use kubelease_core::session::{Action, Session, UpdateMode};
use kubelease_core::time::{Duration, Instant, Now};
use kubelease_core::timestamp::Timestamp;
use kubelease_core::wire::Reading;
use kubelease_core::wire::http::Method;
use kubelease_core::wire::path::LeasePath;
use serde_json::{Value, json};

use crate::bodies::RICH;

const CONFIG: HeartbeatConfig = HeartbeatConfig {
    jitter_percent: 0,
    spread_first_beat: false,
    owner_required: true,
    ..HeartbeatConfig::NODE
};

/// The name that the pool of a large cluster gives to a node.
const NODE: &str = "ip-10-128-44-217.eu-west-1.compute.internal";

const NODE_UID: &str = "5f0c3a52-6a2e-4f4c-9a35-6c1b7d0c9a11";

/// A Node as an API server sends it, cut short where it is long.
const NODE_BODY: &str = concat!(
    r#"{"kind":"Node","apiVersion":"v1","metadata":{"name":"ip-10-128-44-217.eu-west-1.compute.internal","#,
    r#""uid":"5f0c3a52-6a2e-4f4c-9a35-6c1b7d0c9a11","resourceVersion":"4711","labels":{"uid":"no"},"#,
    r#""ownerReferences":[{"uid":"neither"}]},"spec":{"taints":[{"key":"k","effect":"NoExecute"}]},"#,
    r#""status":{"uid":"nor this","conditions":[{"type":"MemoryPressure","status":"False"},"#,
    r#"{"lastHeartbeatTime":null,"status":"Unknown","reason":"NodeStatusUnknown","type":"Ready"},"#,
    r#"{"type":"DiskPressure","status":"True"}],"addresses":[{"type":"Ready","address":"True"}]}}"#,
    "\n"
);

/// A heart, its clock, and what it said last.
struct Client<'a> {
    session: Session<'a, Heartbeat<&'static HeartbeatConfig, &'static str>>,
    now: Now,
    id: RequestId,
    events: Vec<Event>,
}

/// A request.
#[derive(Clone, Debug)]
struct Sent {
    method: Method,
    path: String,
    query: String,
    content_type: Option<&'static str>,
    length: usize,
    body: Value,
}

impl<'a> Client<'a> {
    fn new(identity: HeartbeatIdentity<&'static str>, mode: UpdateMode<'a>) -> Self {
        Self::with(&CONFIG, identity, mode)
    }

    fn with(
        config: &'static HeartbeatConfig,
        identity: HeartbeatIdentity<&'static str>,
        mode: UpdateMode<'a>,
    ) -> Self {
        let wall = Timestamp::parse("2026-01-02T03:06:07.000008Z").unwrap();
        let now = Now::with_wall(Instant::from_millis(1_000), wall);
        let heart = Heartbeat::new(config, identity, now).unwrap();
        let path = LeasePath::new("kube-node-lease", NODE).unwrap();
        Self {
            session: Session::new(heart, path, mode),
            now,
            id: RequestId::default(),
            events: Vec::new(),
        }
    }

    /// Polls to the next wait; the request that was sent meanwhile, if one was.
    fn sent(&mut self) -> Option<Sent> {
        let mut sent = None;
        loop {
            match self.session.poll(self.now) {
                Action::Event(event) => self.events.push(event),
                Action::Cancel(_) => {}
                Action::Send { id, .. } => {
                    self.id = id;
                    let mut room = [0; 4_096];
                    let request = self.session.request(id, &mut room).unwrap();
                    let head = self.session.request_head(id).unwrap();
                    assert_eq!(head.content_type, request.content_type);
                    sent = Some(Sent {
                        method: request.method,
                        path: request.path().to_owned(),
                        query: request.query().to_owned(),
                        content_type: request.content_type,
                        length: request.body.len(),
                        body: serde_json::from_slice(request.body).unwrap_or_default(),
                    });
                }
                Action::WaitUntil(_) | Action::Done => return sent,
            }
        }
    }

    /// Answers in pieces of `split` bytes.
    fn answer_in(&mut self, status: u16, body: &str, split: usize) -> Option<Sent> {
        self.session.response_begin(self.id, status).unwrap();
        for piece in body.as_bytes().chunks(split) {
            self.session.response_body(self.id, piece).unwrap();
        }
        self.session.response_end(self.now, self.id).unwrap();
        self.sent()
    }

    fn answer(&mut self, status: u16, body: &str) -> Option<Sent> {
        self.answer_in(status, body, usize::MAX)
    }

    fn later(&mut self, ms: u64) -> Option<Sent> {
        self.now.instant = self.now.instant.saturating_add(Duration::from_millis(ms));
        let wall = self.now.wall.unwrap();
        self.now.wall = wall.checked_add_millis(ms);
        self.sent()
    }
}

fn put_mode(keep: &mut [u8]) -> UpdateMode<'_> {
    UpdateMode::Update {
        keep,
        patch_when_too_large: false,
    }
}

fn missing() -> String {
    json!({"kind": "Status", "reason": "NotFound", "details": {"name": "x", "kind": "leases"}})
        .to_string()
}

/// The lease of the node with these owners, in version `version`.
fn lease(owners: &Value, version: &str) -> String {
    let mut lease: Value = serde_json::from_str(RICH).unwrap();
    lease["metadata"]["ownerReferences"] = owners.clone();
    lease["metadata"]["resourceVersion"] = json!(version);
    lease["spec"]["holderIdentity"] = json!(NODE);
    lease.to_string()
}

fn reference(name: &str, uid: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid})
}

fn job() -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u-9",
        "controller": true, "blockOwnerDeletion": false,
    })
}

const IDENTITY: HeartbeatIdentity<&'static str> = HeartbeatIdentity::of_node(NODE);

const KNOWN: HeartbeatIdentity<&'static str> = HeartbeatIdentity {
    node_uid: Some(NODE_UID),
    ..IDENTITY
};

#[test]
fn a_node_is_read_in_any_split_and_becomes_the_owner_of_a_new_lease() {
    for split in [1, 2, 3, 7, 64, 4_096] {
        let mut client = Client::new(IDENTITY, UpdateMode::MergePatch);
        client.sent();
        let look = client.answer(404, &missing()).unwrap();
        assert_eq!(look.method, Method::Get);
        assert_eq!(look.path, format!("/api/v1/nodes/{NODE}"));
        assert_eq!(look.query, "timeout=5000ms");
        let create = client.answer_in(200, NODE_BODY, split).unwrap();
        assert_eq!(create.method, Method::Post);
        assert_eq!(
            create.body["metadata"]["ownerReferences"],
            json!([reference(NODE, NODE_UID)])
        );
        assert_eq!(client.session.machine().node_uid(), Some(NODE_UID));
        assert_eq!(
            client.session.machine().node_uid_bytes(),
            NODE_UID.as_bytes()
        );
    }
}

#[test]
fn what_is_no_node_is_trouble_and_no_owner() {
    let bodies = [
        (RICH, "NotALease"),
        ("{}", "NotALease"),
        (r#"{"kind":"Node","metadata":{}}"#, "NotALease"),
        (r#"{"kind":"Node","metadata":{"uid":""}}"#, "NotALease"),
        (
            r#"{"kind":"Node","metadata":{"uid":"a","uid":"b"}}"#,
            "Malformed",
        ),
        (r#"{"kind":"Node","metadata":{"uid":7}}"#, "Malformed"),
        (r#"{"kind":"Node","metadata":{"uid":null}}"#, "NotALease"),
        (
            r#"{"kind":"Node","status":{"conditions":{"uid":"u"}}}"#,
            "Malformed",
        ),
        (r#"{"kind":"Node","metadata":{"uid":"u"}"#, "Truncated"),
        ("<html>", "NotJson"),
        ("", "Empty"),
        (
            r#"{"kind":"Node","metadata":{"uid":"0123456789012345678901234567890123456789x"}}"#,
            "VersionTooLong",
        ),
    ];
    for (body, bad) in bodies {
        let mut client = Client::new(IDENTITY, UpdateMode::MergePatch);
        client.sent();
        client.answer(404, &missing());
        assert!(client.answer(200, body).is_none(), "{body}");
        let told = format!("{:?}", client.events);
        assert!(
            told.contains(bad) && told.contains("GetNode"),
            "{body}: {told}"
        );
        assert_eq!(client.session.machine().node_uid(), None);
    }
}

#[test]
fn a_lease_is_read_by_the_same_rules_where_its_owner_is_looked_for() {
    let mut client = Client::new(KNOWN, UpdateMode::MergePatch);
    client.sent();
    let twice = r#"{"kind":"Lease","metadata":{"resourceVersion":"1","resourceVersion":"2"}}"#;
    assert!(client.answer(200, twice).is_none());
    let kind = TroubleKind::BadAnswer(BadAnswer::Malformed);
    let verb = Verb::Get;
    assert_eq!(client.events, [Event::Trouble { kind, verb }]);

    let mut client = Client::new(KNOWN, UpdateMode::MergePatch);
    client.sent();
    let mut owned: Value =
        serde_json::from_str(&lease(&json!([reference(NODE, NODE_UID)]), "1")).unwrap();
    owned["spec"]["acquireTime"] = Value::Null;
    let beat = client.answer(200, &owned.to_string()).unwrap();
    assert_eq!(beat.method, Method::Patch);
    assert_eq!(client.events, []);
}

#[test]
fn an_error_about_a_node_is_read_like_any_other() {
    let mut client = Client::new(IDENTITY, UpdateMode::MergePatch);
    client.sent();
    client.answer(404, &missing());
    let body = r#"{"kind":"Status","reason":"NotFound","details":{"name":"n","kind":"nodes"}}"#;
    assert!(client.answer(404, body).is_none());
    let (kind, verb) = (TroubleKind::NodeMissing, Verb::GetNode);
    assert_eq!(client.events, [Event::Trouble { kind, verb }]);
}

#[test]
fn the_condition_of_a_watched_node_is_found_among_all_others() {
    static WATCHING: HeartbeatConfig = HeartbeatConfig {
        watch_node: true,
        ..CONFIG
    };
    let mut client = Client::with(&WATCHING, KNOWN, UpdateMode::MergePatch);
    client.sent();
    let owners = json!([reference(NODE, NODE_UID)]);
    let beat = client.answer(200, &lease(&owners, "5")).unwrap();
    let look = client.answer(200, &answered(&beat, &owners, "6")).unwrap();
    assert_eq!(look.path, format!("/api/v1/nodes/{NODE}"));
    assert!(client.answer_in(200, NODE_BODY, 5).is_none());
    let told = Event::NodeNotReady(Readiness::Unknown);
    assert_eq!(client.events, [told]);
}

/// What a server answers to a patch of the lease with these owners.
fn answered(beat: &Sent, owners: &Value, version: &str) -> String {
    let mut stored: Value = serde_json::from_str(&lease(owners, version)).unwrap();
    for (key, value) in beat.body["spec"].as_object().unwrap() {
        stored["spec"][key] = value.clone();
    }
    stored.to_string()
}

#[test]
fn a_patch_sets_the_owner_where_the_list_is_known_and_adds_it_to_others() {
    let (mine, stale) = (reference(NODE, NODE_UID), reference(NODE, "u-0"));
    let merge = "application/merge-patch+json";
    let strategic = "application/strategic-merge-patch+json";
    let table = [
        (json!(null), Some(merge)),
        (json!([]), Some(merge)),
        (json!([stale]), Some(merge)),
        (json!([job()]), Some(strategic)),
        (json!([job(), stale]), Some(strategic)),
        (json!([mine]), None),
        (json!([job(), mine]), None),
    ];
    for (owners, adds_as) in table {
        for split in [1, 9, 4_096] {
            let mut client = Client::new(KNOWN, UpdateMode::MergePatch);
            client.sent();
            let beat = client.answer_in(200, &lease(&owners, "5"), split).unwrap();
            assert_eq!(beat.method, Method::Patch);
            assert_eq!(
                beat.content_type,
                Some(adds_as.unwrap_or(merge)),
                "{owners}"
            );
            let written = beat.body["metadata"].get("ownerReferences");
            let expected = adds_as.map(|_| json!([mine]));
            assert_eq!(written, expected.as_ref(), "{owners}");
        }
    }
}

#[test]
fn a_put_has_all_other_owners_and_all_else_that_was_there() {
    let (mine, stale) = (reference(NODE, NODE_UID), reference(NODE, "u-0"));
    let misnamed = reference("other", NODE_UID);
    let odd = json!({"uid": "]}\"\\", "name": "[{", "kind": "Node", "apiVersion": "v1", "x": [{}]});
    let table = [
        (json!(null), json!([mine])),
        (json!([]), json!([mine])),
        (json!([stale]), json!([mine])),
        (json!([job(), stale, odd]), json!([job(), odd, mine])),
        (json!([misnamed, job()]), json!([job(), mine])),
        (json!([job(), mine]), json!([job(), mine])),
    ];
    for (owners, expected) in table {
        let mut keep = [0; 2_048];
        let mut client = Client::new(KNOWN, put_mode(&mut keep));
        client.sent();
        let read = lease(&owners, "5");
        let beat = client.answer_in(200, &read, 11).unwrap();
        assert_eq!(
            (beat.method, beat.content_type),
            (Method::Put, Some("application/json"))
        );
        assert_eq!(
            beat.body["metadata"]["ownerReferences"], expected,
            "{owners}"
        );
        let read: Value = serde_json::from_str(&read).unwrap();
        // What the machine does not write is there, as it was.
        for pointer in [
            "/metadata/labels",
            "/metadata/annotations",
            "/metadata/finalizers",
            "/metadata/future",
            "/spec/acquireTime",
            "/spec/leaseTransitions",
            "/spec/strategy",
            "/spec/future",
            "/later",
        ] {
            assert_eq!(
                beat.body.pointer(pointer),
                read.pointer(pointer),
                "{pointer}"
            );
        }
    }
}

#[test]
fn a_look_at_the_node_costs_a_put_one_read() {
    let mut keep = [0; 2_048];
    let mut client = Client::new(IDENTITY, put_mode(&mut keep));
    client.sent();
    let look = client.answer(200, &lease(&json!([job()]), "5")).unwrap();
    assert_eq!(look.path, format!("/api/v1/nodes/{NODE}"));
    let read = client.answer(200, NODE_BODY).unwrap();
    assert_eq!(read.method, Method::Get, "what a PUT puts back was lost");
    let beat = client.answer(200, &lease(&json!([job()]), "5")).unwrap();
    assert_eq!(beat.method, Method::Put);
    assert_eq!(
        beat.body["metadata"]["ownerReferences"],
        json!([job(), reference(NODE, NODE_UID)])
    );
}

#[test]
fn a_deletion_has_its_preconditions_and_any_success_will_do() {
    let status = r#"{"kind":"Status","status":"Success"}"#;
    let object = lease(&json!([]), "9");
    for (code, body) in [(200, status), (200, &object), (202, ""), (200, "<html>")] {
        let mut client = Client::new(KNOWN, UpdateMode::MergePatch);
        client.sent();
        let owners = json!([reference(NODE, NODE_UID)]);
        let beat = client.answer(200, &lease(&owners, "5")).unwrap();
        client.answer(200, &answered(&beat, &owners, "6"));
        let now = client.now;
        client.session.machine_mut().retire(now, Retire::Delete);
        let delete = client.sent().unwrap();
        assert_eq!(delete.method, Method::Delete);
        assert_eq!(delete.content_type, Some("application/json"));
        assert!(delete.path.ends_with(&format!("/leases/{NODE}")));
        assert_eq!(delete.query, "timeout=5000ms");
        let uid = "0b6a3f3c-6a2e-4f4c-9a35-6c1b7d0c9a11";
        let preconditions = json!({"uid": uid, "resourceVersion": "6"});
        assert_eq!(delete.body, json!({"preconditions": preconditions}));
        assert!(client.answer(code, body).is_none());
        assert!(matches!(client.session.poll(now), Action::Done));
        assert!(format!("{:?}", client.events).contains("Finished(Deleted)"));
    }
}

#[test]
fn a_beat_is_small() {
    let owners = json!([reference(NODE, NODE_UID)]);
    let bare = json!({
        "metadata": {"uid": NODE_UID, "resourceVersion": "123456789", "ownerReferences": owners},
        "spec": {"holderIdentity": NODE, "leaseDurationSeconds": 40},
    })
    .to_string();
    let mut keep = [0; 256];
    let mut client = Client::new(KNOWN, put_mode(&mut keep));
    client.sent();
    let put = client.answer(200, &bare).unwrap();
    assert_eq!(put.method, Method::Put);
    // The name of the node is in it three times: as that of the lease, the holder and the owner.
    let without_names = put.length - 3 * NODE.len();
    assert!(without_names + 3 * "gw1".len() < 450, "{}", put.length);

    let mut client = Client::new(KNOWN, UpdateMode::MergePatch);
    client.sent();
    let patch = client.answer(200, &bare).unwrap();
    assert_eq!(patch.method, Method::Patch);
    assert!(patch.length < 160, "{}", patch.length);
}

#[test]
fn a_body_that_is_too_long_is_not_read_to_its_end() {
    let mut client = Client::new(KNOWN, UpdateMode::MergePatch);
    client.sent();
    let id = client.id;
    client.session.response_begin(id, 200).unwrap();
    let blanks = [b' '; 65_536];
    let mut pieces = 0;
    while client.session.response_body(id, &blanks).unwrap() == Reading::More {
        pieces += 1;
    }
    assert_eq!(pieces, 64);
}

#[test]
fn every_beat_raises_the_time_of_the_last() {
    let mut client = Client::new(KNOWN, UpdateMode::MergePatch);
    client.sent();
    let owners = json!([reference(NODE, NODE_UID)]);
    let mut beat = client.answer(200, &lease(&owners, "5")).unwrap();
    let mut last = String::new();
    for version in 6..20 {
        let time = beat.body["spec"]["renewTime"].as_str().unwrap().to_owned();
        assert!(time > last, "{time} after {last}");
        last = time;
        let stored = answered(&beat, &owners, &version.to_string());
        assert!(client.answer(200, &stored).is_none());
        beat = client.later(10_000).unwrap();
    }
}
