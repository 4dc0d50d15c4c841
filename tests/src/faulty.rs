//! [`Faulty`]: an elector that breaks one law, to show that the driver notices.

use kubelease_core::elector::Elector;
use kubelease_core::lease::Fence;
use kubelease_core::machine::{Machine, Watches};
use kubelease_core::protocol::{
    Event, Failure, Operation, Output, Request, RequestId, Response, StaleRequest, StopReason,
    WatchEvent,
};
use kubelease_core::time::{Duration, Instant, Now};

use crate::subject::Subject;

/// Which law is broken, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// L1: events without end.
    TalksWithoutEnd,
    /// L1: each poll puts the wait off.
    PutsTheWaitOff,
    /// L2: nothing happens when the wait is over.
    OversleepsItsWait,
    /// L3: something happens before the wait is over.
    ActsBeforeItsWait,
    /// L4: a request leaves before the event of the stop.
    SendsBeforeItStops,
    /// L4: a stop without its start.
    SwallowsTheStart,
    /// L5: a request outlives leadership.
    GivesRequestsMoreTime,
    /// L5: an answer that is dead is taken.
    TakesDeadAnswers,
    /// L6: a small step of the clock is taken for a reset.
    JumpsAtSmallStepsBack,
    /// L6: a reset of the clock goes unnoticed.
    OverlooksAReset,
    /// L6: an instant far away is believed.
    BelievesAbsurdTimes,
    /// L7: leadership lasts a millisecond too long.
    LeadsTooLong,
    /// L7: leadership counts from the answer, not from the request.
    CountsFromTheAnswer,
    /// L8: a refused answer leaves a trace.
    RemembersWhatItRefused,
}

/// An elector with a fault.
#[derive(Clone, Debug)]
pub struct Faulty {
    inner: Elector<'static>,
    fault: Fault,
    largest: Instant,
    polls: u64,
    held_back: Option<Event>,
    sent_at: Instant,
    extra: Duration,
}

impl Faulty {
    /// `inner` with that fault.
    #[must_use]
    pub fn new(inner: Elector<'static>, fault: Fault) -> Self {
        Self {
            inner,
            fault,
            largest: Instant::default(),
            polls: 0,
            held_back: None,
            sent_at: Instant::default(),
            extra: Duration::ZERO,
        }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    /// The time that the elector inside is told.
    fn bend(&mut self, mut now: Now) -> Now {
        let back = self.largest.saturating_since(now.instant);
        if self.has(Fault::OverlooksAReset) {
            now.instant = now.instant.max(self.largest);
        }
        if self.has(Fault::JumpsAtSmallStepsBack) && back > Duration::ZERO {
            now.instant = now.instant.saturating_sub(Duration::from_secs(2));
        }
        if self.has(Fault::BelievesAbsurdTimes) && now.instant.as_millis() > 1 << 62 {
            now.instant = self.largest.saturating_add(Duration::from_secs(3_600));
        }
        self.largest = self.largest.max(now.instant);
        now
    }
}

const WAIT_MORE: Duration = Duration::from_millis(500);

impl Machine for Faulty {
    fn poll(&mut self, now: Now) -> Output<'_> {
        let now = self.bend(now);
        self.polls += 1;
        if self.has(Fault::TalksWithoutEnd) {
            return Output::Event(Event::ReconnectAdvised);
        }
        if self.has(Fault::SendsBeforeItStops) {
            return self.send_before_stopping(now);
        }
        if self.has(Fault::SwallowsTheStart) {
            let mut ahead = self.inner.clone();
            if let Output::Event(Event::StartedLeading { .. }) = ahead.poll(now) {
                self.inner = ahead;
            }
        }
        let (fault, polls) = (self.fault, self.polls);
        match self.inner.poll(now) {
            Output::WaitUntil(at) if fault == Fault::PutsTheWaitOff => {
                Output::WaitUntil(at.saturating_add(Duration::from_millis(polls)))
            }
            Output::WaitUntil(at) if fault == Fault::ActsBeforeItsWait => {
                Output::WaitUntil(at.saturating_add(WAIT_MORE))
            }
            Output::WaitUntil(at) if fault == Fault::OversleepsItsWait => {
                Output::WaitUntil(at.saturating_sub(WAIT_MORE))
            }
            Output::Request(request) if fault == Fault::CountsFromTheAnswer => {
                self.sent_at = now.instant;
                Output::Request(request)
            }
            Output::Request(request) if fault == Fault::GivesRequestsMoreTime => {
                let deadline = request.deadline.saturating_add(WAIT_MORE);
                Output::Request(Request {
                    deadline,
                    ..request
                })
            }
            output @ (Output::Event(_)
            | Output::Cancel(_)
            | Output::Request(_)
            | Output::WaitUntil(_)
            | Output::Done) => output,
        }
    }

