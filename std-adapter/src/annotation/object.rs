//! An object with a record in one annotation, as a Lease and back.
//!
//! Values are kept as raw JSON: what is not ours goes back as it came, to the last digit.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::AnnotationLock;

type Members = BTreeMap<String, Box<RawValue>>;
type Texts = BTreeMap<String, String>;

/// The members of a record that are ours: of the annotation, and of a Lease's spec.
const RECORD: [(&str, &str); 5] = [
    ("holderIdentity", "holderIdentity"),
    ("leaseDurationSeconds", "leaseDurationSeconds"),
    ("acquireTime", "acquireTime"),
    ("renewTime", "renewTime"),
    ("leaderTransitions", "leaseTransitions"),
];

/// The members of `metadata` that the machine reads.
const METADATA: [&str; 4] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
];

/// An object as the server answered it.
#[derive(Debug)]
pub(super) struct Object {
    members: Members,
    metadata: Members,
    annotations: Texts,
    labels: Texts,
    version: String,
}

impl Object {
    /// The object of this kind in `body`; `None` where there is none.
    pub(super) fn read(body: &[u8], lock: &AnnotationLock) -> Option<Self> {
        let members: Members = serde_json::from_slice(body).ok()?;
        if text(&members, "kind")? != lock.kind {
            return None;
        }
        let metadata: Members = parsed(&members, "metadata")?;
        Some(Self {
            annotations: parsed(&metadata, "annotations").unwrap_or_default(),
            labels: parsed(&metadata, "labels").unwrap_or_default(),
            version: text(&metadata, "resourceVersion")?,
            members,
            metadata,
        })
    }

    /// Whether this is the state that a write is conditional on.
    pub(super) fn has_version(&self, lease: &Value) -> bool {
        lease.pointer("/metadata/resourceVersion") == Some(&Value::from(self.version.as_str()))
    }

    /// The Lease that the machine reads.
    pub(super) fn as_lease(&self, key: &str) -> Option<Vec<u8>> {
        let kept = METADATA
            .iter()
            .filter_map(|name| Some((*name, self.metadata.get(*name)?)));
        let metadata: BTreeMap<_, _> = kept.collect();
        let mut lease = BTreeMap::from([
            ("apiVersion", to_raw_value("coordination.k8s.io/v1").ok()?),
            ("kind", to_raw_value("Lease").ok()?),
            ("metadata", to_raw_value(&metadata).ok()?),
        ]);
        if let Some(text) = self.annotations.get(key) {
            lease.insert("spec", spec(text)?);
        }
        serde_json::to_vec(&lease).ok()
    }

    /// The body that replaces this object, with all that is in it but what `lease` sets.
    pub(super) fn replaced(&self, lease: &Value, key: &str) -> Option<Vec<u8>> {
        let (mut annotations, mut labels) = (self.annotations.clone(), self.labels.clone());
        annotations.insert(key.to_owned(), self.record(lease, key, true)?);
        labels.extend(own_labels(lease));
        let mut metadata = self.metadata.clone();
        metadata.insert("annotations".to_owned(), to_raw_value(&annotations).ok()?);
        if !labels.is_empty() {
            metadata.insert("labels".to_owned(), to_raw_value(&labels).ok()?);
        }
        let mut members = self.members.clone();
        members.insert("metadata".to_owned(), to_raw_value(&metadata).ok()?);
        serde_json::to_vec(&members).ok()
    }

    /// The merge patch that does the same.
    pub(super) fn patch(&self, lease: &Value, key: &str) -> Option<Vec<u8>> {
        let record = self.record(lease, key, false)?;
        let mut metadata = json!({"resourceVersion": self.version, "annotations": {key: record}});
        add_labels(&mut metadata, lease);
        serde_json::to_vec(&json!({"metadata": metadata})).ok()
    }

    /// The text of the annotation with what `lease` sets. What it leaves out is null in a `whole`
    /// record, and stays as it is otherwise; members that are not ours stay.
    fn record(&self, lease: &Value, key: &str, is_whole: bool) -> Option<String> {
        let before = self.annotations.get(key);
        let before = before.and_then(|text| serde_json::from_str(text).ok());
        written(lease, before.unwrap_or_default(), is_whole)
    }
}

/// The body that makes a new object.
pub(super) fn created(lease: &Value, lock: &AnnotationLock) -> Option<Vec<u8>> {
    let record = written(lease, Members::new(), true)?;
    let mut metadata = json!({
        "name": lease.pointer("/metadata/name")?,
        "annotations": {lock.key.as_str(): record},
    });
    if lock.is_namespaced
        && let (Value::Object(metadata), Some(namespace)) =
            (&mut metadata, lease.pointer("/metadata/namespace"))
    {
        metadata.insert("namespace".to_owned(), namespace.clone());
    }
    add_labels(&mut metadata, lease);
    let object = json!({
        "apiVersion": lock.api_version,
        "kind": lock.kind,
        "metadata": metadata,
    });
    serde_json::to_vec(&object).ok()
}

/// The spec of a Lease with this record. Where the text is no record the machine gets a spec that
/// is none: nothing is ever written over what can't be read.
fn spec(text: &str) -> Option<Box<RawValue>> {
    let Ok(record) = serde_json::from_str::<Members>(text) else {
        return to_raw_value(text).ok();
    };
    let member = |(ours, leases): (&'static str, &'static str)| Some((leases, record.get(ours)?));
    let spec: BTreeMap<_, _> = RECORD.into_iter().filter_map(member).collect();
    to_raw_value(&spec).ok()
}

