//! Updates lose nothing of a Lease: by PUT from the keep buffer, or by merge patch.

use kubelease_core::lease::Label;
use kubelease_core::prng::Prng;
use kubelease_core::protocol::{Changes, Failure};
use kubelease_core::session::{Action, RequestError, Session, UpdateMode};
use kubelease_core::wire::http::Method;
use serde_json::{Value, json};

use crate::bodies;
use crate::decode::mutated;
use crate::oracle;
use crate::session::{Script, Step, answer, at, path, sent, update, written};

const RICH_VERSION: &str = "18446744073709551615";

/// What a PUT has to write after `body` was read.
fn expected_put(body: &str, version: &str) -> Value {
    let mut lease: Value = serde_json::from_str(body).unwrap();
    lease["apiVersion"] = json!("coordination.k8s.io/v1");
    lease["kind"] = json!("Lease");
    if lease["spec"].is_null() {
        lease["spec"] = json!({});
    }
    let spec = lease["spec"].as_object_mut().unwrap();
    spec.insert("holderIdentity".into(), json!("me"));
    spec.insert("leaseDurationSeconds".into(), json!(15));
    spec.insert("acquireTime".into(), json!("2026-01-02T03:06:07.000008Z"));
    spec.insert("renewTime".into(), json!("2026-01-02T03:06:07.000008Z"));
    spec.insert("leaseTransitions".into(), json!(4));
    let metadata = lease["metadata"].as_object_mut().unwrap();
    for own in [
        "managedFields",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "selfLink",
    ] {
        metadata.remove(own);
    }
    // No labels at all are the same as none.
    if metadata
        .get("labels")
        .is_some_and(|labels| labels.is_null() || *labels == json!({}))
    {
        metadata.remove("labels");
    }
    metadata.insert("name".into(), json!("a"));
    metadata.insert("namespace".into(), json!("default"));
    metadata.insert("uid".into(), json!("uid-1"));
    metadata.insert("resourceVersion".into(), json!(version));
    lease
}

/// Reads `body` in pieces of `split` bytes, then asks for an update of `version`.
fn after_reading<'a>(
    body: &str,
    split: usize,
    version: &str,
    mode: UpdateMode<'a>,
) -> Session<'a, Script> {
    let mut session = Session::new(Script::new([Step::Get, update(version)]), path(), mode);
    let id = sent(&mut session);
    session.response_begin(id, 200).unwrap();
    for piece in body.as_bytes().chunks(split) {
        session.response_body(id, piece).unwrap();
    }
    session.response_end(at(1_001), id).unwrap();
    session
}

const fn put_only(keep: &mut [u8]) -> UpdateMode<'_> {
    UpdateMode::Update {
        keep,
        patch_when_too_large: false,
    }
}

const fn put_or_patch(keep: &mut [u8]) -> UpdateMode<'_> {
    UpdateMode::Update {
        keep,
        patch_when_too_large: true,
    }
}

#[test]
fn a_put_writes_back_all_that_is_not_ours() {
    for body in bodies::LEASES {
        for split in [1, 3, 7, 64, usize::MAX] {
            let version =
                serde_json::from_str::<Value>(body).unwrap()["metadata"]["resourceVersion"]
                    .as_str()
                    .unwrap()
                    .to_owned();
            let mut keep = [0; 4_096];
            let mut session = after_reading(body, split, &version, put_only(&mut keep));
            let id = sent(&mut session);
            let (method, _, put) = written(&session, id);
            assert_eq!(method, Method::Put);
            let put: Value = serde_json::from_str(&put).unwrap_or_else(|e| panic!("{e}: {put}"));
            assert_eq!(put, expected_put(body, &version), "{split}");
        }
    }
}

