//! Merge patch (RFC 7396) and strategic merge patch.

use serde_json::{Map, Value};

use super::object::set;

/// An object as the patch library holds it: opened at the top, so its keys are sorted there.
/// What a patch does not reach into keeps its order.
pub(super) fn opened(object: &Value) -> Value {
    let mut opened = object.clone();
    sort_keys(&mut opened);
    opened
}

/// Merges a patch into an object; null takes a member away.
pub(super) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(members) = &mut *target else {
        return;
    };
    for (key, value) in patch {
        if value.is_null() {
            members.shift_remove(key);
        } else {
            merge(members.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
    sort_keys(target);
}

fn sort_keys(object: &mut Value) {
    if let Value::Object(members) = object {
        members.sort_keys();
    }
}

/// The lists that a strategic patch merges, and the member that tells their items apart.
const MERGED_LISTS: [(&str, &str, &str); 3] = [
    ("metadata", "ownerReferences", "uid"),
    ("metadata", "finalizers", ""),
    ("status", "conditions", "type"),
];

/// As [`merge`], but some lists are merged too: owner references by their uid, conditions by their
/// type, finalizers as a set.
pub(super) fn strategic(target: &mut Value, patch: &Value) {
    let lists = MERGED_LISTS.map(|(parent, key, by)| {
        let pointer = format!("/{parent}/{key}");
        let list = |value: &Value| value.pointer(&pointer).and_then(Value::as_array).cloned();
        (parent, key, by, list(target), list(patch))
    });
    merge(target, patch);
    for (parent, key, by, before, added) in lists {
        if let (Some(before), Some(added)) = (before, added) {
            set(
                target,
                parent,
                key,
                Value::Array(merged_list(before, added, by)),
            );
        }
    }
}

/// What is new comes in front of what was there.
fn merged_list(mut merged: Vec<Value>, added: Vec<Value>, by: &str) -> Vec<Value> {
    for item in added.into_iter().rev() {
        let same = |other: &&mut Value| match item.get(by) {
            Some(name) => other.get(by) == Some(name),
            None => **other == item,
        };
        match merged.iter_mut().find(same) {
            Some(other) => merge(other, &item),
            None => merged.insert(0, item),
        }
    }
    merged
}

/// A value as Go prints it with `%v`: `map[spec:map[renewTime:now]]`.
pub(super) fn go_map(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut texts: Vec<_> = members
                .iter()
                .map(|(key, value)| format!("{key}:{}", go_map(value)))
                .collect();
            texts.sort();
            format!("map[{}]", texts.join(" "))
        }
        Value::Array(items) => {
            let texts: Vec<_> = items.iter().map(go_map).collect();
            format!("[{}]", texts.join(" "))
        }
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{go_map, merge, strategic};

    #[test]
    fn examples_of_rfc_7396_hold() {
        for (target, patch, result) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (
                json!({"e": null}),
                json!({"a": 1}),
                json!({"e": null, "a": 1}),
            ),
            (
                json!([1, 2]),
                json!({"a": "b", "c": null}),
                json!({"a": "b"}),
            ),
            (
                json!({}),
                json!({"a": {"bb": {"ccc": null}}}),
                json!({"a": {"bb": {}}}),
            ),
        ] {
            let mut merged = target;
            merge(&mut merged, &patch);
            assert_eq!(merged, result);
        }
    }

    #[test]
    fn strategic_patches_merge_owners_by_uid() {
        let mut object = json!({"metadata": {"ownerReferences": [{"uid": "1", "name": "a"}]}});
        let patch =
            json!({"metadata": {"ownerReferences": [{"uid": "2"}, {"uid": "1", "name": "b"}]}});
        strategic(&mut object, &patch);
        let expected = json!([{"uid": "2"}, {"uid": "1", "name": "b"}]);
        assert_eq!(object["metadata"]["ownerReferences"], expected);
    }

    #[test]
    fn maps_are_shown_as_go_shows_them() {
        let value = json!({"spec": {"b": 1, "a": "x"}});
        assert_eq!(go_map(&value), "map[spec:map[a:x b:1]]");
    }
}
