//! [`Manifest`]: the objects of `examples/deploy`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::client::{Answer, Client};

/// One object, in YAML.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// Its kind.
    pub kind: String,
    name: String,
    namespace: Option<String>,
    yaml: String,
}

impl Manifest {
    /// The objects of a file of `examples/deploy`.
    ///
    /// # Panics
    /// Where there is no such file, or an object without a kind or a name.
    #[must_use]
    pub fn read(file: &str) -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/deploy");
        let text = fs::read_to_string(folder.join(file)).expect("a manifest");
        text.split("\n---\n").map(Self::parse).collect()
    }

    /// The members that the path is made of; the server reads the rest.
    fn parse(yaml: &str) -> Self {
        let mut lines = yaml.lines();
        let kind = lines.clone().find_map(|line| line.strip_prefix("kind: "));
        lines.find(|line| *line == "metadata:");
        let metadata: Vec<_> = lines.map_while(|line| line.strip_prefix("  ")).collect();
        let member = |key: &str| {
            let mut values = metadata.iter().filter_map(|line| line.strip_prefix(key));
            values.next().map(str::to_owned)
        };
        Self {
            kind: kind.expect("a kind").to_owned(),
            name: member("name: ").expect("a name"),
            namespace: member("namespace: "),
            yaml: yaml.to_owned(),
        }
    }

    /// The path of the object.
    ///
    /// # Panics
    /// Where nobody has told yet where this kind is.
    #[must_use]
    pub fn path(&self) -> String {
        let (group, resource) = match self.kind.as_str() {
            "Deployment" => ("/apis/apps/v1", "deployments"),
            "FlowSchema" => ("/apis/flowcontrol.apiserver.k8s.io/v1", "flowschemas"),
            "PriorityLevelConfiguration" => (
                "/apis/flowcontrol.apiserver.k8s.io/v1",
                "prioritylevelconfigurations",
            ),
            "ServiceAccount" => ("/api/v1", "serviceaccounts"),
            "ClusterRole" => ("/apis/rbac.authorization.k8s.io/v1", "clusterroles"),
            "ClusterRoleBinding" => ("/apis/rbac.authorization.k8s.io/v1", "clusterrolebindings"),
            "Role" => ("/apis/rbac.authorization.k8s.io/v1", "roles"),
            "RoleBinding" => ("/apis/rbac.authorization.k8s.io/v1", "rolebindings"),
            other => panic!("where is a {other}?"),
        };
        match &self.namespace {
            Some(namespace) => format!("{group}/namespaces/{namespace}/{resource}/{}", self.name),
            None => format!("{group}/{resource}/{}", self.name),
        }
    }

    /// Makes the object, or makes it what the file says again.
    pub async fn apply(&self, admin: &Client) -> Answer {
        admin.apply(&self.path(), &self.yaml).await
    }

    /// All verbs of the object's rules, each with the place of its list.
    ///
    /// # Panics
    /// Where the object is not on the server.
    pub async fn verbs(&self, admin: &Client) -> Vec<Grant> {
        let object = admin.ask("GET", &self.path(), "").await;
        let mut grants = Vec::new();
        let mut visit = |pointer: String| {
            for verb in object.at(&pointer).as_array().into_iter().flatten() {
                let verb = verb.as_str().expect("a verb").to_owned();
                let pointer = pointer.clone();
                grants.push(Grant { pointer, verb });
            }
        };
        for rule in 0..4 {
            visit(format!("/rules/{rule}/verbs"));
            visit(format!("/spec/rules/0/resourceRules/{rule}/verbs"));
        }
        assert!(!grants.is_empty(), "{} has no verbs", self.path());
        grants
    }

    /// Takes a verb away from the object on the server. In place of the only one of a rule comes
    /// one that nobody uses.
    ///
    /// # Panics
    /// Where the server does not take it.
    pub async fn take_away(&self, admin: &Client, grant: &Grant) {
        let object = admin.ask("GET", &self.path(), "").await;
        let mut object: Value = serde_json::from_str(&object.text).expect("an object");
        let verbs = object.pointer_mut(&grant.pointer).expect("a rule");
        let verbs = verbs.as_array_mut().expect("a list");
        verbs.retain(|verb| *verb != grant.verb.as_str());
        if verbs.is_empty() {
            verbs.push("deletecollection".into());
        }
        let answer = admin.ask("PUT", &self.path(), &object.to_string()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}

/// A verb, and where it stands.
#[derive(Clone, Debug)]
pub struct Grant {
    pointer: String,
    /// The verb.
    pub verb: String,
}
