//! [`Device`]: a Node, a program that beats for it, and what the controller makes of that.

use core::time::Duration;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use kubelease::kubelease_core::timestamp::Timestamp;
use serde_json::json;

use crate::client::{Answer, Client};
use crate::controllers::Pace;
use crate::log::wall_us;
use crate::manifest::Manifest;
use crate::nodes::{Nodes, Seen};
use crate::process::Process;
use crate::{Cluster, node, node_lease, unix_us, until};

const LONG: Duration = Duration::from_secs(20);

/// What a busy machine may be late by.
const SLACK: Duration = Duration::from_secs(4);

const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// Who beats for a Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// `kubelease heartbeat` with the client certificate of the Node, which it registers itself.
    Node,
    /// The same by merge patches, with a bearer token.
    NodeByPatch,
    /// `kubelease heartbeat` as a service account with `examples/deploy/heartbeat.yaml`.
    Account,
    /// `heartbeat_curl`, the example in C, as the Node. The test says that the Node is ready.
    NodeOverC,
    /// component-helpers, as the Node. The test says that the Node is ready.
    ComponentHelpers,
}

impl Who {
    /// Whether it makes a Node that is missing.
    #[must_use]
    pub const fn registers(self) -> bool {
        matches!(self, Self::Node | Self::NodeByPatch)
    }

    /// Whether it says where the Node is not ready.
    #[must_use]
    pub const fn looks(self) -> bool {
        !matches!(self, Self::ComponentHelpers)
    }

    /// Whether it says that the Node is ready.
    #[must_use]
    pub const fn keeps_ready(self) -> bool {
        matches!(self, Self::Node | Self::NodeByPatch | Self::Account)
    }
}

/// A Node, who beats for it, and the controller's judgement.
#[derive(Debug)]
pub struct Device {
    /// Who beats for it.
    pub who: Who,
    /// Its name.
    pub name: &'static str,
    /// What is asked of the controller.
    pub pace: Pace,
    /// When it was new: microseconds since 1970.
    pub since_us: i64,
    /// As the audit log has it.
    user: String,
    /// The rights of the one who beats.
    client: Client,
    token: String,
    cluster: Cluster,
    nodes: Nodes,
    log: PathBuf,
}

impl Device {
    /// A new one, without a Node or a lease of an earlier one; whoever beats for it has not begun.
    ///
    /// # Panics
    /// Where the server does not take what it needs.
    pub async fn new(cluster: &Cluster, nodes: &Nodes, who: Who, pace: Pace) -> Self {
        let admin = cluster.admin();
        let name = match who {
            Who::Node => "node-a",
            Who::NodeByPatch => "node-b",
            Who::ComponentHelpers => "node-c",
            Who::NodeOverC => "node-d",
            Who::Account => "gateway-7",
        };
        nodes.remove(name).await;
        admin.ask("DELETE", &node_lease(name), "").await;
        let since_us = wall_us();
        let node_user = format!("system:node:{name}");
        let (user, token) = if who == Who::Account {
            for manifest in Manifest::read("heartbeat.yaml") {
                manifest.apply(&admin).await;
            }
            let token = admin.account_token("kube-node-lease", name).await;
            let user = format!("system:serviceaccount:kube-node-lease:{name}");
            (user, token)
        } else {
            (node_user.clone(), cluster.token(&node_user))
        };
        if !who.registers() {
            nodes.make(name).await;
        }
        let log = cluster.folder().join(format!("{name}-{}.log", wall_us()));
        Self {
            who,
            name,
            client: Client::new(&cluster.url(), &cluster.ca_pem(), &token),
            user,
            token,
            pace,
            cluster: cluster.clone(),
            nodes: nodes.clone(),
            log,
            since_us,
        }
    }

