//! Overload, slow servers, dead connections.

use kubelease_tests::prelude::*;
use kubelease_tests::store::Answer;

#[test]
fn b70_a_candidate_obeys_retry_after() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 0, released(6) => ["PUT 6 acquire"]);
    at!(e, 100, retry_after(Reply::Throttled, 7) => ["wait 7100"]);
    e.go_to(7_100);
    let seen = e.settle();
    assert!(seen[0] == "GET" || seen[0] == "PUT 6 acquire", "{seen:?}");
}

#[test]
fn b70_five_refusals_in_a_row_do_not_shorten_the_wait() {
    let mut e = Driver::new(A);
    let answer = Answer::Reply(retry_after(Reply::Throttled, 7));
    let seen = run(&mut e, 60_000, 0, |_, _| answer.clone());
    let tries: Vec<u64> = seen.iter().map(|(at, _)| *at).collect();
    assert!(tries.len() >= 5);
    assert!(
        tries.windows(2).all(|pair| pair[1] - pair[0] >= 7_000),
        "{seen:?}"
    );
}

#[test]
fn b70_a_refusal_without_a_time_slows_a_candidate_down() {
    let mut e = Driver::new(A);
    let seen = run(&mut e, 100_000, 0, |_, _| Reply::Throttled.into());
    let tries: Vec<u64> = seen.iter().map(|(at, _)| *at).collect();
    let gaps: Vec<u64> = tries.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.windows(2).all(|pair| pair[1] >= pair[0]), "{gaps:?}");
    assert_eq!(gaps.last(), Some(&30_000));
}

#[test]
fn b70_a_retry_after_is_obeyed_for_a_minute_at_most() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 0, retry_after(Reply::ServerError(503), 3_600) => ["wait 60000"]);
}

#[test]
fn b70_a_leader_obeys_retry_after_as_far_as_its_last_chance() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_100, retry_after(Reply::Throttled, 3) => ["wait 5100"]);
    e.go_to(5_100);
    e.settle();
    e.take(retry_after(Reply::Throttled, 60));
    e.expect(&["wait 7100"]);
}

#[test]
fn b70_a_retry_after_shorter_than_the_period_changes_nothing_for_a_leader() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_100, retry_after(Reply::Throttled, 1) => ["wait 4000"]);
}

#[test]
fn b72_one_slow_request_does_not_cost_leadership() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew", "wait 6000"]);
    at!(e, 6_000 => ["Cancel", "GET"]);
    at!(e, 6_100, Mine(7) => ["PUT 7 renew"]);
    at!(e, 6_300, Accepted(8) => []);
    assert_eq!(e.leading_until(), Some(16_100));
}

#[test]
fn b74_single_failures_cost_nothing_while_another_try_fits() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_000, Failure::Unknown => ["wait 4000"]);
    at!(e, 4_000 => ["GET"]);
    at!(e, 4_100, Mine(7) => ["PUT 7 renew"]);
    at!(e, 4_200, Reply::ServerError(503) => ["wait 6000"]);
    at!(e, 6_000 => ["GET"]);
    at!(e, 6_100, Mine(7) => ["PUT 7 renew"]);
    at!(e, 6_200, Accepted(8) => ["wait 8000"]);
    assert_eq!(e.leading_until(), Some(16_100));
}

#[test]
fn b74_a_write_that_was_not_sent_needs_no_look() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_000, Failure::NotSent => ["wait 4000"]);
    at!(e, 4_000 => ["PUT 7 renew"]);
}

#[test]
fn b76_a_rolling_restart_of_the_servers_costs_nothing() {
    let openshift = Timing {
        jitter_percent: 0,
        ..Timing::OPENSHIFT
    };
    let config = Config {
        timing: openshift,
        ..A
    };
    for start in (0..26_000).step_by(500) {
        let mut e = Driver::new(config);
        let mut store = Store::default();
        run(&mut e, 60_000 + start, 50, |_, sent| store.serve(sent));
        let begin = e.now_ms();
        let seen = run(&mut e, begin + 200_000, 50, |now, sent| match now - begin {
            0..20_000 => Failure::NotSent.into(),
            23_000..45_000 => Reply::ServerError(503).into(),
            45_000..60_000 => Failure::Unknown.into(),
            _ => store.serve(sent),
        });
        let stopped = seen.iter().any(|(_, text)| text.starts_with("Stopped"));
        assert!(
            !stopped,
            "an outage that began {start} ms after a minute: {seen:?}"
        );
    }
}