#[test]
fn a_put_writes_back_all_of_thousands_of_other_leases() {
    let mut random = Prng::new(2);
    let mut puts = 0;
    for round in 0..10_000 {
        let body = mutated(&mut random);
        let Some(record) = oracle::record(&body) else {
            continue;
        };
        puts += 1;
        let (body, version) = (
            String::from_utf8(body).unwrap(),
            record.version.resource_version,
        );
        let mut keep = [0; 4_096];
        let split = [1, 5, usize::MAX][round % 3];
        let mut session = after_reading(&body, split, version.as_str(), put_only(&mut keep));
        let id = sent(&mut session);
        let put: Value = serde_json::from_str(&written(&session, id).2).unwrap();
        assert_eq!(put, expected_put(&body, version.as_str()), "{body}");
    }
    assert!(puts > 1_000, "{puts}");
}

#[test]
fn kept_values_are_the_same_bytes() {
    let mut keep = [0; 4_096];
    let mut session = after_reading(bodies::RICH, 5, RICH_VERSION, put_only(&mut keep));
    let id = sent(&mut session);
    let put = written(&session, id).2;
    for raw in [
        r#""example.com\/zone":"east""#,
        r#""annotations":{"last":"{\"a\":[1,2,{\"b\":\"\\\"\"}]}\n","html":"\u003cb\u003e \u0026"}"#,
        r#""ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n1","uid":"u1"},{"apiVersion":"apps/v1","#,
        r#""finalizers":["example.com/hold"]"#,
        r#""strategy":"OldestEmulationVersion""#,
        r#""future":{"a":[1,-2.5e+3,true,null]}"#,
        r#""later":{"x":"y"}"#,
    ] {
        assert!(bodies::RICH.contains(raw), "{raw}");
        assert!(put.contains(raw), "{raw} in {put}");
    }
    assert!(!put.contains("managedFields"));
}

#[test]
fn own_labels_take_the_place_of_kept_ones_and_no_other() {
    let labels = [
        Label {
            key: "example.com/zone",
            value: "west",
        },
        Label {
            key: "new",
            value: "1",
        },
    ];
    let mut keep = [0; 4_096];
    let mut session = after_reading(bodies::RICH, usize::MAX, RICH_VERSION, put_only(&mut keep));
    session.machine_mut().labels = labels.to_vec();
    let id = sent(&mut session);
    let put: Value = serde_json::from_str(&written(&session, id).2).unwrap();
    let expected = json!({"app": "x", "example.com/zone": "west", "empty": "", "new": "1"});
    assert_eq!(put["metadata"]["labels"], expected);
    // The derive of the other parser would have refused a second label of one name; count them.
    assert_eq!(written(&session, id).2.matches("zone").count(), 1);

    let mut session = after_reading(bodies::RICH, 9, RICH_VERSION, UpdateMode::MergePatch);
    session.machine_mut().labels = labels.to_vec();
    let id = sent(&mut session);
    let (method, _, patch) = written(&session, id);
    let patch: Value = serde_json::from_str(&patch).unwrap();
    assert_eq!(method, Method::Patch);
    assert_eq!(
        patch["metadata"]["labels"],
        json!({"example.com/zone": "west", "new": "1"})
    );
}

#[test]
fn a_keep_buffer_of_any_size_is_never_lossy() {
    let whole = expected_put(bodies::RICH, RICH_VERSION);
    let mut puts = 0;
    for size in 0..1_000 {
        let mut keep = vec![0; size];
        let mut session = after_reading(bodies::RICH, 11, RICH_VERSION, put_or_patch(&mut keep));
        let id = sent(&mut session);
        let (method, _, body) = written(&session, id);
        let body: Value = serde_json::from_str(&body).unwrap();
        if method == Method::Put {
            puts += 1;
            assert_eq!(body, whole, "{size}");
        } else {
            assert_eq!((method, puts), (Method::Patch, 0), "{size}");
            assert_eq!(body["metadata"], json!({"resourceVersion": RICH_VERSION}));
        }
        let mut session = after_reading(bodies::RICH, 11, RICH_VERSION, put_only(&mut keep));
        if method == Method::Put {
            sent(&mut session);
        } else {
            assert_eq!(session.poll(at(1_002)), Action::Done);
            assert_eq!(session.machine().told.last().unwrap(), "TooLarge");
        }
    }
    assert!(puts > 100, "{puts}");
}

