//! Answers that say nothing: the election goes on, the event names the cause, memory is bounded.

mod support;

use core::time::Duration;

use kubelease::kubelease_core::protocol::BadAnswer;
use kubelease::testing::{ApiServer, CannedAnswer, Fault, Rule};
use kubelease::{Event, TroubleKind, Verb};
use support::{STEADY, candidate, next, until};

/// Whether `handle` says that its answers were bad in this way, and leads all the same.
async fn recovers_from(fault: Fault, bad: BadAnswer) {
    let server = ApiServer::start().expect("a free port");
    server.inject(Rule::new(fault).method("GET").times(3));
    let handle = candidate(&server, "a").start().expect("good settings");
    let mut changes = handle.changes();
    let kind = TroubleKind::BadAnswer(bad);
    assert_eq!(
        next(&mut changes).await,
        Some(Event::Trouble {
            kind,
            verb: Verb::Get
        })
    );
    until("leading", || handle.is_leading()).await;
    assert_eq!(server.count("GET"), 4);
}

#[tokio::test]
async fn a_proxy_that_answers_html_is_named_and_outlasted() {
    recovers_from(Fault::Answer(CannedAnswer::html(200)), BadAnswer::NotJson).await;
}

#[tokio::test]
async fn an_empty_body_is_named_and_outlasted() {
    recovers_from(Fault::Answer(CannedAnswer::status(200)), BadAnswer::Empty).await;
}

#[tokio::test]
async fn json_that_ends_too_soon_is_named_and_outlasted() {
    let half = CannedAnswer::status(200)
        .header("Content-Type", "application/json")
        .body(r#"{"kind":"Lease","metadata":{"resourceVersion":"7","#);
    recovers_from(Fault::Answer(half), BadAnswer::Truncated).await;
}

#[tokio::test]
async fn two_mebibytes_of_nonsense_are_named_and_outlasted() {
    let nonsense = CannedAnswer::status(200).body(vec![b'x'; 2 << 20]);
    recovers_from(Fault::Answer(nonsense), BadAnswer::NotJson).await;
}

#[tokio::test]
async fn a_body_longer_than_any_lease_is_named_and_outlasted() {
    let blanks = CannedAnswer::status(200).body(vec![b' '; 5 << 20]);
    recovers_from(Fault::Answer(blanks), BadAnswer::TooLong).await;
}

#[tokio::test]
async fn two_mebibytes_in_front_of_a_good_answer_cost_no_memory() {
    let server = ApiServer::start().unwrap();
    let handle = candidate(&server, "a").start().unwrap();
    until("leading", || handle.is_leading()).await;
    server.inject(Rule::new(Fault::HugeBody(2 << 20)).method("PUT").times(5));
    server.clear_requests();
    until("ten renewals", || server.count("PUT") >= 10).await;
    assert_eq!(server.count("GET"), 0, "each long answer was understood");
    assert!(handle.is_leading());
}

#[tokio::test]
async fn a_connection_cut_inside_a_body_is_a_lost_answer_and_named() {
    let server = ApiServer::start().unwrap();
    server.inject(Rule::new(Fault::TruncateBody(50)).writes().times(2));
    let handle = candidate(&server, "a").start().unwrap();
    let mut changes = handle.changes();
    until("an error", || handle.last_error().is_some()).await;
    until("leading", || handle.is_leading()).await;
    assert!(matches!(
        next(&mut changes).await,
        Some(Event::StartedLeading { term: 1 })
    ));
}

#[tokio::test]
async fn one_byte_a_second_is_a_silent_server() {
    let server = ApiServer::start().unwrap();
    let slow = Fault::SlowBody(Duration::from_secs(1));
    server.inject(Rule::new(slow).method("GET"));
    let handle = candidate(&server, "a").timing(STEADY).start().unwrap();
    let mut changes = handle.changes();
    assert_eq!(next(&mut changes).await, Some(Event::ReconnectAdvised));
    until("the words", || {
        let error = handle.last_error();
        error.is_some_and(|error| error.contains("was not read"))
    })
    .await;
    assert!(!handle.is_leading());
    server.clear_faults();
    until("leading", || handle.is_leading()).await;
}
