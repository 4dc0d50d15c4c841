//! What the bodies of writes have to say, as serde_json sees them.

use kubelease_core::lease::Label;
use kubelease_core::lease::Version;
use serde_json::{Map, Value, json};

/// Members of `metadata` that are the server's, or are written anew.
const NOT_PUT_BACK: &[&str] = &[
    "managedFields",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "selfLink",
    "uid",
];

/// What a PUT has to write over `read`: all that is not ours, and `spec` whole.
pub(super) fn replaced(
    read: &[u8],
    spec: &Map<String, Value>,
    version: &Version,
    labels: &[Label<'_>],
) -> Value {
    let mut lease: Value = serde_json::from_slice(read).expect("what the reader took for JSON");
    lease["apiVersion"] = json!("coordination.k8s.io/v1");
    lease["kind"] = json!("Lease");
    if lease["spec"].is_null() {
        lease["spec"] = json!({});
    }
    let whole = lease["spec"].as_object_mut().expect("an object");
    for own in ["acquireTime", "leaseTransitions"] {
        whole.remove(own);
    }
    whole.extend(spec.clone());
    let metadata = lease["metadata"].as_object_mut().expect("an object");
    metadata.retain(|key, _| !NOT_PUT_BACK.contains(&key.as_str()));
    metadata.insert("name".into(), json!("a"));
    metadata.insert("namespace".into(), json!("default"));
    if !version.uid.is_empty() {
        metadata.insert("uid".into(), json!(version.uid.as_str()));
    }
    let text = version.resource_version.as_str();
    metadata.insert("resourceVersion".into(), json!(text));
    let mut all = match metadata.remove("labels") {
        Some(Value::Object(all)) => all,
        _ => Map::new(),
    };
    all.extend(labelled(labels));
    // No labels at all are the same as none.
    if !all.is_empty() {
        metadata.insert("labels".into(), all.into());
    }
    lease
}

/// What creates the lease.
pub(super) fn created(spec: &Map<String, Value>, labels: &[Label<'_>]) -> Value {
    let bare = br#"{"metadata":{}}"#;
    let mut lease = replaced(bare, spec, &Version::default(), labels);
    let metadata = lease["metadata"].as_object_mut().expect("an object");
    metadata.remove("resourceVersion");
    lease
}

/// What a merge patch has to write.
pub(super) fn patched(spec: &Map<String, Value>, version: &Version, labels: &[Label<'_>]) -> Value {
    let mut lease = json!({"metadata": {"resourceVersion": version.resource_version.as_str()}});
    lease["spec"] = spec.clone().into();
    if !labels.is_empty() {
        lease["metadata"]["labels"] = labelled(labels).into();
    }
    lease
}

fn labelled(labels: &[Label<'_>]) -> Map<String, Value> {
    let pairs = labels.iter();
    pairs
        .map(|label| (label.key.to_owned(), json!(label.value)))
        .collect()
}