#[test]
fn b82_two_failures_in_a_row_ask_for_new_connections_once() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 4_000 => ["Cancel", "GET"]);
    at!(e, 4_100, Failure::Unknown => ["ReconnectAdvised"]);
    at!(e, 6_000 => ["GET"]);
    at!(e, 6_000, Failure::Unknown => []);
    at!(e, 8_000 => ["GET"]);
    at!(e, 8_000, Failure::Unknown => ["ReconnectAdvised"]);
}

#[test]
fn b82_any_answer_shows_that_the_connection_lives() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 100, Failure::Unknown => []);
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_000, Reply::ServerError(500) => []);
    at!(e, 4_000 => ["GET"]);
    at!(e, 4_000, Failure::Unknown => []);
}

#[test]
fn b84_a_dead_name_server_keeps_the_usual_pace() {
    let mut e = Driver::new(A);
    let mut failed = 0;
    let mut store = Store::default();
    let seen = run(&mut e, 70_000, 0, |_, sent| {
        failed += 1;
        if failed <= 30 {
            Failure::NotSent.into()
        } else {
            store.serve(sent)
        }
    });
    let tries: Vec<u64> = seen
        .iter()
        .filter(|it| it.1 == "GET")
        .map(|it| it.0)
        .collect();
    assert_eq!(tries, (0..=30).map(|n| n * 2_000).collect::<Vec<_>>());
    assert!(seen.contains(&(60_000, "Started 1".to_owned())), "{seen:?}");
}

#[test]
fn bad_answers_are_named_and_tried_again_at_the_usual_pace() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_000, Reply::BadAnswer(BadAnswer::NotJson) => [
        "Trouble BadAnswer(NotJson) update",
        "wait 4000",
    ]);
    at!(e, 4_000 => ["GET"]);
    at!(e, 4_000, Mine(8) => ["PUT 8 renew"]);
    assert_eq!(e.leading_until(), Some(10_000));
}

#[test]
fn an_answer_to_a_write_that_shows_another_record_proves_nothing() {
    let not_mine: [fn(Lease) -> Lease; 3] = [
        |lease| lease.renewed(77),
        |lease| lease.spec(|spec| spec.holder = "B".into()),
        |lease| lease.version("7"),
    ];
    for change in not_mine {
        let mut e = leading(A);
        at!(e, 2_000 => ["PUT 7 renew"]);
        let lease = change(Lease::written(e.write(), 8));
        at!(e, 2_000, lease => ["Trouble BadAnswer(NotMyWrite) update", "wait 4000"]);
        assert_eq!(e.leading_until(), Some(10_000));
        at!(e, 4_000 => ["GET"]);
    }
}

#[test]
fn an_answer_to_a_write_without_a_spec_is_its_success() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    let mut lease = Lease::written(e.write(), 8);
    lease.record.spec = None;
    at!(e, 2_100, lease => ["wait 4000"]);
    assert_eq!(e.leading_until(), Some(12_000));
    at!(e, 4_000 => ["PUT 8 renew"]);
}

#[test]
fn a_record_without_a_spec_is_not_the_write_that_was_answered_without_one() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    let mut lease = Lease::written(e.write(), 8);
    lease.record.spec = None;
    at!(e, 2_100, lease.clone() => ["wait 4000"]);
    at!(e, 4_000 => ["PUT 8 renew"]);
    at!(e, 4_000, Reply::Conflict => ["GET"]);
    at!(e, 4_000, lease.version("9") => ["Stopped Lost", "PUT 9 acquire"]);
}