    /// Starts a heartbeat. Without `keeps_ready` it only says where the Node is not.
    ///
    /// # Panics
    /// Where its program was not built.
    #[must_use]
    pub fn start(&self, keeps_ready: bool) -> Process {
        let mut command = match self.who {
            Who::ComponentHelpers => self.component_helpers(),
            Who::NodeOverC => self.heartbeat_curl(),
            Who::Node | Who::NodeByPatch | Who::Account => self.kubelease(keeps_ready),
        };
        Process::start(&mut command, &self.log).expect("a program")
    }

    fn kubelease(&self, keeps_ready: bool) -> Command {
        let mut command = Command::new(built("kubelease"));
        command.args(["heartbeat", "--node", self.name, "--at-once"]);
        command.args(["--owner-required", "--watch-node"]);
        command.args(["--lease-duration", self.pace.lease_duration]);
        command.args(["--interval", self.pace.interval]);
        if keeps_ready {
            command.arg("--keep-ready");
        }
        match self.who {
            Who::NodeByPatch => command.args(["--register", "--patch"]),
            Who::Account => command.arg("--create-with-put"),
            Who::Node | Who::NodeOverC | Who::ComponentHelpers => command.arg("--register"),
        };
        if self.who == Who::Node {
            return self.with_kubeconfig(command);
        }
        let ca = self.cluster.folder().join("ca.crt");
        command
            .args(["--server", &self.cluster.url()])
            .arg("--ca")
            .arg(ca);
        command.env("KUBELEASE_TOKEN", &self.token);
        command
    }

    /// As a device has it that was enrolled as a Node: the credentials are a certificate.
    fn with_kubeconfig(&self, mut command: Command) -> Command {
        let folder = self.cluster.folder();
        let admin = fs::read_to_string(folder.join("kubeconfig-certificate")).expect("a file");
        let own = admin.replace("admin.", &format!("{}.", self.user));
        let path = folder.join(format!("kubeconfig-{}", self.name));
        fs::write(&path, own).expect("a file");
        command.arg("--kubeconfig").arg(path);
        command
    }

    fn heartbeat_curl(&self) -> Command {
        let folder = self.cluster.folder();
        let ms = |flag: &str| {
            let ms = flag.strip_suffix("ms").map(str::to_owned);
            ms.unwrap_or_else(|| format!("{}000", flag.trim_end_matches('s')))
        };
        let mut command = Command::new(built("heartbeat_curl"));
        command.args(["--server", &self.cluster.url(), "--node", self.name]);
        command.arg("--token-file");
        command.arg(folder.join(format!("{}.token", self.user)));
        command.arg("--ca-file").arg(folder.join("ca.crt"));
        command.args(["--lease-duration-ms", &ms(self.pace.lease_duration)]);
        command.args(["--interval-ms", &ms(self.pace.interval)]);
        command
    }

    fn component_helpers(&self) -> Command {
        let mut command = Command::new(self.cluster.program("heartbeat"));
        let seconds = self.pace.lease_duration.trim_end_matches('s');
        let lease = format!("kube-node-lease/{}", self.name);
        command.args(["--server", &self.cluster.url(), "--token", &self.token]);
        command
            .arg("--ca")
            .arg(self.cluster.folder().join("ca.crt"));
        command.args([
            "--lease",
            &lease,
            "--identity",
            self.name,
            "--node",
            self.name,
        ]);
        command.args([
            "--lease-duration-seconds",
            seconds,
            "--interval",
            self.pace.interval,
        ]);
        command
    }

    /// A client with all rights.
    #[must_use]
    pub fn admin(&self) -> Client {
        self.cluster.admin()
    }

    /// Its lease, as the server has it.
    pub async fn lease(&self) -> Answer {
        self.admin().ask("GET", &node_lease(self.name), "").await
    }

    async fn renewed_us(&self) -> Option<i64> {
        unix_us(self.lease().await.at("/spec/renewTime").as_str()?)
    }

    /// Waits for the next beat.
    pub async fn beats(&self) {
        let before = self.renewed_us().await;
        until(self.name, LONG, async || self.renewed_us().await > before).await;
    }

