//! PUT, and the rules by which a new state of an object takes the place of the old one.

use serde_json::Value;

use super::access::forbidden;
use super::answer::{Answer, Outcome};
use super::api::Call;
use super::body::{self, Sent};
use super::create::{check_namespace, new_object, size_limit, writer};
use super::managed;
use super::negotiate::options;
use super::object::{set_meta, take_meta};
use super::route::has_status;
use super::schema::{arrange_meta, drop_gated_fields};
use super::status::{Cause, MODIFIED, bad_request, conflict, internal, invalid, not_found};
use super::store::version_of;
use super::validate;

/// `PUT` to an object.
pub(super) fn update(call: &mut Call<'_>) -> Outcome {
    if call.target.subresource == "finalize" {
        return finalize(call);
    }
    options(call.request, "UpdateOptions")?;
    let sent = body::read(call)?;
    check_name(call, &sent.object)?;
    check_namespace(call, &sent.object)?;
    let old = call.stored();
    check_uid(call, old.as_ref(), &sent.object)?;
    match old {
        Some(old) => {
            check_version(call, &old, &sent.object)?;
            replace(call, &old, sent)
        }
        None => create_by_put(call, sent),
    }
}

/// A PUT to nothing creates Leases and Events, but not ConfigMaps.
fn create_by_put(call: &mut Call<'_>, mut sent: Sent) -> Outcome {
    if !matches!(call.resource.kind, "Lease" | "Event") {
        return Err(not_found(&call.target));
    }
    if let Some(version) = take_meta(&mut sent.object, "resourceVersion") {
        parse_version(version.as_str().unwrap_or_default())?;
    }
    check_may_create(call)?;
    new_object(call, sent, None)
}

/// Who creates by PUT or apply needs the right to create the object of that name.
pub(super) fn check_may_create(call: &Call<'_>) -> Result<(), Box<Answer>> {
    if call
        .api
        .access
        .is_allowed(&call.user, &call.target, "create", &call.api.store)
    {
        return Ok(());
    }
    Err(forbidden(&call.user, &call.target, "create", false))
}

/// The name in the object must be that of the path.
pub(super) fn check_name(call: &Call<'_>, object: &Value) -> Result<(), Box<Answer>> {
    let asked = call.target.name();
    match object
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default()
    {
        name if name == asked => Ok(()),
        "" => Err(bad_request(&format!(
            "the name of the object ({asked} based on URL) was undeterminable: name must be \
             provided"
        ))),
        name => Err(bad_request(&format!(
            "the name of the object ({name}) does not match the name on the URL ({asked})"
        ))),
    }
}

/// A uid that was sent is a precondition; the uid of nothing is empty.
fn check_uid(call: &Call<'_>, old: Option<&Value>, new: &Value) -> Result<(), Box<Answer>> {
    let uid = |object: &Value| {
        let uid = object.pointer("/metadata/uid").and_then(Value::as_str);
        uid.unwrap_or_default().to_owned()
    };
    let (wanted, found) = (uid(new), old.map(uid).unwrap_or_default());
    if wanted.is_empty() || wanted == found {
        return Ok(());
    }
    let (resource, namespace, name) = (
        call.resource.plural,
        &call.target.namespace,
        call.target.name(),
    );
    Err(conflict(
        &call.target,
        &format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{resource}/{namespace}/{name}, \
             ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: \
             {wanted}, UID in object meta: {found}"
        ),
    ))
}

fn parse_version(text: &str) -> Result<u64, Box<Answer>> {
    if text.is_empty() {
        return Ok(0);
    }
    let digits = text.strip_prefix('+').map_or(text, |_| "");
    digits.parse().map_err(|_| {
        internal(&format!(
            "strconv.ParseUint: parsing {text:?}: invalid syntax"
        ))
    })
}

/// The version that was sent must be the current one; Leases cannot do without.
pub(super) fn check_version(call: &Call<'_>, old: &Value, new: &Value) -> Result<(), Box<Answer>> {
    let text = new
        .pointer("/metadata/resourceVersion")
        .and_then(Value::as_str);
    let version = parse_version(text.unwrap_or_default())?;
    if version == 0 && !call.resource.is_lease() {
        return Ok(());
    }
    if version == 0 {
        let why = "must be specified for an update";
        let cause = Cause::invalid("metadata.resourceVersion", "0", why);
        let (group, name) = (call.resource.group, call.target.name());
        return Err(invalid(group, call.resource.plural, name, &[cause]));
    }
    if version != version_of(old) {
        return Err(conflict(&call.target, MODIFIED));
    }
    Ok(())
}

