//! The driver notices an elector that breaks a law: one faulty elector for each way to break one.
#![allow(clippy::unwrap_used, reason = "tests may")]

use kubelease_core::elector::Elector;
use kubelease_core::time::Now;
use kubelease_tests::faulty::{Fault, Faulty};
use kubelease_tests::prelude::*;

/// A whole life: an election, renewals, a lost answer, a loss, a second term, a release.
fn live<M: Subject>(mut e: Driver<M>) {
    e.settle();
    e.take(released(6));
    e.settle();
    e.go_to(50);
    e.take(Accepted(7));
    e.settle();
    e.go_to(2_000);
    e.settle();
    e.take(Accepted(8));
    e.settle();
    e.go_to(4_000);
    e.settle();
    e.go_to(8_000);
    e.settle();
    e.take(released(9));
    e.settle();
    e.take(Accepted(10));
    e.settle();
    e.take(Stop);
    e.settle();
    e.take(Accepted(11));
    e.settle();
    assert!(e.is_done());
}

fn faulty(fault: Fault) -> Driver<Faulty> {
    let wall = Driver::new(A).now().wall;
    let now = Now {
        instant: Instant::from_millis(ORIGIN),
        wall,
    };
    let inner = Elector::new(A, now).unwrap();
    Driver::around(Faulty::new(inner, fault), &A)
}

#[test]
fn an_elector_without_a_fault_keeps_all_laws() {
    live(Driver::new(A));
}

#[test]
#[should_panic(expected = "L1: no wait after")]
fn l1_talking_without_end_is_noticed() {
    live(faulty(Fault::TalksWithoutEnd));
}

#[test]
#[should_panic(expected = "L1: polling again says something else")]
fn l1_a_wait_that_moves_is_noticed() {
    live(faulty(Fault::PutsTheWaitOff));
}

#[test]
#[should_panic(expected = "L2: nothing happens at")]
fn l2_oversleeping_is_noticed() {
    live(faulty(Fault::OversleepsItsWait));
}

#[test]
#[should_panic(expected = "L3: polling early changed the output")]
fn l3_acting_before_the_wait_is_over_is_noticed() {
    live(faulty(Fault::ActsBeforeItsWait));
}

#[test]
#[should_panic(expected = "L4: a write of a new term or a release before StoppedLeading")]
fn l4_a_write_before_the_stop_is_told_is_noticed() {
    live(faulty(Fault::SendsBeforeItStops));
}

#[test]
#[should_panic(expected = "L4: leadership without its event")]
fn l4_a_start_that_is_not_told_is_noticed() {
    live(faulty(Fault::SwallowsTheStart));
}

#[test]
#[should_panic(expected = "L5: a deadline past the request timeout")]
fn l5_a_request_with_too_much_time_is_noticed() {
    live(faulty(Fault::GivesRequestsMoreTime));
}

#[test]
#[should_panic(expected = "L5: an answer to a dead id was taken")]
fn l5_taking_a_dead_answer_is_noticed() {
    live(faulty(Fault::TakesDeadAnswers));
}

#[test]
#[should_panic(expected = "L6: a small step back changed the output")]
fn l6_a_fright_at_clock_noise_is_noticed() {
    live(faulty(Fault::JumpsAtSmallStepsBack));
}

#[test]
#[should_panic(expected = "L6: a reset clock ends a term")]
fn l6_an_overlooked_reset_is_noticed() {
    live(faulty(Fault::OverlooksAReset));
}

#[test]
#[should_panic(expected = "L6: an absurd instant changed the output")]
fn l6_belief_in_absurd_instants_is_noticed() {
    live(faulty(Fault::BelievesAbsurdTimes));
}

#[test]
#[should_panic(expected = "L7: is_leading(")]
fn l7_leading_a_millisecond_too_long_is_noticed() {
    live(faulty(Fault::LeadsTooLong));
}

#[test]
#[should_panic(expected = "L7: leading_until()")]
fn l7_counting_from_the_answer_is_noticed() {
    live(faulty(Fault::CountsFromTheAnswer));
}

#[test]
#[should_panic(expected = "L8: an error changed")]
fn l8_a_trace_of_a_refused_answer_is_noticed() {
    live(faulty(Fault::RemembersWhatItRefused));
}
