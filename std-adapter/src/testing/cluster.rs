//! The state of the cluster, read and changed from outside.

use serde_json::{Value, json};

use super::builder::denial;
use super::object::{set, set_meta, take_meta};
use super::schema::{arrange_lease, arrange_meta};
use super::server::ApiServer;
use super::socket::lock;
use super::store::Key;

/// The state of the cluster.
impl ApiServer {
    /// The Lease as it is stored, or `None`.
    #[must_use]
    pub fn lease(&self, namespace: &str, name: &str) -> Option<Value> {
        self.object("leases", namespace, name)
    }

    /// Stores a Lease whatever is there, and in whatever namespace: only `spec` and the members of
    /// `metadata` that are a user's are taken from `lease`. Nothing is validated, so a test can
    /// store what a real server would refuse. Answers what is stored now.
    pub fn put_lease(&self, namespace: &str, name: &str, lease: Value) -> Value {
        let mut api = lock(&self.shared.api);
        let key = Key::of("leases", namespace, name);
        let mut object = json!({
            "kind": "Lease", "apiVersion": "coordination.k8s.io/v1",
            "metadata": lease.get("metadata").cloned().unwrap_or_else(|| json!({})),
            "spec": lease.get("spec").cloned().unwrap_or_else(|| json!({})),
        });
        let old = api.store.get(&key).cloned();
        let of_old = |member: &str| {
            old.as_ref()
                .and_then(|old| old.pointer(&format!("/metadata/{member}")).cloned())
        };
        let uid = of_old("uid").unwrap_or_else(|| api.store.uid().into());
        let created = of_old("creationTimestamp").unwrap_or_else(|| api.clock.time().into());
        take_meta(&mut object, "resourceVersion");
        for (member, value) in [
            ("name", name.into()),
            ("namespace", namespace.into()),
            ("uid", uid),
            ("creationTimestamp", created),
            ("resourceVersion", Value::from("")),
        ] {
            set_meta(&mut object, member, value);
        }
        arrange_lease(&mut object);
        arrange_meta(&mut object);
        api.store.put(key, object)
    }

    /// Changes a Lease in place; answers whether it was there. A change of nothing is no write. The
    /// server stands still meanwhile: `edit` must ask it nothing.
    pub fn edit_lease(&self, namespace: &str, name: &str, edit: impl FnOnce(&mut Value)) -> bool {
        let mut api = lock(&self.shared.api);
        let key = Key::of("leases", namespace, name);
        let Some(old) = api.store.get(&key).cloned() else {
            return false;
        };
        let mut new = old.clone();
        edit(&mut new);
        if new != old {
            arrange_lease(&mut new);
            arrange_meta(&mut new);
            api.store.put(key, new);
        }
        true
    }

    /// Takes a Lease away, finalizers or not; answers whether it was there.
    pub fn delete_lease(&self, namespace: &str, name: &str) -> bool {
        lock(&self.shared.api)
            .store
            .remove(&Key::of("leases", namespace, name))
            .is_some()
    }

    /// Creates a namespace. There are `default`, `kube-system`, `kube-public` and
    /// `kube-node-lease` from the start.
    pub fn create_namespace(&self, name: &str) {
        let mut api = lock(&self.shared.api);
        let clock = api.clock;
        api.store.create_namespace(name, &clock);
    }

    /// Takes away a namespace and all that is in it; answers whether it was there.
    pub fn delete_namespace(&self, name: &str) -> bool {
        lock(&self.shared.api).store.remove_namespace(name)
    }

    /// Marks a namespace as being deleted: what is in it stays, and nothing new can be created.
    /// Answers whether it is there.
    pub fn terminate_namespace(&self, name: &str) -> bool {
        let mut api = lock(&self.shared.api);
        let Some(mut object) = api.store.namespace(name).cloned() else {
            return false;
        };
        let now = api.clock.time();
        set_meta(&mut object, "deletionTimestamp", now.into());
        arrange_meta(&mut object);
        set(&mut object, "", "status", json!({"phase": "Terminating"}));
        api.store.put(Key::of("namespaces", "", name), object);
        true
    }

    /// Creates a Node with this uid, in the place of one of the same name.
    pub fn create_node(&self, name: &str, uid: &str) {
        let mut api = lock(&self.shared.api);
        let object = json!({
            "kind": "Node", "apiVersion": "v1",
            "metadata": {
                "name": name, "uid": uid, "resourceVersion": "",
                "creationTimestamp": api.clock.time(),
            },
            "spec": {},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        });
        let key = Key::of("nodes", "", name);
        api.store.remove(&key);
        api.store.put(key, object);
    }

    /// Takes a Node away; answers whether it was there.
    pub fn delete_node(&self, name: &str) -> bool {
        lock(&self.shared.api)
            .store
            .remove(&Key::of("nodes", "", name))
            .is_some()
    }

    /// Any object that is stored, by its resource (`"configmaps"`). The namespace is empty for
    /// Nodes and Namespaces.
    #[must_use]
    pub fn object(&self, resource: &'static str, namespace: &str, name: &str) -> Option<Value> {
        lock(&self.shared.api)
            .store
            .get(&Key::of(resource, namespace, name))
            .cloned()
    }

    /// The Events that clients have posted, in all namespaces.
    #[must_use]
    pub fn events(&self) -> Vec<Value> {
        let api = lock(&self.shared.api);
        api.store
            .list("events", "")
            .into_iter()
            .map(|(_, event)| event.clone())
            .collect()
    }

    /// The version of the last change of anything.
    #[must_use]
    pub fn resource_version(&self) -> u64 {
        lock(&self.shared.api).store.version()
    }

    /// Forgets the history: a watch from an older version is answered by 410 from now on.
    pub fn compact(&self) {
        lock(&self.shared.api).store.compact();
    }

    /// Sends a bookmark to every watch that allows them.
    pub fn send_bookmarks(&self) {
        let mut api = lock(&self.shared.api);
        api.bookmarks += 1;
        api.store.wake();
    }

    /// Stops the server's wall clock, or lets it go on from the host's. A stopped one can still be
    /// set by [`ApiServer::set_clock_skew_s`].
    pub fn hold_clock(&self, is_held: bool) {
        lock(&self.shared.api).clock.hold(is_held);
    }

    /// Sets the server's wall clock, which shows in the header `Date` and in timestamps of
    /// metadata, ahead of the host's by so many seconds, or behind it if negative.
    pub fn set_clock_skew_s(&self, skew_s: i64) {
        lock(&self.shared.api).clock.skew_s = skew_s;
    }

    /// Whether answers carry the header `Date`; at first they do.
    pub fn set_sends_date(&self, sends_date: bool) {
        lock(&self.shared.api).clock.sends_date = sends_date;
    }

    /// Refuses a right from now on; see [`Builder::deny`](super::Builder::deny).
    pub fn deny(&self, user: &str, verb: &str, resource: &str) {
        lock(&self.shared.api)
            .access
            .denials
            .push(denial(user, verb, resource));
    }

    /// Takes back what [`ApiServer::deny`] refused.
    pub fn allow(&self, user: &str, verb: &str, resource: &str) {
        let taken_back = denial(user, verb, resource);
        lock(&self.shared.api)
            .access
            .denials
            .retain(|denial| *denial != taken_back);
    }
}
