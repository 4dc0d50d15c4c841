//! Heartbeats: conflicts, deleted leases, overload, and the node controller.

use kubelease_core::heartbeat::{Health, HeartbeatConfig, HeartbeatIdentity};
use kubelease_core::lease::OwnerState;
use kubelease_core::protocol::Changes;
use kubelease_tests::heart::server::{HeartAnswer, HeartServer};
use kubelease_tests::heart::{A as HEART, Alive, GW1, STEADY, beating, heart};
use kubelease_tests::prelude::*;
use kubelease_tests::store::{Answer, run_with};

const OWNED: HeartbeatConfig = HeartbeatConfig {
    owner_required: true,
    ..STEADY
};

/// The instants at which something with this beginning was seen.
fn times(seen: &[(u64, String)], what: &str) -> Vec<u64> {
    let found = seen.iter().filter(|(_, text)| text.starts_with(what));
    found.map(|(at, _)| *at).collect()
}

/// Four requests, no trouble, and the next beat on schedule.
#[test]
fn b59_a_beat_that_was_done_but_not_answered_collides_with_itself_and_goes_on() {
    let mut h = beating(STEADY);
    at!(h, 10_000 => ["PUT 2 renew"]);
    at!(h, 11_000, Failure::Unknown => ["PUT 2 renew"]);
    at!(h, 11_100, Reply::Conflict => ["GET"]);
    at!(h, 11_200, Mine(3) => ["PUT 3 renew"]);
    at!(h, 11_300, Accepted(4) => ["wait 20000"]);
    assert_eq!(h.last_beat_ms(), Some(11_200));
}

#[test]
fn b61_a_creation_that_meets_a_lease_is_followed_by_read_and_update() {
    let mut h = heart(STEADY, HEART);
    at!(h, 0 => ["GET"]);
    at!(h, 0, Reply::LeaseMissing => ["POST"]);
    at!(h, 0, Reply::Conflict => ["GET"]);
    at!(h, 0, held_by("A", 7) => ["PUT 7 renew"]);
    at!(h, 0, Reply::Conflict => ["GET"]);
    at!(h, 0, held_by("A", 8) => ["PUT 8 renew"]);
    at!(h, 0, Accepted(9) => ["wait 10000"]);
}

#[test]
fn b61_conflicts_without_end_wait_for_the_next_beat() {
    let mut h = heart(STEADY, HEART);
    let seen = run(&mut h, 9_000, 0, |_, sent| match &sent.write {
        None => held_by("A", 7).into(),
        Some(_) => Reply::Conflict.into(),
    });
    assert_eq!(times(&seen, "PUT").len(), 5, "{seen:?}");
    assert!(times(&seen, "DELETE").is_empty());
}

#[test]
fn b65_a_missing_namespace_is_told_once_and_asked_for_ever_more_slowly() {
    let mut h = heart(STEADY, HEART);
    let mut server = HeartServer::default();
    let seen = run_with(&mut h, 400_000, 10, |now, sent| match &sent.write {
        Some(_) if now < 200_000 => HeartAnswer::from(Answer::from(Reply::NamespaceMissing)),
        Some(_) | None => server.serve(sent),
    });
    let told = times(&seen, "Trouble NamespaceMissing create");
    assert_eq!(told, [10 + 10], "{seen:?}");
    let tries = times(&seen, "POST");
    let gaps: Vec<u64> = tries.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(
        gaps.iter().all(|gap| (1_000..=31_000).contains(gap)),
        "{gaps:?}"
    );
    assert!(gaps.contains(&30_020), "{gaps:?}");
    assert!(!times(&seen, "PUT").is_empty(), "it recovers: {seen:?}");
}

#[test]
fn b70_a_heart_obeys_retry_after() {
    let mut h = beating(STEADY);
    at!(h, 10_000 => ["PUT 2 renew"]);
    at!(h, 10_100, retry_after(Reply::Throttled, 7) => ["wait 17100"]);
    at!(h, 17_100 => ["PUT 2 renew"]);
    at!(h, 17_200, retry_after(Reply::ServerError(503), 3_600) => ["wait 77200"]);
    at!(h, 77_200 => ["PUT 2 renew"]);
    at!(h, 77_200, Accepted(3) => ["wait 87200"]);
}

