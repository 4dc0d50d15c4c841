//! Answers of a machine as the HTTP that a server makes of them.

use kubelease_core::lease::{
    LeaseRecord, NodeRecord, NodeRef, OwnerState, Owners, Readiness, RecordTime,
};
use kubelease_core::protocol::{BadAnswer, Reply, Response, WatchEvent};
use kubelease_core::timestamp::Timestamp;
use serde_json::{Map, Value, json};

/// Status code, headers and body.
pub(crate) struct Http {
    pub(crate) status: u32,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

/// The answer of a server that knows the Node `node` by this uid.
pub(crate) fn of(response: Response<'_>, node: Option<NodeRef<'_>>) -> Http {
    let (status, body) = match response.reply {
        Reply::Node(record) => (200, about_node(record)),
        Reply::Deleted => (
            200,
            json!({"kind": "Status", "status": "Success"}).to_string(),
        ),
        Reply::Lease(record) => {
            let mut lease = lease(record);
            lease["metadata"]["ownerReferences"] = owners(record.owners, node);
            (200, lease.to_string())
        }
        reply => self::reply(reply),
    };
    let mut headers = vec![("content-type", "application/json".to_owned())];
    if let Some(time) = response.server_time {
        headers.push(("date", http_date(time)));
    }
    if let Some(wait) = response.retry_after {
        headers.push(("Retry-After", (wait.as_millis() / 1_000).to_string()));
    }
    Http {
        status,
        headers,
        body,
    }
}

fn reply(reply: Reply<'_>) -> (u32, String) {
    let details = |kind: &str| json!({"name": "l", "kind": kind});
    let failure = |status: u32, details: Value| {
        let reason = if status == 404 { "NotFound" } else { "Failure" };
        let body = json!({"kind": "Status", "reason": reason, "details": details});
        (status, body.to_string())
    };
    match reply {
        Reply::LeaseMissing => failure(404, details("leases")),
        Reply::NamespaceMissing => failure(404, details("namespaces")),
        Reply::ApiUnavailable => (404, "404 page not found\n".to_owned()),
        Reply::Conflict => failure(409, details("leases")),
        Reply::BadRequest => failure(400, json!({})),
        Reply::Unauthorized => failure(401, json!(null)),
        Reply::Forbidden => failure(403, details("leases")),
        Reply::NamespaceTerminating => {
            failure(403, json!({"causes": [{"reason": "NamespaceTerminating"}]}))
        }
        Reply::Invalid => failure(422, details("leases")),
        Reply::Throttled => (429, "slow down".to_owned()),
        Reply::ServerError(status) | Reply::Refused(status) => (u32::from(status), String::new()),
        Reply::WatchEnded => (200, String::new()),
        Reply::BadAnswer(BadAnswer::Truncated) => (200, "{\"kind\":".to_owned()),
        Reply::Lease(_)
        | Reply::Node(_)
        | Reply::Deleted
        | Reply::BadAnswer(_)
        | Reply::TooLarge => {
            panic!("{reply:?} is no such answer of a server")
        }
    }
}

/// A line of a watch; the line break before it ends the one before.
pub(crate) fn line(event: WatchEvent<'_>) -> String {
    let (kind, object) = match event {
        WatchEvent::Changed(record) => ("MODIFIED", lease(record).to_string()),
        WatchEvent::Deleted(record) => ("DELETED", lease(record).to_string()),
        WatchEvent::Bookmark => ("BOOKMARK", "{\"metadata\":{}}".to_owned()),
        WatchEvent::Error => ("ERROR", "{\"code\":410}".to_owned()),
        WatchEvent::Broken(bad) => {
            assert_eq!(bad, BadAnswer::NotJson);
            return "<".to_owned();
        }
    };
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

/// A Node as its uid and readiness say.
fn about_node(record: NodeRecord<'_>) -> String {
    let conditions = match record.readiness {
        Readiness::Unsaid => json!([]),
        Readiness::Ready => json!([{"type": "Ready", "status": "True"}]),
        Readiness::NotReady => json!([{"type": "Ready", "status": "False"}]),
        Readiness::Unknown => json!([{"type": "Ready", "status": "Unknown"}]),
    };
    let metadata = json!({"name": "gw1", "uid": record.uid.as_str(), "resourceVersion": "3"});
    json!({"kind": "Node", "metadata": metadata, "status": {"conditions": conditions}}).to_string()
}

/// References that say this of `node`.
fn owners(owners: Owners, node: Option<NodeRef<'_>>) -> Value {
    let reference = |kind: &str, name: &str, uid: &str| {
        let version = "v1";
        json!({"apiVersion": version, "kind": kind, "name": name, "uid": uid})
    };
    let mut references = Vec::new();
    if owners.has_others {
        references.push(reference("Pod", "other", "p1"));
    }
    let name = node.map_or("", |node| node.name);
    match (owners.node, node) {
        (OwnerState::Absent, _) => {}
        (OwnerState::Stale, _) => references.push(reference("Node", name, "stale")),
        (OwnerState::Current, Some(node)) if !node.uid.is_empty() => {
            references.push(reference("Node", name, str::from_utf8(node.uid).unwrap()));
        }
        (OwnerState::Current, _) => panic!("no uid that could be current"),
    }
    Value::Array(references)
}

fn lease(record: &LeaseRecord) -> Value {
    let mut metadata = json!({
        "uid": record.version.uid.as_str(),
        "resourceVersion": record.version.resource_version.as_str(),
        "managedFields": [{"fieldsV1": {"f:spec": {}}}],
    });
    if let Some(time) = record.creation_timestamp {
        metadata["creationTimestamp"] = json!(time.to_string());
    }
    if record.being_deleted {
        metadata["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    }
    let mut body = json!({"kind": "Lease", "metadata": metadata});
    if let Some(spec) = &record.spec {
        let mut members = Map::new();
        // A holder longer than the core keeps is the one of `Life`.
        let holder = match spec.holder.as_str() {
            prefix if spec.holder.is_clipped() => prefix.chars().cycle().take(240).collect(),
            whole => whole.to_owned(),
        };
        members.insert("holderIdentity".to_owned(), json!(holder));
        let numbers = [
            ("leaseDurationSeconds", spec.lease_duration_seconds),
            ("leaseTransitions", spec.lease_transitions),
        ];
        for (name, number) in numbers {
            members.insert(name.to_owned(), json!(number));
        }
        let times = [
            ("acquireTime", spec.acquire_time),
            ("renewTime", spec.renew_time),
        ];
        for (name, time) in times {
            match time {
                RecordTime::Canonical(time) => {
                    members.insert(name.to_owned(), json!(time.to_string()));
                }
                RecordTime::Absent => {}
                RecordTime::Null | RecordTime::Other { .. } => panic!("{name}: {time:?}"),
            }
        }
        body["spec"] = Value::Object(members);
    }
    body
}

/// RFC 9110, of whole seconds.
fn http_date(time: Timestamp) -> String {
    let (seconds, micros) = time.as_unix();
    assert_eq!(micros, 0, "a Date has whole seconds");
    let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let text = time.to_string();
    let month: usize = text[5..7].parse().unwrap();
    let day = days[usize::try_from(seconds / 86_400 % 7).unwrap()];
    format!(
        "{day}, {} {} {} {} GMT",
        &text[8..10],
        months[month - 1],
        &text[..4],
        &text[11..19]
    )
}
