//! The rules that an object must keep (`k8s.io/apimachinery/pkg/api/validation/objectmeta.go`,
//! `pkg/apis/coordination/validation/validation.go`).

use serde_json::Value;

use super::encode::compact;
use super::route::Resource;
use super::status::Cause;

const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;
const MAX_ANNOTATIONS: usize = 256 << 10;

/// The faults of an object that is created.
pub(super) fn creation(resource: &Resource, object: &Value) -> Vec<Cause> {
    let mut causes = name(text(object, "/metadata/name"));
    common(resource, object, &mut causes);
    if resource.kind == "Event" {
        event(object, &mut causes);
    }
    causes
}

/// The faults of an object that takes the place of another.
pub(super) fn update(resource: &Resource, old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    common_meta(new, &mut causes);
    for key in ["uid", "deletionTimestamp"] {
        let field = format!("metadata.{key}");
        let pointer = format!("/metadata/{key}");
        if old.pointer(&pointer) != new.pointer(&pointer) {
            let value = compact(new.pointer(&pointer).unwrap_or(&Value::Null));
            causes.push(Cause::invalid(field, &value, "field is immutable"));
        }
    }
    if old.pointer("/metadata/deletionTimestamp").is_some() {
        added_finalizers(old, new, &mut causes);
    }
    spec(resource, new, &mut causes);
    causes
}

fn common(resource: &Resource, object: &Value, causes: &mut Vec<Cause>) {
    common_meta(object, causes);
    spec(resource, object, causes);
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn name(name: &str) -> Vec<Cause> {
    const FORM: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
        characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
        'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?\
        (\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    let field = "metadata.name";
    if name.is_empty() {
        return vec![Cause::required(field, "name or generateName is required")];
    }
    let quoted = compact(&name.into());
    let mut causes = Vec::new();
    if name.len() > MAX_NAME {
        let why = format!("must be no more than {MAX_NAME} characters");
        causes.push(Cause::invalid(field, &quoted, &why));
    }
    if !name.split('.').all(is_label) {
        causes.push(Cause::invalid(field, &quoted, FORM));
    }
    causes
}

/// Lower-case letters, digits and inner dashes; the length is not looked at.
fn is_label(part: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    !part.is_empty()
        && part.bytes().all(|byte| is_plain(byte) || byte == b'-')
        && !part.starts_with('-')
        && !part.ends_with('-')
}

fn common_meta(object: &Value, causes: &mut Vec<Cause>) {
    if let Some(Value::Object(labels)) = object.pointer("/metadata/labels") {
        for (key, value) in labels {
            label_key(key, causes);
            label_value(value.as_str().unwrap_or_default(), causes);
        }
    }
    if let Some(Value::Object(annotations)) = object.pointer("/metadata/annotations") {
        let size: usize = annotations
            .iter()
            .map(|(k, v)| k.len() + v.as_str().map_or(0, str::len))
            .sum();
        if size > MAX_ANNOTATIONS {
            causes.push(Cause::too_long("metadata.annotations", MAX_ANNOTATIONS));
        }
    }
    if let Some(Value::Array(owners)) = object.pointer("/metadata/ownerReferences") {
        owner_references(owners, causes);
    }
}

/// A name, behind a DNS subdomain and a slash where there is one (`IsQualifiedName`).
fn label_key(key: &str, causes: &mut Vec<Cause>) {
    const FORM: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and \
        must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or \
        '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let field = "metadata.labels";
    let quoted = compact(&key.into());
    let (prefix, part) = key
        .split_once('/')
        .map_or((None, key), |(a, b)| (Some(a), b));
    if prefix.is_some_and(|prefix| !prefix.split('.').all(is_label)) {
        let why = "prefix part a lowercase RFC 1123 subdomain must consist of lower case \
            alphanumeric characters, '-' or '.', and must start and end with an alphanumeric \
            character";
        causes.push(Cause::invalid(field, &quoted, why));
    }
    if part.is_empty() {
        causes.push(Cause::invalid(
            field,
            &quoted,
            "name part must be non-empty",
        ));
    } else if part.len() > MAX_LABEL {
        let why = format!("name part must be no more than {MAX_LABEL} bytes");
        causes.push(Cause::invalid(field, &quoted, &why));
    }
    if part.is_empty() || !is_label_text(part) {
        causes.push(Cause::invalid(field, &quoted, FORM));
    }
}

fn is_label_text(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_end = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    is_end(bytes.first()) && is_end(bytes.last()) && bytes.iter().all(is_inner)
}

fn label_value(value: &str, causes: &mut Vec<Cause>) {
    const FORM: &str = "a valid label must be an empty string or consist of alphanumeric \
        characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
        'MyValue',  or 'my_value',  or '12345', regex used for validation is \
        '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    let field = "metadata.labels";
    let quoted = compact(&value.into());
    if value.len() > MAX_LABEL {
        let why = format!("must be no more than {MAX_LABEL} bytes");
        causes.push(Cause::invalid(field, &quoted, &why));
    }
    if !is_label_text(value) {
        causes.push(Cause::invalid(field, &quoted, FORM));
    }
}

fn owner_references(owners: &[Value], causes: &mut Vec<Cause>) {
    let mut controllers = Vec::new();
    for (index, owner) in owners.iter().enumerate() {
        let part = |key: &str| owner.get(key).and_then(Value::as_str).unwrap_or_default();
        for key in ["apiVersion", "kind", "name", "uid"] {
            if part(key).is_empty() {
                let field = format!("metadata.ownerReferences[{index}].{key}");
                causes.push(Cause::required(field, "must not be empty"));
            }
        }
        if owner.get("controller") == Some(&Value::Bool(true)) {
            controllers.push(format!("{}/{}", part("kind"), part("name")));
        }
    }
    if let [first, second, ..] = controllers.as_slice() {
        let why = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references \
             for {first} and {second}"
        );
        let value = compact(&Value::Array(owners.to_vec()));
        causes.push(Cause::invalid("metadata.ownerReferences", &value, &why));
    }
}

