//! PATCH: by merge, by JSON patch and by strategic merge. Apply has a file of its own.

use serde_json::{Value, json};

use super::answer::{Answer, Outcome};
use super::api::Call;
use super::apply;
use super::body::{self, Sent, check_size};
use super::create::check_namespace;
use super::encode::compact;
use super::go_json::{self, Document};
use super::json_patch;
use super::merge::{self, go_map};
use super::negotiate::{options, refuse};
use super::object::set;
use super::status::{
    Cause, bad_request, details, failure, not_found, too_large, unprocessable_patch,
};
use super::update::{check_name, check_version, replace};

const MERGE: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
/// The most operations a JSON patch may have.
const MAX_OPERATIONS: usize = 10_000;

/// `PATCH` of an object.
pub(super) fn patch(call: &mut Call<'_>) -> Outcome {
    let header = call.request.header("content-type").unwrap_or_default();
    let media = header
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_owned();
    if ![MERGE, JSON_PATCH, STRATEGIC, APPLY].contains(&media.as_str()) {
        let message = "415: Unsupported Media Type";
        let answer = failure(415, "UnsupportedMediaType", message, Some(json!({})));
        return Err(Box::new(answer));
    }
    check_size(call)?;
    options(call.request, "PatchOptions")?;
    check_apply_options(call, media == APPLY)?;
    if media == APPLY {
        return apply::apply(call);
    }
    let Some(old) = call.stored() else {
        return Err(not_found(&call.target));
    };
    let changed = match media.as_str() {
        JSON_PATCH => by_operations(call, &old)?,
        STRATEGIC => by_strategy(call, &old)?,
        _ => by_merge(call, &old)?,
    };
    let sent = decoded(call, changed)?;
    check_name(call, &sent.object)?;
    check_namespace(call, &sent.object)?;
    check_version(call, &old, &sent.object)?;
    replace(call, &old, sent)
}

fn check_apply_options(call: &Call<'_>, is_apply: bool) -> Result<(), Box<Answer>> {
    let mut causes = Vec::new();
    if !is_apply && call.request.given("force").is_some() {
        causes.push(Cause::forbidden(
            "force",
            "may not be specified for non-apply patch",
        ));
    }
    if is_apply && call.request.given("fieldManager").is_none() {
        causes.push(Cause::required(
            "fieldManager",
            "is required for apply patch",
        ));
    }
    refuse("PatchOptions", &causes)
}

/// An object after its patch, not looked at yet.
struct Changed {
    document: Document,
    /// What the server shows of the patch when its result does not decode.
    shown: String,
}

fn by_merge(call: &Call<'_>, old: &Value) -> Result<Changed, Box<Answer>> {
    let Ok(patch) = go_json::parse(&call.request.body) else {
        return Err(bad_request("invalid JSON patch"));
    };
    match &patch.value {
        Value::Object(_) => {}
        Value::Null => return Err(bad_request("Invalid JSON Patch")),
        other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            let found = go_type(other);
            return Err(bad_request(&format!(
                "error decoding patch: json: cannot unmarshal {found} into Go value of type \
                 map[string]interface {{}}"
            )));
        }
    }
    let mut value = merge::opened(old);
    merge::merge(&mut value, &patch.value);
    // Null is no way to take the book-keeping away.
    let managed = patch.value.pointer("/metadata/managedFields");
    if let (Some(Value::Null), Some(kept)) = (managed, old.pointer("/metadata/managedFields")) {
        set(&mut value, "metadata", "managedFields", kept.clone());
    }
    let shown = compact(&value);
    Ok(Changed {
        document: Document { value, ..patch },
        shown,
    })
}

fn by_strategy(call: &Call<'_>, old: &Value) -> Result<Changed, Box<Answer>> {
    let patch = go_json::parse(&call.request.body)
        .map_err(|error| bad_request(&format!("error decoding patch: {error}")))?;
    let mut value = old.clone();
    merge::strategic(&mut value, &patch.value);
    let shown = go_map(&patch.value);
    Ok(Changed {
        document: Document { value, ..patch },
        shown,
    })
}

fn by_operations(call: &Call<'_>, old: &Value) -> Result<Changed, Box<Answer>> {
    let patch = go_json::parse(&call.request.body)
        .map_err(|error| bad_request(&format!("error decoding patch: {error}")))?;
    let Value::Array(operations) = &patch.value else {
        let found = go_type(&patch.value);
        return Err(bad_request(&format!(
            "error decoding patch: json: cannot unmarshal {found} into Go value of type \
             []handlers.jsonPatchOp"
        )));
    };
    if operations.len() > MAX_OPERATIONS {
        return Err(too_large(&format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    let mut value = merge::opened(old);
    json_patch::apply(&mut value, operations).ok_or_else(unprocessable_patch)?;
    let shown = compact(&value);
    Ok(Changed {
        document: Document {
            value,
            ..Document::default()
        },
        shown,
    })
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Decodes the patched object; what does not decode is a fault of the patch.
fn decoded(call: &Call<'_>, changed: Changed) -> Result<Sent, Box<Answer>> {
    let Changed { document, shown } = changed;
    let refuse = |why: &str| invalid_patch(&shown, why);
    let text = |key: &str| {
        document
            .value
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (kind, version) = (text("kind"), text("apiVersion"));
    if kind != call.resource.kind || version != call.resource.api_version() {
        return Err(refuse(&body::unregistered(kind, version)));
    }
    body::decoded(call, &document, refuse)
}

/// The answer with no kind and no name, and all of the patched object in it.
fn invalid_patch(shown: &str, why: &str) -> Box<Answer> {
    let cause = Cause::invalid("patch", &format!("{shown:?}"), why);
    let message = format!(" \"\" is invalid: patch: {}", cause.message);
    Box::new(failure(
        422,
        "Invalid",
        &message,
        Some(details("", "", "", &[cause])),
    ))
}
