//! What a process checks of its machine on every step, because it costs next to nothing.

use kubelease_core::protocol::{Event, Output, RequestId, StopReason};
use kubelease_core::time::{Duration, Instant};

use super::{Flight, Process, Watch};
use crate::subject::Subject;

impl<M: Subject> Process<M> {
    /// Leadership may end at any time. It gets longer by an acknowledgement only, which
    /// `check_truth` has seen.
    pub(super) fn check_until(&mut self) -> Result<(), String> {
        let until = self.machine.as_ref().and_then(Subject::leading_until);
        if self.watch != Watch::Nothing && until.is_some() && until != self.until {
            return Err(format!(
                "L7: leadership went from {:?} to {until:?}",
                self.until
            ));
        }
        self.until = until;
        Ok(())
    }

    /// A write was answered by a lease: leadership counts from the poll that handed it out.
    pub(super) fn check_truth(
        &mut self,
        flight: Option<Flight>,
        version: u64,
    ) -> Result<(), String> {
        let until = self.machine.as_ref().and_then(Subject::leading_until);
        if until.is_none() || until == self.until {
            return Ok(());
        }
        let sent = flight
            .filter(|flight| flight.claims)
            .map(|flight| flight.sent);
        let expected = sent.map(|sent| sent.saturating_add(self.config.timing.renew_deadline));
        if self.watch != Watch::Nothing && until != expected {
            return Err(format!(
                "L7: leads until {until:?}, where {expected:?} was earned"
            ));
        }
        self.until = until;
        self.acked = version;
        Ok(())
    }

    pub(super) fn check_event(&mut self, event: Event) -> Result<(), String> {
        if let Event::StartedLeading { term } = event
            && let Some(before) = self.announced.replace(term)
        {
            return Err(format!("L4: term {term} starts within term {before}"));
        }
        if let Event::StoppedLeading {
            term,
            reason,
            must_cease_by,
        } = event
        {
            if self.announced.take() != Some(term) {
                return Err(format!("L4: term {term} stops and never started"));
            }
            if reason != StopReason::Deadline && must_cease_by > self.largest {
                return Err(format!(
                    "work may go on until {must_cease_by:?} after {reason:?}"
                ));
            }
        }
        Ok(())
    }

    pub(super) fn is_live(&self, id: RequestId) -> bool {
        self.flight
            .is_some_and(|flight| flight.id == id && self.largest < flight.deadline)
    }

    /// Notes the time of a call; says whether the clock went on.
    pub(super) fn pass(&mut self, instant: Instant) -> bool {
        let went_on = instant.saturating_add(Duration::from_secs(1)) >= self.largest;
        self.largest = if went_on {
            self.largest.max(instant)
        } else {
            instant
        };
        if !went_on {
            self.until = None;
        }
        if self.until.is_some_and(|until| self.largest >= until) {
            self.until = None;
        }
        went_on
    }
}

/// The place of an output in the order of law L4.
pub(super) const fn rank(output: &Output<'_>) -> u8 {
    match output {
        Output::Event(Event::StoppedLeading { .. }) => 0,
        Output::Event(_) => 1,
        Output::Cancel(_) => 2,
        Output::Request(_) => 3,
        Output::WaitUntil(_) | Output::Done => 4,
    }
}
