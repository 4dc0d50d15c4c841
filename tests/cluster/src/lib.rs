//! A real API server for tests, started by `up`, and what tests do to it.
//!
//! Tests that want one are marked `#[ignore]`; `tests/cluster/run` starts the cluster and runs
//! them.
#![forbid(unsafe_code)]

pub mod client;
pub mod controllers;
pub mod device;
pub mod gate;
pub mod log;
pub mod manifest;
pub mod nodes;
pub mod part;
pub mod process;

use core::time::Duration;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use kubelease::kubelease_core::timestamp::Timestamp;
use kubelease::{Builder, Elector, Timing};

use crate::client::Client;
use crate::part::Part;

/// The running cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    folder: PathBuf,
}

impl Cluster {
    /// The cluster in the folder that `up` has printed, from the environment.
    ///
    /// # Panics
    /// Where the environment has no `KUBELEASE_CLUSTER`, or no cluster runs there.
    #[must_use]
    pub fn running() -> Self {
        let folder = env::var_os("KUBELEASE_CLUSTER").expect("KUBELEASE_CLUSTER to be set");
        let cluster = Self {
            folder: folder.into(),
        };
        assert!(
            cluster.folder.join("kubeconfig").exists(),
            "no cluster runs: tests/cluster/up starts one"
        );
        cluster
    }

    /// The folder with all that `up` made.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of a program that was built.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    /// The address of the API server.
    #[must_use]
    pub fn url(&self) -> String {
        self.text("url")
    }

    /// The authority that signed the server's certificate, in PEM.
    #[must_use]
    pub fn ca_pem(&self) -> Vec<u8> {
        self.text("ca.crt").into_bytes()
    }

    /// The bearer token of a user: `admin`, `elector`, `candidate-0` to `candidate-5`,
    /// `system:node:node-a` to `system:node:node-d`.
    #[must_use]
    pub fn token(&self, user: &str) -> String {
        self.text(&format!("{user}.token"))
    }

    /// A client with all rights.
    #[must_use]
    pub fn admin(&self) -> Client {
        self.client("admin")
    }

    /// A client of a user.
    #[must_use]
    pub fn client(&self, user: &str) -> Client {
        Client::new(&self.url(), &self.ca_pem(), &self.token(user))
    }

    /// An elector of ours as a user, in the namespace `default`.
    pub fn elector(&self, user: &str, lease: &str, timing: Timing) -> Builder {
        Elector::builder()
            .server(self.url())
            .ca_pem(self.ca_pem())
            .bearer_token(self.token(user))
            .namespace("default")
            .name(lease)
            .timing(timing)
    }

    /// Lets `candidate-0` to `candidate-5` elect in the namespace `default`.
    pub async fn let_candidates_elect(&self) {
        let role = "
            {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: candidates},
            rules: [{apiGroups: [coordination.k8s.io], resources: [leases],
            verbs: [get, create, update, patch, watch]}]}";
        let binding = "
            {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding,
            metadata: {name: candidates},
            roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: candidates},
            subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: candidates}]}";
        let target = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
        let admin = self.admin();
        admin
            .apply(&format!("{target}/roles/candidates"), role)
            .await;
        let bindings = format!("{target}/rolebindings/candidates");
        admin.apply(&bindings, binding).await;
        let candidate = self.client("candidate-0");
        until("the role counts", Duration::from_secs(10), async || {
            candidate.ask("GET", &lease("none"), "").await.status == 404
        })
        .await;
    }

    /// The audited requests for the leases of a name: user, verb and status.
    #[must_use]
    pub fn audited(&self, lease: &str) -> Vec<Audited> {
        let text = self.text("audit.log");
        // Most are about others, and are not worth being read.
        let lines = text.lines().filter(|line| line.contains(lease));
        let entries = lines.filter_map(|line| {
            // The last line may be half written.
            let entry: serde_json::Value = serde_json::from_str(line).ok()?;
            let text = |pointer| entry.pointer(pointer)?.as_str().map(str::to_owned);
            (text("/objectRef/name")? == lease).then_some(())?;
            Some(Audited {
                user: text("/user/username")?,
                verb: text("/verb")?,
                status: entry.pointer("/responseStatus/code")?.as_u64()?,
                received_us: unix_us(&text("/requestReceivedTimestamp")?)?,
            })
        });
        entries.collect()
    }

    /// The API server's process.
    #[must_use]
    pub fn api(&self) -> Part {
        Part::new(&self.folder, "api")
    }

    /// etcd's process.
    #[must_use]
    pub fn etcd(&self) -> Part {
        Part::new(&self.folder, "etcd")
    }

    /// The process of the controllers: the node-lifecycle controller and the garbage collector. It
    /// is started by tests.
    #[must_use]
    pub fn controllers(&self) -> Part {
        Part::new(&self.folder, "controllers")
    }

    /// Waits until the server is ready and its rules of access are loaded.
    ///
    /// # Panics
    /// Where it takes longer than a minute.
    pub async fn wait_until_serving(&self) {
        let (admin, elector) = (self.admin(), self.client("elector"));
        let review = r#"{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1",
            "spec":{"resourceAttributes":{"verb":"get","resource":"leases"}}}"#;
        let target = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        until("the server serves", Duration::from_secs(60), async || {
            admin.ask("GET", "/readyz", "").await.status == 200
                && elector.ask("POST", target, review).await.status == 201
        })
        .await;
    }

    fn text(&self, file: &str) -> String {
        let path = self.folder.join(file);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        text.trim().to_owned()
    }
}

/// A request as the audit log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audited {
    /// Who asked.
    pub user: String,
    /// The verb, as in a Role.
    pub verb: String,
    /// The status of the answer.
    pub status: u64,
    /// When it was received, in microseconds since 1970.
    pub received_us: i64,
}

/// Microseconds since 1970 of a timestamp as the server writes it.
#[must_use]
pub fn unix_us(timestamp: &str) -> Option<i64> {
    let parsed = Timestamp::parse(timestamp).ok()?;
    Some(parsed.as_unix_micros())
}

/// The path of a lease of the namespace `default`.
#[must_use]
pub fn lease(name: &str) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/default/leases/{name}")
}

/// The path of a Node.
#[must_use]
pub fn node(name: &str) -> String {
    format!("/api/v1/nodes/{name}")
}

/// The path of the lease of a Node.
#[must_use]
pub fn node_lease(name: &str) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}")
}

/// Asks every 10 ms until the answer is yes.
///
/// # Panics
/// Where that takes longer than `patience`.
pub async fn until(what: &str, patience: Duration, mut is_so: impl AsyncFnMut() -> bool) {
    let end = tokio::time::Instant::now() + patience;
    while !is_so().await {
        assert!(
            tokio::time::Instant::now() < end,
            "not within {patience:?}: {what}"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