#[test]
fn b70_refusals_in_a_row_do_not_shorten_a_hearts_wait() {
    let mut h = beating(HeartbeatConfig {
        jitter_percent: 20,
        ..STEADY
    });
    let answer = Answer::Reply(retry_after(Reply::Throttled, 7));
    let seen = run(&mut h, 100_000, 0, |_, _| answer.clone());
    let tries = times(&seen, "PUT");
    let gaps: Vec<u64> = tries.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.len() >= 5, "{gaps:?}");
    assert!(
        gaps.iter().all(|gap| (7_000..=36_000).contains(gap)),
        "{gaps:?}"
    );
}

#[test]
fn b107_a_thousand_hearts_do_not_beat_in_step() {
    let config = HeartbeatConfig {
        spread_first_beat: true,
        jitter_percent: 4,
        ..STEADY
    };
    let mut bins = [0_u32; 100];
    for seed in 0..1_000 {
        let identity = HeartbeatIdentity { seed, ..HEART };
        for (at, _) in lone_beats(config, identity, 3_610_000) {
            if let Some(inside) = at.checked_sub(3_600_000) {
                bins[usize::try_from(inside / 100).unwrap().min(99)] += 1;
            }
        }
    }
    let total: u32 = bins.iter().sum();
    assert!((900..=1_100).contains(&total), "{total}");
    assert!(bins.iter().all(|bin| *bin <= 30), "{bins:?}");
}

/// The beats of a heart whose calls take 50 ms, without the driver, which is slow.
fn lone_beats(
    config: HeartbeatConfig,
    identity: HeartbeatIdentity<&'static str>,
    until: u64,
) -> Vec<(u64, u64)> {
    use kubelease_core::heartbeat::Heartbeat;
    use kubelease_core::protocol::Output;
    use kubelease_core::time::Now;
    use kubelease_tests::seen::Sent;
    let mut heart = Heartbeat::new(config, identity, Now::monotonic(Instant::default())).unwrap();
    let (mut now, mut beats, mut version) = (0, Vec::new(), 1);
    let mut coming: Option<(u64, Sent)> = None;
    while now < until {
        let moment = Now::monotonic(Instant::from_millis(now));
        match heart.poll(moment) {
            Output::Request(request) => {
                coming = Some((now + 50, Sent::from(request)));
                if coming
                    .as_ref()
                    .is_some_and(|(_, sent)| sent.write.is_some())
                {
                    beats.push((now, version));
                }
            }
            Output::WaitUntil(at) => match coming.take() {
                Some((arrives, sent)) => {
                    now = arrives;
                    version += 1;
                    let lease = match &sent.write {
                        Some(write) => Lease::written(write, version),
                        None => held_by("A", version),
                    };
                    let moment = Now::monotonic(Instant::from_millis(now));
                    let taken = heart.handle_response(moment, sent.id, lease.response());
                    assert!(taken.is_ok());
                }
                None => now = at.as_millis(),
            },
            Output::Event(_) | Output::Cancel(_) | Output::Done => {}
        }
    }
    beats
}

#[test]
fn b109_no_lease_is_made_for_a_node_that_is_gone() {
    let mut h = heart(OWNED, GW1);
    let mut server = HeartServer::with_node("u1");
    let seen = run_with(&mut h, 100_000, 10, |now, sent| {
        if (35_000..65_000).contains(&now) {
            server.node = None;
        } else if now >= 65_000 && server.node.is_none() {
            server.register("u2");
        }
        server.collect();
        server.serve(sent)
    });
    assert_eq!(times(&seen, "POST"), [20, 70_010], "{seen:?}");
    assert_eq!(times(&seen, "Trouble NodeMissing get").len(), 1, "{seen:?}");
    let looks = times(&seen, "GET node gw1");
    let missing = looks.iter().filter(|at| (40_000..65_000).contains(*at));
    assert_eq!(missing.count(), 3, "again each interval: {looks:?}");
    assert_eq!(server.owner.as_deref(), Some("u2"));
}

