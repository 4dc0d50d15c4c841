//! Faults to order: which requests they meet, and what they do.

use core::fmt;
use core::time::Duration;

use serde_json::Value;

use super::log::LoggedRequest;
use super::request::Request;
use super::select::field_name;

/// What goes wrong with a request.
///
/// "Applied" means that the request is carried out as usual, so that a write is stored; what is
/// wrong is only its answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// Waits before the request is applied.
    DelayBefore(Duration),
    /// Applies the request, then waits before it answers.
    DelayAfter(Duration),
    /// Closes the connection without applying the request and without an answer.
    CloseBefore,
    /// Applies the request, then closes the connection without an answer.
    DropAnswer,
    /// Resets the connection (RST) without applying the request.
    ResetBefore,
    /// Applies the request, then resets the connection (RST) without an answer.
    ResetAfter,
    /// Reads this request and all later ones on its connection, and neither applies nor answers
    /// any of them.
    BlackHole,
    /// Applies the request and never answers it; the connection stays open.
    NeverAnswer,
    /// Gives this answer in place of applying the request.
    Answer(CannedAnswer),
    /// Applies the request, then gives this answer, as a server does whose storage was slow.
    AnswerAfterApplying(CannedAnswer),
    /// Applies the request and sends only so many bytes of the body, then closes; the header
    /// announced more.
    TruncateBody(usize),
    /// Applies the request and sends so many bytes of the body in a chunk, then closes without
    /// the chunk that ends the body.
    CutChunks(usize),
    /// Applies the request and sends the body one byte at a time, with this pause after each.
    SlowBody(Duration),
    /// Applies the request and answers it with no body at all.
    EmptyBody,
    /// Applies the request and puts so many blanks in front of the body.
    HugeBody(usize),
}

/// An answer made up by a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CannedAnswer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl CannedAnswer {
    /// A bare answer: this status, no body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// A failure as the API server words it: a `Status` object with this code, reason and message.
    #[must_use]
    pub fn failure(code: u16, reason: &str, message: &str) -> Self {
        let body = super::status::failure_body(code, reason, message, None);
        let answer = Self::status(code).header("Content-Type", "application/json");
        answer.body(format!("{}\n", super::encode::compact(&body)))
    }

    /// 429 as priority and fairness sends it: plain text, and `Retry-After` in seconds.
    #[must_use]
    pub fn too_many_requests(retry_after_s: u32) -> Self {
        Self::status(429)
            .header("Content-Type", "text/plain; charset=utf-8")
            .header("X-Content-Type-Options", "nosniff")
            .header("Retry-After", &retry_after_s.to_string())
            .body("Too many requests, please try again later.\n")
    }

    /// What a load balancer in front of the server sends: HTML.
    #[must_use]
    pub fn html(status: u16) -> Self {
        let text = format!("<html><body><h1>{status}</h1></body></html>\r\n");
        Self::status(status)
            .header("Content-Type", "text/html")
            .body(text)
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }
}

/// Which requests a fault meets.
///
/// All conditions must hold; a rule without any meets every request. Of several rules the first
/// one ordered that meets a request is the one that acts. A rule counts the requests it meets, and
/// by default acts on each.
///
/// ```
/// use core::time::Duration;
/// use kubelease::testing::{CannedAnswer, Fault, Rule};
///
/// let slow_gets = Rule::new(Fault::DelayBefore(Duration::from_millis(200))).method("GET");
/// let one_lost_write = Rule::new(Fault::DropAnswer).method("PUT").method("PATCH").times(1);
/// let third_fails = Rule::new(Fault::Answer(CannedAnswer::status(503))).lease("my-lease").nth(3);
/// ```
pub struct Rule {
    fault: Fault,
    conditions: Vec<Condition>,
    methods: Vec<String>,
    /// The first and last of the matching requests that are met, counted from 1.
    window: (u64, u64),
    matched: u64,
}

type Predicate = Box<dyn FnMut(&LoggedRequest) -> bool + Send>;

enum Condition {
    PathContains(String),
    Lease(String),
    Agent(String),
    User(String),
    Connection(u64),
    When(Predicate),
}

impl Rule {
    /// A rule for this fault that meets every request.
    #[must_use]
    pub fn new(fault: Fault) -> Self {
        Self {
            fault,
            conditions: Vec::new(),
            methods: Vec::new(),
            window: (1, u64::MAX),
            matched: 0,
        }
    }

    /// Only requests of this method; given again, of that one too.
    #[must_use]
    pub fn method(mut self, method: &str) -> Self {
        self.methods.push(method.to_owned());
        self
    }

    /// Only writes: POST, PUT, PATCH and DELETE.
    #[must_use]
    pub fn writes(self) -> Self {
        self.method("POST")
            .method("PUT")
            .method("PATCH")
            .method("DELETE")
    }

    /// Only requests whose path contains this text.
    #[must_use]
    pub fn path(self, text: &str) -> Self {
        self.when_condition(Condition::PathContains(text.to_owned()))
    }

    /// Only requests about a Lease of this name: by its path, by the body of a POST, or by the
    /// field selector of a list or watch.
    #[must_use]
    pub fn lease(self, name: &str) -> Self {
        self.when_condition(Condition::Lease(name.to_owned()))
    }

    /// Only requests whose `User-Agent` contains this text.
    #[must_use]
    pub fn user_agent(self, text: &str) -> Self {
        self.when_condition(Condition::Agent(text.to_owned()))
    }