/// Puts a new state in the place of the old one, unless they are equal.
pub(super) fn replace(call: &mut Call<'_>, old: &Value, sent: Sent) -> Outcome {
    let Sent {
        object: mut new,
        mut warnings,
        managed,
    } = sent;
    keep_other_part(call, old, &mut new);
    keep_system_fields(old, &mut new);
    dedupe_owners(&mut new, &mut warnings);
    let causes = validate::update(call.resource, old, &new);
    if !causes.is_empty() {
        let (group, kind) = (call.resource.group, call.resource.kind);
        return Err(invalid(group, kind, call.target.name(), &causes));
    }
    managed::track(Some(old), &mut new, managed.as_ref(), &writer(call));
    finish(call, old, new, &warnings)
}

/// Stores the new state. One that is being deleted and has no finalizer left is gone.
pub(super) fn finish(
    call: &mut Call<'_>,
    old: &Value,
    mut new: Value,
    warnings: &[String],
) -> Outcome {
    drop_gated_fields(&mut new);
    set_meta(
        &mut new,
        "resourceVersion",
        version_of(old).to_string().into(),
    );
    arrange_meta(&mut new);
    size_limit(call, &new)?;
    let is_dying = new.pointer("/metadata/deletionTimestamp").is_some();
    let is_held = new.pointer("/metadata/finalizers").is_some();
    let key = call.key();
    if is_dying && !is_held && !call.is_dry_run() && call.resource.kind != "Namespace" {
        call.api.store.remove(&key);
    } else if new != *old && !call.is_dry_run() {
        new = call.api.store.put(key, new);
    }
    Ok(Answer::json(200, new).with_warnings(warnings))
}

/// What an update cannot change is taken from the old state.
fn keep_system_fields(old: &Value, new: &mut Value) {
    take_meta(new, "selfLink");
    for key in ["creationTimestamp", "generation"] {
        take_meta(new, key);
    }
    for key in [
        "namespace",
        "uid",
        "creationTimestamp",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        let kept = old.pointer(&format!("/metadata/{key}"));
        let is_absent = new.pointer(&format!("/metadata/{key}")).is_none();
        if let (true, Some(value)) = (is_absent, kept) {
            set_meta(new, key, value.clone());
        }
    }
}

/// Where the status is a subresource, the one cannot be changed with the other.
fn keep_other_part(call: &Call<'_>, old: &Value, new: &mut Value) {
    if !has_status(call.resource) {
        return;
    }
    let status = if call.target.subresource == "status" {
        let status = new.get("status").cloned();
        let version = new.pointer("/metadata/resourceVersion").cloned();
        *new = old.clone();
        set_meta(new, "resourceVersion", version.unwrap_or_default());
        status
    } else {
        old.get("status").cloned()
    };
    if let Value::Object(members) = new {
        members.shift_remove("status");
        members.extend(status.map(|status| ("status".to_owned(), status)));
    }
}

/// A second owner reference with the same uid is dropped with a warning.
pub(super) fn dedupe_owners(object: &mut Value, warnings: &mut Vec<String>) {
    let Some(Value::Array(owners)) = object.pointer_mut("/metadata/ownerReferences") else {
        return;
    };
    let mut seen: Vec<Value> = Vec::new();
    let mut doubles = Vec::new();
    owners.retain(|owner| {
        let uid = owner.get("uid").cloned().unwrap_or_default();
        let is_new = !seen.contains(&uid);
        if is_new {
            seen.push(uid);
        } else {
            doubles.push(uid.as_str().unwrap_or_default().to_owned());
        }
        is_new
    });
    if !doubles.is_empty() {
        warnings.push(format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner \
             references in 1.20+, and may reject such requests as early as 1.24; please fix your \
             requests; duplicate UID(s) observed: {}",
            doubles.join(", ")
        ));
    }
}

/// The last finalizer of a namespace is removed: it goes, with all that is in it.
fn finalize(call: &mut Call<'_>) -> Outcome {
    let Some(old) = call.stored() else {
        return Err(not_found(&call.target));
    };
    let name = call.target.name().to_owned();
    call.api.store.remove_namespace(&name);
    Ok(Answer::json(200, old))
}
