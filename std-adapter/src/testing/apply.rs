//! Server-side apply, as far as Leases need it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::answer::{Answer, Outcome};
use super::api::Call;
use super::body::Sent;
use super::create::{check_namespace, new_object, writer};
use super::decode;
use super::fields::{self, Path};
use super::go_json::{self, Document};
use super::managed::{self, Entry};
use super::merge;
use super::object::{set, set_meta, take_meta};
use super::schema::arrange_meta;
use super::status::{Cause, bad_request, conflict, details, failure, internal, invalid};
use super::update::{check_may_create, check_name, check_version, finish};
use super::validate;

/// `PATCH` with an apply configuration.
pub(super) fn apply(call: &mut Call<'_>) -> Outcome {
    let document = go_json::parse(&call.request.body)
        .map_err(|error| bad_request(&format!("error decoding YAML: {error}")))?;
    check_type(call, &document.value)?;
    if document.value.pointer("/metadata/managedFields").is_some() {
        return Err(bad_request("metadata.managedFields must be nil"));
    }
    let sent = decoded(call, &document)?;
    // The object that is there lends its name to a configuration without one.
    let is_named = sent.object.pointer("/metadata/name").is_some();
    if is_named || call.stored().is_none() {
        check_name(call, &sent.object)?;
    }
    check_namespace(call, &sent.object)?;
    // The book-keeping sees the configuration as it was written: the same time in another form
    // is another value.
    let wanted = fields::of(&document.value);
    match call.stored() {
        None => create(call, sent, wanted.into_keys().collect()),
        Some(old) => change(call, &old, &sent, &wanted),
    }
}

fn check_type(call: &Call<'_>, value: &Value) -> Result<(), Box<Answer>> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let (kind, version) = (text("kind"), text("apiVersion"));
    if kind == call.resource.kind && version == call.resource.api_version() {
        return Ok(());
    }
    Err(bad_request(&format!(
        "invalid object type: {version}, Kind={kind}"
    )))
}

/// What does not decode is an error of the machinery here, not of the request.
fn decoded(call: &Call<'_>, document: &Document) -> Result<Sent, Box<Answer>> {
    let (namespace, name) = (&call.target.namespace, call.target.name());
    let kind = format!(
        "{}, Kind={}",
        call.resource.api_version(),
        call.resource.kind
    );
    let cannot = |why: &str| {
        internal(&format!(
            "failed to create typed patch object ({namespace}/{name}; {kind}): {why}"
        ))
    };
    if let Some((key, value)) = not_scalar(&document.value) {
        let shown = merge::go_map(value);
        return Err(cannot(&format!(
            ".spec.{key}: expected any scalar, got &{{{shown}}}"
        )));
    }
    let convert = |why: &str| {
        let why = without_field(why);
        internal(&format!(
            "failed to convert new object ({namespace}/{name}; {kind}) to proper version: unable \
             to convert unstructured object to {kind}: {why}"
        ))
    };
    let decoded = decode::object(call.resource, document).map_err(|error| convert(&error))?;
    if let Some(unknown) = decoded
        .warnings
        .iter()
        .find_map(|w| w.strip_prefix("unknown field "))
    {
        let unknown = unknown.trim_matches('"');
        return Err(cannot(&format!(".{unknown}: field not declared in schema")));
    }
    Ok(Sent {
        object: decoded.object,
        warnings: Vec::new(),
        managed: None,
    })
}

/// A member of the spec that is no scalar, which the typed schema refuses.
fn not_scalar(value: &Value) -> Option<(&String, &Value)> {
    let spec = value.get("spec")?.as_object()?;
    spec.iter()
        .find(|(_, value)| value.is_object() || value.is_array())
}

/// The conversion does not know the field that it fails at.
fn without_field(why: &str) -> String {
    let Some((start, rest)) = why.split_once("Go struct field ") else {
        return why.to_owned();
    };
    let kind = rest.split_once(" of type ").map_or("", |(_, kind)| kind);
    format!("{start}Go value of type {kind}")
}

fn entry(call: &Call<'_>, owned: BTreeSet<Path>, time: Option<String>) -> Entry {
    Entry {
        manager: call.manager(),
        operation: "Apply".to_owned(),
        api_version: call.resource.api_version(),
        time,
        fields: owned,
    }
}

fn create(call: &mut Call<'_>, mut sent: Sent, owned: BTreeSet<Path>) -> Outcome {
    if let Some(uid) = sent.object.pointer("/metadata/uid").and_then(Value::as_str) {
        let why = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was \
             found"
        );
        return Err(conflict(&call.target, &why));
    }
    check_may_create(call)?;
    take_meta(&mut sent.object, "resourceVersion");
    let time = Some(call.api.clock.time());
    let applier = entry(call, owned, time);
    new_object(call, sent, Some(applier))
}

