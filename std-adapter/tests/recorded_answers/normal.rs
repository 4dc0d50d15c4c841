//! The normal form of answers: what differs from run to run is replaced by a mark.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

use crate::client::Answer;

/// Longer texts are cut to their begin and their length.
const MAX_TEXT: usize = 900;

static UID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b").unwrap()
});
static STAMP: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b(\d{4})-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z").unwrap());
static VERSION: LazyLock<Regex> = LazyLock::new(|| {
    let place = r"(?i)(resource ?version(?: in (?:the )?\w+)?\W{0,8}?)";
    Regex::new(&format!(r"{place}[1-9]\d*( \(\d+\)|, current: \d+)?")).unwrap()
});
static SUFFIX: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\bmade-[a-z0-9]{5}\b").unwrap());
static DIGITS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\d+").unwrap());

/// The names that stand for their marks, such as `facts-…` for `<ns>`; longer ones first.
pub(crate) struct Normal {
    pub(crate) names: Vec<(String, String)>,
}

impl Normal {
    pub(crate) fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, mark) in &self.names {
            text = text.replace(name, mark);
        }
        let text = UID.replace_all(&text, |found: &Captures<'_>| {
            // The uid of nobody, which requests bring themselves.
            if found[0].starts_with("00000000") {
                found[0].to_owned()
            } else {
                "<uid>".to_owned()
            }
        });
        let text = STAMP.replace_all(&text, |found: &Captures<'_>| {
            // Requests bring times of 2001 and of far away.
            match (("2024".."2200").contains(&&found[1]), found.get(2)) {
                (false, _) => found[0].to_owned(),
                (true, None) => "<time>".to_owned(),
                (true, Some(_)) => "<time.micro>".to_owned(),
            }
        });
        let text = VERSION.replace_all(&text, |found: &Captures<'_>| {
            let rest = found.get(2).map_or("", |rest| rest.as_str());
            format!("{}<rv>{}", &found[1], DIGITS.replace_all(rest, "<rv>"))
        });
        let text = SUFFIX.replace_all(&text, "made-<suffix>").into_owned();
        match text.chars().count() {
            length if length > MAX_TEXT => {
                let begin: String = text.chars().take(60).collect();
                format!("{begin}...<{length} characters>")
            }
            _ => text,
        }
    }

    pub(crate) fn value(&self, value: &Value) -> Value {
        match value {
            Value::Object(members) => {
                let members = members.iter().map(|(key, value)| {
                    let is_given = !matches!(value.as_str(), Some("" | "0"));
                    let value = match key.as_str() {
                        "resourceVersion" if is_given => "<rv>".into(),
                        "continue" if is_given => "<continue>".into(),
                        _ => self.value(value),
                    };
                    (key.clone(), value)
                });
                Value::Object(members.collect())
            }
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::String(text) => self.text(text).into(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    pub(crate) fn body(&self, answer: &Answer) -> Value {
        answer.json().map_or_else(
            || self.text(&answer.text()).into(),
            |body| self.value(&body),
        )
    }

    /// Headers by name, without those that tell the framing.
    pub(crate) fn headers(&self, answer: &Answer) -> Value {
        let mut headers = Map::new();
        let mut warnings = Vec::new();
        for (name, value) in &answer.headers {
            let name = name.to_ascii_lowercase();
            match name.as_str() {
                "content-length" | "transfer-encoding" => {}
                "warning" => warnings.push(Value::from(self.text(value))),
                "audit-id"
                | "date"
                | "x-kubernetes-pf-flowschema-uid"
                | "x-kubernetes-pf-prioritylevel-uid" => {
                    headers.insert(name, "<...>".into());
                }
                _ => {
                    headers.insert(name, self.text(value).into());
                }
            }
        }
        if !warnings.is_empty() {
            headers.insert("warning".to_owned(), warnings.into());
        }
        Value::Object(headers)
    }
}
