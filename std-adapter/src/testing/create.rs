//! POST, and what creation by PUT and apply shares with it.

use serde_json::{Map, Value, json};

use super::answer::{Answer, Outcome};
use super::api::Call;
use super::body::{self, Sent};
use super::managed::{self, Entry, Writer};
use super::negotiate::options;
use super::object::{set, set_meta, take_meta};
use super::schema::{arrange_meta, drop_gated_fields};
use super::status::{
    Cause, already_exists, bad_request, details, failure, internal, invalid, namespace_not_found,
};
use super::{update, validate};

/// `POST` to a collection.
pub(super) fn create(call: &mut Call<'_>) -> Outcome {
    options(call.request, "CreateOptions")?;
    let sent = body::read(call)?;
    check_namespace(call, &sent.object)?;
    new_object(call, sent, None)
}

/// The namespace of the object must be that of the path, or absent.
pub(super) fn check_namespace(call: &Call<'_>, object: &Value) -> Result<(), Box<Answer>> {
    let namespace = object
        .pointer("/metadata/namespace")
        .and_then(Value::as_str);
    if call.resource.namespaced && namespace.is_some_and(|name| name != call.target.namespace) {
        return Err(bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// Stores an object that is not there yet. One that was applied belongs to its applier.
pub(super) fn new_object(call: &mut Call<'_>, sent: Sent, applier: Option<Entry>) -> Outcome {
    let Sent {
        mut object,
        mut warnings,
        managed: _,
    } = sent;
    let name = prepare(call, &mut object);
    admit(call, &name)?;
    update::dedupe_owners(&mut object, &mut warnings);
    let causes = validate::creation(call.resource, &object);
    if !causes.is_empty() {
        return Err(invalid(
            call.resource.group,
            call.resource.kind,
            &name,
            &causes,
        ));
    }
    match applier {
        Some(entry) => managed::store(&mut object, vec![entry]),
        None => managed::track(None, &mut object, None, &writer(call)),
    }
    drop_gated_fields(&mut object);
    add_defaults(call, &mut object);
    refuse_version(&object)?;
    let key = call.key_of(&name);
    if let Some(there) = call.api.store.get(&key) {
        let is_dying = there.pointer("/metadata/deletionTimestamp").is_some();
        return Err(already_exists(&call.target, &name, is_dying));
    }
    size_limit(call, &object)?;
    if call.is_dry_run() {
        take_meta(&mut object, "resourceVersion");
    } else {
        set_meta(&mut object, "resourceVersion", "".into());
        arrange_meta(&mut object);
        object = call.api.store.put(key, object);
    }
    Ok(Answer::json(201, object).with_warnings(&warnings))
}

/// Gives the object what only the server may give; answers its name.
fn prepare(call: &mut Call<'_>, object: &mut Value) -> String {
    let meta = |key: &str| {
        object
            .pointer(&format!("/metadata/{key}"))
            .and_then(Value::as_str)
    };
    let mut name = meta("name").unwrap_or_default().to_owned();
    if let (true, Some(prefix)) = (name.is_empty(), meta("generateName")) {
        name = format!("{prefix}{}", call.api.store.suffix());
    }
    for key in [
        "selfLink",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
    ] {
        take_meta(object, key);
    }
    if !name.is_empty() {
        set_meta(object, "name", name.as_str().into());
    }
    if call.resource.namespaced {
        set_meta(object, "namespace", call.target.namespace.as_str().into());
    }
    set_meta(object, "uid", call.api.store.uid().into());
    set_meta(object, "creationTimestamp", call.api.clock.time().into());
    label_namespace(call, object, &name);
    arrange_meta(object);
    name
}

/// The label that every Namespace has.
fn label_namespace(call: &Call<'_>, object: &mut Value, name: &str) {
    if call.resource.kind == "Namespace"
        && let Some(Value::Object(meta)) = object.get_mut("metadata")
    {
        meta.entry("labels").or_insert_with(|| Map::new().into());
        set(
            object,
            "metadata/labels",
            "kubernetes.io/metadata.name",
            name.into(),
        );
    }
}

/// What the server adds to objects of some kinds; it belongs to no manager.
fn add_defaults(call: &Call<'_>, object: &mut Value) {
    let Value::Object(members) = object else {
        return;
    };
    match call.resource.kind {
        "Namespace" => {
            members.insert("spec".into(), json!({"finalizers": ["kubernetes"]}));
            members.insert("status".into(), json!({"phase": "Active"}));
        }
        // The admission plugin TaintNodesByCondition; the node controller takes it away.
        "Node" => {
            let spec = members.entry("spec").or_insert_with(|| json!({}));
            if let Value::Object(spec) = spec {
                let taints = spec.entry("taints").or_insert_with(|| json!([]));
                if let Value::Array(taints) = taints {
                    let key = "node.kubernetes.io/not-ready";
                    taints.push(json!({"key": key, "effect": "NoSchedule"}));
                }
            }
        }
        "Event" => {
            members.entry("eventTime").or_insert(Value::Null);
            for key in ["reportingComponent", "reportingInstance"] {
                members.entry(key).or_insert_with(|| "".into());
            }
        }
        _ => {}
    }
}

/// The admission plugin NamespaceLifecycle.
fn admit(call: &Call<'_>, name: &str) -> Result<(), Box<Answer>> {
    if !call.resource.namespaced {
        return Ok(());
    }
    let namespace = &call.target.namespace;
    let Some(found) = call.api.store.namespace(namespace) else {
        return Err(namespace_not_found(namespace));
    };
    if found.pointer("/metadata/deletionTimestamp").is_none() {
        return Ok(());
    }
    let message = format!(
        "{} {name:?} is forbidden: unable to create new content in namespace {namespace} because \
         it is being terminated",
        call.target.qualified()
    );
    let cause = Cause {
        reason: "NamespaceTerminating",
        message: format!("namespace {namespace} is being terminated"),
        field: "metadata.namespace".to_owned(),
    };
    let details = details(name, &call.target.group, &call.target.resource, &[cause]);
    Err(Box::new(failure(403, "Forbidden", &message, Some(details))))
}

/// A version that is a number above 0 must not be set on creation; any other is ignored.
fn refuse_version(object: &Value) -> Result<(), Box<Answer>> {
    let version = object
        .pointer("/metadata/resourceVersion")
        .and_then(Value::as_str);
    if version
        .and_then(|text| text.parse::<u64>().ok())
        .is_some_and(|version| version > 0)
    {
        return Err(internal(
            "resourceVersion should not be set on objects to be created",
        ));
    }
    Ok(())
}

/// What etcd and its client make of objects that are too large.
pub(super) fn size_limit(call: &Call<'_>, object: &Value) -> Result<(), Box<Answer>> {
    const MAX_STORED: usize = 3 << 19;
    const MAX_MESSAGE: usize = 2 << 20;
    if call.request.body.len() < MAX_STORED {
        return Ok(());
    }
    let size = object.to_string().len();
    if size > MAX_MESSAGE {
        return Err(internal(&format!(
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max \
             ({size} vs. {MAX_MESSAGE})"
        )));
    }
    if size > MAX_STORED {
        Err(internal("etcdserver: request is too large"))
    } else {
        Ok(())
    }
}

pub(super) fn writer(call: &Call<'_>) -> Writer {
    Writer {
        manager: call.manager(),
        api_version: call.resource.api_version(),
        now: call.api.clock.time(),
    }
}

/// A user's question what they may do; it is answered and not stored.
pub(super) fn review(call: &mut Call<'_>) -> Outcome {
    let Sent { mut object, .. } = body::read(call)?;
    let asked = |key: &str| {
        let pointer = format!("/spec/resourceAttributes/{key}");
        object
            .pointer(&pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let name = Some(asked("name")).filter(|name| !name.is_empty());
    let target = super::route::Target {
        group: asked("group"),
        resource: asked("resource"),
        namespace: asked("namespace"),
        name,
        ..Default::default()
    };
    let verb = asked("verb");
    let is_allowed = call
        .api
        .access
        .is_allowed(&call.user, &target, &verb, &call.api.store);
    managed::track(None, &mut object, None, &writer(call));
    set(&mut object, "", "status", json!({"allowed": is_allowed}));
    Ok(Answer::json(201, object))
}
