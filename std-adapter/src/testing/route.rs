//! From a path and a method to what is asked of which object.

use serde_json::Value;

use super::request::{Request, decoded};
use super::select::field_name;
use super::status::{Cause, details};

/// A resource that the server serves.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Resource {
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) plural: &'static str,
    pub(super) kind: &'static str,
    pub(super) namespaced: bool,
}

const RBAC: &str = "rbac.authorization.k8s.io";
const LEASES: Resource = resource("coordination.k8s.io", "leases", "Lease", true);
/// An API that keeps its configuration, and its elections, in objects without a namespace.
const TKE: &str = "platform.tkestack.io";
const SERVED: [Resource; 10] = [
    LEASES,
    resource("", "namespaces", "Namespace", false),
    resource("", "nodes", "Node", false),
    resource("", "events", "Event", true),
    resource("", "configmaps", "ConfigMap", true),
    resource("", "endpoints", "Endpoints", true),
    resource(TKE, "configmaps", "ConfigMap", false),
    resource(RBAC, "roles", "Role", true),
    resource(RBAC, "rolebindings", "RoleBinding", true),
    resource(
        "authorization.k8s.io",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
        false,
    ),
];
/// Groups whose paths answer with a `Status` where they lead nowhere; below others it is text.
const GROUPS: [&str; 5] = ["", "coordination.k8s.io", RBAC, "authorization.k8s.io", TKE];

const fn resource(
    group: &'static str,
    plural: &'static str,
    kind: &'static str,
    namespaced: bool,
) -> Resource {
    Resource {
        group,
        version: "v1",
        plural,
        kind,
        namespaced,
    }
}

impl Resource {
    /// `v1`, or `coordination.k8s.io/v1`.
    pub(super) fn api_version(&self) -> String {
        let slash = if self.group.is_empty() { "" } else { "/" };
        format!("{}{slash}{}", self.group, self.version)
    }

    /// Whether these are the objects that every rule of the reference was seen with.
    pub(super) fn is_lease(&self) -> bool {
        *self == LEASES
    }

    #[cfg(test)]
    pub(super) fn named(plural: &str) -> Option<&'static Self> {
        SERVED.iter().find(|resource| resource.plural == plural)
    }
}

/// Where a path leads.
#[derive(Debug)]
pub(super) enum Route {
    /// A path outside `/api` and `/apis`, or a root of a group.
    Plain(String),
    /// A path of the form of a resource, served or not.
    Api(Target),
}

/// The object or collection that a request is about.
#[derive(Debug, Clone, Default)]
pub(super) struct Target {
    pub(super) verb: &'static str,
    pub(super) group: String,
    pub(super) version: String,
    pub(super) namespace: String,
    pub(super) resource: String,
    /// The name in the path; for collections the one that a field selector names, if any.
    pub(super) name: Option<String>,
    pub(super) is_collection: bool,
    pub(super) subresource: String,
    pub(super) served: Option<&'static Resource>,
    /// The old path `/watch/…` of this object, whose name no selector may contradict.
    pub(super) is_watch_path: bool,
}

impl Target {
    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    pub(super) fn kind(&self) -> &'static str {
        self.served.map_or("", |resource| resource.kind)
    }

    pub(super) fn is_group_served(&self) -> bool {
        GROUPS.contains(&self.group.as_str())
    }

    /// `leases`, or `nodes/status`.
    pub(super) fn resource_path(&self) -> String {
        let slash = if self.subresource.is_empty() { "" } else { "/" };
        format!("{}{slash}{}", self.resource, self.subresource)
    }

    /// `leases.coordination.k8s.io`, or `nodes`.
    pub(super) fn qualified(&self) -> String {
        self.qualify(&self.resource)
    }

    pub(super) fn qualify(&self, word: &str) -> String {
        let dot = if self.group.is_empty() { "" } else { "." };
        format!("{word}{dot}{}", self.group)
    }

    pub(super) fn details(&self, causes: &[Cause]) -> Value {
        details(self.name(), &self.group, &self.resource, causes)
    }
}

/// Takes a request apart (`k8s.io/apiserver/pkg/endpoints/request/requestinfo.go`).
pub(super) fn route(request: &Request) -> Route {
    let path = request.path.as_str();
    let trimmed = path.strip_suffix('/').unwrap_or(path);
    let mut parts: Vec<_> = trimmed
        .split('/')
        .skip(1)
        .map(|part| decoded(part, false))
        .collect();
    let (group, skip) = match parts.first().map(String::as_str) {
        Some("api") if parts.len() > 2 => (String::new(), 2),
        Some("apis") if parts.len() > 3 => (parts.get(1).cloned().unwrap_or_default(), 3),
        _ => return Route::Plain(trimmed.to_owned()),
    };
    let version = parts.get(skip - 1).cloned().unwrap_or_default();
    let mut parts = parts.split_off(skip);
    let is_watch_path = parts.first().is_some_and(|part| part == "watch");
    if is_watch_path {
        parts.remove(0);
    }
    let mut target = Target {
        group,
        version,
        is_watch_path,
        ..Target::default()
    };
    let mut rest = parts.into_iter();
    let first = rest.next().unwrap_or_default();
    if first == "namespaces"
        && rest.len() > 1
        && !rest
            .as_slice()
            .get(1)
            .is_some_and(|p| p == "finalize" || p == "status")
    {
        target.namespace = rest.next().unwrap_or_default();
        target.resource = rest.next().unwrap_or_default();
    } else {
        target.resource = first;
    }
    target.name = rest.next();
    target.subresource = rest.by_ref().collect::<Vec<_>>().join("/");
    target.is_collection = target.name.is_none();
    target.verb = verb(request, &target);
    if target.resource == "namespaces" && target.group.is_empty() {
        target.namespace = target.name.clone().unwrap_or_default();
    }
    if target.is_collection && target.verb != "create" {
        target.name = field_name(request);
    }
    target.served = served(&target, path);
    Route::Api(target)
}

/// Whether the status is a subresource, to be written apart from the rest.
pub(super) fn has_status(resource: &Resource) -> bool {
    matches!(resource.kind, "Node" | "Namespace")
}

fn served(target: &Target, path: &str) -> Option<&'static Resource> {
    let found = SERVED.iter().find(|resource| {
        resource.group == target.group
            && resource.version == target.version
            && resource.plural == target.resource
    })?;
    let has_namespace = !target.namespace.is_empty();
    let is_everywhere = target.is_collection && matches!(target.verb, "list" | "watch");
    let is_place_right = !found.namespaced || has_namespace || is_everywhere;
    let is_whole = match target.subresource.as_str() {
        "" => true,
        "finalize" => found.kind == "Namespace",
        "status" => has_status(found),
        _ => false,
    };
    let is_clean = !path.contains("%2F") && !path.contains("%2f") && !path.contains("/../");
    (is_place_right && is_whole && is_clean).then_some(found)
}

fn verb(request: &Request, target: &Target) -> &'static str {
    let is_watch = target.is_watch_path || is_true(request.parameter("watch").as_deref());
    match (request.method.as_str(), target.is_collection) {
        ("GET", true) if is_watch => "watch",
        ("GET", false) if target.is_watch_path => "watch",
        ("GET", true) => "list",
        ("GET" | "HEAD", _) => "get",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", true) => "deletecollection",
        ("DELETE", false) => "delete",
        _ => "",
    }
}

/// A flag in a query: any value but a false one is true.
fn is_true(value: Option<&str>) -> bool {
    !matches!(
        value,
        None | Some("0" | "false" | "f" | "F" | "FALSE" | "False")
    )
}
