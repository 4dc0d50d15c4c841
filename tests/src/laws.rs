//! The laws L1 to L8 of the machine contract, as checks on any elector.
//!
//! What needs another input to be seen is tried on clones, so that checking changes nothing.

use kubelease_core::elector::Timing;
use kubelease_core::lease::Fence;
use kubelease_core::protocol::{
    Changes, Event, Failure, Reply, RequestId, Response, StopReason, WatchEvent,
};
use kubelease_core::time::{Duration, Instant, Now};

use crate::book::{Book, CLAMPED_STEP_BACK, Flight, INSTANT_MAX};
use crate::driver::POLLS_MAX;
use crate::seen::{Seen, Sent, WriteKind};
use crate::subject::Subject;

const TICK: Duration = Duration::from_millis(1);

/// Longest silence of a watch, where the retry period is not longer.
const SILENCE_MAX: Duration = Duration::from_secs(90);

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

/// Checks one output against the book, and notes it there.
#[track_caller]
pub fn output(book: &mut Book, seen: &Seen, now: Now, timing: &Timing) {
    match seen {
        Seen::Event(event) => note_event(book, *event, timing),
        Seen::Cancel(id) => {
            let flight = book.close().map(|flight| flight.sent.id);
            assert_eq!(flight, Some(*id), "L5: a cancel of what is not in flight");
        }
        Seen::Request(sent) => {
            assert!(book.flight.is_none(), "L5: two requests in flight");
            assert!(!book.dead.contains(&sent.id), "L5: an id came back");
            check_request(book, sent, now, timing);
            book.send(sent.clone(), now.instant);
        }
        Seen::Wait(_) => {}
        Seen::Done => {
            assert_eq!(
                book.announced, None,
                "L4: the end came before StoppedLeading"
            );
            assert!(book.flight.is_none(), "L5: the end came before the Cancel");
        }
    }
}

#[track_caller]
fn note_event(book: &mut Book, event: Event, timing: &Timing) {
    if let Event::StartedLeading { term } = event {
        assert_eq!(book.announced, None, "L4: StartedLeading twice");
        let claim = book.belief.is_some();
        assert!(claim, "L7: StartedLeading without an acknowledged write");
        book.announced = Some(term);
    }
    let Event::StoppedLeading {
        term,
        reason,
        must_cease_by,
    } = event
    else {
        return;
    };
    let told = book.announced.take();
    assert_eq!(
        told,
        Some(term),
        "L4: StoppedLeading without StartedLeading"
    );
    let claim = book.belief.is_some();
    assert!(!claim, "L7: StoppedLeading({reason:?}) without a reason");
    // What is told after a reset of the clock has no end on the new clock but now.
    let until = book.last_until.filter(|_| reason == StopReason::Deadline);
    if let Some(until) = until {
        let spare = timing.lease_duration.saturating_sub(timing.renew_deadline);
        let end = until.saturating_add(spare.half());
        assert_eq!(must_cease_by, end, "rule 1: must_cease_by after a deadline");
    } else {
        let over = must_cease_by <= book.largest;
        assert!(over, "rule 1: must_cease_by is later than now");
    }
}

/// What any request must keep: its deadline, and what may leave while a term is announced.
#[track_caller]
fn check_request(book: &Book, sent: &Sent, now: Now, timing: &Timing) {
    let timeout = if sent.watch.is_some() {
        assert!(book.announced.is_none(), "rule 14: a leader watches");
        SILENCE_MAX.max(timing.retry_period)
    } else {
        timing.request_timeout
    };
    let plain = book.largest.saturating_add(timeout);
    if let Some(until) = book.leading_until() {
        assert_eq!(
            sent.deadline,
            plain.min(until),
            "L5: a leader's deadline, now {now:?}"
        );
    } else {
        assert!(
            sent.deadline <= plain,
            "L5: a deadline past the request timeout, now {now:?}"
        );
        assert!(
            sent.deadline > book.largest,
            "L5: a deadline that has passed, now {now:?}"
        );
    }
    let Some(write) = &sent.write else { return };
    if let WriteKind::Update { version, .. } = &write.kind {
        assert!(
            !version.resource_version.is_empty(),
            "rule 6: a write without a condition"
        );
    }
    if let Some((last, at)) = book.last_time.filter(|_| !write.is_release()) {
        // Past the year 9999 it is the wall's.
        let passed = book.largest.saturating_since(at).as_millis();
        let room = last.checked_add_millis(passed.saturating_add(1)).is_some();
        assert!(
            write.renew_time > last || !room,
            "rule 7: renewTime does not rise"
        );
    }
    let renews = write.changes() == Some(Changes::Renew);
    let recreates = write.version().is_none();
    if book.announced.is_some() {
        let leads = book.belief.is_some() && (renews || recreates);
        assert!(
            leads,
            "L4: a write of a new term or a release before StoppedLeading"
        );
    }
}

