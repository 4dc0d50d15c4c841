//! The HTTP of a request, and the two headers of an answer that are read.

use crate::time::Duration;
use crate::timestamp::Timestamp;

/// What every request accepts.
pub const ACCEPT: &str = "application/json";

/// Content type of a POST or PUT.
pub const CONTENT_JSON: &str = "application/json";

/// Content type of a PATCH.
pub const CONTENT_MERGE_PATCH: &str = "application/merge-patch+json";

/// Content type of a PATCH that adds an owner: the server merges that list by `uid`.
pub const CONTENT_STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";

/// A method of HTTP.
#[expect(
    clippy::exhaustive_enums,
    reason = "a transport has to know every method"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// `GET`.
    Get,
    /// `POST`.
    Post,
    /// `PUT`.
    Put,
    /// `PATCH`.
    Patch,
    /// `DELETE`.
    Delete,
}

impl Method {
    /// The method as it stands in the request line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// `Content-Type` of the body that it mostly has here.
    #[must_use]
    pub const fn content_type(self) -> Option<&'static str> {
        match self {
            Self::Get => None,
            Self::Post | Self::Put | Self::Delete => Some(CONTENT_JSON),
            Self::Patch => Some(CONTENT_MERGE_PATCH),
        }
    }
}

/// One request, whole. `Host`, `Authorization` and `User-Agent` are the transport's; an agent whose
/// name begins with `curl`, `Wget` or `Mozilla` gets longer, pretty-printed answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpRequest<'a> {
    /// The method.
    pub method: Method,
    /// Path and query, from the first `/`; ASCII that needs no escaping.
    pub target: &'a str,
    /// `Content-Type`, where there is a body.
    pub content_type: Option<&'static str>,
    /// `Accept`.
    pub accept: &'static str,
    /// The body; empty for a GET.
    pub body: &'a [u8],
}

impl<'a> HttpRequest<'a> {
    /// The target before the `?`.
    #[must_use]
    pub fn path(&self) -> &'a str {
        self.target
            .split_once('?')
            .map_or(self.target, |(path, _)| path)
    }

    /// Whether the answer is a stream, which goes on for minutes: its end is not to be waited for,
    /// and has no deadline.
    #[must_use]
    pub fn is_watch(&self) -> bool {
        self.query().starts_with("watch=")
    }

    /// The target after the `?`.
    #[must_use]
    pub fn query(&self) -> &'a str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }
}

/// One request but for its target and body, which can be read from any offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestHead {
    /// The method.
    pub method: Method,
    /// `Content-Type`, where there is a body.
    pub content_type: Option<&'static str>,
    /// `Accept`.
    pub accept: &'static str,
    /// Length of path and query in bytes.
    pub target_length: usize,
    /// Length of the body in bytes, for `Content-Length`.
    pub body_length: usize,
}

/// Takes the bytes of a request as they lie, run by run.
pub trait Tap {
    /// Takes the next run, which may be empty. One that lasts is the program's, the configuration's
    /// or the session's, and stays as it is until that changes or moves; another is gone after the
    /// call.
    fn take(&mut self, run: &[u8], does_last: bool);
}

impl RequestHead {
    /// One that says nothing.
    pub(crate) const EMPTY: Self = Self {
        method: Method::Get,
        content_type: None,
        accept: ACCEPT,
        target_length: 0,
        body_length: 0,
    };
}

/// What the headers of an answer say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Headers {
    /// `Date`, where it can be read.
    pub(crate) server_time: Option<Timestamp>,
    /// `Retry-After` in seconds. Its other form, a date, is not read: no API server sends it.
    pub(crate) retry_after_s: Option<u32>,
}

impl Headers {
    pub(super) const NONE: Self = Self {
        server_time: None,
        retry_after_s: None,
    };

    /// Takes one header; all but two are ignored.
    pub(crate) fn take(&mut self, name: &[u8], value: &[u8]) {
        let value = value.trim_ascii();
        if name.eq_ignore_ascii_case(b"date") {
            self.server_time = Timestamp::parse_http_date(value);
        } else if name.eq_ignore_ascii_case(b"retry-after") {
            self.retry_after_s = parse_u32(value);
        }
    }

    /// The length of time to wait; `otherwise` is what the body says, in seconds.
    pub(crate) fn retry_after(&self, otherwise: Option<u32>) -> Option<Duration> {
        let seconds = self.retry_after_s.or(otherwise)?;
        Some(Duration::from_secs(u64::from(seconds)))
    }
}

/// A decimal number; `None` where there is anything else, or too much of it.
fn parse_u32(text: &[u8]) -> Option<u32> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u32, |number, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        number.checked_mul(10)?.checked_add(u32::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_names_have_any_case() {
        let mut headers = Headers::default();
        headers.take(b"RETRY-after", b" 7 ");
        headers.take(b"dAtE", b"Sun, 06 Nov 1994 08:49:37 GMT");
        headers.take(b"X-Date", b"Mon, 07 Nov 1994 08:49:37 GMT");
        assert_eq!(headers.retry_after(Some(9)), Some(Duration::from_secs(7)));
        let date = Timestamp::parse_bytes(b"1994-11-06T08:49:37Z").unwrap();
        assert_eq!(headers.server_time, Some(date));
    }

    #[test]
    fn a_retry_after_that_is_no_number_is_not_there() {
        let bad = [
            "",
            "-1",
            "+1",
            "1.5",
            "1 2",
            "4294967296",
            "Sun, 06 Nov 1994 08:49:37 GMT",
        ];
        for value in bad {
            let mut headers = Headers::default();
            headers.take(b"Retry-After", value.as_bytes());
            assert_eq!(headers.retry_after(None), None, "{value}");
            assert_eq!(headers.retry_after(Some(3)), Some(Duration::from_secs(3)));
        }
    }

    #[test]
    fn a_target_is_a_path_and_a_query() {
        let request = HttpRequest {
            method: Method::Get,
            target: "/a/b?c=d",
            content_type: None,
            accept: ACCEPT,
            body: b"",
        };
        assert_eq!((request.path(), request.query()), ("/a/b", "c=d"));
        assert_eq!(request.method.as_str(), "GET");
        assert!(!request.is_watch());
        let target = "/a?watch=1&b=c";
        assert!(HttpRequest { target, ..request }.is_watch());
    }
}
