//! The order of the checks: who asks, what they may do, what the path leads to.

use serde_json::{Value, json};

use super::access::{Access, User};
use super::answer::{Answer, Content, Outcome};
use super::clock::Clock;
use super::negotiate::{self, Form};
use super::request::Request;
use super::route::{Resource, Route, Target, route};
use super::status::{method_not_allowed, no_such_resource};
use super::store::{Key, Store};
use super::{create, delete, patch, read, update, watch};

/// The server without its sockets.
#[derive(Debug)]
pub(super) struct Api {
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) access: Access,
    /// Whether the storage is an etcd that cannot report its progress, so that watches with
    /// initial events and bookmarks fail.
    pub(super) is_etcd_old: bool,
    /// How often bookmarks were ordered from outside.
    pub(super) bookmarks: u64,
    flow_schema: String,
    priority_level: String,
}

/// One request on its way through the server.
pub(super) struct Call<'a> {
    pub(super) api: &'a mut Api,
    pub(super) request: &'a Request,
    pub(super) target: Target,
    pub(super) resource: &'static Resource,
    pub(super) user: User,
    pub(super) form: Form,
}

/// An answer, and what the log says about how it came about.
pub(super) struct Handled {
    pub(super) answer: Answer,
    pub(super) user: Option<String>,
    pub(super) is_applied: bool,
}

impl Api {
    pub(super) fn new(access: Access) -> Self {
        let clock = Clock::new();
        let mut store = Store::new(&clock);
        let (flow_schema, priority_level) = (store.uid(), store.uid());
        let is_etcd_old = false;
        Self {
            store,
            clock,
            access,
            is_etcd_old,
            bookmarks: 0,
            flow_schema,
            priority_level,
        }
    }

    pub(super) fn handle(&mut self, request: &Request) -> Handled {
        let before = self.store.version();
        let mut user = None;
        let answer = match self.checked(request, &mut user) {
            Ok(answer) => answer,
            Err(refusal) => *refusal,
        };
        let answer = self.with_headers(answer, user.is_some());
        let is_applied = self.store.version() != before;
        Handled {
            answer,
            user,
            is_applied,
        }
    }

    /// The headers that every answer has which reached the API.
    fn with_headers(&mut self, mut answer: Answer, is_authenticated: bool) -> Answer {
        answer = answer.with_header("Audit-Id", self.store.uid());
        answer = answer.with_header("Cache-Control", "no-cache, private".to_owned());
        if is_authenticated {
            let (schema, level) = (self.flow_schema.clone(), self.priority_level.clone());
            answer = answer.with_header("X-Kubernetes-Pf-Flowschema-Uid", schema);
            answer = answer.with_header("X-Kubernetes-Pf-Prioritylevel-Uid", level);
        }
        answer
    }

    fn checked(&mut self, request: &Request, known: &mut Option<String>) -> Outcome {
        let route = route(request);
        let is_watch = matches!(&route, Route::Api(target) if target.verb == "watch");
        if !is_watch {
            negotiate::timeout(request)?;
        }
        let user = self.access.authenticate(request)?;
        *known = Some(user.name.clone());
        self.access
            .authorize(&user, &route, &request.method, &self.store)?;
        match route {
            Route::Plain(path) => plain(request, &path),
            Route::Api(target) => self.resource(request, target, user),
        }
    }

    fn resource(&mut self, request: &Request, target: Target, user: User) -> Outcome {
        if !target.is_group_served() || request.path.contains("//") {
            return Ok(page_not_found());
        }
        let Some(resource) = target.served else {
            return Err(no_such_resource());
        };
        let form = negotiate::form(request, target.verb == "watch");
        let mut call = Call {
            api: self,
            request,
            target,
            resource,
            user,
            form: Form::Json,
        };
        if call.target.resource == "selfsubjectaccessreviews" {
            return create::review(&mut call);
        }
        let handler: fn(&mut Call<'_>) -> Outcome =
            match (call.target.verb, call.target.is_collection) {
                ("get", false) if request.method == "GET" => read::get,
                ("list", true) => read::list,
                ("watch", _) => watch::open,
                ("create", true) => create::create,
                ("update", false) => update::update,
                ("patch", false) => patch::patch,
                ("delete", false) => delete::delete,
                ("deletecollection", true) => delete::collection,
                _ => return Err(method_not_allowed()),
            };
        call.form = form?;
        let is_metadata_only = call.form == Form::MetadataOnly;
        let mut answer = handler(&mut call)?;
        if let (Content::Json(object), true) = (&mut answer.body, is_metadata_only) {
            negotiate::keep_metadata(object);
        }
        Ok(answer)
    }
}

impl Call<'_> {
    pub(super) fn key(&self) -> Key {
        self.key_of(self.target.name())
    }

    pub(super) fn key_of(&self, name: &str) -> Key {
        Key::in_resource(self.resource, &self.target.namespace, name)
    }

    pub(super) fn stored(&self) -> Option<Value> {
        self.api.store.get(&self.key()).cloned()
    }

    /// Whether nothing is to be stored.
    pub(super) fn is_dry_run(&self) -> bool {
        self.request.given("dryRun").is_some()
    }

    /// The name that managedFields give to the writer.
    pub(super) fn manager(&self) -> String {
        let agent = self.request.user_agent().unwrap_or_default();
        let agent = agent.split('/').next().filter(|name| !name.is_empty());
        let named = self.request.given("fieldManager");
        named.unwrap_or_else(|| agent.unwrap_or("unknown").to_owned())
    }
}

fn page_not_found() -> Answer {
    Answer::text(404, "404 page not found\n")
}

/// Paths outside the resources.
fn plain(request: &Request, path: &str) -> Outcome {
    match path {
        "/readyz" | "/livez" | "/healthz" => Ok(Answer::text(200, "ok")),
        "/version" => Ok(Answer::new(200, Content::Pretty(version()))),
        "/apis/coordination.k8s.io/v1" if request.method == "GET" => {
            Ok(Answer::json(200, group_resources()))
        }
        _ => Ok(page_not_found()),
    }
}

fn version() -> Value {
    json!({
        "major": "1", "minor": "37", "emulationMajor": "1", "emulationMinor": "37",
        "minCompatibilityMajor": "1", "minCompatibilityMinor": "36", "gitVersion": "v1.37.2",
        "gitCommit": "$Format:%H$", "gitTreeState": "", "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "go1.26.8", "compiler": "gc", "platform": "linux/amd64",
    })
}

fn group_resources() -> Value {
    let verbs = [
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    ];
    json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "coordination.k8s.io/v1",
        "resources": [{
            "name": "leases", "singularName": "lease", "namespaced": true, "kind": "Lease",
            "verbs": verbs,
        }],
    })
}
