//! Watch mode: lines go in.

use kubelease_core::elector::Config;
use kubelease_core::protocol::{RequestId, StaleRequest, WatchEvent};

use super::Driver;
use crate::seen::Sent;
use crate::subject::Subject;

impl Driver {
    /// An elector in watch mode that starts now.
    ///
    /// # Panics
    /// Where the config is refused.
    #[must_use]
    pub fn watching(config: Config<'static>) -> Self {
        let mut driver = Self::new(config);
        driver.machine.watch();
        driver
    }
}

impl<M: Subject> Driver<M> {
    /// Gives a line to the watch in flight.
    ///
    /// # Panics
    /// Where none is, or the line is refused.
    #[track_caller]
    pub fn tell(&mut self, event: WatchEvent<'_>) {
        let id = self.flight().id;
        self.tell_of(id, event).expect("the line in time");
    }

    /// Gives a line to any watch.
    ///
    /// # Errors
    /// What the machine says of it.
    #[track_caller]
    pub fn tell_of(&mut self, id: RequestId, event: WatchEvent<'_>) -> Result<(), StaleRequest> {
        let (now, before) = (self.now(), self.machine.clone());
        let is_watch = self
            .flight_if_any()
            .is_some_and(|flight| flight.watch.is_some());
        let may_live = self.may_live(id).map(|live| live && is_watch);
        let result = self.machine.handle_watch(now, id, event);
        let watch = self.machine.in_flight().map(Sent::from);
        self.after_answer(&before, may_live, result, |book| {
            book.hear(event, watch);
        });
        result
    }

    /// Turns watch mode on.
    pub fn watch(&mut self) {
        self.machine.watch();
    }
}
