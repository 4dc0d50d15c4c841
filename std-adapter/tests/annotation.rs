//! Elections over an annotation: beside programs that know no Leases.
#![cfg(feature = "annotation-lock")]

mod support;

use core::time::Duration;

use kubelease::kubelease_core::protocol::BadAnswer;
use kubelease::testing::ApiServer;
use kubelease::{
    AnnotationLock, ApiClient, Builder, Connection, Create, Elector, Event, Finish, StartError,
    TroubleKind,
};
use serde_json::{Value, json};
use support::{FAST, candidate, handover, instant, next_edge, until};

const CLIENT_GO: &str = "control-plane.alpha.kubernetes.io/leader";
const TKE: &str = "tke/leader";

fn over_config_map(server: &ApiServer, identity: &str) -> Builder {
    candidate(server, identity).annotation_lock(AnnotationLock::config_map())
}

/// The object, and the record in it.
fn stored(server: &ApiServer, namespace: &str, key: &str) -> (Value, Value) {
    let object = server.object("configmaps", namespace, "lock");
    let object = object.unwrap_or_default();
    let record = object
        .pointer("/metadata/annotations")
        .and_then(|annotations| annotations.get(key)?.as_str())
        .and_then(|text| serde_json::from_str(text).ok());
    (object, record.unwrap_or_default())
}

fn holder(server: &ApiServer) -> Value {
    let (_, record) = stored(server, "default", CLIENT_GO);
    record.get("holderIdentity").cloned().unwrap_or_default()
}

async fn send(server: &ApiServer, method: &str, target: &str, body: Value) {
    let connection = Connection::to(server.url());
    let client = ApiClient::new(&connection, Duration::from_secs(10));
    let kind = match method {
        "PATCH" => "application/merge-patch+json",
        _ => "application/json",
    };
    let sent = client
        .expect("good settings")
        .request(method, target, kind, body.to_string().as_bytes())
        .await
        .expect("an answer");
    assert!(sent.status() < 300, "{}", sent.status());
}

async fn create(server: &ApiServer, annotations: Value) {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "lock", "annotations": annotations, "labels": {"team": "pumps"}},
        "data": {"setting": "küche \" \\ \u{1f511}"}, "binaryData": {"b": "AAEC"},
    });
    send(
        server,
        "POST",
        "/api/v1/namespaces/default/configmaps",
        object,
    )
    .await;
}

#[tokio::test]
async fn a_config_map_is_made_renewed_released_and_taken_at_once() {
    let server = ApiServer::start().unwrap();
    let first = over_config_map(&server, "a").start().unwrap();
    until("a leads", || first.is_leading()).await;
    until("two renewals", || server.count("PUT") >= 2).await;
    let (object, record) = stored(&server, "default", CLIENT_GO);
    assert_eq!(record["holderIdentity"], "a");
    assert_eq!(record["leaseDurationSeconds"], 30);
    assert_eq!(record["leaderTransitions"], 0);
    let keys: Vec<_> = record.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "holderIdentity",
            "leaseDurationSeconds",
            "acquireTime",
            "renewTime",
            "leaderTransitions"
        ]
    );
    let fence = first.fence().unwrap();
    assert_eq!(
        Some(fence.lease_uid.as_str()),
        object["metadata"]["uid"].as_str()
    );
    let requests = server.requests();
    assert!(
        requests
            .iter()
            .all(|request| request.path.contains("/configmaps"))
    );

    let second = over_config_map(&server, "b").start().unwrap();
    until("b knows", || second.leader().as_deref() == Some("a")).await;
    assert_eq!(first.shutdown().await, Ok(Finish::Released));
    until("b leads", || second.is_leading()).await;
    assert_eq!(
        stored(&server, "default", CLIENT_GO).1["leaderTransitions"],
        1
    );
    assert!(second.fence().unwrap().compare(&fence).unwrap().is_gt());
}

