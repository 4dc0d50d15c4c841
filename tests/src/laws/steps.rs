//! The laws that every machine keeps, L1 to L6 and L8, whatever it is about.

use kubelease_core::protocol::{Failure, Reply, RequestId, Response};
use kubelease_core::time::{Duration, Instant, Now};

use crate::book::{CLAMPED_STEP_BACK, Flight, INSTANT_MAX};
use crate::driven::{Driven, Ledger};
use crate::driver::POLLS_MAX;
use crate::seen::{Seen, Sent};

pub(super) const TICK: Duration = Duration::from_millis(1);

/// L4: within one turn the outputs come in order. Returns the place reached.
#[track_caller]
pub fn order(reached: u8, seen: &Seen) -> u8 {
    let rank = seen.rank();
    assert!(
        reached <= rank,
        "L4: {seen:?} comes after something later in the order"
    );
    rank
}

/// All laws of any machine that has nothing to do; `now` is the largest instant that counts, and
/// `last` what the last poll at `polled` said.
#[track_caller]
pub(crate) fn steady<M: Driven>(
    machine: &M,
    ledger: &impl Ledger<M>,
    last: &Seen,
    polled: Now,
    now: Now,
) {
    repeats(machine, last, polled);
    if let Seen::Wait(at) = last {
        waits(machine, *at, now);
    }
    let flight = machine.in_flight().map(Sent::from);
    let noted = ledger.flight().map(|flight| flight.sent.clone());
    assert_eq!(
        flight, noted,
        "L5: in_flight() is not the request handed out"
    );
    if let Some(flight) = ledger.flight() {
        expires(machine, flight, last, now);
    }
    let unknown = RequestId::from_number(u32::MAX);
    for id in ledger.dead().into_iter().chain([unknown]) {
        refuses(machine, id, now);
    }
    steps_back(machine, last, now);
    ignores_the_absurd(machine, last, now);
}

/// L1: polling again says the same.
#[track_caller]
fn repeats<M: Driven>(machine: &M, last: &Seen, now: Now) {
    let mut again = machine.clone();
    for _ in 0..2 {
        assert_eq!(
            Seen::from(again.poll(now)),
            *last,
            "L1: polling again says something else"
        );
    }
}

/// L2 and L3: something happens at `at`, and nothing before.
#[track_caller]
fn waits<M: Driven>(machine: &M, at: Instant, now: Now) {
    assert!(at > now.instant, "L2: a wait that is over");
    let span = at.saturating_since(now.instant);
    let mut early = machine.clone();
    for before in [span, span.half().max(TICK), TICK] {
        let moment = at.saturating_sub(before).max(now.instant);
        if moment > INSTANT_MAX {
            continue;
        }
        let seen = Seen::from(early.poll(later(now, moment)));
        assert_eq!(seen, Seen::Wait(at), "L3: polling early changed the output");
    }
    if at > INSTANT_MAX {
        return;
    }
    for moment in [at, at.saturating_add(Duration::from_secs(3_600))] {
        if moment > INSTANT_MAX {
            continue;
        }
        let mut due = machine.clone();
        let first = Seen::from(due.poll(later(now, moment)));
        let waits = matches!(first, Seen::Wait(next) if next <= at);
        assert!(!waits, "L2: nothing happens at {at:?}");
        if !first.is_settled() {
            drain(&mut due, later(now, moment));
        }
    }
}

/// L5: the request in flight is alive before its deadline and dead at it.
#[track_caller]
fn expires<M: Driven>(machine: &M, flight: &Flight, last: &Seen, now: Now) {
    let (id, deadline) = (flight.sent.id, flight.sent.deadline);
    assert!(
        matches!(last, Seen::Wait(at) if *at <= deadline),
        "L5: the deadline {deadline:?} is not inside {last:?}"
    );
    if deadline > INSTANT_MAX {
        return;
    }
    let before = deadline.saturating_sub(TICK).max(now.instant);
    let result = machine
        .clone()
        .handle_failure(later(now, before), id, Failure::Unknown);
    assert!(
        result.is_ok(),
        "L5: an answer before the deadline was refused"
    );
    let at_deadline = later(now, deadline);
    refuses(machine, id, at_deadline);
    let mut expired = machine.clone();
    let outputs = drain(&mut expired, at_deadline);
    assert!(
        outputs.contains(&Seen::Cancel(id)),
        "L5: no Cancel at the deadline"
    );
    refuses(&expired, id, at_deadline);
}

/// L5 and L8: an answer to `id` is an error and changes nothing.
#[track_caller]
fn refuses<M: Driven>(machine: &M, id: RequestId, now: Now) {
    let mut asked = machine.clone();
    let result = asked.handle_response(now, id, Response::new(Reply::LeaseMissing));
    assert!(result.is_err(), "L5: an answer to a dead id was taken");
    unchanged(machine, &asked, now, false);
    let mut asked = machine.clone();
    let result = asked.handle_failure(now, id, Failure::NotSent);
    assert!(result.is_err(), "L5: a failure of a dead id was taken");
    unchanged(machine, &asked, now, false);
}

/// L6: a step back of up to a second changes nothing.
#[track_caller]
fn steps_back<M: Driven>(machine: &M, last: &Seen, now: Now) {
    for back in [TICK, CLAMPED_STEP_BACK] {
        let moment = now.instant.saturating_sub(back);
        let seen = Seen::from(machine.clone().poll(later(now, moment)));
        assert_eq!(seen, *last, "L6: a small step back changed the output");
    }
}

/// L6: an instant above 2⁶² is ignored.
#[track_caller]
fn ignores_the_absurd<M: Driven>(machine: &M, last: &Seen, now: Now) {
    for absurd in [INSTANT_MAX.as_millis() + 1, u64::MAX] {
        let mut told = machine.clone();
        let seen = Seen::from(told.poll(later(now, Instant::from_millis(absurd))));
        assert_eq!(seen, *last, "L6: an absurd instant changed the output");
        let seen = Seen::from(told.poll(now));
        assert_eq!(seen, *last, "L6: an absurd instant was remembered");
    }
}

/// L8: the two machines can't be told apart, now or later.
#[track_caller]
pub fn unchanged<M: Driven>(before: &M, after: &M, now: Now, reset: bool) {
    // The call applied time, so that the answers which need a poll are compared after one.
    if !reset {
        let outlooks = (before.outlook(now), after.outlook(now));
        assert_eq!(
            outlooks.0, outlooks.1,
            "L8: an error changed what lies ahead"
        );
    }
    let (mut before, mut after) = (before.clone(), after.clone());
    let outputs = drain(&mut before, now);
    assert_eq!(
        outputs,
        drain(&mut after, now),
        "L8: an error changed the outputs"
    );
    assert_eq!(
        before.view(now),
        after.view(now),
        "L8: an error changed what follows"
    );
}

/// Polls until there is nothing to do, and checks the order.
#[track_caller]
pub(crate) fn drain<M: Driven>(machine: &mut M, now: Now) -> Vec<Seen> {
    let (mut outputs, mut reached) = (Vec::new(), 0);
    while outputs.len() < POLLS_MAX {
        let seen = Seen::from(machine.poll(now));
        reached = order(reached, &seen);
        let settled = seen.is_settled();
        outputs.push(seen);
        if settled {
            return outputs;
        }
    }
    panic!("L1: no wait after {POLLS_MAX} polls: {outputs:#?}")
}

pub(crate) fn later(now: Now, instant: Instant) -> Now {
    Now { instant, ..now }
}