#[test]
fn a_version_that_was_not_read_is_never_written_from_the_keep() {
    let mut keep = [0; 4_096];
    let mut session = after_reading(bodies::RICH, usize::MAX, "1", put_or_patch(&mut keep));
    session.machine_mut().steps.push_back(Step::Get);
    sent(&mut session);
    assert_eq!(session.machine().told.last().unwrap(), "Conflict");
    assert!(matches!(session.machine().steps.len(), 0));

    let mut keep = [0; 4_096];
    let mut session = Session::new(Script::new([update("1")]), path(), put_only(&mut keep));
    assert_eq!(session.poll(at(1_000)), Action::Done);
    assert_eq!(session.machine().told, ["Conflict"]);
}

#[test]
fn an_answer_that_is_bad_or_not_whole_spoils_the_keep() {
    type Spoil = fn(&mut Session<'_, Script>, kubelease_core::protocol::RequestId);
    let table: [Spoil; 5] = [
        |session, id| {
            session
                .response_body(id, &bodies::RICH.as_bytes()[..700])
                .unwrap();
            session
                .response_failed(at(1_001), id, Failure::Unknown)
                .unwrap();
        },
        |session, id| {
            session
                .response_body(id, &bodies::RICH.as_bytes()[..700])
                .unwrap();
            session.response_end(at(1_001), id).unwrap();
        },
        |session, id| session.response_end(at(1_001), id).unwrap(),
        |session, id| {
            session.response_body(id, bodies::RICH.as_bytes()).unwrap();
            session.response_body(id, b"x").unwrap();
            session.response_end(at(1_001), id).unwrap();
        },
        |session, id| {
            session.response_begin(id, 202).unwrap();
            session.response_body(id, bodies::RICH.as_bytes()).unwrap();
            session.response_end(at(1_001), id).unwrap();
        },
    ];
    for spoil in table {
        let mut keep = [0; 4_096];
        let script = Script::new([Step::Get, Step::Get, update(RICH_VERSION)]);
        let mut session = Session::new(script, path(), put_or_patch(&mut keep));
        let id = sent(&mut session);
        answer(&mut session, id, 200, bodies::RICH);
        let id = sent(&mut session);
        session.response_begin(id, 200).unwrap();
        spoil(&mut session, id);
        assert_eq!(session.poll(at(1_002)), Action::Done);
        assert_eq!(session.machine().told.last().unwrap(), "Conflict");
    }
}

#[test]
fn an_error_leaves_the_keep_as_it_is() {
    let mut keep = [0; 4_096];
    let script = Script::new([Step::Get, update(RICH_VERSION), update(RICH_VERSION)]);
    let mut session = Session::new(script, path(), put_only(&mut keep));
    let id = sent(&mut session);
    answer(&mut session, id, 200, bodies::RICH);
    let id = sent(&mut session);
    let first = written(&session, id);
    answer(&mut session, id, 429, bodies::TERMINATING);
    let id = sent(&mut session);
    assert_eq!(written(&session, id), first);
}

#[test]
fn the_answer_to_a_write_fills_the_keep_anew() {
    let mut keep = [0; 4_096];
    let script = Script::new([
        Step::Create { by_put: false },
        update(RICH_VERSION),
        update("12"),
    ]);
    let mut session = Session::new(script, path(), put_only(&mut keep));
    let id = sent(&mut session);
    answer(&mut session, id, 201, bodies::RICH);
    let id = sent(&mut session);
    answer(&mut session, id, 200, bodies::PRETTY);
    let id = sent(&mut session);
    let put: Value = serde_json::from_str(&written(&session, id).2).unwrap();
    assert_eq!(put, expected_put(bodies::PRETTY, "12"));
}

#[test]
fn a_put_whose_answer_has_begun_cannot_be_written_again() {
    let mut keep = [0; 4_096];
    let mut session = after_reading(bodies::RICH, usize::MAX, RICH_VERSION, put_only(&mut keep));
    let id = sent(&mut session);
    session.response_begin(id, 500).unwrap();
    let _ = written(&session, id);
    session.response_begin(id, 200).unwrap();
    let error = session.request_head(id).unwrap_err();
    assert_eq!(error, RequestError::AnswerBegun);
    assert_eq!(
        error.to_string(),
        "expected a request without an answer, found one whose answer has begun"
    );
    assert!(matches!(
        session.write_body(id, 0, &mut [0; 9]),
        Err(RequestError::AnswerBegun)
    ));
}

#[test]
fn patches_say_only_what_changes_and_are_short() {
    let table = [
        (
            Changes::Renew,
            160,
            json!({"metadata": {"resourceVersion": "907"}, "spec": {
                "leaseDurationSeconds": 15, "renewTime": "2026-01-02T03:06:07.000008Z"}}),
        ),
        (
            Changes::Acquire,
            230,
            json!({"metadata": {"resourceVersion": "907"}, "spec": {
                "holderIdentity": "me", "leaseDurationSeconds": 15,
                "acquireTime": "2026-01-02T03:06:07.000008Z",
                "renewTime": "2026-01-02T03:06:07.000008Z", "leaseTransitions": 4}}),
        ),
        (
            Changes::Release,
            230,
            json!({"metadata": {"resourceVersion": "907"}, "spec": {
                "holderIdentity": "", "leaseDurationSeconds": 1,
                "acquireTime": "2026-01-02T03:06:07.000008Z",
                "renewTime": "2026-01-02T03:06:07.000008Z"}}),
        ),
    ];
    for (changes, most, expected) in table {
        let step = Step::Update {
            version: "907".to_owned(),
            changes,
        };
        let mut session = Session::new(Script::new([step]), path(), UpdateMode::MergePatch);
        let id = sent(&mut session);
        let (method, _, patch) = written(&session, id);
        assert_eq!(method, Method::Patch);
        assert_eq!(serde_json::from_str::<Value>(&patch).unwrap(), expected);
        assert!(patch.len() <= most, "{} B: {patch}", patch.len());
        let head = session.request_head(id).unwrap();
        assert_eq!(head.content_type, Some("application/merge-patch+json"));
    }
}

#[test]
fn what_is_created_is_read_back_the_same() {
    for by_put in [false, true] {
        let script = Script::new([Step::Create { by_put }, Step::Get]);
        let mut session = Session::new(script, path(), UpdateMode::MergePatch);
        session.machine_mut().labels = vec![Label {
            key: "k",
            value: "v",
        }];
        let id = sent(&mut session);
        let body: Value = serde_json::from_str(&written(&session, id).2).unwrap();
        let expected = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "a", "namespace": "default", "labels": {"k": "v"}},
            "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15,
                "acquireTime": "2026-01-02T03:06:07.000008Z",
                "renewTime": "2026-01-02T03:06:07.000008Z", "leaseTransitions": 4}});
        assert_eq!(body, expected);
        let mut stored = body;
        stored["metadata"]["resourceVersion"] = json!("5");
        answer(&mut session, id, 201, &stored.to_string());
        let spec = session.machine().record.clone().unwrap().spec.unwrap();
        let written = crate::session::spec("me");
        assert!(spec.holder.matches("me"));
        assert_eq!(spec.renew_time.timestamp(), Some(written.renew_time));
        assert_eq!(spec.acquire_time.timestamp(), written.acquire_time);
        assert_eq!(spec.lease_duration_seconds, Some(15));
        assert_eq!(spec.lease_transitions, Some(4));
    }
}