    fn handle_response(
        &mut self,
        now: Now,
        id: RequestId,
        response: Response<'_>,
    ) -> Result<(), StaleRequest> {
        let now = self.bend(now);
        if self.has(Fault::CountsFromTheAnswer)
            && let Some(flight) = self.inner.in_flight()
            && !matches!(flight.operation, Operation::Get)
        {
            self.extra = now.instant.saturating_since(self.sent_at);
        }
        let result = self.inner.handle_response(now, id, response);
        if result.is_err() && self.has(Fault::RemembersWhatItRefused) {
            self.inner.step_down(now, Duration::from_secs(60));
        }
        if self.has(Fault::TakesDeadAnswers) {
            Ok(())
        } else {
            result
        }
    }

    fn handle_failure(
        &mut self,
        now: Now,
        id: RequestId,
        failure: Failure,
    ) -> Result<(), StaleRequest> {
        let now = self.bend(now);
        self.inner.handle_failure(now, id, failure)
    }

    fn in_flight(&self) -> Option<Request<'_>> {
        self.inner.in_flight()
    }

    fn handle_watch(
        &mut self,
        now: Now,
        id: RequestId,
        event: WatchEvent<'_>,
    ) -> Result<(), StaleRequest> {
        let now = self.bend(now);
        self.inner.handle_watch(now, id, event)
    }
}

impl Watches for Faulty {
    fn watch(&mut self) {
        self.inner.watch();
    }
}

impl Faulty {
    /// Holds the event of a stop back until a request has left.
    fn send_before_stopping(&mut self, now: Now) -> Output<'_> {
        if let Some(event) = self.held_back.take_if(|_| self.inner.in_flight().is_some()) {
            return Output::Event(event);
        }
        let mut ahead = self.inner.clone();
        let mut held = None;
        if let Output::Event(event @ Event::StoppedLeading { reason, .. }) = ahead.poll(now)
            && matches!(reason, StopReason::Lost | StopReason::Stopped)
        {
            held = Some(event);
        }
        if let Some(event) = held {
            self.held_back = Some(event);
            self.inner = ahead;
        }
        self.inner.poll(now)
    }
}

impl Subject for Faulty {
    fn step_down(&mut self, now: Now, cooldown: Duration) {
        let now = self.bend(now);
        self.inner.step_down(now, cooldown);
    }

    fn stop(&mut self, now: Now) {
        let now = self.bend(now);
        self.inner.stop(now);
    }

    fn stop_when_idle(&mut self, now: Now) {
        let now = self.bend(now);
        self.inner.stop_when_idle(now);
    }

    fn work_done(&mut self, now: Now) {
        let now = self.bend(now);
        self.inner.work_done(now);
    }

    fn is_leading(&self, at: Instant) -> bool {
        let early = at.saturating_sub(Duration::from_millis(1));
        let late = self.has(Fault::LeadsTooLong) && self.inner.is_leading(early);
        let counted = self.inner.is_leading(at.saturating_sub(self.extra));
        late || counted || self.inner.is_leading(at)
    }

    fn leading_until(&self) -> Option<Instant> {
        Some(self.inner.leading_until()?.saturating_add(self.extra))
    }

    fn fence(&self) -> Option<Fence> {
        self.inner.fence()
    }

    fn leader(&self) -> Option<&str> {
        self.inner.leader()
    }

    fn term(&self) -> u64 {
        self.inner.term()
    }
}
