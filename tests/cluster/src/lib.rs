//! A real API server for tests, started by `up`, and what tests do to it.
//!
//! Tests that want one are marked `#[ignore]`; `tests/cluster/run` starts the cluster and runs
//! them.
#![forbid(unsafe_code)]

pub mod client;
pub mod gate;
pub mod log;
pub mod manifest;
pub mod part;

use core::time::Duration;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

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
    /// `system:node:node-a`, `system:node:node-b`.
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

    /// The audited requests for a lease of `default`: user, verb and status.
    #[must_use]
    pub fn audited(&self, lease: &str) -> Vec<Audited> {
        let text = self.text("audit.log");
        let entries = text.lines().filter_map(|line| {
            // The last line may be half written.
            let entry: serde_json::Value = serde_json::from_str(line).ok()?;
            let text = |pointer| entry.pointer(pointer)?.as_str().map(str::to_owned);
            (text("/objectRef/name")? == lease).then_some(())?;
            Some(Audited {
                user: text("/user/username")?,
                verb: text("/verb")?,
                status: entry.pointer("/responseStatus/code")?.as_u64()?,
                received_us: time_of_day_us(&text("/requestReceivedTimestamp")?)?,
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
    /// When it was received, in microseconds of the day.
    pub received_us: u64,
}

/// The time of the day in a timestamp such as `2001-02-03T04:05:06.000007Z`.
fn time_of_day_us(timestamp: &str) -> Option<u64> {
    let (_, time) = timestamp.trim_end_matches('Z').split_once('T')?;
    let (time, fraction) = time.split_once('.')?;
    let seconds = time.split(':').try_fold(0_u64, |sum, part| {
        let part: u64 = part.parse().ok()?;
        Some(sum * 60 + part)
    })?;
    Some(seconds * 1_000_000 + fraction.parse::<u64>().ok()?)
}

/// The path of a lease of the namespace `default`.
#[must_use]
pub fn lease(name: &str) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/default/leases/{name}")
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

#[cfg(test)]
mod tests {
    use super::time_of_day_us;

    #[test]
    fn times_of_the_audit_log_are_read() {
        let expected = ((4 * 60 + 5) * 60 + 6) * 1_000_000 + 7;
        assert_eq!(
            time_of_day_us("2001-02-03T04:05:06.000007Z"),
            Some(expected)
        );
        assert_eq!(time_of_day_us("2001-02-03"), None);
    }
}