#[tokio::test]
async fn all_that_is_in_the_object_stays_there_whoever_changes_it_meanwhile() {
    for patch_mode in [false, true] {
        let server = ApiServer::start().unwrap();
        let old = r#"{"holderIdentity":"","leaseDurationSeconds":1,"acquireTime":null,"renewTime":null,"leaderTransitions":41,"more":[1.50]}"#;
        create(&server, json!({"note": "x", CLIENT_GO: old})).await;
        let mut builder = over_config_map(&server, "a").label("example.com/zone", "z1");
        if patch_mode {
            builder = builder.patch_mode();
        }
        let handle = builder.start().unwrap();
        until("leading", || handle.is_leading()).await;
        let target = "/api/v1/namespaces/default/configmaps/lock";
        send(&server, "PATCH", target, json!({"data": {"new": "1"}})).await;
        let before = server.requests().len();
        until("renewals over it", || server.requests().len() > before + 3).await;
        assert!(handle.is_leading());
        assert_eq!(handle.term(), 1);
        let (object, record) = stored(&server, "default", CLIENT_GO);
        assert_eq!(object["data"]["setting"], "küche \" \\ \u{1f511}");
        assert_eq!(object["data"]["new"], "1");
        assert_eq!(object["binaryData"]["b"], "AAEC");
        assert_eq!(object["metadata"]["annotations"]["note"], "x");
        let labels = json!({"team": "pumps", "example.com/zone": "z1"});
        assert_eq!(object["metadata"]["labels"], labels);
        assert_eq!(record["leaderTransitions"], 42);
        // As it was written: a number read and written anew would be 1.5.
        let text = &object["metadata"]["annotations"][CLIENT_GO];
        assert!(
            text.as_str().unwrap().contains(r#""more":[1.50]"#),
            "{text}"
        );
        let method = if patch_mode { "PUT" } else { "PATCH" };
        let others = usize::from(!patch_mode);
        assert_eq!(server.count(method), others, "{method}");
    }
}

#[tokio::test]
async fn a_cluster_scoped_config_map_needs_no_namespace() {
    let server = ApiServer::start().unwrap();
    let start = |identity: &str| {
        let lock = AnnotationLock::tke("platform.tkestack.io");
        let builder = Elector::builder().server(server.url()).name("lock");
        let builder = builder.identity(identity).timing(FAST);
        builder.annotation_lock(lock).start().unwrap()
    };
    let first = start("a");
    until("a leads", || first.is_leading()).await;
    let second = start("b");
    until("b knows", || second.leader().as_deref() == Some("a")).await;
    let (object, record) = stored(&server, "", TKE);
    assert_eq!(record["holderIdentity"], "a");
    assert_eq!(object["apiVersion"], "platform.tkestack.io/v1");
    assert_eq!(object["metadata"].get("namespace"), None);
    first.kill();
    until("b leads", || second.is_leading()).await;
    let waited = handover(&server);
    assert!(waited >= Duration::from_secs(2), "{waited:?}: too soon");
    assert_eq!(stored(&server, "", TKE).1["leaderTransitions"], 1);
}

#[tokio::test]
async fn an_old_holder_is_waited_out_for_the_duration_that_it_wrote() {
    let server = ApiServer::start().unwrap();
    let old = r#"{"holderIdentity":"old","leaseDurationSeconds":1,"acquireTime":"2020-01-01T00:00:00Z","renewTime":"2020-01-01T00:00:00Z","leaderTransitions":3}"#;
    create(&server, json!({CLIENT_GO: old})).await;
    let begun = instant();
    let handle = over_config_map(&server, "a").start().unwrap();
    until("seen", || handle.leader().as_deref() == Some("old")).await;
    until("leading", || handle.is_leading()).await;
    let took = begun.elapsed();
    assert!(took >= Duration::from_secs(1), "{took:?}: too soon");
    assert_eq!(holder(&server), "a");
    assert_eq!(
        stored(&server, "default", CLIENT_GO).1["leaderTransitions"],
        4
    );
}

#[tokio::test]
async fn a_record_that_can_not_be_read_is_never_written_over() {
    let server = ApiServer::start().unwrap();
    create(&server, json!({CLIENT_GO: "{\"holderIdentity\":"})).await;
    let before = server.object("configmaps", "default", "lock");
    let handle = over_config_map(&server, "a").start().unwrap();
    let mut changes = handle.changes();
    let trouble = next_edge(&mut changes).await;
    let is_bad = matches!(
        trouble,
        Some(Event::Trouble {
            kind: TroubleKind::BadAnswer(BadAnswer::Malformed),
            ..
        })
    );
    assert!(is_bad, "{trouble:?}");
    until("a third look", || server.count("GET") >= 3).await;
    assert!(!handle.is_leading());
    assert_eq!(server.object("configmaps", "default", "lock"), before);
}

#[tokio::test]
async fn what_would_write_over_others_or_is_not_done_is_refused() {
    let server = ApiServer::start().unwrap();
    let builder = over_config_map(&server, "a").create(Create::Put);
    assert_eq!(builder.start().unwrap_err(), StartError::CreateByPut);
    let error = over_config_map(&server, "a").watch().start().unwrap_err();
    assert_eq!(error, StartError::WatchOfAnnotation);
    let lock = AnnotationLock::config_map().key("a/b/c");
    let builder = candidate(&server, "a").annotation_lock(lock);
    let expected = StartError::AnnotationLock("annotation");
    assert_eq!(builder.start().unwrap_err(), expected);
}