#[test]
fn b109_a_node_that_was_registered_anew_is_found_before_the_lease_is_made() {
    let identity = HeartbeatIdentity {
        node_uid: Some("u1"),
        ..GW1
    };
    let mut h = heart(OWNED, identity);
    let mut server = HeartServer::with_node("u1");
    let seen = run_with(&mut h, 60_000, 10, |now, sent| {
        if now >= 35_000 && server.owner.as_deref() == Some("u1") {
            server.register("u2");
        }
        server.serve(sent)
    });
    // The uid that the host gave is used until the lease is found deleted.
    assert_eq!(times(&seen, "POST"), [10, 40_030], "{seen:?}");
    assert_eq!(times(&seen, "GET node gw1"), [40_020], "{seen:?}");
    assert_eq!(server.owner.as_deref(), Some("u2"));
    assert_eq!(times(&seen, "LeaseRecreated"), [40_040], "{seen:?}");
}

#[test]
fn b111_a_lease_of_the_last_run_is_beaten_within_the_first_second() {
    let mut h = heart(STEADY, HEART);
    at!(h, 0 => ["GET"]);
    at!(h, 50, held_by("A", 7).duration(40) => ["PUT 7 renew"]);
    at!(h, 100, Accepted(8) => ["wait 10000"]);
    assert_eq!(h.last_beat_ms(), Some(50));
}

#[test]
fn b113_beats_keep_to_the_schedule_however_long_the_calls_take() {
    let mut h = beating(STEADY);
    let mut server = HeartServer::default();
    server.store.put(&held_by("A", 2));
    let seen = run_with(&mut h, 60_000, 900, |_, sent| server.serve(sent));
    let beats = times(&seen, "PUT 2 renew");
    assert_eq!(beats[0], 10_000);
    let beats = times(&seen, "PUT");
    assert_eq!(beats, [10_000, 20_000, 30_000, 40_000, 50_000, 60_000]);
}

#[test]
fn b113_a_call_longer_than_the_interval_is_followed_by_the_next_beat_at_once() {
    let mut h = beating(HeartbeatConfig {
        request_timeout: Duration::from_secs(12),
        ..STEADY
    });
    at!(h, 10_000 => ["PUT 2 renew"]);
    at!(h, 21_000, Accepted(3) => ["PUT 3 renew"]);
    at!(h, 21_100, Accepted(4) => ["wait 30000"]);
}

/// Enough for one heart: no lease goes without a beat for its duration, and a deleted one is back
/// within an interval.
#[test]
fn b116_a_lease_that_is_deleted_under_load_is_back_within_an_interval() {
    let mut h = beating(STEADY);
    let mut server = HeartServer::default();
    server.store.put(&held_by("A", 2));
    let (mut deleted, mut calls) = (false, 0_u32);
    let seen = run_with(&mut h, 1_000_000, 50, |now, sent| {
        calls += 1;
        if now >= 500_000 && !deleted {
            deleted = true;
            server.store.lease = None;
        }
        if calls.is_multiple_of(100) {
            HeartAnswer::from(Answer::Nothing)
        } else {
            server.serve(sent)
        }
    });
    let mut beats = times(&seen, "PUT");
    beats.extend(times(&seen, "POST"));
    beats.sort_unstable();
    assert!(beats.windows(2).all(|pair| pair[1] - pair[0] <= 20_000));
    let back = times(&seen, "POST");
    assert!(back.len() == 1 && back[0] <= 510_200, "{back:?}");
}

#[test]
fn b119_a_heart_is_never_switched_off_by_a_server_without_leases() {
    let mut h = heart(STEADY, HEART);
    let mut server = HeartServer::default();
    let seen = run_with(&mut h, 300_000, 10, |now, sent| {
        if now < 150_000 {
            HeartAnswer::from(Answer::from(Reply::ApiUnavailable))
        } else {
            server.serve(sent)
        }
    });
    assert_eq!(times(&seen, "Trouble ApiUnavailable get"), [10]);
    let tries = times(&seen, "GET");
    assert!(tries.len() < 20, "slowly: {tries:?}");
    assert_eq!(times(&seen, "POST").len(), 1);
    assert_eq!(h.health(), Health::Ok);
}

