//! Each fault of the test API server does what it says.

#![cfg(feature = "testing")]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test that panics has failed; real connections take real time"
)]

#[path = "support/client.rs"]
mod client;

use core::time::Duration;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Instant;

use kubelease::testing::{ApiServer, CannedAnswer, Fault, Rule};
use serde_json::{Value, json};

use client::Client;

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases/db";
const RENEWAL: &str = r#"{"spec":{"renewTime":"2001-02-03T04:05:07.000008Z"}}"#;
const RENEWED: &str = "2001-02-03T04:05:07.000008Z";
/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long an answer is waited for that must not come.
const MOMENT: Duration = Duration::from_millis(200);

fn server() -> ApiServer {
    let server = ApiServer::start().unwrap();
    server.put_lease("default", "db", json!({"spec": {"holderIdentity": "a"}}));
    server
}

fn client(server: &ApiServer) -> Client {
    Client::connect(server.addr(), PATIENCE).unwrap()
}

fn is_renewed(server: &ApiServer) -> bool {
    let lease = server.lease("default", "db").unwrap();
    lease.pointer("/spec/renewTime") == Some(&Value::from(RENEWED))
}

/// Waits until the write is stored, for a bound that is never reached.
fn wait_until_renewed(server: &ApiServer) {
    let started = Instant::now();
    while !is_renewed(server) {
        assert!(started.elapsed() < PATIENCE, "the write was not stored");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_write_delayed_before_it_is_applied_is_stored_although_its_client_has_gone() {
    let server = server();
    server.inject(Rule::new(Fault::DelayBefore(MOMENT)).method("PATCH"));
    let mut client = client(&server);
    client.set_patience(MOMENT / 4).unwrap();
    let error = client.ask("PATCH", LEASE, RENEWAL).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    assert!(!is_renewed(&server));
    drop(client);
    wait_until_renewed(&server);
    let [request] = server.requests().try_into().unwrap();
    assert_eq!((request.status, request.is_applied), (None, true));
}

#[test]
fn an_answer_delayed_after_the_write_was_applied_comes_late() {
    let server = server();
    server.inject(Rule::new(Fault::DelayAfter(MOMENT)).method("PATCH"));
    let started = Instant::now();
    let mut client = client(&server);
    std::thread::scope(|scope| {
        let answer = scope.spawn(|| client.ask("PATCH", LEASE, RENEWAL).unwrap());
        wait_until_renewed(&server);
        assert_eq!(answer.join().unwrap().status, 200);
    });
    assert!(started.elapsed() >= MOMENT);
}

#[test]
fn closing_before_applies_nothing_and_dropping_the_answer_applies_the_write() {
    for (fault, is_applied) in [(Fault::CloseBefore, false), (Fault::DropAnswer, true)] {
        let server = server();
        server.inject(Rule::new(fault).method("PATCH"));
        let error = client(&server).ask("PATCH", LEASE, RENEWAL).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        assert_eq!(is_renewed(&server), is_applied);
        let [request] = server.requests().try_into().unwrap();
        assert_eq!((request.status, request.is_applied), (None, is_applied));
    }
}

#[test]
fn resets_are_seen_as_resets() {
    for (fault, is_applied) in [(Fault::ResetBefore, false), (Fault::ResetAfter, true)] {
        let server = server();
        server.inject(Rule::new(fault).method("PATCH"));
        let error = client(&server).ask("PATCH", LEASE, RENEWAL).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        assert_eq!(is_renewed(&server), is_applied);
    }
}

#[test]
fn a_black_hole_swallows_its_connection_and_no_other() {
    let server = server();
    server.inject(Rule::new(Fault::BlackHole).times(1));
    let mut swallowed = client(&server);
    swallowed.set_patience(MOMENT).unwrap();
    for _ in 0..2 {
        let error = swallowed.ask("PATCH", LEASE, RENEWAL).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }
    assert!(!is_renewed(&server));
    assert_eq!(client(&server).ask("GET", LEASE, "").unwrap().status, 200);
}

#[test]
fn a_write_that_is_never_answered_is_stored() {
    let server = server();
    server.inject(Rule::new(Fault::NeverAnswer));
    let mut client = client(&server);
    client.set_patience(MOMENT).unwrap();
    let error = client.ask("PATCH", LEASE, RENEWAL).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    assert!(is_renewed(&server));
}

#[test]
fn a_canned_answer_takes_the_place_of_the_real_one() {
    let server = server();
    server.inject(Rule::new(Fault::Answer(CannedAnswer::too_many_requests(7))).times(1));
    server.inject(Rule::new(Fault::Answer(CannedAnswer::html(502))).times(1));
    let busy = CannedAnswer::failure(503, "ServiceUnavailable", "apiserver is shutting down");
    server.inject(Rule::new(Fault::Answer(busy.header("Retry-After", "1"))).times(1));
    let mut client = client(&server);
    let many = client.ask("PATCH", LEASE, RENEWAL).unwrap();
    assert_eq!((many.status, many.header("retry-after")), (429, Some("7")));
    assert_eq!(many.text(), "Too many requests, please try again later.\n");
    let html = client.ask("PATCH", LEASE, RENEWAL).unwrap();
    assert_eq!(
        (html.status, html.header("content-type")),
        (502, Some("text/html"))
    );
    let busy = client.ask("PATCH", LEASE, RENEWAL).unwrap();
    assert_eq!((busy.status, busy.header("retry-after")), (503, Some("1")));
    assert_eq!(busy.at("/reason"), "ServiceUnavailable");
    assert!(!is_renewed(&server));
    assert_eq!(client.ask("PATCH", LEASE, RENEWAL).unwrap().status, 200);
}

#[test]
fn a_server_error_may_come_although_the_write_was_stored() {
    let server = server();
    let slow = CannedAnswer::failure(504, "Timeout", "Timeout: request did not complete");
    server.inject(Rule::new(Fault::AnswerAfterApplying(slow)).writes());
    let answer = client(&server).ask("PATCH", LEASE, RENEWAL).unwrap();
    assert_eq!(answer.status, 504);
    assert!(is_renewed(&server));
    let [request] = server.requests().try_into().unwrap();
    assert_eq!((request.status, request.is_applied), (Some(504), true));
}

#[test]
fn a_truncated_body_is_shorter_than_its_length() {
    let server = server();
    server.inject(Rule::new(Fault::TruncateBody(10)));
    let mut client = client(&server);
    let request = format!("GET {LEASE} HTTP/1.1\r\nHost: x\r\n\r\n");
    client.send(request.as_bytes()).unwrap();
    let head = client.head().unwrap();
    let length: usize = head.header("content-length").unwrap().parse().unwrap();
    assert!(length > 100);
    assert_eq!(client.rest().unwrap(), b"{\"kind\":\"L");
}

#[test]
fn cut_chunks_end_without_the_chunk_that_ends_the_body() {
    let server = server();
    server.inject(Rule::new(Fault::CutChunks(10)));
    let mut client = client(&server);
    let request = format!("GET {LEASE} HTTP/1.1\r\nHost: x\r\n\r\n");
    client.send(request.as_bytes()).unwrap();
    assert_eq!(client.head().unwrap().framing, "chunked");
    assert_eq!(client.chunk().unwrap().unwrap(), b"{\"kind\":\"L");
    assert_eq!(client.chunk().unwrap_err().kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn a_watch_can_be_cut_too() {
    let server = server();
    server.inject(Rule::new(Fault::CutChunks(25)).path("/leases"));
    let mut client = client(&server);
    let target = "/apis/coordination.k8s.io/v1/namespaces/default/leases?watch=1";
    client
        .send(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
        .unwrap();
    assert_eq!(client.head().unwrap().status, 200);
    assert_eq!(
        client.chunk().unwrap().unwrap(),
        b"{\"type\":\"ADDED\",\"object\":"
    );
    assert_eq!(client.chunk().unwrap_err().kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn a_slow_body_comes_byte_by_byte() {
    let server = server();
    let pause = Duration::from_millis(1);
    server.inject(Rule::new(Fault::SlowBody(pause)));
    let started = Instant::now();
    let answer = client(&server).ask("GET", LEASE, "").unwrap();
    assert_eq!(answer.at("/spec/holderIdentity"), "a");
    assert!(started.elapsed() >= pause * u32::try_from(answer.body.len()).unwrap());
}

#[test]
fn a_huge_body_is_still_the_object_and_an_empty_one_is_none() {
    let server = server();
    server.inject(Rule::new(Fault::HugeBody(10_000_000)).times(1));
    server.inject(Rule::new(Fault::EmptyBody).times(1));
    let mut client = client(&server);
    let huge = client.ask("GET", LEASE, "").unwrap();
    assert!(huge.body.len() > 10_000_000);
    assert_eq!(huge.at("/spec/holderIdentity"), "a");
    let empty = client.ask("GET", LEASE, "").unwrap();
    assert_eq!((empty.status, empty.text().as_str()), (200, ""));
}

#[test]
fn rules_choose_by_user_agent_and_connection_and_can_be_taken_back() {
    let server = server();
    let refused = |status| Rule::new(Fault::Answer(CannedAnswer::status(status)));
    server.inject(refused(501).user_agent("standby"));
    server.inject(refused(502).connection(2));
    let mut first = client(&server);
    assert_eq!(first.ask("GET", LEASE, "").unwrap().status, 200);
    let standby = format!("GET {LEASE} HTTP/1.1\r\nHost: x\r\nUser-Agent: standby/1\r\n\r\n");
    first.send(standby.as_bytes()).unwrap();
    assert_eq!(first.answer("GET").unwrap().status, 501);
    let mut second = client(&server);
    assert_eq!(second.ask("GET", LEASE, "").unwrap().status, 502);
    server.clear_faults();
    assert_eq!(second.ask("GET", LEASE, "").unwrap().status, 200);
}

#[test]
fn an_outage_refuses_connections_ends_those_that_are_open_and_passes() {
    let server = server();
    let mut open = client(&server);
    assert_eq!(open.ask("GET", LEASE, "").unwrap().status, 200);
    server.pause();
    assert!(open.ask("GET", LEASE, "").is_err());
    let refused = TcpStream::connect(server.addr()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    server.resume();
    assert_eq!(client(&server).ask("GET", LEASE, "").unwrap().status, 200);
}

#[test]
fn connections_can_be_ended_while_new_ones_are_served() {
    let server = server();
    let mut open = client(&server);
    assert_eq!(open.ask("GET", LEASE, "").unwrap().status, 200);
    server.close_connections();
    assert!(open.ask("GET", LEASE, "").is_err());
    assert_eq!(client(&server).ask("GET", LEASE, "").unwrap().status, 200);
}

#[test]
fn refused_connections_are_reset_before_any_request() {
    let server = server();
    server.refuse_connections(1);
    assert!(client(&server).ask("GET", LEASE, "").is_err());
    assert_eq!(client(&server).ask("GET", LEASE, "").unwrap().status, 200);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn idle_connections_are_closed() {
    let server = ApiServer::builder()
        .close_idle_after(MOMENT)
        .start()
        .unwrap();
    let mut idle = client(&server);
    assert_eq!(idle.ask("GET", "/readyz", "").unwrap().text(), "ok");
    assert_eq!(idle.some().unwrap(), b"");
}

#[test]
fn a_silent_watch_is_not_idle() {
    let server = ApiServer::builder()
        .close_idle_after(MOMENT / 4)
        .start()
        .unwrap();
    let mut client = client(&server);
    let target = "/apis/coordination.k8s.io/v1/namespaces/default/leases?watch=1&timeoutSeconds=1";
    client
        .send(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
        .unwrap();
    assert_eq!(client.head().unwrap().status, 200);
    assert_eq!(client.chunk().unwrap(), None);
}

#[test]
fn the_log_tells_what_was_asked_and_what_became_of_it() {
    let server = server();
    let mut client = client(&server);
    client
        .ask("GET", &format!("{LEASE}?resourceVersion=0"), "")
        .unwrap();
    let answer = client.ask("PATCH", LEASE, RENEWAL).unwrap();
    let [get, patch] = server.requests().try_into().unwrap();
    assert_eq!((get.sequence, patch.sequence), (1, 2));
    assert_eq!((get.method.as_str(), get.path.as_str()), ("GET", LEASE));
    assert_eq!(get.query, "resourceVersion=0");
    assert_eq!((get.status, get.is_applied), (Some(200), false));
    assert_eq!((patch.status, patch.is_applied), (Some(200), true));
    assert_eq!(
        (patch.connection, patch.peer_port),
        (1, client.port().unwrap())
    );
    assert_eq!(patch.body, RENEWAL.as_bytes());
    assert_eq!(patch.content_type, "application/merge-patch+json");
    assert_eq!(patch.user.as_deref(), Some("system:anonymous"));
    assert!(get.at <= patch.at && patch.at <= server.uptime());
    let head = format!(
        "PATCH {LEASE} HTTP/1.1\r\nHost: x\r\nContent-Type: application/merge-patch+json\r\n\
         Content-Length: 52\r\n\r\n"
    );
    assert_eq!(patch.bytes_in, (head.len() + RENEWAL.len()) as u64);
    let headers: usize = answer
        .headers
        .iter()
        .map(|(name, value)| name.len() + value.len() + 4)
        .sum();
    let written = "HTTP/1.1 200 OK\r\n\r\n".len() + headers + answer.body.len();
    assert_eq!(patch.bytes_out, written as u64);
    assert_eq!((server.count("PATCH"), server.count("PUT")), (1, 0));
    server.clear_requests();
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn the_clock_of_the_server_can_be_set_and_kept_from_clients() {
    let server = server();
    let mut client = client(&server);
    let year = |answer: &client::Answer| answer.header("date").unwrap()[12..16].to_owned();
    let now: u32 = year(&client.ask("GET", LEASE, "").unwrap())
        .parse()
        .unwrap();
    server.set_clock_skew_s(10 * 366 * 86_400);
    let ahead: u32 = year(&client.ask("GET", LEASE, "").unwrap())
        .parse()
        .unwrap();
    assert!((10..=11).contains(&(ahead - now)));
    server.hold_clock(true);
    let date = |client: &mut Client| {
        client
            .ask("GET", LEASE, "")
            .unwrap()
            .header("date")
            .unwrap()
            .to_owned()
    };
    server.set_clock_skew_s(0);
    let held = date(&mut client);
    server.set_clock_skew_s(-1);
    assert_ne!(date(&mut client), held);
    server.set_clock_skew_s(0);
    assert_eq!(date(&mut client), held);
    server.set_sends_date(false);
    assert_eq!(client.ask("GET", LEASE, "").unwrap().header("date"), None);
}

#[test]
fn a_server_that_ends_closes_its_port_and_its_connections() {
    let server = server();
    let addr = server.addr();
    let mut open = client(&server);
    assert_eq!(open.ask("GET", LEASE, "").unwrap().status, 200);
    server.shutdown();
    assert!(open.ask("GET", LEASE, "").is_err());
    assert_eq!(
        TcpStream::connect(addr).unwrap_err().kind(),
        ErrorKind::ConnectionRefused
    );
}

#[test]
fn two_servers_do_not_share_a_port() {
    let server = server();
    let error = ApiServer::builder()
        .port(server.addr().port())
        .start()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
}

#[test]
fn a_server_can_be_used_from_an_async_program() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let server = server();
        let port = server.addr().port();
        assert!(ApiServer::builder().port(port).start().is_err());
        server.pause();
        server.resume();
        // A client that blocks, for the server has a thread of its own.
        assert_eq!(client(&server).ask("GET", LEASE, "").unwrap().status, 200);
    });
}
