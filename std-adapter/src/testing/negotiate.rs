//! What the client asks for beside the object: its form, its options, its patience.

use core::time::Duration;

use serde_json::{Map, Value};

use super::answer::{Answer, Content};
use super::request::Request;
use super::status::{Cause, bad_request, failure_body, invalid, not_acceptable};

/// In which form objects are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    /// `PartialObjectMetadata`: an object without its spec.
    MetadataOnly,
}

/// What the header `Accept` allows. Its `q` is ignored, as the real server does.
pub(super) fn form(request: &Request, is_watch: bool) -> Result<Form, Box<Answer>> {
    let Some(accept) = request.header("accept").filter(|accept| !accept.is_empty()) else {
        return Ok(Form::Json);
    };
    for clause in accept.split(',') {
        let mut parts = clause.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        if media == "*/*" {
            return Ok(Form::Json);
        }
        if media == "application/json" {
            let is_partial = parts.any(|part| part == "as=PartialObjectMetadata");
            return Ok(if is_partial {
                Form::MetadataOnly
            } else {
                Form::Json
            });
        }
    }
    let mut refusal = not_acceptable();
    if let (Some(_), Content::Pretty(body)) = (accept.find("application/*"), &refusal.body) {
        // It is good enough for the refusal itself, which then is written as usual.
        refusal.body = Content::Json(body.clone());
    }
    if let (true, Content::Pretty(body)) = (is_watch, &mut refusal.body) {
        let message = body
            .get("message")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let streams =
            "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
        body["message"] = format!("{message}, {streams}").into();
    }
    Err(refusal)
}

/// Turns an object into its `PartialObjectMetadata`.
pub(super) fn keep_metadata(object: &mut Value) {
    let is_object = object.get("kind").is_some_and(|kind| kind != "Status");
    let Some(meta) = object.get("metadata").filter(|_| is_object).cloned() else {
        return;
    };
    let mut partial = Map::new();
    partial.insert("kind".into(), "PartialObjectMetadata".into());
    partial.insert("apiVersion".into(), "meta.k8s.io/v1".into());
    partial.insert("metadata".into(), meta);
    *object = Value::Object(partial);
}

/// Whether answers are printed over many lines.
pub(super) fn is_pretty(request: &Request) -> bool {
    match request.given("pretty").as_deref() {
        Some("true" | "1") => true,
        Some(_) => false,
        None => {
            let agent = request.user_agent().unwrap_or_default();
            ["curl", "Wget", "Mozilla/5.0"]
                .iter()
                .any(|name| agent.starts_with(name))
        }
    }
}

/// Refuses a `timeout=` that cannot be read, and one that is over before anything could be done.
pub(super) fn timeout(request: &Request) -> Result<(), Box<Answer>> {
    let Some(text) = request.given("timeout") else {
        return Ok(());
    };
    let timeout = duration(&text).map_err(|why| {
        bad_request(&format!(
            "invalid timeout specified in the request URL - {why}"
        ))
    })?;
    if timeout.is_zero() || timeout >= Duration::from_millis(1) {
        return Ok(());
    }
    let message = "Timeout: request did not complete within the allotted timeout";
    let mut body = failure_body(504, "Timeout", message, Some(Map::new().into()));
    if let Value::Object(members) = &mut body {
        members.shift_remove("kind");
        members.shift_remove("apiVersion");
    }
    let answer = Answer::json(504, body);
    Err(Box::new(answer.with_header(
        "Content-Type",
        "text/plain; charset=utf-8".to_owned(),
    )))
}

/// Go's `time.ParseDuration`, for lengths of one or more numbers with units.
fn duration(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let invalid = || format!("time: invalid duration {text:?}");
    let mut rest = text;
    let mut total_s = 0.0;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let number: f64 = number.parse().map_err(|_| invalid())?;
        let unit_end = tail
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        total_s += number
            * match unit {
                "ns" => 1e-9,
                "us" | "µs" => 1e-6,
                "ms" => 1e-3,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                "" => return Err(format!("time: missing unit in duration {text:?}")),
                _ => return Err(format!("time: unknown unit {unit:?} in duration {text:?}")),
            };
        rest = tail;
    }
    Duration::try_from_secs_f64(total_s).map_err(|_| invalid())
}

/// Checks the options of a write; `kind` is that of the options, such as `CreateOptions`.
pub(super) fn options(request: &Request, kind: &str) -> Result<(), Box<Answer>> {
    let mut causes = Vec::new();
    if let Some(value) = request.given("dryRun").filter(|value| value != "All") {
        causes.push(Cause::unsupported(
            "dryRun",
            &format!("[{value:?}]"),
            "\"All\"",
        ));
    }
    if request
        .given("fieldManager")
        .is_some_and(|manager| manager.len() > 128)
    {
        causes.push(Cause::too_long("fieldManager", 128));
    }
    let validation = request.given("fieldValidation");
    if let Some(value) = validation.filter(|v| !matches!(v.as_str(), "Ignore" | "Strict" | "Warn"))
    {
        let supported = r#""", "Ignore", "Strict", "Warn""#;
        causes.push(Cause::unsupported(
            "fieldValidation",
            &format!("{value:?}"),
            supported,
        ));
    }
    refuse(kind, &causes)
}

/// Refuses bad options.
pub(super) fn refuse(kind: &str, causes: &[Cause]) -> Result<(), Box<Answer>> {
    if causes.is_empty() {
        Ok(())
    } else {
        Err(invalid("meta.k8s.io", kind, "", causes))
    }
}