    /// Starts it, and waits until the Node is Ready and has no taints; answers with how long that
    /// took.
    pub async fn come_up(&self) -> (Process, Duration) {
        let begun = wall_us();
        let process = self.start(true);
        self.be_ready().await;
        (process, since(begun))
    }

    /// Waits until the Node is Ready and has no taints. For who does not say so by himself, this
    /// does.
    ///
    /// # Panics
    /// Where it takes too long.
    pub async fn be_ready(&self) {
        if !self.who.keeps_ready() {
            self.beats().await;
            self.say_that_it_is_ready().await;
        }
        let is_ready =
            |seen: &Seen| !seen.is_deleted && seen.ready == "True" && seen.taints.is_empty();
        self.nodes.until(self.name, LONG, is_ready, "ready").await;
    }

    async fn say_that_it_is_ready(&self) {
        let now = Timestamp::from_unix_micros(wall_us()).map(Timestamp::to_text);
        // The API has whole seconds here.
        let now = now.as_ref().and_then(|text| text.as_str().get(..19));
        let condition = json!({"type": "Ready", "status": "True", "reason": "Test",
            "lastHeartbeatTime": format!("{}Z", now.expect("a time"))});
        let body = json!({"status": {"conditions": [condition]}}).to_string();
        let kind = "application/strategic-merge-patch+json";
        let target = format!("{}/status", node(self.name));
        let answer = self.client.send("PATCH", &target, &body, kind).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    /// Waits for the judgement after the last beat, and answers with how long after that it came.
    /// Nothing may be written meanwhile.
    ///
    /// # Panics
    /// Where the verdict is early or late, or something was written.
    pub async fn be_unknown(&self) -> Duration {
        let stopped = wall_us();
        let latest = self.pace.latest() + SLACK;
        let patience = latest + LONG;
        let is_unknown = |seen: &Seen| seen.ready == "Unknown";
        let unknown = self
            .nodes
            .until(self.name, patience, is_unknown, "unknown")
            .await;
        let is_tainted = |seen: &Seen| seen.taints.iter().any(|taint| taint == UNREACHABLE);
        self.nodes
            .until(self.name, LONG, is_tainted, "tainted")
            .await;
        self.wrote_nothing_since(stopped + 1_000_000);
        let renewed = self.renewed_us().await.expect("a time");
        let took =
            u64::try_from(unknown.at_us - renewed).map_or(Duration::ZERO, Duration::from_micros);
        assert!(
            (self.pace.grace..latest).contains(&took),
            "{}: unknown {took:?} after the last beat",
            self.name
        );
        took
    }

    fn wrote_nothing_since(&self, since_us: i64) {
        let audited = self.cluster.audited(self.name).into_iter();
        let writes: Vec<_> = audited
            .filter(|request| request.received_us > since_us && request.user == self.user)
            .filter(|request| request.verb != "get")
            .collect();
        assert!(writes.is_empty(), "{}: {writes:?}", self.name);
    }

    /// Whether the Node of this uid owns the lease, and nobody else.
    pub async fn has_owner(&self, uid: &str) -> bool {
        let owners = self.lease().await.at("/metadata/ownerReferences");
        let [owner] = owners.as_array().map_or(&[][..], Vec::as_slice) else {
            return false;
        };
        (&owner["kind"], &owner["name"], &owner["uid"])
            == (&"Node".into(), &self.name.into(), &uid.into())
    }
}

/// A program that was built into the folder above that of this test.
fn built(program: &str) -> PathBuf {
    let test = env::current_exe().expect("a program");
    let folder = test.parent().and_then(Path::parent);
    folder.expect("a folder").join(program)
}

/// The time since a moment of the civil clock.
#[must_use]
pub fn since(begun_us: i64) -> Duration {
    Duration::from_micros(u64::try_from(wall_us() - begun_us).unwrap_or(0))
}
