//! [`Lawyer`]: all laws of the machine contract, asserted by the shared harness on every step of a
//! process. It costs ten times what the world costs, so that only some worlds have one.

use kubelease_core::elector::Timing;
use kubelease_core::protocol::{Reply, WatchEvent};
use kubelease_core::time::Now;

use crate::book::Book;
use crate::laws;
use crate::seen::{Seen, Sent};
use crate::subject::Subject;

/// Watches one process.
#[derive(Clone, Debug)]
pub struct Lawyer {
    book: Book,
    timing: Timing,
    rank: u8,
    /// Whether the input at hand showed a clock that was set back.
    was_reset: bool,
}

impl Lawyer {
    /// For a process of `identity` that starts now.
    #[must_use]
    pub fn new(identity: &str, timing: Timing, now: Now) -> Self {
        Self {
            book: Book::new(identity, &timing, now.instant),
            timing,
            rank: 0,
            was_reset: false,
        }
    }

    /// The machine is about to be polled.
    pub fn before_poll(&mut self, now: Now) {
        self.book.pass_time(now.instant);
    }

    /// A poll gave this.
    pub fn polled(&mut self, seen: &Seen, now: Now) {
        self.rank = laws::order(self.rank, seen);
        laws::output(&mut self.book, seen, now, &self.timing);
    }

    /// The machine has nothing to do after a poll that gave this.
    pub fn settled<M: Subject>(&mut self, machine: &M, seen: &Seen, now: Now) {
        laws::settled(machine, &self.book, &self.timing, seen, now);
        self.rank = 0;
    }

    /// An answer or a failure is about to be handed in; the state before it.
    pub fn before_input<M: Subject>(&mut self, machine: &M, now: Now) -> M {
        let largest = self.book.largest;
        self.book.pass_time(now.instant);
        self.was_reset = self.book.largest < largest;
        machine.clone()
    }

    /// It was handed in. `taken` is the answer, or `None` for a failure, where the machine took it.
    pub fn after_input<M: Subject>(
        &mut self,
        before: &M,
        after: &M,
        now: Now,
        taken: Option<Option<Reply<'_>>>,
    ) {
        match taken {
            Some(Some(reply)) => self.book.answer(reply),
            Some(None) => {
                self.book.close();
            }
            None => laws::unchanged(before, after, now, self.was_reset),
        }
        self.rank = 0;
    }

    /// A line of a watch was handed in.
    pub fn after_line<M: Subject>(
        &mut self,
        before: &M,
        after: &M,
        now: Now,
        taken: Option<WatchEvent<'_>>,
    ) {
        match taken {
            Some(event) => self.book.hear(event, after.in_flight().map(Sent::from)),
            None => laws::unchanged(before, after, now, self.was_reset),
        }
        self.rank = 0;
    }

    /// The application called; leadership may have ended by it.
    pub fn called<M: Subject>(&mut self, machine: &M, now: Now) {
        self.book.pass_time(now.instant);
        if machine.leading_until().is_none() {
            self.book.end_belief();
        }
        self.rank = 0;
    }
}