#[test]
fn b120_beats_stop_when_nobody_says_that_the_host_is_alive() {
    let mut h = heart(
        HeartbeatConfig {
            liveness_ttl: Some(Duration::from_secs(30)),
            ..STEADY
        },
        HEART,
    );
    h.take(Alive);
    let mut server = HeartServer::default();
    server.store.put(&held_by("A", 2));
    let seen = run_with(&mut h, 69_999, 0, |_, sent| server.serve(sent));
    assert_eq!(times(&seen, "PUT"), [0, 10_000, 20_000, 30_000], "{seen:?}");
    assert_eq!(times(&seen, "Trouble NotAlive update"), [40_000]);
    assert_eq!(h.health(), Health::NotAlive);
    at!(h, 70_000, Alive => ["PUT 6 renew"]);
    at!(h, 70_000, Accepted(7) => ["wait 80000"]);
    assert_eq!(h.health(), Health::Ok);
}

#[test]
fn b120_a_host_that_never_speaks_never_beats() {
    let mut h = heart(
        HeartbeatConfig {
            liveness_ttl: Some(Duration::from_secs(30)),
            ..STEADY
        },
        HEART,
    );
    let seen = run(&mut h, 100_000, 0, |_, _| Reply::LeaseMissing.into());
    assert_eq!(seen, [(0, "Trouble NotAlive update".to_owned())]);
}

#[test]
fn b123_somebody_elses_record_is_waited_out() {
    let mut h = heart(STEADY, HeartbeatIdentity::new("neighbour"));
    at!(h, 0 => ["GET"]);
    let old = || held_by("old-manager", 7).duration(25);
    at!(h, 0, old() => ["Trouble HeldByAnother update", "wait 10000"]);
    at!(h, 10_000 => ["GET"]);
    at!(h, 10_000, old() => ["wait 20000"]);
    at!(h, 20_000 => ["GET"]);
    at!(h, 20_000, old() => ["wait 25001"]);
    at!(h, 25_001 => ["PUT 7 acquire"]);
    assert_eq!(h.write().changes(), Some(Changes::Acquire));
    at!(h, 25_001, Accepted(8) => ["wait 30000"]);
    at!(h, 30_000 => ["PUT 8 renew"]);
}

#[test]
fn b123_a_record_that_changes_is_waited_out_anew() {
    let mut h = heart(STEADY, HeartbeatIdentity::new("neighbour"));
    at!(h, 0 => ["GET"]);
    let held = |renewed| held_by("manager", 7).duration(25).renewed(renewed);
    at!(h, 0, held(0) => ["Trouble HeldByAnother update", "wait 10000"]);
    at!(h, 10_000 => ["GET"]);
    at!(h, 10_000, held(1) => ["wait 20000"]);
    at!(h, 20_000 => ["GET"]);
    at!(h, 20_000, held(1) => ["wait 30000"]);
    at!(h, 30_000 => ["GET"]);
    at!(h, 30_000, Reply::LeaseMissing => ["wait 40000"]);
    at!(h, 40_000 => ["GET"]);
    // A deletion is no release.
    at!(h, 40_000, Reply::LeaseMissing => ["wait 50000"]);
    at!(h, 50_000 => ["GET"]);
    at!(h, 50_000, Reply::LeaseMissing => ["wait 55001"]);
    at!(h, 55_001 => ["POST"]);
}

#[test]
fn b123_force_owner_takes_the_lease_at_once() {
    let mut h = heart(
        HeartbeatConfig {
            force_owner: true,
            ..STEADY
        },
        HeartbeatIdentity::new("neighbour"),
    );
    at!(h, 0 => ["GET"]);
    at!(h, 0, held_by("old-manager", 7).duration(1_200) => ["PUT 7 acquire"]);
    assert!(h.write().renew_time > wall(0), "it rises all the same");
}

#[test]
fn b109_a_stale_owner_of_the_nodes_name_is_replaced() {
    let identity = HeartbeatIdentity {
        node_uid: Some("u2"),
        ..GW1
    };
    let mut h = heart(OWNED, identity);
    at!(h, 0 => ["GET"]);
    at!(h, 0, held_by("gw1", 3).owned(OwnerState::Stale, true) => ["PUT 3 renew"]);
    let owner = h.write().owner.clone().unwrap();
    assert_eq!((owner.uid.as_str(), owner.has_others), ("u2", true));
    at!(h, 0, Accepted(4) => ["wait 10000"]);
    at!(h, 10_000 => ["PUT 4 renew"]);
    assert_eq!(h.write().owner, None);
}
