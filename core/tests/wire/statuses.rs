//! Error answers in.

use kubelease_core::protocol::{BadAnswer, Reply, Response};
use kubelease_core::time::Duration;
use kubelease_core::timestamp::Timestamp;
use kubelease_core::wire::Answer;

use crate::bodies;
use crate::decode::decode;

/// What an answer with these headers says, its body in pieces of `split` bytes.
fn classify(status: u16, headers: &[(&str, &str)], body: &[u8], split: usize) -> Response<'static> {
    let mut answer = Answer::new();
    answer.begin(status, None);
    for (name, value) in headers {
        answer.header(name.as_bytes(), value.as_bytes());
    }
    for piece in body.chunks(split) {
        answer.body(piece, None);
    }
    let Response {
        server_time,
        retry_after,
        reply,
    } = answer.end(None);
    let reply = match reply {
        Reply::Lease(record) => panic!("{record:?}"),
        Reply::Node(_) | Reply::Deleted => panic!("nobody asked for that"),
        Reply::LeaseMissing => Reply::LeaseMissing,
        Reply::NamespaceMissing => Reply::NamespaceMissing,
        Reply::ApiUnavailable => Reply::ApiUnavailable,
        Reply::Conflict => Reply::Conflict,
        Reply::BadRequest => Reply::BadRequest,
        Reply::Unauthorized => Reply::Unauthorized,
        Reply::Forbidden => Reply::Forbidden,
        Reply::NamespaceTerminating => Reply::NamespaceTerminating,
        Reply::Invalid => Reply::Invalid,
        Reply::Throttled => Reply::Throttled,
        Reply::ServerError(code) => Reply::ServerError(code),
        Reply::Refused(code) => Reply::Refused(code),
        Reply::BadAnswer(bad) => Reply::BadAnswer(bad),
        Reply::TooLarge => Reply::TooLarge,
        Reply::WatchEnded => Reply::WatchEnded,
    };
    Response {
        server_time,
        retry_after,
        reply,
    }
}

fn reply(status: u16, body: &str) -> Reply<'static> {
    classify(status, &[], body.as_bytes(), usize::MAX).reply
}

