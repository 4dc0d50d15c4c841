//! `managedFields`: who changed which field last (`k8s.io/apimachinery/pkg/util/managedfields`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::fields::{self, Path};

/// What one manager owns.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) manager: String,
    /// `Update` or `Apply`.
    pub(super) operation: String,
    pub(super) api_version: String,
    pub(super) time: Option<String>,
    pub(super) fields: BTreeSet<Path>,
}

/// Who writes, and when.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    pub(super) manager: String,
    pub(super) api_version: String,
    pub(super) now: String,
}

/// The entries of an object.
pub(super) fn entries(object: &Value) -> Vec<Entry> {
    let list = object
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    list.into_iter().flatten().map(read).collect()
}

fn read(entry: &Value) -> Entry {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    Entry {
        manager: text("manager").unwrap_or_default(),
        operation: text("operation").unwrap_or_default(),
        api_version: text("apiVersion").unwrap_or_default(),
        time: text("time"),
        fields: fields::parse(entry.get("fieldsV1").unwrap_or(&Value::Null)),
    }
}

/// Puts entries into an object, those of appliers first, then by time, then by name.
pub(super) fn store(object: &mut Value, mut entries: Vec<Entry>) {
    entries.retain(|entry| !entry.fields.is_empty());
    entries.sort_by(|a, b| {
        (&a.operation, &a.time, &a.manager).cmp(&(&b.operation, &b.time, &b.manager))
    });
    let Some(Value::Object(meta)) = object.get_mut("metadata") else {
        return;
    };
    meta.shift_remove("managedFields");
    if !entries.is_empty() {
        let list = entries.iter().map(write).collect();
        meta.insert("managedFields".to_owned(), list);
    }
}

fn write(entry: &Entry) -> Value {
    let mut members = Map::new();
    members.insert("manager".into(), entry.manager.as_str().into());
    members.insert("operation".into(), entry.operation.as_str().into());
    members.insert("apiVersion".into(), entry.api_version.as_str().into());
    if let Some(time) = &entry.time {
        members.insert("time".into(), time.as_str().into());
    }
    members.insert("fieldsType".into(), "FieldsV1".into());
    members.insert("fieldsV1".into(), fields::written(&entry.fields));
    Value::Object(members)
}

/// Settles who owns what after a create, an update or a patch.
///
/// `sent` is what the request itself gave as managedFields: an empty list, or one of an empty
/// entry, ends the book-keeping for this object for good.
pub(super) fn track(old: Option<&Value>, new: &mut Value, sent: Option<&Value>, writer: &Writer) {
    let sent = sent.and_then(Value::as_array).map(Vec::as_slice);
    let is_reset = match sent {
        Some([]) => true,
        Some([only]) => only.as_object().is_some_and(Map::is_empty),
        _ => false,
    };
    let mut known = match (old, sent) {
        (Some(_), _) if is_reset => return store(new, Vec::new()),
        (Some(_), Some(list)) => list.iter().map(read).collect(),
        (Some(old), None) => entries(old),
        (None, _) => Vec::new(),
    };
    if old.is_some() && known.is_empty() {
        return store(new, Vec::new());
    }
    let before = old.map(fields::of).unwrap_or_default();
    let after = fields::of(new);
    update(&mut known, &before, &after, writer);
    store(new, known);
}

/// A manager owns the fields it changed last; a field that is gone belongs to nobody.
pub(super) fn update(
    known: &mut Vec<Entry>,
    before: &BTreeMap<Path, Value>,
    after: &BTreeMap<Path, Value>,
    writer: &Writer,
) {
    let is_changed = |(path, value): &(&Path, &Value)| before.get(*path) != Some(*value);
    let changed: BTreeSet<_> = after
        .iter()
        .filter(is_changed)
        .map(|(path, _)| path.clone())
        .collect();
    let is_any_gone = before.keys().any(|path| !after.contains_key(path));
    let is_own = |entry: &Entry| entry.manager == writer.manager && entry.operation == "Update";
    if !known.iter().any(is_own) && !changed.is_empty() {
        known.push(Entry {
            manager: writer.manager.clone(),
            operation: "Update".to_owned(),
            api_version: writer.api_version.clone(),
            time: None,
            fields: BTreeSet::new(),
        });
    }
    for entry in known.iter_mut() {
        if is_own(entry) {
            entry.fields.extend(changed.iter().cloned());
            if !changed.is_empty() || is_any_gone {
                entry.time = Some(writer.now.clone());
            }
        } else {
            entry.fields.retain(|path| !changed.contains(path));
        }
        entry
            .fields
            .retain(|path| after.contains_key(path) || !before.contains_key(path));
    }
}