/// A record in client-go's order, and what is not ours behind it.
fn written(lease: &Value, mut before: Members, is_whole: bool) -> Option<String> {
    let spec = lease.get("spec")?;
    let mut parts = Vec::new();
    for (ours, leases) in RECORD {
        let stays = before.remove(ours).filter(|_| !is_whole);
        let value = match (spec.get(leases), stays) {
            (Some(value), _) => value.to_string(),
            (None, Some(stays)) => stays.get().to_owned(),
            (None, None) => "null".to_owned(),
        };
        parts.push(format!("\"{ours}\":{value}"));
    }
    for (key, value) in before {
        parts.push(format!("{}:{}", Value::from(key), value.get()));
    }
    Some(format!("{{{}}}", parts.join(",")))
}

fn own_labels(lease: &Value) -> impl Iterator<Item = (String, String)> {
    let labels = lease.pointer("/metadata/labels").and_then(Value::as_object);
    let own = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    labels.into_iter().flatten().filter_map(own)
}

fn add_labels(metadata: &mut Value, lease: &Value) {
    let labels: Texts = own_labels(lease).collect();
    if let (Value::Object(metadata), false) = (metadata, labels.is_empty()) {
        metadata.insert("labels".to_owned(), json!(labels));
    }
}

fn parsed<T: DeserializeOwned>(members: &Members, name: &str) -> Option<T> {
    serde_json::from_str(members.get(name)?.get()).ok()
}

fn text(members: &Members, name: &str) -> Option<String> {
    parsed(members, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "tke/leader";

    fn lock() -> AnnotationLock {
        AnnotationLock::tke("platform.tkestack.io")
    }

    fn read(annotations: &str) -> Object {
        let body = format!(
            r#"{{"kind":"ConfigMap","apiVersion":"platform.tkestack.io/v1","metadata":{{
            "name":"a","uid":"u","resourceVersion":"7","annotations":{annotations},
            "labels":{{"own":"1"}}}},"data":{{"n":1.50}},"x":12345678901234567890123}}"#
        );
        Object::read(body.as_bytes(), &lock()).unwrap()
    }

    fn json(bytes: Option<Vec<u8>>) -> Value {
        serde_json::from_slice(&bytes.unwrap()).unwrap()
    }

    fn renewal() -> Value {
        json!({
            "metadata": {"name": "a", "resourceVersion": "7", "labels": {"z": "2"}},
            "spec": {"leaseDurationSeconds": 15, "renewTime": "t2"},
        })
    }

    #[test]
    fn a_record_becomes_the_spec_of_a_lease() {
        let record = r#"{"tke/leader":"{\"holderIdentity\":\"a\",\"leaseDurationSeconds\":15,\"acquireTime\":null,\"renewTime\":\"t1\",\"leaderTransitions\":3}"}"#;
        let lease = json(read(record).as_lease(KEY));
        assert_eq!(
            lease,
            json!({
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {"uid": "u", "resourceVersion": "7"},
                "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "acquireTime": null,
                    "renewTime": "t1", "leaseTransitions": 3},
            })
        );
    }

    #[test]
    fn no_annotation_is_a_free_lease_and_a_broken_one_is_none() {
        assert_eq!(json(read("null").as_lease(KEY)).get("spec"), None);
        assert_eq!(
            json(read(r#"{"other":"x"}"#).as_lease(KEY)).get("spec"),
            None
        );
        for broken in ["", "[]", "x"] {
            let annotations = json!({ KEY: broken }).to_string();
            let lease = json(read(&annotations).as_lease(KEY));
            assert_eq!(lease.get("spec"), Some(&json!(broken)));
        }
    }

    #[test]
    fn a_put_keeps_all_that_is_not_ours_to_the_last_digit() {
        let record = r#"{"tke/leader":"{\"holderIdentity\":\"a\",\"renewTime\":\"t1\",\"more\":1.50}","o":"x"}"#;
        let body = read(record).replaced(&renewal(), KEY).unwrap();
        let text = String::from_utf8(body.clone()).unwrap();
        assert!(text.contains(r#""data":{"n":1.50}"#), "{text}");
        assert!(text.contains(r#""x":12345678901234567890123"#), "{text}");
        let object = json(Some(body));
        let metadata = object.get("metadata").unwrap();
        assert_eq!(metadata.get("labels"), Some(&json!({"own": "1", "z": "2"})));
        assert_eq!(metadata.get("resourceVersion"), Some(&json!("7")));
        let annotations = metadata.get("annotations").unwrap();
        assert_eq!(annotations.get("o"), Some(&json!("x")));
        assert_eq!(
            annotations.get(KEY),
            Some(&json!(
                r#"{"holderIdentity":null,"leaseDurationSeconds":15,"acquireTime":null,"renewTime":"t2","leaderTransitions":null,"more":1.50}"#
            ))
        );
    }

    #[test]
    fn a_patch_has_the_version_and_leaves_what_it_does_not_name() {
        let record = r#"{"tke/leader":"{\"holderIdentity\":\"a\",\"leaderTransitions\":3}"}"#;
        let patch = json(read(record).patch(&renewal(), KEY));
        assert_eq!(
            patch,
            json!({"metadata": {
                "resourceVersion": "7",
                "annotations": {KEY: r#"{"holderIdentity":"a","leaseDurationSeconds":15,"acquireTime":null,"renewTime":"t2","leaderTransitions":3}"#},
                "labels": {"z": "2"},
            }})
        );
    }

    #[test]
    fn another_kind_is_no_object() {
        let body = br#"{"kind":"Status","metadata":{"resourceVersion":"1"}}"#;
        assert!(Object::read(body, &lock()).is_none());
        assert!(Object::read(b"<html>", &lock()).is_none());
    }
}
