//! Members of objects, set and taken.

use serde_json::Value;

/// Sets a member of the metadata.
pub(super) fn set_meta(object: &mut Value, key: &str, value: Value) {
    set(object, "metadata", key, value);
}

/// Takes a member of the metadata away.
pub(super) fn take_meta(object: &mut Value, key: &str) -> Option<Value> {
    object
        .get_mut("metadata")?
        .as_object_mut()?
        .shift_remove(key)
}

/// Sets a member of what is at this path (`""`, `"metadata"`), if that is an object.
pub(super) fn set(object: &mut Value, path: &str, key: &str, value: Value) {
    let pointer = if path.is_empty() {
        String::new()
    } else {
        format!("/{path}")
    };
    if let Some(Value::Object(members)) = object.pointer_mut(&pointer) {
        members.insert(key.to_owned(), value);
    }
}
