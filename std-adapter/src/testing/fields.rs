//! The fields of an object as `managedFields` names them (`structured-merge-diff`'s FieldsV1).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// `["f:spec", "f:renewTime"]`
pub(super) type Path = Vec<String>;

/// The fields of an object with their values; a map or list itself counts as a field too.
pub(super) fn of(object: &Value) -> BTreeMap<Path, Value> {
    let mut fields = BTreeMap::new();
    let Value::Object(members) = object else {
        return fields;
    };
    for (key, value) in members {
        match key.as_str() {
            "kind" | "apiVersion" => {}
            "metadata" => meta(&mut fields, value),
            // It is set and taken as a whole.
            "involvedObject" => {
                fields.insert(vec![format!("f:{key}")], value.clone());
            }
            "data" => map(&mut fields, &["f:data".to_owned()], value),
            _ => structure(&mut fields, &[format!("f:{key}")], value),
        }
    }
    fields
}

fn meta(fields: &mut BTreeMap<Path, Value>, meta: &Value) {
    let at = |key: &str| vec!["f:metadata".to_owned(), format!("f:{key}")];
    if let Some(prefix) = meta.get("generateName") {
        fields.insert(at("generateName"), prefix.clone());
    }
    for key in ["labels", "annotations"] {
        if let Some(value) = meta.get(key) {
            map(fields, &at(key), value);
        }
    }
    for key in ["finalizers", "ownerReferences"] {
        let Some(Value::Array(items)) = meta.get(key) else {
            continue;
        };
        fields.insert(at(key), Value::Null);
        for item in items {
            let element = match item.get("uid") {
                Some(uid) => format!("k:{{\"uid\":{uid}}}"),
                None => format!("v:{item}"),
            };
            let mut path = at(key);
            path.push(element);
            fields.insert(path, item.clone());
        }
    }
}

fn map(fields: &mut BTreeMap<Path, Value>, at: &[String], value: &Value) {
    let Value::Object(members) = value else {
        return;
    };
    fields.insert(at.to_vec(), Value::Null);
    for (key, value) in members {
        let mut path = at.to_vec();
        path.push(format!("f:{key}"));
        fields.insert(path, value.clone());
    }
}

fn structure(fields: &mut BTreeMap<Path, Value>, at: &[String], value: &Value) {
    let Value::Object(members) = value else {
        fields.insert(at.to_vec(), value.clone());
        return;
    };
    if at.last().is_some_and(|last| last == "f:resourceAttributes") {
        // A pointer, unlike other structs.
        fields.insert(at.to_vec(), Value::Null);
    }
    for (key, value) in members {
        let mut path = at.to_vec();
        path.push(format!("f:{key}"));
        structure(fields, &path, value);
    }
}

/// `fieldsV1` as a set of paths.
pub(super) fn parse(fields_v1: &Value) -> BTreeSet<Path> {
    let mut paths = BTreeSet::new();
    collect(&mut paths, &mut Vec::new(), fields_v1);
    paths
}

fn collect(paths: &mut BTreeSet<Path>, at: &mut Path, value: &Value) {
    let Value::Object(members) = value else {
        return;
    };
    if members.is_empty() && !at.is_empty() {
        paths.insert(at.clone());
    }
    for (key, value) in members {
        if key == "." {
            paths.insert(at.clone());
        } else {
            at.push(key.clone());
            collect(paths, at, value);
            at.pop();
        }
    }
}

/// A set of paths as `fieldsV1`: nested, with `.` for a map or list that has members.
pub(super) fn written(paths: &BTreeSet<Path>) -> Value {
    let mut root = Map::new();
    for path in paths {
        let is_below = |other: &Path| other.len() > path.len() && other.starts_with(path);
        let is_container = paths.iter().any(is_below);
        insert(&mut root, path, is_container);
    }
    Value::Object(root)
}

fn insert(node: &mut Map<String, Value>, path: &[String], is_container: bool) {
    if let Some((first, rest)) = path.split_first() {
        let next = node
            .entry(first.clone())
            .or_insert_with(|| Map::new().into());
        if let Value::Object(next) = next {
            insert(next, rest, is_container);
        }
    } else if is_container {
        node.insert(".".to_owned(), Map::new().into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{of, parse, written};

    #[test]
    fn paths_are_written_nested_and_read_back() {
        let object = json!({"kind": "Lease", "metadata": {"name": "n", "labels": {"l": "1"},
            "ownerReferences": [{"uid": "u"}]}, "spec": {"holderIdentity": "a"}});
        let paths = of(&object).into_keys().collect();
        let text = concat!(
            r#"{"f:metadata":{"f:labels":{".":{},"f:l":{}},"#,
            r#""f:ownerReferences":{".":{},"k:{\"uid\":\"u\"}":{}}},"#,
            r#""f:spec":{"f:holderIdentity":{}}}"#
        );
        assert_eq!(written(&paths).to_string(), text);
        assert_eq!(parse(&written(&paths)), paths);
    }
}
