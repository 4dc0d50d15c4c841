//! Electors against the API server for tests, in real time.

mod support;

use core::time::Duration;

use kubelease::testing::{ApiServer, Fault, Rule};
use kubelease::{Event, Finish, StopReason};
use serde_json::json;
use support::{FAST, STEADY, candidate, handover, holder, next_edge, until};

#[tokio::test]
async fn a_candidate_takes_an_empty_store_and_renews_by_put_alone() {
    let server = ApiServer::start().unwrap();
    let handle = candidate(&server, "a").start().unwrap();
    until("leading", || handle.is_leading()).await;
    assert_eq!(holder(&server), "a");
    assert_eq!(handle.term(), 1);
    assert_eq!(handle.leader().as_deref(), Some("a"));
    assert_eq!(handle.identity(), "a");
    assert_eq!(handle.last_error(), None);
    let version = server.lease("default", "lock").unwrap()["metadata"]["uid"].clone();
    assert_eq!(
        handle.fence().unwrap().lease_uid.as_str(),
        version.as_str().unwrap()
    );

    until("three renewals", || server.count("PUT") >= 3).await;
    let requests = server.requests();
    let methods: Vec<_> = requests
        .iter()
        .map(|request| request.method.as_str())
        .collect();
    assert_eq!(methods[..2], ["GET", "POST"]);
    assert!(
        methods[2..].iter().all(|method| *method == "PUT"),
        "{methods:?}"
    );
    assert!(requests.iter().all(|request| request.connection == 1));
    assert!(
        requests
            .iter()
            .all(|request| request.user_agent.starts_with("kubelease/"))
    );
    assert!(handle.is_leading());
}

#[tokio::test]
async fn shutdown_releases_and_the_next_leads_without_waiting_for_expiry() {
    let server = ApiServer::start().unwrap();
    let first = candidate(&server, "a").start().unwrap();
    until("a leads", || first.is_leading()).await;
    let second = candidate(&server, "b").start().unwrap();
    until("b knows", || second.leader().as_deref() == Some("a")).await;
    let mut changes = first.changes();

    assert_eq!(first.shutdown().await, Ok(Finish::Released));
    assert_eq!(
        next_edge(&mut changes).await,
        Some(Event::StartedLeading { term: 1 })
    );
    let stopped = next_edge(&mut changes).await;
    assert!(
        matches!(
            stopped,
            Some(Event::StoppedLeading {
                reason: StopReason::Stopped,
                ..
            })
        ),
        "{stopped:?}"
    );
    assert_eq!(
        next_edge(&mut changes).await,
        Some(Event::Finished(Finish::Released))
    );
    assert_eq!(next_edge(&mut changes).await, None);
    let released = server.requests().len();
    until("b leads", || second.is_leading()).await;
    // Two looks at most, of which the first may have been under way, and the takeover.
    let requests = server.requests().len() - released;
    assert!(requests <= 5, "{requests}: b waited for expiry");
    assert_eq!(holder(&server), "b");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_leader_is_followed_when_its_lease_has_run_out() {
    let server = ApiServer::start().unwrap();
    let start = |identity| candidate(&server, identity).timing(FAST).start().unwrap();
    let first = start("a");
    until("a leads", || first.is_leading()).await;
    let second = start("b");
    until("b knows", || second.leader().as_deref() == Some("a")).await;
    let old = first.fence().unwrap();

    first.kill();
    let took = until("b leads", || second.is_leading()).await;
    let waited = handover(&server);
    assert!(waited >= Duration::from_secs(2), "{waited:?}: too soon");
    assert!(took < Duration::from_secs(8), "{took:?}: too late");
    let new = second.fence().unwrap();
    assert_eq!(new.compare(&old), Some(core::cmp::Ordering::Greater));
    assert_eq!(new.transitions, old.transitions + 1);
}

#[tokio::test]
async fn the_token_is_sent_and_shown_to_nobody() {
    let server = ApiServer::builder().token("s3cret", "me").start().unwrap();
    let builder = candidate(&server, "a").bearer_token("s3cret\n");
    assert!(!format!("{builder:?}").contains("s3cret"));
    let handle = builder.start().unwrap();
    until("leading", || handle.is_leading()).await;
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.user.as_deref() == Some("me"))
    );
    assert!(!format!("{handle:?}").contains("s3cret"));
}

