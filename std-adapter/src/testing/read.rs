//! GET of one object and of a collection.

use core::time::Duration;

use serde_json::{Map, Value, json};

use super::answer::{Answer, Outcome};
use super::api::Call;
use super::negotiate::refuse;
use super::page;
use super::request::Request;
use super::select::Selector;
use super::status::{Cause, bad_request, failure, internal, not_found, version_too_large};
use super::store::{Change, Key, Store};

/// How long a version of the future is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

/// `GET` of an object.
pub(super) fn get(call: &mut Call<'_>) -> Outcome {
    let version = asked_version(call.request).map_err(|error| internal(&error))?;
    if let Some(answer) = not_reached(call, version) {
        return Err(answer);
    }
    let object = call.stored().ok_or_else(|| not_found(&call.target))?;
    Ok(Answer::json(200, object))
}

/// `resourceVersion` of the query; 0 when it is absent or empty.
pub(super) fn asked_version(request: &Request) -> Result<u64, String> {
    let Some(text) = request.given("resourceVersion") else {
        return Ok(0);
    };
    text.parse().map_err(|_| {
        format!(
            "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: \
             invalid syntax"
        )
    })
}

fn not_reached(call: &Call<'_>, version: u64) -> Option<Box<Answer>> {
    let current = call.api.store.version();
    if version <= current {
        return None;
    }
    let mut answer = Answer::json(504, version_too_large(version, current));
    answer.after = PATIENCE;
    Some(Box::new(answer.with_header("Retry-After", "1".to_owned())))
}

/// `GET` of a collection.
pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    list_options(call.request)?;
    let limit = number(call.request, "limit")?;
    let selector = Selector::of(call.request)?;
    let version = asked_version(call.request)
        .map_err(|error| bad_request(&format!("invalid resource version: {error}")))?;
    if let Some(answer) = not_reached(call, version) {
        return Err(answer);
    }
    let is_exact = call.request.given("resourceVersionMatch").as_deref() == Some("Exact");
    let (version, after) = match call.request.given("continue") {
        Some(token) => page::read(&token).map_err(|error| {
            bad_request(&format!(
                "invalid continue token: continue key is not valid: {error}"
            ))
        })?,
        None if is_exact => (version, None),
        None => (call.api.store.version(), None),
    };
    if version < call.api.store.oldest() {
        let message = "The resourceVersion for the provided list is too old.";
        return Err(Box::new(failure(410, "Expired", message, None)));
    }
    let all = objects_at(
        &call.api.store,
        version,
        call.resource.plural,
        &call.target.namespace,
    );
    let rest = all
        .into_iter()
        .filter(|(key, _)| after.as_ref().is_none_or(|a| position(key) > *a));
    let mut meta = Map::new();
    meta.insert("resourceVersion".into(), version.to_string().into());
    let limit = usize::try_from(limit)
        .ok()
        .filter(|limit| *limit > 0)
        .unwrap_or(usize::MAX);
    let (found, left) = first_page(rest, &selector, limit);
    if let (Some((last, _)), true) = (found.last(), left > 0) {
        meta.insert(
            "continue".into(),
            page::token(version, &position(last)).into(),
        );
        if call.request.given("labelSelector").is_none() {
            meta.insert("remainingItemCount".into(), left.into());
        }
    }
    let items = found.into_iter().map(|(_, object)| object);
    Ok(Answer::json(200, list_of(call, Value::Object(meta), items)))
}

/// A list object; its items carry no kind and version of their own.
pub(super) fn list_of(call: &Call<'_>, meta: Value, items: impl Iterator<Item = Value>) -> Value {
    let items = items.map(|mut object| {
        if let Value::Object(members) = &mut object {
            members.shift_remove("kind");
            members.shift_remove("apiVersion");
        }
        object
    });
    json!({
        "kind": format!("{}List", call.resource.kind), "apiVersion": call.resource.api_version(),
        "metadata": meta, "items": items.collect::<Value>(),
    })
}

fn list_options(request: &Request) -> Result<(), Box<Answer>> {
    let mut causes = Vec::new();
    let is_versioned = request.given("resourceVersion").is_some();
    if request.given("sendInitialEvents").is_some() {
        let why = "sendInitialEvents is forbidden for list";
        causes.push(Cause::forbidden("sendInitialEvents", why));
    }
    if request.given("resourceVersionMatch").is_some() && !is_versioned {
        let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
        causes.push(Cause::forbidden("resourceVersionMatch", why));
    }
    refuse("ListOptions", &causes)
}

/// A whole number of the query; 0 when it is absent.
pub(super) fn number(request: &Request, name: &str) -> Result<i64, Box<Answer>> {
    let Some(text) = request.given(name) else {
        return Ok(0);
    };
    text.parse().map_err(|_| {
        bad_request(&format!(
            "strconv.ParseInt: parsing {text:?}: invalid syntax"
        ))
    })
}

/// The objects of a resource as they were at a version.
fn objects_at(store: &Store, version: u64, resource: &str, namespace: &str) -> Vec<(Key, Value)> {
    let now = store.list(resource, namespace);
    let mut objects: std::collections::BTreeMap<Key, Value> = now
        .into_iter()
        .map(|(key, object)| (key.clone(), object.clone()))
        .collect();
    let is_meant = |change: &&Change| {
        let key = &change.key;
        key.resource == resource && (namespace.is_empty() || key.namespace == namespace)
    };
    for change in store.changes_after(version).iter().rev().filter(is_meant) {
        match &change.before {
            Some(before) => objects.insert(change.key.clone(), before.clone()),
            None => objects.remove(&change.key),
        };
    }
    objects.into_iter().collect()
}

/// The objects that match, up to a limit, and how many come after the last of them, matching or
/// not: the server does not look at those.
fn first_page(
    mut rest: impl Iterator<Item = (Key, Value)>,
    selector: &Selector,
    limit: usize,
) -> (Vec<(Key, Value)>, usize) {
    let found = rest
        .by_ref()
        .filter(|(_, object)| selector.matches(object))
        .take(limit)
        .collect();
    (found, rest.count())
}

/// Where an object stands in the order of a list.
fn position(key: &Key) -> String {
    format!("{}/{}", key.namespace, key.name)
}
