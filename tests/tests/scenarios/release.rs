//! Giving the lease up, and ending.

use kubelease_tests::prelude::*;

#[test]
fn b29_a_release_that_meets_a_conflict_is_tried_again() {
    let mut e = leading(A);
    at!(e, 1_000, Stop => ["Stopped Stopped", "PUT 7 release"]);
    at!(e, 1_100, Reply::Conflict => ["GET"]);
    at!(e, 1_200, Mine(8) => ["PUT 8 release"]);
    at!(e, 1_300, Accepted(9) => ["Finished Released", "Done"]);
}

#[test]
fn b29_a_release_gives_up_after_three_conflicts() {
    let mut e = leading(A);
    at!(e, 1_000, Stop => ["Stopped Stopped", "PUT 7 release"]);
    at!(e, 1_100, Reply::Conflict => ["GET"]);
    at!(e, 1_200, Mine(8) => ["PUT 8 release"]);
    at!(e, 1_300, Reply::Conflict => ["GET"]);
    at!(e, 1_400, Mine(9) => ["PUT 9 release"]);
    at!(e, 1_500, Reply::Conflict => ["Finished Failed", "Done"]);
}

#[test]
fn b29_a_release_gives_up_when_its_budget_is_over() {
    let budget = Some(Duration::from_secs(5));
    let mut e = leading(Config {
        release_budget: budget,
        ..A
    });
    at!(e, 1_000, Stop => ["Stopped Stopped", "PUT 7 release", "wait 5000"]);
    at!(e, 5_000 => ["Cancel", "GET", "wait 6000"]);
    e.go_to(6_000);
    let seen = e.settle();
    assert!(seen.contains(&"Finished Unknown".to_owned()), "{seen:?}");
    assert!(e.is_done());
}

#[test]
fn b29_a_release_whose_answer_got_lost_is_looked_for() {
    let mut e = leading(A);
    at!(e, 1_000, Stop => ["Stopped Stopped", "PUT 7 release"]);
    let lease = Lease::written(e.write(), 8);
    at!(e, 1_100, Failure::Unknown => []);
    at!(e, 3_000 => ["GET"]);
    at!(e, 3_100, lease => ["Finished Released", "Done"]);
}

#[test]
fn b31_a_release_is_a_record_that_every_server_takes() {
    let mut e = leading(A);
    at!(e, 1_000, Stop => ["Stopped Stopped", "PUT 7 release"]);
    let (write, claim) = (e.write(), e.last_claim());
    assert_eq!(write.holder, "");
    assert_eq!(write.duration, 1);
    assert_eq!(write.transitions, Some(5));
    assert_eq!(write.acquire_time, claim.acquire_time);
    assert!(write.renew_time > claim.renew_time);
}

#[test]
fn b33_a_late_stop_looks_before_it_would_release() {
    let mut e = leading(A);
    e.be_late_until(40_000);
    at!(e, 40_000, Stop => ["Stopped Deadline", "GET"]);
    at!(e, 40_100, held_by("B", 9) => ["Leader B", "Finished NotHolder", "Done"]);
}

#[test]
fn b33_a_late_stop_releases_what_is_still_its_own() {
    let mut e = leading(A);
    e.be_late_until(40_000);
    at!(e, 40_000, Stop => ["Stopped Deadline", "GET"]);
    at!(e, 40_100, Mine(7) => ["PUT 7 release"]);
    at!(e, 40_200, Accepted(8) => ["Finished Released", "Done"]);
}

#[test]
fn b33_a_release_after_the_deadline_waits_for_the_work_to_cease() {
    let mut e = leading(A);
    e.be_late_until(11_000);
    at!(e, 11_000, Stop => ["Stopped Deadline", "wait 12500"]);
    at!(e, 12_500 => ["GET"]);
    at!(e, 12_600, Mine(7) => ["PUT 7 release"]);
}

#[test]
fn b33_a_release_that_meets_another_holder_leaves_it_alone() {
    let mut e = leading(A);
    at!(e, 1_000, Stop => ["Stopped Stopped", "PUT 7 release"]);
    at!(e, 1_100, Reply::Conflict => ["GET"]);
    at!(e, 1_200, held_by("B", 9) => ["Leader B", "Finished NotHolder", "Done"]);
}