#[tokio::test]
async fn a_refused_token_is_said_and_leads_nowhere() {
    let server = ApiServer::builder().token("s3cret", "me").start().unwrap();
    let handle = candidate(&server, "a")
        .bearer_token("wrong")
        .start()
        .unwrap();
    let mut changes = handle.changes();
    assert_eq!(
        next_edge(&mut changes).await,
        Some(Event::CredentialsRejected)
    );
    assert!(!handle.is_leading());
    assert!(
        handle
            .last_error()
            .is_some_and(|error| error.contains("401"))
    );
}

#[tokio::test]
async fn a_connection_that_swallows_everything_is_left_for_a_new_one() {
    let server = ApiServer::start().unwrap();
    server.inject(Rule::new(Fault::BlackHole).connection(1));
    let handle = candidate(&server, "a").timing(FAST).start().unwrap();
    let took = until("leading", || handle.is_leading()).await;
    assert!(took < Duration::from_secs(8), "{took:?}");
    assert!(server.requests().last().unwrap().connection > 1);
}

#[tokio::test]
async fn a_leader_outlives_a_connection_that_goes_silent() {
    let server = ApiServer::start().unwrap();
    let handle = candidate(&server, "a").timing(STEADY).start().unwrap();
    until("leading", || handle.is_leading()).await;
    server.inject(Rule::new(Fault::BlackHole).connection(1));
    until("a new connection", || {
        server.count_if(|request| request.connection > 1) > 3
    })
    .await;
    assert!(handle.is_leading());
    assert_eq!(handle.term(), 1);
}

#[tokio::test]
async fn a_server_that_stops_ends_leadership_in_time_and_gets_it_back() {
    let server = ApiServer::start().unwrap();
    let handle = candidate(&server, "a").timing(STEADY).start().unwrap();
    until("leading", || handle.is_leading()).await;
    let mut changes = handle.changes();
    assert_eq!(
        next_edge(&mut changes).await,
        Some(Event::StartedLeading { term: 1 })
    );

    server.pause();
    let took = until("not leading", || !handle.is_leading()).await;
    assert!(
        took < Duration::from_secs(8),
        "{took:?}: past the renew deadline"
    );
    assert_eq!(handle.fence(), None);
    assert_eq!(handle.leading_until(), None);
    let mut reason = None;
    while reason.is_none() {
        if let Some(Event::StoppedLeading { reason: found, .. }) = next_edge(&mut changes).await {
            reason = Some(found);
        }
    }
    assert_eq!(reason, Some(StopReason::Deadline));
    assert!(handle.last_error().is_some());

    server.resume();
    until("leading again", || handle.is_leading()).await;
    assert_eq!(handle.term(), 2);
}

#[tokio::test]
async fn what_others_wrote_into_the_lease_stays_there() {
    let server = ApiServer::start().unwrap();
    let lease = json!({
        "metadata": {
            "labels": {"team": "pumps"},
            "annotations": {"note": "küche \" \\ \u{1f511}"},
            "finalizers": ["example.com/keep"],
        },
        "spec": {"holderIdentity": "", "leaseTransitions": 41},
    });
    server.put_lease("default", "lock", lease.clone());
    let handle = candidate(&server, "a")
        .label("example.com/zone", "z1")
        .start()
        .unwrap();
    until("leading", || handle.is_leading()).await;
    until("a renewal", || server.count("PUT") >= 2).await;
    let stored = server.lease("default", "lock").unwrap();
    assert_eq!(stored["spec"]["holderIdentity"], "a");
    assert_eq!(stored["spec"]["leaseTransitions"], 42);
    assert_eq!(
        stored["metadata"]["annotations"],
        lease["metadata"]["annotations"]
    );
    assert_eq!(
        stored["metadata"]["finalizers"],
        lease["metadata"]["finalizers"]
    );
    let labels = json!({"team": "pumps", "example.com/zone": "z1"});
    assert_eq!(stored["metadata"]["labels"], labels);
}