#[test]
fn recorded_errors_are_sorted_by_what_follows_from_them() {
    let table = [
        (
            400,
            "400 Bad Request: missing required Host header",
            Reply::BadRequest,
        ),
        (
            401,
            r#"{"kind":"Status","reason":"Unauthorized","code":401}"#,
            Reply::Unauthorized,
        ),
        (
            403,
            r#"{"kind":"Status","reason":"Forbidden","details":{"name":"a"}}"#,
            Reply::Forbidden,
        ),
        (403, bodies::TERMINATING, Reply::NamespaceTerminating),
        (404, bodies::NOT_FOUND, Reply::LeaseMissing),
        (404, bodies::NO_NAMESPACE, Reply::NamespaceMissing),
        (404, bodies::NO_RESOURCE, Reply::ApiUnavailable),
        (404, "404 page not found\n", Reply::ApiUnavailable),
        (404, "<html>not found</html>", Reply::ApiUnavailable),
        (404, "", Reply::ApiUnavailable),
        (
            404,
            r#"{"details":{"name":"a","kind":"leases"}}"#,
            Reply::ApiUnavailable,
        ),
        (409, r#"{"reason":"AlreadyExists"}"#, Reply::Conflict),
        (409, "", Reply::Conflict),
        (410, r#"{"reason":"Expired"}"#, Reply::Refused(410)),
        (422, bodies::INVALID, Reply::Invalid),
        (422, bodies::VERSION_MISSING, Reply::Conflict),
        (
            429,
            "Too many requests, please try again later.\n",
            Reply::Throttled,
        ),
        (
            500,
            r#"{"kind":"Status","status":"Failure","code":500}"#,
            Reply::ServerError(500),
        ),
        (503, "<html>", Reply::ServerError(503)),
        (504, bodies::TIMEOUT, Reply::ServerError(504)),
        (599, "", Reply::ServerError(599)),
        (600, "", Reply::Refused(600)),
        (100, "", Reply::Refused(100)),
        (302, "", Reply::Refused(302)),
        (413, "", Reply::Refused(413)),
        (0, "", Reply::Refused(0)),
    ];
    for (status, body, expected) in table {
        for split in [1, 3, 7, 64, usize::MAX] {
            let response = classify(status, &[], body.as_bytes(), split);
            assert_eq!(response.reply, expected, "{status} {split} {body}");
        }
    }
}

#[test]
fn a_status_that_cannot_be_read_leaves_the_code_to_decide() {
    let by_code = [
        (404, Reply::ApiUnavailable),
        (403, Reply::Forbidden),
        (422, Reply::Invalid),
    ];
    for body in bodies::STATUSES {
        let body = body.trim();
        for end in 0..body.len() {
            for (status, expected) in by_code {
                assert_eq!(reply(status, &body[..end]), expected, "{end} of {body}");
            }
        }
    }
    for (status, expected) in by_code {
        let bad = bodies::NO_NAMESPACE.replace("\"code\"", "\"code\" ");
        assert_eq!(reply(status, &(bad + "x")), expected);
        assert_eq!(
            reply(status, r#"{"reason":"NotFound","details":"x"}"#),
            expected
        );
    }
}

#[test]
fn members_of_any_type_or_none_never_fail_an_error() {
    for body in [
        r#"{"reason":null,"details":null}"#,
        r#"{"details":{"causes":null,"retryAfterSeconds":null,"name":null}}"#,
        r#"{"details":{"causes":[null,{}, {"field":null}]}}"#,
        r#"{"details":{"causes":["a"]}}"#,
        r#"{"details":{"retryAfterSeconds":-1}}"#,
        r#"{"details":{"retryAfterSeconds":1.5}}"#,
        r#"{"details":{"retryAfterSeconds":99999999999}}"#,
    ] {
        let response = classify(404, &[], body.as_bytes(), usize::MAX);
        assert_eq!(response, Response::new(Reply::ApiUnavailable), "{body}");
    }
}

#[test]
fn a_second_cause_counts_and_one_after_null_too() {
    let body =
        r#"{"details":{"causes":[null,{"field":"x"},{"field":"metadata.resourceVersion"}]}}"#;
    assert_eq!(reply(422, body), Reply::Conflict);
    let outside =
        r#"{"field":"metadata.resourceVersion","details":{"field":"metadata.resourceVersion"}}"#;
    assert_eq!(reply(422, outside), Reply::Invalid);
}

#[test]
fn the_header_says_how_long_to_wait_and_else_the_body() {
    let date = ("date", "Fri, 02 Jan 2026 03:04:05 GMT");
    let body = bodies::TIMEOUT.as_bytes();
    let response = classify(504, &[date, ("Retry-After", "7")], body, usize::MAX);
    assert_eq!(response.retry_after, Some(Duration::from_secs(7)));
    assert_eq!(
        response.server_time,
        Timestamp::parse("2026-01-02T03:04:05Z").ok()
    );
    let response = classify(504, &[("Retry-After", "later")], body, usize::MAX);
    assert_eq!(response.retry_after, Some(Duration::from_secs(2)));
    let response = classify(429, &[("RETRY-AFTER", "1")], b"Too many requests", 1);
    assert_eq!(response.retry_after, Some(Duration::from_secs(1)));
}

#[test]
fn a_success_other_than_200_and_201_is_no_answer() {
    for status in [202, 204, 206, 299] {
        let bad = decode(status, bodies::BARE.as_bytes(), usize::MAX);
        assert_eq!(bad, Err(BadAnswer::UnexpectedStatus), "{status}");
    }
    assert!(decode(201, bodies::BARE.as_bytes(), usize::MAX).is_ok());
}
