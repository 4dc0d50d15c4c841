//! [`Driven`]: what the driver needs of any machine, and [`Ledger`], the book that it keeps of one.

use core::fmt::Debug;

use kubelease_core::lease::{Fence, Owners};
use kubelease_core::machine::Machine;
use kubelease_core::protocol::{Reply, RequestId};
use kubelease_core::time::{Duration, Instant, Now};

use crate::book::{Book, Flight};
use crate::laws;
use crate::seen::{Seen, Sent, Write};
use crate::subject::Subject;

/// A machine under test.
pub trait Driven: Machine + Clone {
    /// The book that is kept of it.
    type Ledger: Ledger<Self>;
    /// All that its questions answer.
    type View: PartialEq + Debug;

    /// What its questions answer after a poll.
    fn view(&self, now: Now) -> Self::View;

    /// What its questions say without a poll: those that time alone answers.
    fn outlook(&self, now: Now) -> Vec<bool>;

    /// Whom it names, for the texts of its events.
    fn named(&self) -> Option<&str>;
}

/// What a machine was given and what it did, kept from the requests and answers alone; and the
/// laws of that kind of machine.
pub trait Ledger<M>: Clone + Debug {
    /// The largest instant that counts.
    fn largest(&self) -> Instant;
    /// The request in flight.
    fn flight(&self) -> Option<&Flight>;
    /// Ids that can never come back.
    fn dead(&self) -> Vec<RequestId>;
    /// The last write.
    fn last_write(&self) -> Option<&Write>;
    /// What the lease says of its owners, after what was read and written.
    fn owners(&self) -> Owners {
        Owners::default()
    }
    /// Moves time on.
    fn pass_time(&mut self, now: Instant);
    /// The request in flight failed.
    fn close(&mut self);
    /// The request in flight was answered.
    fn answer(&mut self, reply: Reply<'_>);
    /// An input was taken that showed a clock set back.
    fn was_reset(&mut self);
    /// Checks and notes one output.
    fn output(&mut self, seen: &Seen, now: Now);
    /// Checks a machine that has nothing to do.
    fn settled(&self, machine: &M, last: &Seen, now: Now);
}

impl<M: Subject> Driven for M {
    type Ledger = Book;
    type View = Office;

    fn view(&self, now: Now) -> Office {
        Office {
            leads: self.is_leading(now.instant),
            until: self.leading_until(),
            fence: self.fence(),
            leader: self.leader().map(str::to_owned),
            term: self.term(),
            flight: self.in_flight().map(Sent::from),
        }
    }

    fn outlook(&self, now: Now) -> Vec<bool> {
        let moments = [0, 1, 1_000, 60_000].map(Duration::from_millis);
        let leads = |ahead| self.is_leading(now.instant.saturating_add(ahead));
        moments.into_iter().map(leads).collect()
    }

    fn named(&self) -> Option<&str> {
        self.leader()
    }
}

/// What an elector's questions answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Office {
    leads: bool,
    until: Option<Instant>,
    fence: Option<Fence>,
    leader: Option<String>,
    term: u64,
    flight: Option<Sent>,
}

impl<M: Subject> Ledger<M> for Book {
    fn largest(&self) -> Instant {
        self.largest
    }

    fn flight(&self) -> Option<&Flight> {
        self.flight.as_ref()
    }

    fn dead(&self) -> Vec<RequestId> {
        self.dead.iter().copied().collect()
    }

    fn last_write(&self) -> Option<&Write> {
        self.last_claim.as_ref()
    }

    fn pass_time(&mut self, now: Instant) {
        Self::pass_time(self, now);
    }

    fn close(&mut self) {
        Self::close(self);
    }

    fn answer(&mut self, reply: Reply<'_>) {
        Self::answer(self, reply);
    }

    fn was_reset(&mut self) {
        self.end_belief();
    }

    #[track_caller]
    fn output(&mut self, seen: &Seen, now: Now) {
        let timing = self.timing;
        laws::output(self, seen, now, &timing);
    }

    #[track_caller]
    fn settled(&self, machine: &M, last: &Seen, now: Now) {
        laws::settled(machine, self, &self.timing, last, now);
    }
}
