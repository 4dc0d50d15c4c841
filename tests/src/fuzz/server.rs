//! A small API server for one Lease in JSON.

use kubelease_core::wire::http::Method;
use serde_json::{Value, json};

/// The Lease, if there is one.
#[derive(Debug, Default)]
pub(super) struct Server {
    lease: Option<Value>,
    version: u64,
}

/// Status code and body.
pub(super) type Answer = (u16, Vec<u8>);

impl Server {
    /// Does what a request asks for.
    pub(super) fn serve(&mut self, method: Method, body: &[u8]) -> Answer {
        if method == Method::Get {
            return self.found(200);
        }
        let sent: Value = serde_json::from_slice(body).expect("a write has a body in JSON");
        let condition = sent["metadata"].get("resourceVersion");
        match (&self.lease, method, condition) {
            (Some(_), Method::Post, _) => status(409, "AlreadyExists"),
            (None, Method::Patch, _) | (None, Method::Put, Some(_)) => status(404, "NotFound"),
            (None, Method::Get | Method::Post | Method::Put | Method::Delete, _) => {
                self.store(sent);
                self.lease.as_mut().expect("a lease")["metadata"]["uid"] = json!("u1");
                self.found(201)
            }
            (Some(_), Method::Put, None) => version_missing(),
            (Some(lease), _, condition) => {
                if condition != lease["metadata"].get("resourceVersion") {
                    return status(409, "Conflict");
                }
                let mut next = lease.clone();
                match method {
                    Method::Patch => merge(&mut next, &sent),
                    Method::Get | Method::Post | Method::Put | Method::Delete => next = sent,
                }
                self.store(next);
                self.found(200)
            }
        }
    }

    /// Somebody else writes this holder.
    pub(super) fn steal(&mut self, holder: &str) {
        let mut lease = self.lease.take().unwrap_or_else(|| json!({}));
        lease["metadata"]["uid"] = json!("u2");
        lease["spec"] = json!({"holderIdentity": holder, "leaseDurationSeconds": 7});
        lease["spec"]["renewTime"] = json!(format!("2026-01-02T03:04:05.{:06}Z", self.version));
        self.store(lease);
    }

    /// Somebody else adds something that is not ours to touch.
    pub(super) fn adorn(&mut self, key: &str, value: &str) {
        let Some(mut lease) = self.lease.take() else {
            return;
        };
        lease["metadata"]["annotations"][key] = json!(value);
        lease["metadata"]["labels"][value] = json!("l");
        lease["metadata"]["managedFields"] = json!([{"manager": key}]);
        lease["spec"]["strategy"] = json!(value);
        lease["later"] = json!({key: [1, null, {"deep": value}]});
        self.store(lease);
    }

    /// Somebody else deletes the lease.
    pub(super) fn delete(&mut self) {
        self.lease = None;
    }

    fn store(&mut self, mut lease: Value) {
        self.version += 1;
        lease["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.lease = Some(lease);
    }

    fn found(&self, code: u16) -> Answer {
        match &self.lease {
            Some(lease) => (code, serde_json::to_vec(lease).expect("a Value is JSON")),
            None => status(404, "NotFound"),
        }
    }
}

fn status(code: u16, reason: &str) -> Answer {
    let status = json!({"kind": "Status", "reason": reason, "details": {"name": "a"}});
    (code, status.to_string().into_bytes())
}

fn version_missing() -> Answer {
    let cause = json!({"field": "metadata.resourceVersion"});
    let status = json!({"reason": "Invalid", "details": {"causes": [cause]}});
    (422, status.to_string().into_bytes())
}

/// RFC 7386.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            target.as_object_mut().expect("an object").remove(key);
        } else {
            merge(&mut target[key], value);
        }
    }
}
