//! What the server answers, before it is put into bytes.

use core::time::Duration;

use serde_json::Value;

use super::watch::Plan;

/// An answer to one request.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Headers beside those that every answer has.
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Content,
    /// How long the real server takes to find this answer, where that is more than a moment.
    pub(super) after: Duration,
}

/// The body of an answer.
#[derive(Debug)]
pub(super) enum Content {
    /// An object, printed as the client likes it.
    Json(Value),
    /// An object that is pretty-printed for everybody.
    Pretty(Value),
    Text(String),
    Watch(Plan),
}

/// An answer, or the one that refuses the request.
pub(super) type Outcome = Result<Answer, Box<Answer>>;

impl Answer {
    pub(super) fn json(status: u16, value: Value) -> Self {
        Self::new(status, Content::Json(value))
    }

    /// Plain text that browsers must not guess at.
    pub(super) fn text(status: u16, text: &str) -> Self {
        let mut answer = Self::new(status, Content::Text(text.to_owned()));
        answer
            .headers
            .push(("Content-Type", "text/plain; charset=utf-8".to_owned()));
        answer
            .headers
            .push(("X-Content-Type-Options", "nosniff".to_owned()));
        answer
    }

    pub(super) fn new(status: u16, body: Content) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body,
            after: Duration::ZERO,
        }
    }

    #[must_use]
    pub(super) fn with_header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Adds a `Warning` header for each text.
    #[must_use]
    pub(super) fn with_warnings(mut self, warnings: &[String]) -> Self {
        for warning in warnings {
            self.headers.push(("Warning", format!("299 - {warning:?}")));
        }
        self
    }
}