fn added_finalizers(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let list = |object: &Value| {
        let finalizers = object
            .pointer("/metadata/finalizers")
            .and_then(Value::as_array);
        finalizers.cloned().unwrap_or_default()
    };
    let before = list(old);
    let added: Vec<_> = list(new)
        .into_iter()
        .filter(|item| !before.contains(item))
        .collect();
    if !added.is_empty() {
        let names: Vec<_> = added.iter().map(compact).collect();
        let why = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers \
             []string{{{}}}",
            names.join(", ")
        );
        causes.push(Cause::forbidden("metadata.finalizers", &why));
    }
}

fn spec(resource: &Resource, object: &Value, causes: &mut Vec<Cause>) {
    if !resource.is_lease() {
        return;
    }
    let number = |key: &str| {
        object
            .pointer(&format!("/spec/{key}"))
            .and_then(Value::as_i64)
    };
    if let Some(duration) = number("leaseDurationSeconds").filter(|duration| *duration <= 0) {
        let field = "spec.leaseDurationSeconds";
        causes.push(Cause::invalid(
            field,
            &duration.to_string(),
            "must be greater than 0",
        ));
    }
    if let Some(transitions) = number("leaseTransitions").filter(|transitions| *transitions < 0) {
        let why = "must be greater than or equal to 0";
        causes.push(Cause::invalid(
            "spec.leaseTransitions",
            &transitions.to_string(),
            why,
        ));
    }
}

fn event(object: &Value, causes: &mut Vec<Cause>) {
    let about = text(object, "/involvedObject/namespace");
    if about != text(object, "/metadata/namespace") {
        let why = "does not match event.namespace";
        let value = compact(&about.into());
        causes.push(Cause::invalid("involvedObject.namespace", &value, why));
    }
}
