//! The `Status` objects of failures, as `k8s.io/apimachinery/pkg/api/errors` makes them.

use serde_json::{Map, Value, json};

use super::answer::{Answer, Content};
use super::route::Target;

/// One fault found by validation.
#[derive(Debug, Clone)]
pub(super) struct Cause {
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) field: String,
}

impl Cause {
    pub(super) fn invalid(field: impl Into<String>, value: &str, why: &str) -> Self {
        let message = format!("Invalid value: {value}: {why}");
        Self {
            reason: "FieldValueInvalid",
            message,
            field: field.into(),
        }
    }

    pub(super) fn required(field: impl Into<String>, why: &str) -> Self {
        let why = if why.is_empty() {
            String::new()
        } else {
            format!(": {why}")
        };
        let message = format!("Required value{why}");
        Self {
            reason: "FieldValueRequired",
            message,
            field: field.into(),
        }
    }

    pub(super) fn forbidden(field: impl Into<String>, why: &str) -> Self {
        let message = format!("Forbidden: {why}");
        Self {
            reason: "FieldValueForbidden",
            message,
            field: field.into(),
        }
    }

    pub(super) fn unsupported(field: impl Into<String>, value: &str, supported: &str) -> Self {
        let message = format!("Unsupported value: {value}: supported values: {supported}");
        Self {
            reason: "FieldValueNotSupported",
            message,
            field: field.into(),
        }
    }

    pub(super) fn too_long(field: impl Into<String>, bound: usize) -> Self {
        let message = format!("Too long: may not be more than {bound} bytes");
        Self {
            reason: "FieldValueTooLong",
            message,
            field: field.into(),
        }
    }
}

/// A failure; an empty reason and absent details are left out, as Go's `omitempty` does.
pub(super) fn failure(code: u16, reason: &str, message: &str, details: Option<Value>) -> Answer {
    Answer::json(code, failure_body(code, reason, message, details))
}

pub(super) fn failure_body(
    code: u16,
    reason: &str,
    message: &str,
    details: Option<Value>,
) -> Value {
    let mut body = Map::new();
    body.insert("kind".into(), "Status".into());
    body.insert("apiVersion".into(), "v1".into());
    body.insert("metadata".into(), json!({}));
    body.insert("status".into(), "Failure".into());
    body.insert("message".into(), message.into());
    if !reason.is_empty() {
        body.insert("reason".into(), reason.into());
    }
    if let Some(details) = details {
        body.insert("details".into(), details);
    }
    body.insert("code".into(), code.into());
    Value::Object(body)
}

/// The details in Go's order, without what is empty.
pub(super) fn details(name: &str, group: &str, kind: &str, causes: &[Cause]) -> Value {
    let mut details = Map::new();
    for (key, text) in [("name", name), ("group", group), ("kind", kind)] {
        if !text.is_empty() {
            details.insert(key.into(), text.into());
        }
    }
    if !causes.is_empty() {
        let causes = causes.iter().map(
            |cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field}),
        );
        details.insert("causes".into(), causes.collect());
    }
    Value::Object(details)
}

pub(super) fn bad_request(message: &str) -> Box<Answer> {
    Box::new(failure(400, "BadRequest", message, None))
}

/// A failure that the server has no better word for: neither reason nor details.
pub(super) fn internal(message: &str) -> Box<Answer> {
    Box::new(failure(500, "", message, None))
}

pub(super) fn not_found(target: &Target) -> Box<Answer> {
    let message = format!("{} {:?} not found", target.qualified(), target.name());
    Box::new(failure(
        404,
        "NotFound",
        &message,
        Some(target.details(&[])),
    ))
}

pub(super) fn namespace_not_found(namespace: &str) -> Box<Answer> {
    let message = format!("namespaces {namespace:?} not found");
    let details = details(namespace, "", "namespaces", &[]);
    Box::new(failure(404, "NotFound", &message, Some(details)))
}

