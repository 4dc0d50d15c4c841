//! Watch mode against the API server for tests, in real time.

mod support;

use core::time::Duration;

use kubelease::testing::{ApiServer, CannedAnswer, Fault, LoggedRequest, Rule};
use kubelease::{Handle, Timing};
use support::{STEADY, candidate, handover, instant, until};

/// What a takeover may take on a machine that is busy with other tests; by watch, on an idle one,
/// it takes a few milliseconds. That nothing was read for it is asserted beside it.
const SOON: Duration = Duration::from_secs(20);

fn is_watch(request: &LoggedRequest) -> bool {
    request.method == "GET" && request.query.contains("watch=1")
}

fn watches(server: &ApiServer) -> usize {
    server.count_if(is_watch)
}

/// A leader and a candidate that watches, by the usual durations.
async fn pair(server: &ApiServer) -> (Handle, Handle) {
    pair_by(server, Timing::KUBERNETES).await
}

/// The same with a lease of 6 s.
async fn fast_pair(server: &ApiServer) -> (Handle, Handle) {
    pair_by(server, STEADY).await
}

async fn pair_by(server: &ApiServer, timing: Timing) -> (Handle, Handle) {
    let leader = candidate(server, "leader")
        .timing(timing)
        .start()
        .expect("it starts");
    until("a leader", || leader.is_leading()).await;
    let standby = candidate(server, "standby").timing(timing).watch();
    let standby = standby.start().expect("it starts");
    until("a watch", || watches(server) >= 1).await;
    (leader, standby)
}

/// The leader gives the lease up, and what the standby sends next is its own write.
async fn takes_over_by_watch(server: &ApiServer, leader: &Handle, standby: &Handle) {
    let begun = instant();
    leader.step_down(Duration::from_secs(60));
    until("a takeover", || standby.is_leading()).await;
    let took = begun.elapsed();
    assert!(took < SOON, "{took:?}");
    let sent = server.requests();
    let is_release = |it: &LoggedRequest| {
        it.method == "PUT" && String::from_utf8_lossy(&it.body).contains("\"holderIdentity\":\"\"")
    };
    let mut later = sent.iter().skip_while(|it| !is_release(it));
    // The leader has a connection of its own, on which it reads as a candidate from now on.
    let own = later.next().expect("a release").connection;
    let next = later.find(|it| it.connection != own);
    assert_eq!(next.expect("a takeover").method, "PUT", "{sent:?}");
}

#[tokio::test]
async fn a_release_is_taken_over_at_once_and_without_a_look() {
    let server = ApiServer::start().expect("it starts");
    let (leader, standby) = pair(&server).await;
    takes_over_by_watch(&server, &leader, &standby).await;
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
    let watch = seen.iter().find(|it| is_watch(it)).expect("a watch");
    // The standby's: the leader has another connection.
    let own: Vec<_> = seen
        .iter()
        .filter(|it| it.connection == watch.connection)
        .collect();
    assert!(own[0].method == "GET" && !is_watch(own[0]), "{own:?}");
    assert!(leader.is_leading() && !standby.is_leading());
    takes_over_by_watch(&server, &leader, &standby).await;
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
    let (leader, standby) = fast_pair(&server).await;
    let begun = instant();
    leader.step_down(Duration::from_secs(60));
    until("a takeover", || standby.is_leading()).await;
    assert!(begun.elapsed() < SOON);
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
    let (leader, standby) = fast_pair(&server).await;
    // All its writes get lost from now on.
    server.inject(
        Rule::new(Fault::CloseBefore)
            .method("PUT")
            .when(|request| String::from_utf8_lossy(&request.body).contains("\"leader\"")),
    );
    let begun = instant();
    until("a takeover", || standby.is_leading()).await;
    assert!(begun.elapsed() < SOON);
    let waited = handover(&server);
    assert!(waited >= Duration::from_secs(6), "{waited:?}: too soon");
    assert!(!leader.is_leading());
}
