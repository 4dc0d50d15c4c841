//! From the body of a write to the object it stands for.

use serde_json::Value;

use super::answer::Answer;
use super::api::Call;
use super::decode;
use super::go_json::{self, Document};
use super::route::Resource;
use super::status::{bad_request, too_large, unsupported_media_type};

/// The longest body that is read.
const MAX_BODY: usize = 3 << 20;

/// An object as it was sent.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) object: Value,
    pub(super) warnings: Vec<String>,
    /// `metadata.managedFields` as it was sent, empty or not.
    pub(super) managed: Option<Value>,
}

/// Reads the body of a POST or PUT.
pub(super) fn read(call: &Call<'_>) -> Result<Sent, Box<Answer>> {
    check_size(call)?;
    content_type(call)?;
    let kind = call.resource.kind;
    let body = &call.request.body;
    let unrecognised = |why: &str| {
        let shown = excerpt(body);
        bad_request(&format!(
            "the object provided is unrecognized (must be of type {kind}): couldn't get \
             version/kind; json parse error: {why} ({shown})"
        ))
    };
    let document = go_json::parse(body).map_err(|error| unrecognised(&error))?;
    type_meta(&document.value).map_err(|error| unrecognised(&error))?;
    let document = with_type(call.resource, document)?;
    let cannot = |why: &str| {
        bad_request(&format!(
            "{kind} in version \"v1\" cannot be handled as a {kind}: {why}"
        ))
    };
    decoded(call, &document, cannot)
}

/// Decodes a document as an object of the call's resource, as strictly as the call asks for;
/// `refuse` makes an answer of what is wrong with it.
pub(super) fn decoded(
    call: &Call<'_>,
    document: &Document,
    refuse: impl Fn(&str) -> Box<Answer>,
) -> Result<Sent, Box<Answer>> {
    let decoded = decode::object(call.resource, document).map_err(|error| refuse(&error))?;
    let warnings = match call.request.given("fieldValidation").as_deref() {
        Some("Ignore") => Vec::new(),
        Some("Strict") if !decoded.warnings.is_empty() => {
            let warnings = decoded.warnings.join(", ");
            return Err(refuse(&format!("strict decoding error: {warnings}")));
        }
        _ => decoded.warnings,
    };
    let managed = document.value.pointer("/metadata/managedFields").cloned();
    Ok(Sent {
        object: decoded.object,
        warnings,
        managed,
    })
}

/// Refuses a body that is too long.
pub(super) fn check_size(call: &Call<'_>) -> Result<(), Box<Answer>> {
    if call.request.body.len() > MAX_BODY {
        return Err(too_large(&format!("limit is {MAX_BODY}")));
    }
    Ok(())
}

/// Refuses a body that is no JSON; no type at all counts as JSON.
///
/// YAML and protobuf are refused too, unlike by the real server, but for JSON sent as YAML: what
/// is sent as protobuf is said to be none.
pub(super) fn content_type(call: &Call<'_>) -> Result<(), Box<Answer>> {
    let header = call.request.header("content-type").unwrap_or_default();
    let media = header
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match media.as_str() {
        "application/json" | "application/yaml" => Ok(()),
        "application/vnd.kubernetes.protobuf" => Err(bad_request(&format!(
            "the object provided is unrecognized (must be of type {}): provided data does not \
             appear to be a protobuf message, expected prefix [107 56 115 0] ({})",
            call.resource.kind,
            excerpt(&call.request.body)
        ))),
        "" if header.is_empty() => Ok(()),
        _ => Err(unsupported_media_type()),
    }
}

/// `kind` and `apiVersion` must be texts of an object for the server to know what it was sent.
fn type_meta(value: &Value) -> Result<(), String> {
    let found = match value {
        Value::Null | Value::Object(_) => return Ok(()),
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
    };
    let version = r#"APIVersion string "json:\"apiVersion,omitempty\"""#;
    let kind = r#"Kind string "json:\"kind,omitempty\"""#;
    let wanted = format!("struct {{ {version}; {kind} }}");
    Err(format!(
        "json: cannot unmarshal {found} into Go value of type {wanted}"
    ))
}

/// Fills in what is absent of kind and version, and refuses those of other objects.
fn with_type(resource: &Resource, mut document: Document) -> Result<Document, Box<Answer>> {
    let text = |value: &Value, key: &str| {
        let text = value
            .get(key)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty());
        text.map(str::to_owned)
    };
    let expected = resource.api_version();
    let kind = text(&document.value, "kind").unwrap_or_else(|| resource.kind.to_owned());
    let version = text(&document.value, "apiVersion").unwrap_or_else(|| expected.clone());
    refuse_type(resource, &kind, &version)?;
    if let Value::Object(members) = &mut document.value {
        members.insert("kind".to_owned(), kind.into());
        members.insert("apiVersion".to_owned(), version.into());
    } else {
        document.value = serde_json::json!({"kind": kind, "apiVersion": version});
    }
    Ok(document)
}

fn refuse_type(resource: &Resource, kind: &str, version: &str) -> Result<(), Box<Answer>> {
    let expected = resource.api_version();
    if kind == resource.kind && version == expected {
        return Ok(());
    }
    let short = version.rsplit('/').next().unwrap_or(version);
    let cannot = |why: &str| {
        bad_request(&format!(
            "{kind} in version {short:?} cannot be handled as a {}: {why}",
            resource.kind
        ))
    };
    if !is_known(kind, version) {
        return Err(cannot(&unregistered(kind, version)));
    }
    if kind == resource.kind {
        return Err(bad_request(&format!(
            "the API version in the data ({version}) does not match the expected API version \
             ({expected})"
        )));
    }
    let group = resource.group.split('.').next().unwrap_or_default();
    let group = if group.is_empty() { "core" } else { group };
    let into = format!("{group}.{}", resource.kind);
    Err(cannot(&format!(
        "converting ({short}.{kind}) to ({into}): unknown conversion"
    )))
}

/// The words of Go for a kind that the server does not know.
pub(super) fn unregistered(kind: &str, version: &str) -> String {
    format!(
        "no kind {kind:?} is registered for version {version:?} in scheme \
         \"pkg/runtime/scheme.go:111\""
    )
}

fn is_known(kind: &str, version: &str) -> bool {
    match version {
        "coordination.k8s.io/v1" | "coordination.k8s.io/v1beta1" => {
            matches!(kind, "Lease" | "LeaseList")
        }
        "v1" => matches!(
            kind,
            "ConfigMap" | "Event" | "Namespace" | "Node" | "Pod" | "Secret"
        ),
        _ => false,
    }
}

/// The first 30 bytes: as text if they begin an object, else in hexadecimal.
fn excerpt(body: &[u8]) -> String {
    let Some(first) = body.first() else {
        return "<empty>".to_owned();
    };
    let head = body.get(..30).unwrap_or(body);
    let text = if *first == b'{' {
        String::from_utf8_lossy(head).into_owned()
    } else {
        head.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    if body.len() > head.len() {
        format!("{text} ...")
    } else {
        text
    }
}
