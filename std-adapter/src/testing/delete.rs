//! DELETE of one object and of a collection.

use serde_json::{Map, Value, json};

use super::answer::{Answer, Outcome};
use super::api::Call;
use super::body::{check_size, content_type, unregistered};
use super::go_json;
use super::negotiate::refuse;
use super::object::{set, set_meta, take_meta};
use super::read::list_of;
use super::schema::arrange_meta;
use super::select::Selector;
use super::status::{Cause, bad_request, details, not_found, precondition};
use super::store::Key;

/// `DELETE` of an object.
pub(super) fn delete(call: &mut Call<'_>) -> Outcome {
    let options = read_options(call)?;
    let policy = policy(call, &options)?;
    let old = call.stored().ok_or_else(|| not_found(&call.target))?;
    check_preconditions(call, &old, &options)?;
    let is_dry = call.is_dry_run() || options.get("dryRun").is_some();
    let mut object = old.clone();
    add_finalizer(&mut object, policy.as_deref());
    let is_held = object.pointer("/metadata/finalizers").is_some();
    if !is_held {
        return Ok(gone(call, &old, is_dry));
    }
    if object.pointer("/metadata/deletionTimestamp").is_none() {
        set_meta(
            &mut object,
            "deletionTimestamp",
            call.api.clock.time().into(),
        );
        if call.resource.kind == "Namespace" {
            set(&mut object, "", "status", json!({"phase": "Terminating"}));
        } else {
            set_meta(&mut object, "deletionGracePeriodSeconds", 0.into());
        }
        arrange_meta(&mut object);
    }
    if object != old && !is_dry {
        object = call.api.store.put(call.key(), object);
    }
    Ok(Answer::json(200, object))
}

/// The object goes at once. A namespace takes all that is in it along.
fn gone(call: &mut Call<'_>, old: &Value, is_dry: bool) -> Answer {
    if !is_dry && call.resource.kind == "Namespace" {
        call.api.store.remove_namespace(call.target.name());
    } else if !is_dry {
        call.api.store.remove(&call.key());
    }
    let target = &call.target;
    let mut details = details(target.name(), &target.group, &target.resource, &[]);
    if let Value::Object(members) = &mut details {
        let uid = old.pointer("/metadata/uid").cloned().unwrap_or_default();
        members.insert("uid".to_owned(), uid);
    }
    Answer::json(
        200,
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "details": details,
        }),
    )
}

/// The body as DeleteOptions; none at all is none of them.
fn read_options(call: &Call<'_>) -> Result<Map<String, Value>, Box<Answer>> {
    if call.request.body.is_empty() {
        return Ok(Map::new());
    }
    check_size(call)?;
    content_type(call)?;
    let document = go_json::parse(&call.request.body).map_err(|error| {
        bad_request(&format!(
            "couldn't get version/kind; json parse error: {error}"
        ))
    })?;
    let Value::Object(options) = document.value else {
        return Ok(Map::new());
    };
    let text = |key: &str| options.get(key).and_then(Value::as_str).unwrap_or_default();
    if !matches!(text("kind"), "" | "DeleteOptions") {
        return Err(bad_request(&unregistered(text("kind"), text("apiVersion"))));
    }
    Ok(options)
}

fn policy(call: &Call<'_>, options: &Map<String, Value>) -> Result<Option<String>, Box<Answer>> {
    let in_body = options
        .get("propagationPolicy")
        .and_then(Value::as_str)
        .map(str::to_owned);
    let policy = in_body.or_else(|| call.request.given("propagationPolicy"));
    match policy.as_deref() {
        None | Some("Foreground" | "Background" | "Orphan") => Ok(policy),
        Some(other) => {
            let supported = r#""Foreground", "Background", "Orphan", "nil""#;
            let quoted = format!("{other:?}");
            let cause = Cause::unsupported("propagationPolicy", &quoted, supported);
            refuse("DeleteOptions", &[cause]).map(|()| None)
        }
    }
}

fn check_preconditions(
    call: &Call<'_>,
    old: &Value,
    options: &Map<String, Value>,
) -> Result<(), Box<Answer>> {
    let conditions = options.get("preconditions");
    let wanted = |key: &str| conditions.and_then(|c| c.get(key)).and_then(Value::as_str);
    let found = |key: &str| {
        old.pointer(&format!("/metadata/{key}"))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    for (key, word, end) in [
        (
            "uid",
            "UID",
            "The object might have been deleted and then recreated",
        ),
        (
            "resourceVersion",
            "ResourceVersion",
            "The object might have been modified",
        ),
    ] {
        if let Some(wanted) = wanted(key).filter(|wanted| *wanted != found(key)) {
            let found = found(key);
            return Err(precondition(
                &call.target,
                &format!(
                    "the {word} in the precondition ({wanted}) does not match the {word} in \
                     record ({found}). {end}"
                ),
            ));
        }
    }
    Ok(())
}

/// The policies Foreground and Orphan hold the object by a finalizer for the garbage collector.
fn add_finalizer(object: &mut Value, policy: Option<&str>) {
    let finalizer = match policy {
        Some("Foreground") => "foregroundDeletion",
        Some("Orphan") => "orphan",
        _ => return,
    };
    let mut finalizers = match take_meta(object, "finalizers") {
        Some(Value::Array(finalizers)) => finalizers,
        _ => Vec::new(),
    };
    if !finalizers.contains(&finalizer.into()) {
        finalizers.push(finalizer.into());
    }
    set_meta(object, "finalizers", Value::Array(finalizers));
    arrange_meta(object);
}

/// `DELETE` of what a selector selects; answers the list of it.
pub(super) fn collection(call: &mut Call<'_>) -> Outcome {
    let selector = Selector::of(call.request)?;
    let store = &call.api.store;
    let found: Vec<(Key, Value)> = store
        .list(call.resource.plural, &call.target.namespace)
        .into_iter()
        .filter(|(_, object)| selector.matches(object))
        .map(|(key, object)| (key.clone(), object.clone()))
        .collect();
    let version = store.version();
    for (key, object) in &found {
        let is_held = object.pointer("/metadata/finalizers").is_some();
        if is_held && !call.is_dry_run() {
            let mut object = object.clone();
            set_meta(
                &mut object,
                "deletionTimestamp",
                call.api.clock.time().into(),
            );
            set_meta(&mut object, "deletionGracePeriodSeconds", 0.into());
            arrange_meta(&mut object);
            call.api.store.put(key.clone(), object);
        } else if !call.is_dry_run() {
            call.api.store.remove(key);
        }
    }
    let meta = json!({"resourceVersion": version.to_string()});
    Ok(Answer::json(
        200,
        list_of(call, meta, found.into_iter().map(|(_, object)| object)),
    ))
}
