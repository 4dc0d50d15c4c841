//! Watch mode against the API server for tests, in real time.

mod support;

use core::time::Duration;

use kubelease::testing::{ApiServer, CannedAnswer, Fault, LoggedRequest, Rule};
use kubelease::{Handle, Timing};
use support::{candidate, instant, until};

/// What a takeover by watch may take on a machine that is busy with other tests; on an idle one it
/// takes a few milliseconds. That nothing was read for it is asserted beside it.
const AT_ONCE: Duration = Duration::from_secs(1);

fn is_watch(request: &LoggedRequest) -> bool {
    request.method == "GET" && request.query.contains("watch=1")
}

fn watches(server: &ApiServer) -> usize {
    server.count_if(is_watch)
}

/// A leader and a candidate that watches, by the usual durations.
async fn pair(server: &ApiServer) -> (Handle, Handle) {
    let timing = Timing::KUBERNETES;
    let leader = candidate(server, "leader")
        .timing(timing)
        .start()
        .expect("it starts");
    until("a leader", || leader.is_leading()).await;
    let standby = candidate(server, "standby").timing(timing).watch();
    let standby = standby.start().expect("it starts");
    until("a watch", || watches(server) == 1).await;
    (leader, standby)
}

#[tokio::test]
async fn a_release_is_taken_over_at_once_and_without_a_look() {
    let server = ApiServer::start().expect("it starts");
    let (leader, standby) = pair(&server).await;
    let begun = instant();
    leader.step_down(Duration::from_secs(60));
    until("a takeover", || standby.is_leading()).await;
    let took = begun.elapsed();
    assert!(took < AT_ONCE, "{took:?}");
    let sent = server.requests();
    let methods: Vec<_> = sent.iter().map(|it| it.method.as_str()).collect();
    assert_eq!(methods[methods.len() - 2..], ["PUT", "PUT"], "{methods:?}");
}

#[tokio::test]
async fn a_quiet_standby_sends_next_to_nothing() {
    let server = ApiServer::start().expect("it starts");
    let (leader, standby) = pair(&server).await;
    server.clear_requests();
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(leader.is_leading() && standby.leader().as_deref() == Some("leader"));
    let others = server.count_if(|request| request.method != "PUT");
    assert_eq!(others, 0, "{:?}", server.requests());
    assert!(server.count("PUT") >= 12, "the leader renews meanwhile");
}

#[tokio::test]
async fn a_stream_that_breaks_is_followed_by_a_look_and_another_watch() {
    let server = ApiServer::start().expect("it starts");
    let (leader, standby) = pair(&server).await;
    until("a renewal", || server.count("PUT") >= 2).await;
    server.clear_requests();
    server.close_connections();
    until("another watch", || watches(&server) >= 1).await;
    let seen = server.requests();
    let reads: Vec<_> = seen.iter().filter(|it| it.method == "GET").collect();
    assert!(!is_watch(reads[0]) && is_watch(reads[1]), "{reads:?}");
    assert!(leader.is_leading() && !standby.is_leading());
    let begun = instant();
    leader.step_down(Duration::from_secs(60));
    until("a takeover", || standby.is_leading()).await;
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn a_compacted_version_is_read_again() {
    let server = ApiServer::start().expect("it starts");
    // The first watch comes too late for its version.
    let compacted = CannedAnswer::status(200)
        .header("Content-Type", "application/json")
        .body(
            "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n"
                .as_bytes()
                .to_vec(),
        );
    server.inject(Rule::new(Fault::Answer(compacted)).when(is_watch).times(1));
    let leader = candidate(&server, "leader").start().expect("it starts");
    until("a leader", || leader.is_leading()).await;
    let standby = candidate(&server, "standby")
        .watch()
        .start()
        .expect("it starts");
    until("another watch", || watches(&server) >= 2).await;
    leader.step_down(Duration::from_secs(60));
    until("a takeover", || standby.is_leading()).await;
}

#[tokio::test]
async fn a_stream_that_stalls_is_given_up_and_the_release_is_found() {
    let server = ApiServer::start().expect("it starts");
    server.inject(Rule::new(Fault::NeverAnswer).when(is_watch));
    let leader = candidate(&server, "leader").start().expect("it starts");
    until("a leader", || leader.is_leading()).await;
    let standby = candidate(&server, "standby")
        .watch()
        .start()
        .expect("it starts");
    until("a watch", || watches(&server) >= 1).await;
    let begun = instant();
    leader.step_down(Duration::from_secs(60));
    until("a takeover", || standby.is_leading()).await;
    assert!(
        begun.elapsed() < Duration::from_secs(4),
        "two lease durations"
    );
}

#[tokio::test]
async fn without_the_right_to_watch_the_candidate_reads() {
    let server = ApiServer::start().expect("it starts");
    let forbidden = CannedAnswer::failure(403, "Forbidden", "no watch");
    server.inject(Rule::new(Fault::Answer(forbidden)).when(is_watch));
    let leader = candidate(&server, "leader").start().expect("it starts");
    until("a leader", || leader.is_leading()).await;
    let standby = candidate(&server, "standby")
        .watch()
        .start()
        .expect("it starts");
    until("a leader seen", || standby.leader().is_some()).await;
    leader.step_down(Duration::from_secs(60));
    until("a takeover", || standby.is_leading()).await;
}

#[tokio::test]
async fn a_leader_that_dies_is_followed_after_the_lease_duration() {
    let server = ApiServer::start().expect("it starts");
    let leader = candidate(&server, "leader").start().expect("it starts");
    until("a leader", || leader.is_leading()).await;
    let standby = candidate(&server, "standby")
        .watch()
        .start()
        .expect("it starts");
    until("a watch", || watches(&server) >= 1).await;
    // All its writes get lost from now on.
    server.inject(
        Rule::new(Fault::CloseBefore)
            .method("PUT")
            .when(|request| String::from_utf8_lossy(&request.body).contains("\"leader\"")),
    );
    let begun = instant();
    until("a takeover", || standby.is_leading()).await;
    let waited = begun.elapsed();
    assert!(waited > Duration::from_millis(1_500), "{waited:?}");
    assert!(waited < Duration::from_secs(5), "{waited:?}");
    assert!(!leader.is_leading());
}
