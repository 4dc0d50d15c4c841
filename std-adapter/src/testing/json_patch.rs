//! JSON patch (RFC 6902) with the liberties of the library that the server uses.

use serde_json::Value;

/// Applies operations one after another; `None` when one of them cannot be.
pub(super) fn apply(target: &mut Value, operations: &[Value]) -> Option<()> {
    for operation in operations {
        let text = |key: &str| operation.get(key).and_then(Value::as_str);
        let path = text("path")?;
        let value = operation.get("value");
        match text("op")? {
            // The library sets a member that `replace` does not find.
            "add" | "replace" => set(target, path, value?.clone())?,
            "remove" => drop(take(target, path)?),
            "test" => {
                let found = target.pointer(path).unwrap_or(&Value::Null);
                (found == value.unwrap_or(&Value::Null)).then_some(())?;
            }
            "move" => {
                let moved = take(target, text("from")?)?;
                set(target, path, moved)?;
            }
            "copy" => {
                let copied = target.pointer(text("from")?)?.clone();
                set(target, path, copied)?;
            }
            _ => return None,
        }
    }
    Some(())
}

/// The container that a path leads into, and the last key.
fn container<'a>(target: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let (parent, last) = path.rsplit_once('/')?;
    Some((
        target.pointer_mut(parent)?,
        last.replace("~1", "/").replace("~0", "~"),
    ))
}

fn set(target: &mut Value, path: &str, value: Value) -> Option<()> {
    match container(target, path)? {
        (Value::Object(members), key) => {
            members.insert(key, value);
            // A container that a patch reached into is written with sorted keys.
            members.sort_keys();
        }
        (Value::Array(items), key) if key == "-" => items.push(value),
        (Value::Array(items), key) => {
            let index = key
                .parse::<usize>()
                .ok()
                .filter(|index| *index <= items.len())?;
            items.insert(index, value);
        }
        _ => return None,
    }
    Some(())
}

fn take(target: &mut Value, path: &str) -> Option<Value> {
    match container(target, path)? {
        (Value::Object(members), key) => {
            let taken = members.shift_remove(&key);
            members.sort_keys();
            taken
        }
        (Value::Array(items), key) => {
            let index = key
                .parse::<usize>()
                .ok()
                .filter(|index| *index < items.len())?;
            Some(items.remove(index))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::apply;

    fn patched(operations: Value) -> Option<Value> {
        let mut object = json!({"a": {"b": 1}, "c": [1, 3]});
        apply(&mut object, operations.as_array().unwrap())?;
        Some(object)
    }

    #[test]
    fn ok_operations_change_the_object() {
        let operations = json!([
            {"op": "test", "path": "/a/b", "value": 1},
            {"op": "replace", "path": "/a/new", "value": 2},
            {"op": "add", "path": "/c/1", "value": 2},
            {"op": "move", "from": "/a/b", "path": "/d"},
            {"op": "remove", "path": "/c/0"},
        ]);
        let expected = json!({"a": {"new": 2}, "c": [2, 3], "d": 1});
        assert_eq!(patched(operations), Some(expected));
    }

    #[test]
    fn err_a_false_test_a_missing_member_and_an_unknown_operation() {
        for operation in [
            json!({"op": "test", "path": "/a/b", "value": 2}),
            json!({"op": "remove", "path": "/a/c"}),
            json!({"op": "renew", "path": "/a/b", "value": 2}),
            json!({"op": "add", "path": "/x/y", "value": 2}),
        ] {
            assert_eq!(patched(json!([operation])), None);
        }
    }
}
