//! From what was sent to the object the server knows, with Go's errors and warnings.

use serde_json::{Map, Value};

use super::go_json::Document;
use super::micro_time;
use super::route::Resource;
use super::schema::{LEASE, META, Member, Shape, Struct, Zero};

/// An object in the order and form in which Go writes it, and what did not fit.
#[derive(Debug, Default)]
pub(super) struct Decoded {
    pub(super) object: Value,
    /// `unknown field "spec.future"`, `duplicate field "spec.holderIdentity"`.
    pub(super) warnings: Vec<String>,
}

/// Decodes an object of a resource.
///
/// # Errors
///
/// Go's text for the first member that does not fit.
pub(super) fn object(resource: &Resource, document: &Document) -> Result<Decoded, String> {
    let mut decoder = Decoder {
        document,
        warnings: Vec::new(),
        path: Vec::new(),
    };
    let value = &document.value;
    let object = if resource.is_lease() {
        decoder.structure(&LEASE, "", value)?
    } else {
        decoder.loose(resource, value)?
    };
    let duplicates = document
        .duplicates
        .iter()
        .map(|path| format!("duplicate field {path:?}"));
    let mut warnings: Vec<_> = duplicates.collect();
    warnings.append(&mut decoder.warnings);
    Ok(Decoded { object, warnings })
}

struct Decoder<'a> {
    document: &'a Document,
    warnings: Vec<String>,
    path: Vec<String>,
}

impl Decoder<'_> {
    /// An object of which only the metadata has a known type.
    fn loose(&mut self, resource: &Resource, value: &Value) -> Result<Value, String> {
        let empty = Map::new();
        let given = match value {
            Value::Null => &empty,
            Value::Object(members) => members,
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(self.mismatch(value, "", resource.kind));
            }
        };
        let mut object = Map::new();
        object.insert("kind".into(), resource.kind.into());
        object.insert("apiVersion".into(), resource.api_version().into());
        self.path.push("metadata".to_owned());
        let meta = given.get("metadata").unwrap_or(&Value::Null);
        let meta = self.structure(&META, resource.kind, meta)?;
        self.path.pop();
        object.insert("metadata".into(), meta);
        for (key, value) in given {
            if !value.is_null() {
                object.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        Ok(Value::Object(object))
    }

    fn structure(&mut self, kind: &Struct, parent: &str, value: &Value) -> Result<Value, String> {
        let empty = Map::new();
        let given = match value {
            Value::Null => &empty,
            Value::Object(members) => members,
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(self.mismatch(value, parent, &format!("v1.{}", kind.name)));
            }
        };
        let mut fault = None;
        let mut read = Map::new();
        for (key, value) in given {
            self.path.push(key.clone());
            match kind.members.iter().find(|member| member.name == key) {
                None => self
                    .warnings
                    .push(format!("unknown field {:?}", self.place())),
                Some(member) => match self.member(kind, member, value) {
                    Ok(Some(value)) => {
                        read.insert(key.clone(), value);
                    }
                    Ok(None) => {}
                    Err(error) => fault = fault.or(Some(error)),
                },
            }
            self.path.pop();
        }
        fault.map_or_else(|| Ok(in_order(kind, read)), Err)
    }

    /// A null is as good as absent. (A null that is answered stands for the zero time.)
    fn member(
        &mut self,
        kind: &Struct,
        member: &Member,
        value: &Value,
    ) -> Result<Option<Value>, String> {
        if value.is_null() {
            return Ok(None);
        }
        self.shape(kind.name, &member.shape, value).map(Some)
    }

    fn shape(&mut self, parent: &str, shape: &Shape, value: &Value) -> Result<Value, String> {
        match (shape, value) {
            (Shape::Any, _) | (Shape::Text, Value::String(_)) | (Shape::Bool, Value::Bool(_)) => {
                Ok(value.clone())
            }
            (Shape::Int32, Value::Number(_)) => self.integer(parent, value, "int32"),
            (Shape::Int64, Value::Number(_)) => self.integer(parent, value, "int64"),
            (Shape::MicroTime, Value::String(text)) => {
                Ok(micro_time::normalise(text)?.map_or(Value::Null, Value::String))
            }
            (Shape::Time, Value::String(text)) => Ok(whole_seconds(text)?.into()),
            (Shape::Texts, Value::Object(members)) => self.texts(parent, members),
            (Shape::List(inner), Value::Array(items)) => self.list(parent, inner, items),
            (Shape::Struct(inner), _) => self.structure(inner, parent, value),
            (Shape::Text | Shape::Time | Shape::MicroTime, _) => {
                Err(self.mismatch(value, parent, "string"))
            }
            (Shape::Int32, _) => Err(self.mismatch(value, parent, "int32")),
            (Shape::Int64, _) => Err(self.mismatch(value, parent, "int64")),
            (Shape::Bool, _) => Err(self.mismatch(value, parent, "bool")),
            (Shape::Texts, _) => Err(self.mismatch(value, parent, "map[string]string")),
            (Shape::List(Shape::Text), _) => Err(self.mismatch(value, parent, "[]string")),
            (Shape::List(_), _) => Err(self.mismatch(value, parent, "[]v1.OwnerReference")),
        }
    }

    fn texts(&mut self, parent: &str, members: &Map<String, Value>) -> Result<Value, String> {
        // Go writes a map with its keys sorted.
        let mut keys: Vec<_> = members.iter().collect();
        keys.sort_by_key(|(key, _)| *key);
        let mut texts = Map::new();
        for (key, value) in keys {
            let text = match value {
                Value::Null => Value::String(String::new()),
                Value::String(_) => value.clone(),
                Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                    return Err(self.mismatch(value, parent, "string"));
                }
            };
            texts.insert(key.clone(), text);
        }
        Ok(Value::Object(texts))
    }

    fn list(&mut self, parent: &str, inner: &Shape, items: &[Value]) -> Result<Value, String> {
        let mut list = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let last = self.path.pop().unwrap_or_default();
            self.path.push(format!("{last}[{index}]"));
            let read = self.shape(parent, inner, item);
            self.path.pop();
            self.path.push(last);
            list.push(read?);
        }
        Ok(Value::Array(list))
    }

    fn integer(&self, parent: &str, value: &Value, kind: &str) -> Result<Value, String> {
        let number = value.as_i64().filter(|number| {
            !self.document.numbers.contains_key(&self.place())
                && (kind == "int64" || i32::try_from(*number).is_ok())
        });
        number.map_or_else(
            || Err(self.mismatch(value, parent, kind)),
            |_| Ok(value.clone()),
        )
    }

    fn place(&self) -> String {
        self.path.join(".")
    }

    fn mismatch(&self, value: &Value, parent: &str, wanted: &str) -> String {
        let place = self.place();
        let found = match value {
            Value::Null => "null".to_owned(),
            Value::Bool(_) => "bool".to_owned(),
            Value::String(_) => "string".to_owned(),
            Value::Array(_) => "array".to_owned(),
            Value::Object(_) => "object".to_owned(),
            // Go shows a number only where a number was wanted.
            Value::Number(number) if wanted.starts_with("int") => {
                let raw = self.document.numbers.get(&place);
                format!(
                    "number {}",
                    raw.cloned().unwrap_or_else(|| number.to_string())
                )
            }
            Value::Number(_) => "number".to_owned(),
        };
        let parent = if parent.is_empty() {
            String::new()
        } else {
            format!("{parent}.")
        };
        let place = if parent.is_empty() {
            format!("Go value of type {wanted}")
        } else {
            format!("Go struct field {parent}{place} of type {wanted}")
        };
        format!("json: cannot unmarshal {found} into {place}")
    }
}

