//! The answer to a watch: one JSON object a line.

use kubelease::ApiAnswer;
use serde_json::Value;

use super::super::api::Trouble;
use crate::exit::Failure;

/// A server takes no object of more than 3 MiB.
const LINE_BYTES_MAX: usize = 4 << 20;

/// What a watch says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The lease as it is now.
    There(Value),
    /// The lease as it was last.
    Gone(Value),
    /// Nothing but a later version.
    Bookmark(Value),
}

impl Change {
    /// The version from which a watch goes on behind this change.
    pub(super) fn version(&self) -> &str {
        let (Self::There(object) | Self::Gone(object) | Self::Bookmark(object)) = self;
        let version = object.pointer("/metadata/resourceVersion");
        version.and_then(Value::as_str).unwrap_or_default()
    }

    fn parse(line: &[u8]) -> Result<Self, Trouble> {
        let mut event: Value = serde_json::from_slice(line)?;
        let object = event.get_mut("object").map(Value::take).unwrap_or_default();
        let kind = event.get("type").and_then(Value::as_str);
        match kind.unwrap_or_default() {
            "ADDED" | "MODIFIED" => Ok(Self::There(object)),
            "DELETED" => Ok(Self::Gone(object)),
            "BOOKMARK" => Ok(Self::Bookmark(object)),
            _ if object.get("code").and_then(Value::as_u64) == Some(410) => Err(Trouble::Expired),
            kind => {
                let message = object.get("message").and_then(Value::as_str);
                let message = message.unwrap_or("no reason was given");
                let failure = Failure::new(format_args!("watch: found `{kind}`: {message}"));
                Err(Trouble::Other(failure))
            }
        }
    }
}

/// The changes of one watch.
#[derive(Debug)]
pub(super) struct ChangeStream {
    answer: ApiAnswer,
    read: Vec<u8>,
}

impl ChangeStream {
    pub(super) const fn new(answer: ApiAnswer) -> Self {
        Self {
            answer,
            read: Vec::new(),
        }
    }

    /// The next change; `None` where the server has ended the watch between two lines.
    pub(super) async fn next(&mut self) -> Result<Option<Change>, Trouble> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Change::parse(&line).map(Some);
            }
            if self.read.len() > LINE_BYTES_MAX {
                let most = format_args!("watch: expected lines of at most {LINE_BYTES_MAX} bytes");
                return Err(Trouble::Other(Failure::new(most)));
            }
            match self.answer.chunk().await? {
                Some(chunk) => self.read.extend(chunk),
                None if self.read.is_empty() => return Ok(None),
                None => {
                    let broken = Failure::new("watch: expected a whole line, found its begin");
                    return Err(Trouble::Other(broken));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, object: &str) -> Result<Change, Trouble> {
        Change::parse(format!(r#"{{"type": "{kind}", "object": {object}}}"#).as_bytes())
    }

    #[test]
    fn each_kind_of_event_has_its_meaning() {
        let object = r#"{"metadata": {"resourceVersion": "7"}}"#;
        let value: Value = serde_json::from_str(object).unwrap();
        let cases = [
            ("ADDED", Change::There(value.clone())),
            ("MODIFIED", Change::There(value.clone())),
            ("DELETED", Change::Gone(value.clone())),
            ("BOOKMARK", Change::Bookmark(value)),
        ];
        for (kind, change) in cases {
            assert_eq!(change.version(), "7");
            assert_eq!(event(kind, object).unwrap(), change);
        }
    }

    #[test]
    fn only_an_error_with_code_410_means_that_the_version_is_too_old() {
        let expired = event("ERROR", r#"{"code": 410}"#);
        assert!(matches!(expired, Err(Trouble::Expired)), "{expired:?}");
        for (kind, object, expected) in [
            (
                "ERROR",
                r#"{"code": 500, "message": "etcd"}"#,
                "found `ERROR`: etcd",
            ),
            ("SYNC", "{}", "found `SYNC`: no reason was given"),
        ] {
            match event(kind, object) {
                Err(Trouble::Other(failure)) => {
                    assert_eq!(failure.reason, format!("watch: {expected}"))
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(matches!(Change::parse(b"{"), Err(Trouble::Other(_))));
    }
}
