//! Lines of a watch, as a process takes them.

use kubelease_core::lease::RecordTime;
use kubelease_core::protocol::{RequestId, WatchEvent};

use super::Process;
use crate::subject::Subject;

impl<M: Subject> Process<M> {
    /// Gives the machine a line of its watch; says whether it was taken.
    ///
    /// # Errors
    /// The law that was broken.
    pub fn hear(
        &mut self,
        at_us: u64,
        id: RequestId,
        event: WatchEvent<'_>,
    ) -> Result<bool, String> {
        let now = self.noisy(at_us);
        let is_watch = self.flight.is_some_and(|flight| flight.is_watch);
        let live = self.pass(now.instant) && self.is_live(id) && is_watch;
        let Some(machine) = &mut self.machine else {
            return Ok(false);
        };
        let lawyer = self.lawyer.as_mut();
        let watched = lawyer.map(|lawyer| (lawyer.before_input(machine, now), lawyer));
        let taken = machine.handle_watch(now, id, event).is_ok();
        if let Some((before, lawyer)) = watched {
            lawyer.after_line(&before, machine, now, taken.then_some(event));
        }
        if taken != live {
            return Err(format!(
                "L5: the line for {id:?} is live: {live}, taken: {taken}"
            ));
        }
        let deadline = machine.in_flight().map(|request| request.deadline);
        if let (true, Some(flight), Some(deadline)) = (taken, &mut self.flight, deadline) {
            flight.deadline = deadline;
        }
        if let (true, WatchEvent::Changed(record)) = (taken, event) {
            let spec = record.spec.as_ref();
            self.read_time = spec.map_or(RecordTime::Absent, |spec| spec.renew_time);
        }
        self.check_until()?;
        Ok(taken)
    }
}
