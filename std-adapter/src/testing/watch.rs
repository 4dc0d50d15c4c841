//! Watches: what a request asks to see, and the lines it is sent.

use core::time::Duration;

use serde_json::{Value, json};

use super::answer::{Answer, Content, Outcome};
use super::api::{Api, Call};
use super::encode::compact;
use super::negotiate::{Form, keep_metadata, refuse};
use super::object::set_meta;
use super::read::{PATIENCE, asked_version, number};
use super::request::Request;
use super::route::Resource;
use super::select::Selector;
use super::status::{Cause, bad_request, failure_body, internal, version_too_large};
use super::store::{Change, Store};

/// How long a watch lasts that does not say; the real server takes 1800 to 3600 s by chance.
const DEFAULT_LENGTH: Duration = Duration::from_secs(1800);
/// How often bookmarks come.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);
/// How long before its end a watch gets its last bookmark.
const BOOKMARK_BEFORE_END: Duration = Duration::from_millis(1500);

/// A watch as it was asked for.
#[derive(Debug)]
pub(super) struct Plan {
    resource: &'static Resource,
    namespace: String,
    selector: Selector,
    form: Form,
    /// Lines to send before any change.
    first: Vec<String>,
    /// How long the first lines take to find.
    pub(super) first_after: Duration,
    /// Whether the watch ends with its first lines, since they say what is wrong.
    pub(super) ends_at_once: bool,
    /// The changes after this version are sent.
    from: u64,
    pub(super) length: Duration,
    has_bookmarks: bool,
    bookmarks_seen: u64,
    /// When the next bookmark is due, counted from the begin of the watch.
    pub(super) bookmark_due: Option<Duration>,
}

/// `GET` with `watch`.
pub(super) fn open(call: &mut Call<'_>) -> Outcome {
    let request = call.request;
    let length = number(request, "timeoutSeconds")?;
    check_options(request)?;
    let selector = Selector::of(request)?;
    if call.target.is_watch_path {
        let asked = super::select::field_name(request);
        if asked.is_some_and(|name| Some(&name) != call.target.name.as_ref()) {
            return Err(bad_request(
                "fieldSelector metadata.name doesn't match requested name",
            ));
        }
    }
    let version = asked_version(request).map_err(|error| internal(&error))?;
    let mut plan = Plan {
        resource: call.resource,
        namespace: call.target.namespace.clone(),
        selector: selector.with_name(call.target.name.as_deref()),
        form: call.form,
        first: Vec::new(),
        first_after: Duration::ZERO,
        ends_at_once: false,
        from: version,
        length: length_of(length),
        has_bookmarks: is_true(request, "allowWatchBookmarks"),
        bookmarks_seen: call.api.bookmarks,
        bookmark_due: None,
    };
    plan.schedule_bookmark(Duration::ZERO);
    plan.begin(call.api, request, version);
    Ok(Answer::new(200, Content::Watch(plan)))
}

fn length_of(seconds: i64) -> Duration {
    match u64::try_from(seconds) {
        Ok(0) => DEFAULT_LENGTH,
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => Duration::ZERO,
    }
}

fn is_true(request: &Request, name: &str) -> bool {
    request
        .given(name)
        .is_some_and(|value| matches!(value.as_str(), "true" | "1"))
}

fn check_options(request: &Request) -> Result<(), Box<Answer>> {
    let mut causes = Vec::new();
    let matching = request.given("resourceVersionMatch");
    let initial = request.given("sendInitialEvents");
    if initial.is_some() && matching.as_deref() != Some("NotOlderThan") {
        let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        causes.push(Cause::forbidden("resourceVersionMatch", why));
    }
    if initial.is_none() && matching.is_some() {
        let why =
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        causes.push(Cause::forbidden("resourceVersionMatch", why));
    }
    refuse("ListOptions", &causes)
}

