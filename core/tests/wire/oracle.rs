//! What serde_json makes of a body: the judge of the reader.

use kubelease_core::lease::{LeaseRecord, RecordSpec, RecordTime, ResourceVersion, Uid};
use kubelease_core::text::Hash;
use kubelease_core::timestamp::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Number, Value};

/// Types of the known members: serde's derive refuses a second one of the same name.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Lease {
    kind: Option<String>,
    metadata: Option<Metadata>,
    spec: Option<Spec>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    uid: Option<String>,
    resource_version: Option<String>,
    creation_timestamp: Option<String>,
    deletion_timestamp: Option<String>,
    #[serde(rename = "labels")]
    _labels: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    holder_identity: Option<String>,
    lease_duration_seconds: Option<Number>,
    #[serde(rename = "acquireTime")]
    _acquire_time: Option<String>,
    #[serde(rename = "renewTime")]
    _renew_time: Option<String>,
    lease_transitions: Option<Number>,
}

/// Whether `body` is JSON at all, at most 32 levels deep.
pub(crate) fn is_json(body: &[u8]) -> bool {
    serde_json::from_slice::<Value>(body).is_ok_and(|value| depth(&value) <= 32)
}

/// The record in `body`; `None` where it is no Lease that can be written over.
pub(crate) fn record(body: &[u8]) -> Option<LeaseRecord> {
    if !is_json(body) {
        return None;
    }
    let value: Value = serde_json::from_slice(body).ok()?;
    value.as_object()?;
    let lease: Lease = serde_json::from_slice(body).ok()?;
    if lease.kind.is_some_and(|kind| kind != "Lease") {
        return None;
    }
    let metadata = lease.metadata?;
    let mut record = LeaseRecord::default();
    let version = metadata
        .resource_version
        .filter(|version| !version.is_empty())?;
    record.version.resource_version = ResourceVersion::try_from(version.as_str()).ok()?;
    record.version.uid = Uid::try_from(metadata.uid.unwrap_or_default().as_str()).ok()?;
    record.creation_timestamp = metadata
        .creation_timestamp
        .and_then(|text| Timestamp::parse(&text).ok());
    record.being_deleted = metadata.deletion_timestamp.is_some();
    if let Some(spec) = lease.spec {
        record.spec = Some(RecordSpec {
            holder: spec.holder_identity.unwrap_or_default().as_str().into(),
            lease_duration_seconds: int32(spec.lease_duration_seconds)?,
            acquire_time: time(value.pointer("/spec/acquireTime")),
            renew_time: time(value.pointer("/spec/renewTime")),
            lease_transitions: int32(spec.lease_transitions)?,
        });
    }
    Some(record)
}

/// Like the API server, and unlike serde_json, takes `-0` for an `int32`.
fn int32(number: Option<Number>) -> Option<Option<i32>> {
    number
        .map(|number| number.to_string().parse().ok())
        .map_or(Some(None), |read| read.map(Some))
}

fn time(value: Option<&Value>) -> RecordTime {
    let Some(value) = value else {
        return RecordTime::Absent;
    };
    let Some(text) = value.as_str() else {
        return RecordTime::Null;
    };
    // Longer texts than that are not looked at.
    let instant = Timestamp::parse(text).ok().filter(|_| text.len() <= 40);
    match instant {
        Some(instant) if instant.to_string() == text => RecordTime::Canonical(instant),
        _ => RecordTime::Other {
            instant,
            hash: Hash::of(text.as_bytes()),
        },
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}
