//! The server as its owner sees it.

use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::access::{Access, Denial, Rights, Token};
use super::api::Api;
use super::fault::Rule;
use super::listener::{Command, Shared, Thread};
use super::log::{Log, LoggedRequest};
use super::object::{set, set_meta, take_meta};
use super::schema::{arrange_lease, arrange_meta};
use super::socket::lock;
use super::store::Key;

/// After how long the real server closes idle connections.
const IDLE_LIMIT: Duration = Duration::from_secs(90);

/// A Kubernetes API server for tests, in this process, on a port of the loopback interface.
///
/// It runs on a thread of its own and may be used from programs with and without an async
/// runtime. Dropping it ends it: the port is closed, connections end, the thread is joined.
///
/// Methods that speak of the server's state act at once and as an administrator would: they are
/// not logged, no fault meets them, and watches see what they change.
#[derive(Debug)]
pub struct ApiServer {
    thread: Thread,
    shared: Arc<Shared>,
}

/// How a server is to be; from [`ApiServer::builder`].
#[derive(Debug)]
pub struct Builder {
    port: u16,
    access: Access,
    is_etcd_old: bool,
    idle_limit: Duration,
}

impl ApiServer {
    /// Starts a server on a free port that lets everybody do everything.
    ///
    /// # Errors
    ///
    /// When no port can be bound or no thread started.
    pub fn start() -> io::Result<Self> {
        Self::builder().start()
    }

    /// Says how the server is to be before it starts.
    #[must_use]
    pub fn builder() -> Builder {
        Builder {
            port: 0,
            access: Access::default(),
            is_etcd_old: false,
            idle_limit: IDLE_LIMIT,
        }
    }

    /// Ends the server, as dropping it does.
    pub fn shutdown(mut self) {
        self.thread.stop();
    }

    /// `http://127.0.0.1:PORT`
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.thread.addr)
    }

    /// The address that the server listens at.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.thread.addr
    }
}

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

    /// Changes a Lease in place; answers whether it was there. A change of nothing is no write.
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

    /// Refuses a right from now on; see [`Builder::deny`].
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

/// The log of requests.
impl ApiServer {
    /// The requests that were read since the start or since the log was cleared.
    #[must_use]
    pub fn requests(&self) -> Vec<LoggedRequest> {
        lock(&self.shared.log).snapshot()
    }

    /// How many requests of this method the log has.
    #[must_use]
    pub fn count(&self, method: &str) -> usize {
        self.count_if(|request| request.method == method)
    }

    /// How many requests the log has of which this is true.
    #[must_use]
    pub fn count_if(&self, is_meant: impl Fn(&LoggedRequest) -> bool) -> usize {
        lock(&self.shared.log).count(is_meant)
    }

    /// Empties the log. The numbers of requests go on.
    pub fn clear_requests(&self) {
        lock(&self.shared.log).clear();
    }

    /// How long the server has been running; the zero of [`LoggedRequest::at`].
    #[must_use]
    pub fn uptime(&self) -> Duration {
        lock(&self.shared.api).clock.since_start()
    }
}

/// Faults.
impl ApiServer {
    /// Orders a fault, behind those already ordered.
    pub fn inject(&self, rule: Rule) {
        lock(&self.shared.rules).push(rule);
    }

    /// Takes all ordered faults back. Those that are under way go on.
    pub fn clear_faults(&self) {
        lock(&self.shared.rules).clear();
    }

    /// An outage: closes the port, so that connections are refused, and ends all connections.
    /// A write that was read before may still be stored.
    ///
    /// # Panics
    ///
    /// When the thread of the server has ended, which only a panic in it can do.
    pub fn pause(&self) {
        self.order(Command::Pause);
    }

    /// Ends the outage: the server listens again, at the same port.
    ///
    /// # Panics
    ///
    /// When the port cannot be bound again; on Unix it is kept meanwhile.
    pub fn resume(&self) {
        self.order(Command::Resume);
    }

    /// Ends all connections without an answer to what is under way. New ones are served.
    ///
    /// # Panics
    ///
    /// When the thread of the server has ended, which only a panic in it can do.
    pub fn close_connections(&self) {
        self.order(Command::CloseConnections);
    }

    /// Takes the next `n` connections and resets them at once; `u64::MAX` until told otherwise,
    /// 0 to end it.
    pub fn refuse_connections(&self, n: u64) {
        *lock(&self.shared.refusals) = n;
    }

    fn order(&self, command: Command) {
        let result = self.thread.order(command);
        result.expect("the thread of the test API server carries out orders");
    }
}

impl Builder {
    /// Listens at this port of the loopback interface; 0, the default, is any free one.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Accepts this bearer token as a user who may do everything that is not denied.
    ///
    /// From the first token on an unknown one is answered by 401, and a request without any by
    /// 403 for the user `system:anonymous`.
    #[must_use]
    pub fn token(self, token: &str, user: &str) -> Self {
        self.with_token(token, user, Rights::All)
    }

    /// Accepts this bearer token as an administrator, to whom nothing can be denied.
    #[must_use]
    pub fn admin_token(self, token: &str) -> Self {
        self.with_token(token, "admin", Rights::Master)
    }

    /// Accepts this bearer token as a user who may do only what Roles and RoleBindings grant that
    /// were created on the server.
    #[must_use]
    pub fn restricted_token(self, token: &str, user: &str) -> Self {
        self.with_token(token, user, Rights::Roles)
    }

    fn with_token(mut self, token: &str, user: &str, rights: Rights) -> Self {
        let (token, user) = (token.to_owned(), user.to_owned());
        self.access.tokens.push(Token {
            token,
            user,
            rights,
        });
        self
    }

    /// Answers by 403 what this user asks with this verb (`get`, `list`, `watch`, `create`,
    /// `update`, `patch`, `delete`) of this resource (`leases`). `*` stands for each of them; a
    /// user without a token is `system:anonymous`.
    #[must_use]
    pub fn deny(mut self, user: &str, verb: &str, resource: &str) -> Self {
        self.access.denials.push(denial(user, verb, resource));
        self
    }

    /// Behaves like a server on an etcd before 3.4.31 or 3.5.13, which cannot report its progress:
    /// a watch with bookmarks from version 0, or from none, gets an ERROR event with code 500.
    #[must_use]
    pub fn old_etcd(mut self) -> Self {
        self.is_etcd_old = true;
        self
    }

    /// Closes idle connections after so long; by default after 90 s, as the real server does.
    #[must_use]
    pub fn close_idle_after(mut self, limit: Duration) -> Self {
        self.idle_limit = limit;
        self
    }

    /// Starts the server.
    ///
    /// # Errors
    ///
    /// When the port cannot be bound or no thread started.
    pub fn start(self) -> io::Result<ApiServer> {
        let mut api = Api::new(self.access);
        api.is_etcd_old = self.is_etcd_old;
        let shared = Arc::new(Shared {
            api: Mutex::new(api),
            log: Mutex::new(Log::default()),
            rules: Mutex::new(Vec::new()),
            refusals: Mutex::new(0),
            idle_limit: self.idle_limit,
        });
        let thread = Thread::start(self.port, Arc::clone(&shared))?;
        Ok(ApiServer { thread, shared })
    }
}

fn denial(user: &str, verb: &str, resource: &str) -> Denial {
    Denial {
        user: user.to_owned(),
        verb: verb.to_owned(),
        resource: resource.to_owned(),
    }
}