/// The members in Go's order, without the zero values that Go leaves out.
fn in_order(kind: &Struct, mut read: Map<String, Value>) -> Value {
    let mut ordered = Map::new();
    for member in kind.members {
        let value = read.shift_remove(member.name);
        let value = match member.zero {
            Zero::Dropped => value.filter(|value| !is_zero(value)),
            Zero::Kept => value,
            Zero::Written => Some(value.unwrap_or_else(|| zero(&member.shape))),
        };
        if let Some(value) = value {
            ordered.insert(member.name.to_owned(), value);
        }
    }
    Value::Object(ordered)
}

fn zero(shape: &Shape) -> Value {
    if matches!(shape, Shape::Struct(_)) {
        Value::Object(Map::new())
    } else {
        Value::String(String::new())
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

/// RFC 3339 with any fraction, as metadata writes it again.
fn whole_seconds(text: &str) -> Result<String, String> {
    let start = text.find('.').unwrap_or_else(|| {
        let zone = text.get(19..).unwrap_or_default();
        text.len() - zone.len()
    });
    let (seconds, rest) = text.split_at_checked(start).unwrap_or((text, ""));
    let zone = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let micro = micro_time::normalise(&format!("{seconds}.000000{zone}"))
        .map_err(|error| error.replace(".000000", ""))?;
    Ok(micro
        .map(|text| text.replace(".000000", ""))
        .unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::go_json;
    use super::super::route::Resource;
    use super::object;

    fn decode(text: &str) -> Result<(Value, Vec<String>), String> {
        let document = go_json::parse(text.as_bytes())?;
        let decoded = object(Resource::named("leases").unwrap(), &document)?;
        Ok((decoded.object, decoded.warnings))
    }

    #[test]
    fn ok_members_come_out_in_the_order_of_go() {
        let text = r#"{"spec":{"renewTime":"2001-02-03T04:05:06.000007Z","holderIdentity":"",
            "leaseTransitions":null},"metadata":{"uid":"","name":"a"},"kind":"Lease"}"#;
        let (object, warnings) = decode(text).unwrap();
        let expected = concat!(
            r#"{"kind":"Lease","metadata":{"name":"a"},"#,
            r#""spec":{"holderIdentity":"","renewTime":"2001-02-03T04:05:06.000007Z"}}"#
        );
        assert_eq!(object.to_string(), expected);
        assert!(warnings.is_empty());
    }

    #[test]
    fn ok_unknown_members_are_dropped_with_a_warning() {
        let (object, warnings) = decode(r#"{"spec":{"future":1,"a":2}}"#).unwrap();
        assert_eq!(object, json!({"metadata": {}, "spec": {}}));
        assert_eq!(
            warnings,
            ["unknown field \"spec.future\"", "unknown field \"spec.a\""]
        );
    }

    #[test]
    fn err_texts_are_those_of_go() {
        for (text, error) in [
            (
                r#"{"spec":{"leaseDurationSeconds":15e0}}"#,
                "number 15e0 into Go struct field LeaseSpec.spec.leaseDurationSeconds of type \
                 int32",
            ),
            (
                r#"{"spec":[]}"#,
                "array into Go struct field Lease.spec of type v1.LeaseSpec",
            ),
            (
                r#"{"metadata":{"resourceVersion":5}}"#,
                "number into Go struct field ObjectMeta.metadata.resourceVersion of type string",
            ),
        ] {
            assert_eq!(
                decode(text).unwrap_err(),
                format!("json: cannot unmarshal {error}")
            );
        }
    }
}
