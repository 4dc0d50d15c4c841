//! Field and label selectors.

use serde_json::Value;

use super::answer::Answer;
use super::request::Request;
use super::status::bad_request;

/// Which objects of a collection are meant.
#[derive(Debug, Clone, Default)]
pub(super) struct Selector {
    fields: Vec<Term>,
    labels: Vec<Term>,
}

#[derive(Debug, Clone)]
struct Term {
    key: String,
    value: Option<String>,
    negated: bool,
}

impl Selector {
    /// Reads `fieldSelector` and `labelSelector` of a request on Leases or their like.
    pub(super) fn of(request: &Request) -> Result<Self, Box<Answer>> {
        let fields = request.given("fieldSelector").unwrap_or_default();
        let labels = request.given("labelSelector").unwrap_or_default();
        let mut selector = Self::default();
        for part in fields.split(',').filter(|part| !part.is_empty()) {
            let term = Term::equality(part).ok_or_else(|| {
                bad_request(&format!(
                    "invalid selector: '{fields}'; can't understand '{part}'"
                ))
            })?;
            if !matches!(term.key.as_str(), "metadata.name" | "metadata.namespace") {
                let known = r#"only "metadata.name", "metadata.namespace""#;
                let message = format!("{:?} is not a known field selector: {known}", term.key);
                return Err(bad_request(&message));
            }
            selector.fields.push(term);
        }
        for part in labels.split(',').filter(|part| !part.is_empty()) {
            selector.labels.push(Term::label(part)?);
        }
        Ok(selector)
    }

    /// The same, and only objects of this name.
    pub(super) fn with_name(mut self, name: Option<&str>) -> Self {
        if let Some(name) = name {
            let value = Some(name.to_owned());
            self.fields.push(Term {
                key: "metadata.name".to_owned(),
                value,
                negated: false,
            });
        }
        self
    }

    pub(super) fn matches(&self, object: &Value) -> bool {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let fields = self.fields.iter().all(|term| {
            let pointer = if term.key == "metadata.name" {
                "name"
            } else {
                "namespace"
            };
            term.holds(text(&format!("/metadata/{pointer}")))
        });
        let labels = object.pointer("/metadata/labels");
        let label = |key: &str| labels.and_then(|l| l.get(key)).and_then(Value::as_str);
        fields && self.labels.iter().all(|term| term.holds(label(&term.key)))
    }
}

impl Term {
    fn equality(text: &str) -> Option<Self> {
        let (key, value, negated) = if let Some((key, value)) = text.split_once("!=") {
            (key, value, true)
        } else if let Some((key, value)) = text.split_once("==") {
            (key, value, false)
        } else {
            let (key, value) = text.split_once('=')?;
            (key, value, false)
        };
        Some(Self {
            key: key.trim().to_owned(),
            value: Some(value.trim().to_owned()),
            negated,
        })
    }

    fn label(text: &str) -> Result<Self, Box<Answer>> {
        if text.contains(['(', ')', ' ', '<', '>']) {
            return Err(bad_request(
                "this test server knows only selectors by equality",
            ));
        }
        let term = Self::equality(text).unwrap_or_else(|| {
            let key = text.trim_start_matches('!');
            Self {
                key: key.to_owned(),
                value: None,
                negated: text.starts_with('!'),
            }
        });
        if term
            .value
            .as_deref()
            .is_some_and(|value| value.contains('='))
        {
            return Err(bad_request("found '=', expected: ',' or 'end of string'"));
        }
        Ok(term)
    }

    fn holds(&self, found: Option<&str>) -> bool {
        let is_equal = match &self.value {
            Some(value) => found == Some(value),
            None => found.is_some(),
        };
        is_equal != self.negated
    }
}

/// The name that a field selector asks for; rights bound to names count for it.
pub(super) fn field_name(request: &Request) -> Option<String> {
    let selector = request.given("fieldSelector")?;
    let name = selector
        .split(',')
        .find_map(|part| part.strip_prefix("metadata.name="))?;
    (!name.is_empty()).then(|| name.trim_start_matches('=').to_owned())
}