    /// Only requests with the token of this user.
    #[must_use]
    pub fn user(self, name: &str) -> Self {
        self.when_condition(Condition::User(name.to_owned()))
    }

    /// Only requests on the connection of this number; see [`LoggedRequest::connection`].
    #[must_use]
    pub fn connection(self, number: u64) -> Self {
        self.when_condition(Condition::Connection(number))
    }

    /// Only requests of which this is true. It is asked last, once for each request that meets all
    /// other conditions, and may keep count; it must not call the server.
    #[must_use]
    pub fn when(self, predicate: impl FnMut(&LoggedRequest) -> bool + Send + 'static) -> Self {
        self.when_condition(Condition::When(Box::new(predicate)))
    }

    /// Only the `n`th request that meets the conditions, counted from 1.
    #[must_use]
    pub fn nth(mut self, n: u64) -> Self {
        self.window = (n, n);
        self
    }

    /// Only the first `n` requests that meet the conditions.
    #[must_use]
    pub fn times(mut self, n: u64) -> Self {
        self.window = (1, n);
        self
    }

    fn when_condition(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// The fault, if the rule meets this request. Counts it.
    pub(super) fn meet(&mut self, request: &LoggedRequest) -> Option<Fault> {
        if self.matched >= self.window.1 {
            return None;
        }
        let is_method = self.methods.is_empty() || self.methods.contains(&request.method);
        if !is_method
            || !self
                .conditions
                .iter_mut()
                .all(|condition| condition.holds(request))
        {
            return None;
        }
        self.matched += 1;
        (self.matched >= self.window.0).then(|| self.fault.clone())
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule")
            .field("fault", &self.fault)
            .field("methods", &self.methods)
            .field("window", &self.window)
            .field("matched", &self.matched)
            .finish_non_exhaustive()
    }
}

impl Condition {
    fn holds(&mut self, request: &LoggedRequest) -> bool {
        match self {
            Self::PathContains(text) => request.path.contains(text.as_str()),
            Self::Lease(name) => is_about_lease(request, name),
            Self::Agent(text) => request.user_agent.contains(text.as_str()),
            Self::User(name) => request.user.as_deref() == Some(name.as_str()),
            Self::Connection(number) => request.connection == *number,
            Self::When(predicate) => predicate(request),
        }
    }
}

fn is_about_lease(request: &LoggedRequest, name: &str) -> bool {
    let Some((_, after)) = request.path.split_once("/leases") else {
        return false;
    };
    if request.method == "POST" {
        let body = serde_json::from_slice::<Value>(&request.body).unwrap_or_default();
        return body.pointer("/metadata/name").and_then(Value::as_str) == Some(name);
    }
    let asked = Request {
        query: request.query.clone(),
        ..Request::default()
    };
    after.strip_prefix('/') == Some(name) || field_name(&asked).as_deref() == Some(name)
}

#[cfg(test)]
mod tests {
    use super::{Fault, Rule};
    use crate::testing::LoggedRequest;

    fn request(method: &str, path: &str) -> LoggedRequest {
        LoggedRequest {
            method: method.to_owned(),
            path: path.to_owned(),
            ..Default::default()
        }
    }

    #[test]
    fn a_rule_meets_only_what_all_its_conditions_allow() {
        let mut rule = Rule::new(Fault::DropAnswer)
            .method("PUT")
            .method("PATCH")
            .lease("a");
        assert_eq!(rule.meet(&request("GET", "/x/leases/a")), None);
        assert_eq!(rule.meet(&request("PUT", "/x/leases/ba")), None);
        assert_eq!(
            rule.meet(&request("PATCH", "/x/leases/a")),
            Some(Fault::DropAnswer)
        );
    }

    #[test]
    fn a_rule_for_a_lease_meets_it_by_path_body_and_selector() {
        let mut rule = Rule::new(Fault::EmptyBody).lease("a");
        let mut post = request("POST", "/x/leases");
        post.body = br#"{"metadata":{"name":"a"}}"#.to_vec();
        assert_eq!(rule.meet(&post), Some(Fault::EmptyBody));
        post.body = br#"{"metadata":{"name":"b"}}"#.to_vec();
        assert_eq!(rule.meet(&post), None);
        let mut watch = request("GET", "/x/leases");
        watch.query = "watch=1&fieldSelector=metadata.name%3Da".to_owned();
        assert_eq!(rule.meet(&watch), Some(Fault::EmptyBody));
        watch.query.clear();
        assert_eq!(rule.meet(&watch), None);
    }

    #[test]
    fn a_rule_counts_the_requests_it_meets() {
        let mut third = Rule::new(Fault::EmptyBody).nth(3);
        let met: Vec<_> = (0..5)
            .map(|_| third.meet(&request("GET", "/")).is_some())
            .collect();
        assert_eq!(met, [false, false, true, false, false]);
        let mut two = Rule::new(Fault::EmptyBody).times(2);
        let met: Vec<_> = (0..4)
            .map(|_| two.meet(&request("GET", "/")).is_some())
            .collect();
        assert_eq!(met, [true, true, false, false]);
    }

    #[test]
    fn a_predicate_may_look_at_all_of_a_request() {
        let mut rule = Rule::new(Fault::EmptyBody).when(|request| request.query == "watch=1");
        assert_eq!(rule.meet(&request("GET", "/")), None);
        let watch = LoggedRequest {
            query: "watch=1".to_owned(),
            ..request("GET", "/")
        };
        assert_eq!(rule.meet(&watch), Some(Fault::EmptyBody));
    }
}
