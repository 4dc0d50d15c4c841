//! [`Queue`]: what is due, in order of true time and, at one time, of entry.

use core::cmp::Ordering;
use std::collections::BinaryHeap;

use kubelease_core::protocol::{Failure, RequestId};

use super::op::{Answer, Op};
use super::schedule::Call;
use super::stream::Line;

/// What is due.
#[derive(Clone, Debug)]
pub enum Due {
    /// The first process of this seat starts.
    Start(usize),
    /// An entry of the schedule begins.
    Begin(usize),
    /// An entry of the schedule is over.
    End(usize),
    /// A request arrives at the server.
    Arrive(Box<Arrival>),
    /// An answer arrives at the process that asked.
    Answer(Asker, Box<Answer>),
    /// The process that asked learns that there will be no answer.
    Fail(Asker, Failure),
    /// A line of a watch arrives at the process that asked for it.
    Line(Asker, Box<Line>),
    /// The stream of a watch has a bookmark due, or its end.
    Tick(Asker),
    /// The application of this seat calls.
    Call(usize, u32, Call),
    /// The work of this seat is done.
    WorkDone(usize, u32),
    /// The monotonic clock of this seat starts anew at so many milliseconds.
    Reset(usize, u64),
    /// Somebody has to lead, and the finale begins.
    Finale,
    /// Somebody else than this seat has to lead, and the quiet begins.
    Quiet(Option<usize>),
}

/// Which request of which process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Its seat.
    pub seat: usize,
    /// Which process of that seat.
    pub life: u32,
    /// The request.
    pub id: RequestId,
}

/// A request at the server.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// Who asks.
    pub asker: Asker,
    /// Under which identity.
    pub identity: &'static str,
    /// What for.
    pub op: Op,
    /// How long the answer takes; `None` where it is lost.
    pub back_us: Option<u64>,
    /// Names the chance that it meets at the server.
    pub luck: u64,
}

/// The queue.
#[derive(Debug)]
pub struct Queue<D = Due> {
    heap: BinaryHeap<Item<D>>,
    entries: u64,
}

impl<D> Default for Queue<D> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            entries: 0,
        }
    }
}

impl<D> Queue<D> {
    /// Adds what is due at `at_us`.
    pub fn push(&mut self, at_us: u64, due: D) {
        self.entries += 1;
        let entry = self.entries;
        self.heap.push(Item { at_us, entry, due });
    }

    /// When the first is due.
    #[must_use]
    pub fn next_us(&self) -> u64 {
        self.heap.peek().map_or(u64::MAX, |item| item.at_us)
    }

    /// Takes the first.
    pub fn pop(&mut self) -> Option<D> {
        self.heap.pop().map(|item| item.due)
    }
}

#[derive(Debug)]
struct Item<D> {
    at_us: u64,
    entry: u64,
    due: D,
}

impl<D> Ord for Item<D> {
    /// The greatest is the first that is due.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at_us, other.entry).cmp(&(self.at_us, self.entry))
    }
}

impl<D> PartialOrd for Item<D> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<D> PartialEq for Item<D> {
    fn eq(&self, other: &Self) -> bool {
        self.entry == other.entry
    }
}

impl<D> Eq for Item<D> {}