/// The path is below a group that is served, and yet leads nowhere.
pub(super) fn no_such_resource() -> Box<Answer> {
    let message = "the server could not find the requested resource";
    Box::new(failure(404, "NotFound", message, Some(json!({}))))
}

pub(super) fn method_not_allowed() -> Box<Answer> {
    let message = "the server does not allow this method on the requested resource";
    Box::new(failure(405, "MethodNotAllowed", message, Some(json!({}))))
}

pub(super) fn already_exists(target: &Target, name: &str, being_deleted: bool) -> Box<Answer> {
    let prefix = if being_deleted {
        "object is being deleted: "
    } else {
        ""
    };
    let message = format!("{prefix}{} {name:?} already exists", target.qualified());
    let details = details(name, &target.group, &target.resource, &[]);
    Box::new(failure(409, "AlreadyExists", &message, Some(details)))
}

pub(super) fn conflict(target: &Target, why: &str) -> Box<Answer> {
    let name = target.name();
    let message = format!(
        "Operation cannot be fulfilled on {} {name:?}: {why}",
        target.qualified()
    );
    Box::new(failure(
        409,
        "Conflict",
        &message,
        Some(target.details(&[])),
    ))
}

pub(super) const MODIFIED: &str = "the object has been modified; please apply your changes to \
                                   the latest version and try again";

/// A `DELETE` whose precondition fails speaks of the kind, not of the resource.
pub(super) fn precondition(target: &Target, why: &str) -> Box<Answer> {
    let (kind, name) = (target.kind(), target.name());
    let qualified = target.qualify(kind);
    let message = format!("Operation cannot be fulfilled on {qualified} {name:?}: {why}");
    let details = details(name, &target.group, kind, &[]);
    Box::new(failure(409, "Conflict", &message, Some(details)))
}

/// Validation failed. `kind` is the kind, or for a missing version the resource.
pub(super) fn invalid(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Box<Answer> {
    let mut texts: Vec<_> = causes
        .iter()
        .map(|cause| format!("{}: {}", cause.field, cause.message))
        .collect();
    let why = if texts.len() == 1 {
        texts.pop().unwrap_or_default()
    } else {
        format!("[{}]", texts.join(", "))
    };
    let dot = if group.is_empty() { "" } else { "." };
    let message = format!("{kind}{dot}{group} {name:?} is invalid: {why}");
    let details = details(name, group, kind, causes);
    Box::new(failure(422, "Invalid", &message, Some(details)))
}

/// A patch that makes no sense as such.
pub(super) fn unprocessable_patch() -> Box<Answer> {
    let message = "the server rejected our request due to an error in our request";
    Box::new(failure(422, "Invalid", message, Some(json!({}))))
}

/// The kind of answer for a `resourceVersion` that is not reached in time.
pub(super) fn version_too_large(asked: u64, current: u64) -> Value {
    let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
    let details = json!({
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    });
    failure_body(504, "Timeout", &message, Some(details))
}

pub(super) fn unauthorized() -> Box<Answer> {
    Box::new(failure(401, "Unauthorized", "Unauthorized", None))
}

pub(super) fn not_acceptable() -> Box<Answer> {
    let message = "406: Not Acceptable\n\nAvailable representations: application/json, \
                   application/yaml, application/vnd.kubernetes.protobuf";
    let body = failure_body(406, "NotAcceptable", message, Some(json!({})));
    Box::new(Answer::new(406, Content::Pretty(body)))
}

pub(super) fn unsupported_media_type() -> Box<Answer> {
    let message = "the body of the request was in an unknown format - accepted media types \
                   include: application/json, application/yaml, \
                   application/vnd.kubernetes.protobuf";
    Box::new(failure(415, "UnsupportedMediaType", message, None))
}

pub(super) fn too_large(why: &str) -> Box<Answer> {
    let message = format!("Request entity too large: {why}");
    Box::new(failure(413, "RequestEntityTooLarge", &message, None))
}
