//! The laws L1 to L8 of the machine contract, as checks on any elector.
//!
//! What needs another input to be seen is tried on clones, so that checking changes nothing.

mod steps;

pub(crate) use steps::steady;
use steps::{TICK, drain, later};
pub use steps::{order, unchanged};

use kubelease_core::elector::Timing;
use kubelease_core::protocol::{Changes, Event, RequestId, StopReason, WatchEvent};
use kubelease_core::time::{Duration, Instant, Now};

use crate::book::{Book, CLAMPED_STEP_BACK, INSTANT_MAX};
use crate::seen::{Seen, Sent, WriteKind};
use crate::subject::Subject;

/// Longest silence of a watch, where the retry period is not longer.
const SILENCE_MAX: Duration = Duration::from_secs(90);

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
    truth(machine, book, timing, effective.instant);
    steady(machine, book, last, now, effective);
    if let Some(flight) = &book.flight {
        let (id, deadline) = (flight.sent.id, flight.sent.deadline);
        if flight.sent.watch.is_none() {
            hears_nothing(machine, id, effective);
        }
        if deadline <= INSTANT_MAX {
            hears_nothing(machine, id, later(effective, deadline));
        }
    }
    let unknown = RequestId::from_number(u32::MAX);
    for id in book.dead.iter().copied().chain([unknown]) {
        hears_nothing(machine, id, effective);
    }
    resets(machine, book, last, effective);
}

/// L5 and L8: a line of a watch that is none, or not any more, is an error and changes nothing.
#[track_caller]
fn hears_nothing<M: Subject>(machine: &M, id: RequestId, now: Now) {
    let mut told = machine.clone();
    let result = told.handle_watch(now, id, WatchEvent::Error);
    assert!(result.is_err(), "L5: a line of a dead watch was taken");
    unchanged(machine, &told, now, false);
}

/// L6: a longer step back is a reset, which ends leadership.
#[track_caller]
fn resets<M: Subject>(machine: &M, book: &Book, last: &Seen, now: Now) {
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