fn change(
    call: &mut Call<'_>,
    old: &Value,
    sent: &Sent,
    wanted: &BTreeMap<Path, Value>,
) -> Outcome {
    let before = fields::of(old);
    let owned: BTreeSet<Path> = wanted.keys().cloned().collect();
    let changed: BTreeSet<Path> = wanted
        .iter()
        .filter(|(path, value)| before.get(*path) != Some(*value))
        .map(|(path, _)| path.clone())
        .collect();
    let mut known = managed::entries(old);
    if known.is_empty() {
        known.push(before_first_apply(call, before.keys().cloned().collect()));
    }
    let manager = call.manager();
    let is_own = |entry: &Entry| entry.manager == manager && entry.operation == "Apply";
    if call.request.given("force").as_deref() != Some("true") {
        check_conflicts(&known, &changed, is_own)?;
    }
    let former = known.iter().find(|entry| is_own(entry)).cloned();
    let mut new = merged(old, sent);
    if let Some(former) = &former {
        drop_left_out(&mut new, former, &owned, &known);
    }
    check_version(call, old, &new)?;
    let causes = validate::update(call.resource, old, &new);
    if !causes.is_empty() {
        let (group, kind) = (call.resource.group, call.resource.kind);
        return Err(invalid(group, kind, call.target.name(), &causes));
    }
    let is_object_changed = !changed.is_empty() || fields::of(&new) != before;
    let former_time = former.as_ref().and_then(|entry| entry.time.clone());
    let time = if is_object_changed {
        Some(call.api.clock.time())
    } else {
        former_time
    };
    for other in known.iter_mut().filter(|entry| !is_own(entry)) {
        other.fields.retain(|path| !changed.contains(path));
    }
    known.retain(|entry| !is_own(entry));
    known.push(entry(call, owned, time));
    managed::store(&mut new, known);
    finish(call, old, new, &[])
}

fn before_first_apply(call: &Call<'_>, fields: BTreeSet<Path>) -> Entry {
    let writer = writer(call);
    Entry {
        manager: "before-first-apply".to_owned(),
        operation: "Update".to_owned(),
        api_version: writer.api_version,
        time: Some(writer.now),
        fields,
    }
}

/// Fields that others own and that would change.
fn check_conflicts(
    known: &[Entry],
    changed: &BTreeSet<Path>,
    is_own: impl Fn(&Entry) -> bool,
) -> Result<(), Box<Answer>> {
    let mut causes = Vec::new();
    let mut parts = Vec::new();
    for other in known.iter().filter(|entry| !is_own(entry)) {
        let fields: Vec<_> = other.fields.intersection(changed).map(dotted).collect();
        let whom = format!("{:?} using {}", other.manager, other.api_version);
        for field in &fields {
            causes.push(Cause {
                reason: "FieldManagerConflict",
                message: format!("conflict with {whom}"),
                field: field.clone(),
            });
        }
        match fields.as_slice() {
            [] => {}
            [only] => parts.push(format!("conflict with {whom}: {only}")),
            many => parts.push(format!("conflicts with {whom}:\n- {}", many.join("\n- "))),
        }
    }
    if causes.is_empty() {
        return Ok(());
    }
    let plural = if causes.len() == 1 { "" } else { "s" };
    let message = format!(
        "Apply failed with {} conflict{plural}: {}",
        causes.len(),
        parts.join("\n")
    );
    let details = details("", "", "", &causes);
    Err(Box::new(failure(409, "Conflict", &message, Some(details))))
}

/// `.spec.renewTime`
fn dotted(path: &Path) -> String {
    path.iter()
        .map(|part| format!(".{}", part.strip_prefix("f:").unwrap_or(part)))
        .collect()
}

/// The old state with the values of the configuration.
fn merged(old: &Value, sent: &Sent) -> Value {
    let mut new = old.clone();
    let mut patch = sent.object.clone();
    if patch.pointer("/metadata/resourceVersion").is_none() {
        let version = old
            .pointer("/metadata/resourceVersion")
            .cloned()
            .unwrap_or_default();
        set_meta(&mut patch, "resourceVersion", version);
    }
    merge::strategic(&mut new, &patch);
    restore_nulls(&mut new, &patch);
    in_order(&mut new, old);
    new
}

/// The zero time is written as null, which a merge would take for an absent field.
fn restore_nulls(new: &mut Value, patch: &Value) {
    let Some(Value::Object(spec)) = patch.get("spec") else {
        return;
    };
    for key in spec
        .iter()
        .filter(|(_, value)| value.is_null())
        .map(|(key, _)| key)
    {
        set(new, "spec", key, Value::Null);
    }
}

/// Merging sorted the keys; the order of Go comes back by decoding.
fn in_order(new: &mut Value, old: &Value) {
    let kind = old.get("kind").and_then(Value::as_str).unwrap_or_default();
    if kind == "Lease" {
        super::schema::arrange_lease(new);
    }
    arrange_meta(new);
}

/// Fields this manager applied before and leaves out now go, unless somebody else owns them.
fn drop_left_out(new: &mut Value, former: &Entry, owned: &BTreeSet<Path>, known: &[Entry]) {
    for path in former.fields.difference(owned) {
        let is_shared = known.iter().any(|entry| {
            (entry.manager != former.manager || entry.operation != former.operation)
                && entry.fields.contains(path)
        });
        if is_shared {
            continue;
        }
        let Some((last, parents)) = path.split_last() else {
            continue;
        };
        let name = |part: &str| part.strip_prefix("f:").unwrap_or(part).to_owned();
        let pointer: String = parents
            .iter()
            .map(|part| format!("/{}", name(part)))
            .collect();
        if let Some(Value::Object(members)) = new.pointer_mut(&pointer) {
            members.shift_remove(&name(last));
        }
    }
}
