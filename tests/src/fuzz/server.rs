//! A small API server for one Lease and one Node in JSON.

use kubelease_core::wire::http::Method;
use serde_json::{Value, json};

/// The Lease and the Node, where they are.
#[derive(Debug, Default)]
pub(super) struct Server {
    lease: Option<Value>,
    node: Option<Value>,
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
        if method == Method::Delete {
            return self.delete_if(&sent["preconditions"]);
        }
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

    /// Does a deletion, if its conditions hold.
    fn delete_if(&mut self, conditions: &Value) -> Answer {
        let Some(lease) = &self.lease else {
            return status(404, "NotFound");
        };
        let keys = ["uid", "resourceVersion"];
        if keys
            .iter()
            .any(|key| conditions[key] != lease["metadata"][key])
        {
            return status(409, "Conflict");
        }
        self.lease = None;
        (200, br#"{"kind":"Status","status":"Success"}"#.to_vec())
    }

    /// The Node.
    pub(super) fn node(&self) -> Answer {
        match &self.node {
            Some(node) => (200, node.to_string().into_bytes()),
            None => status(404, "NotFound"),
        }
    }

    /// A Node is registered, and has this for its condition `Ready`.
    pub(super) fn register(&mut self, uid: &str, ready: &str) {
        let condition = json!({"type": "Ready", "status": ready});
        self.node = Some(json!({
            "kind": "Node", "metadata": {"name": "gw1", "uid": uid},
            "status": {"conditions": [condition]},
        }));
    }

    /// The lease's renewTime, where it has one.
    pub(super) fn renewed(&self) -> Option<String> {
        let time = &self.lease.as_ref()?["spec"]["renewTime"];
        time.as_str().map(str::to_owned)
    }

    /// Somebody else adds an owner.
    pub(super) fn add_owner(&mut self, kind: &str, name: &str, uid: &str) {
        let Some(mut lease) = self.lease.take() else {
            return;
        };
        let owner = json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": uid});
        let owners = &mut lease["metadata"]["ownerReferences"];
        let mut all = owners.as_array().cloned().unwrap_or_default();
        all.push(owner);
        *owners = all.into();
        self.store(lease);
    }

    /// The merge patch that does what this strategic one does: owners merge by their uid.
    pub(super) fn with_all_owners(&self, patch: &[u8]) -> Vec<u8> {
        let mut patch: Value = serde_json::from_slice(patch).expect("a patch in JSON");
        let stored = self
            .lease
            .as_ref()
            .map(|it| &it["metadata"]["ownerReferences"]);
        let added = patch["metadata"]["ownerReferences"].take();
        let mut owners = stored
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        for owner in added.as_array().into_iter().flatten() {
            owners.retain(|it| it["uid"] != owner["uid"]);
            owners.push(owner.clone());
        }
        patch["metadata"]["ownerReferences"] = owners.into();
        patch.to_string().into_bytes()
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