#[tokio::test]
async fn patch_mode_writes_merge_patches() {
    let server = ApiServer::start().unwrap();
    let handle = candidate(&server, "a").patch_mode().start().unwrap();
    until("a renewal", || server.count("PATCH") >= 2).await;
    assert!(handle.is_leading());
    assert_eq!(server.count("PUT"), 0);
    let patch = "application/merge-patch+json";
    assert_eq!(
        server.count_if(|request| request.content_type == patch),
        server.count("PATCH")
    );
}

#[tokio::test]
async fn stepping_down_hands_over_and_contends_again_later() {
    let server = ApiServer::start().unwrap();
    let handle = candidate(&server, "a").start().unwrap();
    until("leading", || handle.is_leading()).await;
    let guard = handle.guard().unwrap();
    assert!(guard.is_valid());
    assert_eq!(guard.fence(), handle.fence());
    handle.step_down(Duration::from_millis(500));
    until("released", || holder(&server).is_empty()).await;
    assert!(!handle.is_leading());
    assert!(handle.guard().is_none());
    let took = until("leading again", || handle.is_leading()).await;
    assert!(
        took > Duration::from_millis(200),
        "{took:?}: within the cooldown"
    );
    assert_eq!(handle.term(), 2);
    // The guard of the first term stays invalid in the second.
    assert!(!guard.is_valid());
    assert_eq!(
        (guard.term(), guard.fence(), guard.valid_until()),
        (1, None, None)
    );
    assert!(handle.guard().unwrap().is_valid());
}

#[tokio::test]
async fn whoever_stops_when_idle_leads_on_until_shutdown() {
    let server = ApiServer::start().unwrap();
    let handle = candidate(&server, "a").start().unwrap();
    until("leading", || handle.is_leading()).await;
    let before = server.count("PUT");
    handle.stop_when_idle();
    until("two more renewals", || server.count("PUT") >= before + 2).await;
    assert!(handle.is_leading());
    assert_eq!(handle.shutdown().await, Ok(Finish::Released));
}

#[tokio::test]
async fn shutdown_without_a_server_ends_within_its_budget() {
    let server = ApiServer::start().unwrap();
    let handle = candidate(&server, "a").release_budget(Duration::from_millis(800));
    let handle = handle.timing(FAST).start().unwrap();
    until("leading", || handle.is_leading()).await;
    server.pause();
    let start = support::instant();
    let finish = handle.shutdown().await;
    assert!(
        start.elapsed() < Duration::from_secs(8),
        "{:?}",
        start.elapsed()
    );
    assert!(
        matches!(finish, Ok(Finish::Unknown | Finish::Failed)),
        "{finish:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_five_candidates_one_leads_at_any_time() {
    let server = ApiServer::start().unwrap();
    let start = |n: usize| candidate(&server, &format!("c{n}")).start().unwrap();
    let mut handles: Vec<_> = (0..5).map(start).collect();
    while !handles.is_empty() {
        let mut leader = None;
        until("one leads", || {
            let mut leading = (0..handles.len()).filter(|n| handles[*n].is_leading());
            leader = leading.next();
            assert_eq!(leading.next(), None, "two lead");
            leader.is_some()
        })
        .await;
        let handle = handles.remove(leader.unwrap());
        assert_eq!(handle.shutdown().await, Ok(Finish::Released));
    }
}