#[test]
fn b33_a_release_that_finds_no_lease_has_nothing_to_do() {
    let mut e = leading(A);
    at!(e, 1_000, Stop => ["Stopped Stopped", "PUT 7 release"]);
    at!(e, 1_100, Reply::Conflict => ["GET"]);
    at!(e, 1_200, Reply::LeaseMissing => ["Finished NotHolder", "Done"]);
}

#[test]
fn b35_stop_when_idle_renews_until_the_work_is_done() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_100, Accepted(8) => []);
    at!(e, 3_000, StopWhenIdle => ["wait 4000"]);
    at!(e, 4_000 => ["PUT 8 renew"]);
    at!(e, 4_100, Accepted(9) => []);
    at!(e, 6_000 => ["PUT 9 renew"]);
    at!(e, 6_100, Accepted(10) => []);
    at!(e, 7_000, WorkDone => ["Stopped Stopped", "PUT 10 release"]);
    at!(e, 7_100, Accepted(11) => ["Finished Released", "Done"]);
}

#[test]
fn b35_work_that_never_ends_does_not_outlast_the_deadline() {
    let mut e = leading(A);
    e.take(StopWhenIdle);
    let seen = run(&mut e, 60_000, 10, |_, _| Failure::Unknown.into());
    let end: Vec<_> = seen
        .iter()
        .filter(|(at, _)| *at >= 10_000)
        .map(|it| &it.1)
        .collect();
    assert_eq!(end, ["Stopped Deadline", "Finished NotHolder", "Done"]);
}

#[test]
fn b35_a_loss_while_waiting_for_the_work_ends_without_a_release() {
    let mut e = leading(A);
    e.take(StopWhenIdle);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_100, Reply::Conflict => ["GET"]);
    let end = ["Stopped Lost", "Leader B", "Finished NotHolder", "Done"];
    e.go_to(2_200);
    e.take(held_by("B", 9));
    e.expect(&end);
}

#[test]
fn b35_whoever_does_not_lead_has_no_work_to_wait_for() {
    let mut e = Driver::new(A);
    at!(e, 0, StopWhenIdle => ["Finished NotHolder", "Done"]);
    let mut e = standby(A);
    at!(e, 100, StopWhenIdle => ["Finished NotHolder", "Done"]);
}

#[test]
fn a_stop_with_a_renewal_unanswered_leaves_no_ghost() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_100, Stop => ["Stopped Stopped", "Cancel", "GET"]);
    at!(e, 2_200, Mine(8) => ["PUT 8 release"]);
    at!(e, 2_300, Accepted(9) => ["Finished Released", "Done"]);
}

#[test]
fn a_stop_with_an_acquisition_unanswered_leaves_no_ghost() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 0, released(6) => ["PUT 6 acquire"]);
    at!(e, 100, Stop => ["Cancel", "GET"]);
    at!(e, 200, Mine(7) => ["PUT 7 release"]);
    at!(e, 300, Accepted(8) => ["Finished Released", "Done"]);
}

#[test]
fn a_stop_with_a_creation_unanswered_leaves_no_ghost() {
    let mut e = Driver::new(A);
    at!(e, 0 => ["GET"]);
    at!(e, 0, Reply::LeaseMissing => ["POST"]);
    at!(e, 100, Stop => ["Cancel", "GET"]);
    at!(e, 200, Reply::LeaseMissing => ["Finished NotHolder", "Done"]);
}

#[test]
fn a_stop_during_the_release_of_a_step_down_ends_after_it() {
    let mut e = leading(A);
    at!(e, 1_000, StepDown(30_000) => ["Stopped SteppedDown", "PUT 7 release"]);
    at!(e, 1_100, Stop => []);
    at!(e, 1_200, Accepted(8) => ["Finished Released", "Done"]);
}

#[test]
fn a_machine_that_has_ended_takes_every_call_and_does_nothing() {
    let mut e = standby(A);
    at!(e, 0, Stop => ["Finished NotHolder", "Done"]);
    for call in [Stop, StopWhenIdle, WorkDone, StepDown(5)] {
        at!(e, 100, call => ["Done"]);
    }
}