/// L1 to L3, L5 to L7 on a machine that has nothing to do at `now`.
#[track_caller]
pub fn settled<M: Subject>(machine: &M, book: &Book, timing: &Timing, last: &Seen, now: Now) {
    let effective = Now {
        instant: book.largest,
        ..now
    };
    repeats(machine, last, now);
    truth(machine, book, timing, effective.instant);
    if let Seen::Wait(at) = last {
        waits(machine, *at, effective);
    }
    let flight = machine.in_flight().map(Sent::from);
    let noted = book.flight.as_ref().map(|flight| flight.sent.clone());
    assert_eq!(
        flight, noted,
        "L5: in_flight() is not the request handed out"
    );
    if let Some(flight) = &book.flight {
        expires(machine, flight, last, effective);
        if flight.sent.watch.is_none() {
            hears_nothing(machine, flight.sent.id, effective);
        }
    }
    let unknown = RequestId::from_number(u32::MAX);
    for id in book.dead.iter().copied().chain([unknown]) {
        refuses(machine, id, effective);
    }
    steps_back(machine, book, last, effective);
    ignores_the_absurd(machine, last, effective);
}

/// L1: polling again says the same.
#[track_caller]
fn repeats<M: Subject>(machine: &M, last: &Seen, now: Now) {
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
fn waits<M: Subject>(machine: &M, at: Instant, now: Now) {
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
fn expires<M: Subject>(machine: &M, flight: &Flight, last: &Seen, now: Now) {
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
fn refuses<M: Subject>(machine: &M, id: RequestId, now: Now) {
    let mut asked = machine.clone();
    let result = asked.handle_response(now, id, Response::new(Reply::LeaseMissing));
    assert!(result.is_err(), "L5: an answer to a dead id was taken");
    unchanged(machine, &asked, now, false);
    let mut asked = machine.clone();
    let result = asked.handle_failure(now, id, Failure::NotSent);
    assert!(result.is_err(), "L5: a failure of a dead id was taken");
    unchanged(machine, &asked, now, false);
    hears_nothing(machine, id, now);
}

/// L5 and L8: a line of a watch that is none, or not any more, is an error and changes nothing.
#[track_caller]
fn hears_nothing<M: Subject>(machine: &M, id: RequestId, now: Now) {
    let mut told = machine.clone();
    let result = told.handle_watch(now, id, WatchEvent::Error);
    assert!(result.is_err(), "L5: a line of a dead watch was taken");
    unchanged(machine, &told, now, false);
}

/// L6: a step back of up to a second changes nothing, a longer one is a reset.
#[track_caller]
fn steps_back<M: Subject>(machine: &M, book: &Book, last: &Seen, now: Now) {
    for back in [TICK, CLAMPED_STEP_BACK] {
        let moment = now.instant.saturating_sub(back);
        let seen = Seen::from(machine.clone().poll(later(now, moment)));
        assert_eq!(seen, *last, "L6: a small step back changed the output");
    }
    let reset = CLAMPED_STEP_BACK.saturating_add(TICK);
    if now.instant.as_millis() < reset.as_millis() || *last == Seen::Done {
        return;
    }
    let moment = now.instant.saturating_sub(reset);
    let mut back = machine.clone();
    let outputs = drain(&mut back, later(now, moment));
    let stopped = outputs.iter().any(|seen| {
        matches!(
            seen,
            Seen::Event(Event::StoppedLeading {
                reason: StopReason::ClockReset,
                ..
            })
        )
    });
    assert_eq!(
        stopped,
        book.announced.is_some(),
        "L6: a reset clock ends a term"
    );
    assert_eq!(
        back.leading_until(),
        None,
        "L6: leadership outlived a reset clock"
    );
}

/// L6: an instant above 2⁶² is ignored.
#[track_caller]
fn ignores_the_absurd<M: Subject>(machine: &M, last: &Seen, now: Now) {
    for absurd in [INSTANT_MAX.as_millis() + 1, u64::MAX] {
        let mut told = machine.clone();
        let seen = Seen::from(told.poll(later(now, Instant::from_millis(absurd))));
        assert_eq!(seen, *last, "L6: an absurd instant changed the output");
        let seen = Seen::from(told.poll(now));
        assert_eq!(seen, *last, "L6: an absurd instant was remembered");
    }
}

/// L7: leadership is what the book says, to the millisecond.
#[track_caller]
fn truth<M: Subject>(machine: &M, book: &Book, timing: &Timing, now: Instant) {
    let until = book.leading_until();
    assert_eq!(
        machine.leading_until(),
        until,
        "L7: leading_until(), now {now:?}"
    );
    let leads = book.belief.is_some();
    assert_eq!(
        book.announced.is_some(),
        leads,
        "L4: leadership without its event"
    );
    let fence = machine.fence();
    let fence = fence.as_ref().map(|it| it.acquired_version.as_str());
    let acquired = book.belief.as_ref().map(|it| it.acquired_version.as_str());
    assert_eq!(fence, acquired, "L7: fence()");
    let (Some(belief), Some(until)) = (&book.belief, until) else {
        let moments = [Duration::ZERO, TICK, timing.renew_deadline];
        for after in moments {
            assert!(
                !machine.is_leading(now.saturating_add(after)),
                "L7: leads without a claim"
            );
        }
        return;
    };
    let sent = belief.sent_at;
    let moments = [
        (sent, true),
        (now, true),
        (until.saturating_sub(TICK), true),
        (until, false),
        (until.saturating_add(TICK), false),
        (Instant::from_millis(u64::MAX), false),
    ];
    let before = (sent > Instant::default()).then(|| (sent.saturating_sub(TICK), false));
    for (moment, leads) in moments.into_iter().chain(before) {
        assert_eq!(
            machine.is_leading(moment),
            leads,
            "L7: is_leading({moment:?})"
        );
    }
}

/// L8: the two machines can't be told apart, now or later.
#[track_caller]
pub fn unchanged<M: Subject>(before: &M, after: &M, now: Now, reset: bool) {
    // The call applied time, so that the answers which need a poll are compared after one.
    let moments = [0, 1, 1_000, 60_000].map(Duration::from_millis);
    for ahead in moments.into_iter().filter(|_| !reset) {
        let moment = now.instant.saturating_add(ahead);
        let leads = (before.is_leading(moment), after.is_leading(moment));
        assert_eq!(
            leads.0, leads.1,
            "L8: an error changed is_leading({moment:?})"
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
        observe(&before, now),
        observe(&after, now),
        "L8: an error changed what follows"
    );
}

#[derive(Debug, PartialEq, Eq)]
struct Observed {
    leads: bool,
    until: Option<Instant>,
    fence: Option<Fence>,
    leader: Option<String>,
    term: u64,
    flight: Option<Sent>,
}

fn observe<M: Subject>(machine: &M, now: Now) -> Observed {
    Observed {
        leads: machine.is_leading(now.instant),
        until: machine.leading_until(),
        fence: machine.fence(),
        leader: machine.leader().map(str::to_owned),
        term: machine.term(),
        flight: machine.in_flight().map(Sent::from),
    }
}

/// Polls until there is nothing to do, and checks the order.
#[track_caller]
fn drain<M: Subject>(machine: &mut M, now: Now) -> Vec<Seen> {
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

fn later(now: Now, instant: Instant) -> Now {
    Now { instant, ..now }
}