impl Plan {
    /// The first lines: the objects that are there, or what is wrong with the version.
    fn begin(&mut self, api: &Api, request: &Request, version: u64) {
        let store = &api.store;
        let asked = request
            .given("sendInitialEvents")
            .map(|value| value == "true");
        let has_initial = asked.unwrap_or(version == 0);
        if has_initial && self.has_bookmarks && api.is_etcd_old {
            let message = "a watch stream was requested by the client but the required storage \
                           feature RequestWatchProgress is disabled";
            return self.fail(failure_body(500, "InternalError", message, None));
        }
        if asked == Some(true) && version > store.version() {
            self.first_after = PATIENCE;
            return self.fail(version_too_large(version, store.version()));
        }
        if has_initial {
            return self.begin_with_objects(store);
        }
        if version == 0 {
            self.from = store.version();
        } else if version < store.oldest() {
            let message = format!("too old resource version: {version} ({})", store.oldest());
            self.fail(failure_body(410, "Expired", &message, None));
        }
    }

    fn begin_with_objects(&mut self, store: &Store) {
        self.from = store.version();
        for (_, object) in store.list(self.resource.plural, &self.namespace) {
            if self.selector.matches(object) {
                self.first.push(self.line("ADDED", object.clone()));
            }
        }
        if self.has_bookmarks {
            let marks = json!({"k8s.io/initial-events-end": "true"});
            self.first.push(self.bookmark(store.version(), Some(marks)));
        }
    }

    fn fail(&mut self, status: Value) {
        self.first.push(event("ERROR", &status));
        self.ends_at_once = true;
    }

    /// The lines to send before any change; each ends with a newline.
    pub(super) fn first_lines(&mut self) -> String {
        core::mem::take(&mut self.first).concat()
    }

    /// The lines for what has changed since they were last asked for.
    pub(super) fn next_lines(&mut self, api: &Api) -> String {
        let mut lines = String::new();
        for change in api.store.changes_after(self.from) {
            if let Some((kind, object)) = self.seen(change) {
                lines.push_str(&self.line(kind, object));
            }
        }
        // A watch from a version of the future stays silent until the store gets there.
        self.from = self.from.max(api.store.version());
        if self.has_bookmarks && self.bookmarks_seen < api.bookmarks {
            lines.push_str(&self.bookmark(api.store.version(), None));
        }
        self.bookmarks_seen = api.bookmarks;
        lines
    }

    /// The bookmark that was due.
    pub(super) fn due_bookmark(&mut self, api: &Api) -> String {
        self.schedule_bookmark(self.bookmark_due.unwrap_or_default());
        self.bookmark(api.store.version(), None)
    }

    /// Bookmarks come each minute, and a last one shortly before the end.
    fn schedule_bookmark(&mut self, last: Duration) {
        let end = self.length.checked_sub(BOOKMARK_BEFORE_END);
        let end = end.filter(|end| self.has_bookmarks && last < *end);
        self.bookmark_due = end.map(|end| end.min(last + BOOKMARK_INTERVAL));
    }

    /// What a change is to this watch: an object that stops matching is as good as deleted.
    fn seen(&self, change: &Change) -> Option<(&'static str, Value)> {
        let key = &change.key;
        let is_here = self.namespace.is_empty()
            || key.namespace == self.namespace
            || !self.resource.namespaced;
        if key.resource != self.resource.plural || !is_here {
            return None;
        }
        let matching = |object: &Option<Value>| {
            object
                .clone()
                .filter(|object| self.selector.matches(object))
        };
        match (matching(&change.before), matching(&change.after)) {
            (None, None) => None,
            (None, Some(after)) => Some(("ADDED", after)),
            (Some(_), Some(after)) => Some(("MODIFIED", after)),
            (Some(mut before), None) => {
                let version = change.version.to_string();
                set_meta(&mut before, "resourceVersion", version.into());
                Some(("DELETED", before))
            }
        }
    }

    fn line(&self, kind: &str, mut object: Value) -> String {
        if self.form == Form::MetadataOnly {
            keep_metadata(&mut object);
        }
        event(kind, &object)
    }

    fn bookmark(&self, version: u64, annotations: Option<Value>) -> String {
        let mut object = json!({
            "kind": self.resource.kind, "apiVersion": self.resource.api_version(),
            "metadata": {"resourceVersion": version.to_string()}, "spec": {},
        });
        if let Some(annotations) = annotations {
            set_meta(&mut object, "annotations", annotations);
        }
        self.line("BOOKMARK", object)
    }
}

fn event(kind: &str, object: &Value) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{}}}\n", compact(object))
}
