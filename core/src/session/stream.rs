//! The stream that answers a watch.

use super::Session;
use crate::machine::{DynMachine, Watches};
use crate::protocol::{Operation, Reply, RequestId, StaleRequest, WatchEvent};
use crate::time::Now;
use crate::wire::{Answer, Reading, WATCH_WIRE, WatchLines, WatchWire};

/// What a session remembers of watching.
#[derive(Debug)]
pub(super) struct Stream {
    /// What watching takes: a program that never turns it on does not link it.
    wire: Option<&'static WatchWire>,
    lines: WatchLines,
    /// Whether the request handed out last is a watch.
    is_watch: bool,
    /// Whether its answer is a stream: an error comes like any other answer.
    is_open: bool,
}

impl Stream {
    pub(super) const fn new() -> Self {
        Self {
            wire: None,
            lines: WatchLines::new(),
            is_watch: false,
            is_open: false,
        }
    }

    /// Whether a request can be sent: one that can't be is answered as if it had ended at once.
    pub(super) const fn admits(&mut self, operation: &Operation<'_>) -> bool {
        self.is_watch = matches!(operation, Operation::Watch { .. });
        self.is_open = false;
        !self.is_watch || self.wire.is_some()
    }

    /// What watching takes, where it is on.
    pub(super) const fn wire(&self) -> Option<&'static WatchWire> {
        self.wire
    }

    /// An answer with this status code begins: whether it is a stream.
    pub(super) const fn begin(&mut self, status: u16) -> bool {
        self.is_open = self.is_watch && status == 200;
        self.lines = WatchLines::new();
        self.is_open
    }

    /// It has come to its end: what that says of a stream. The time in its headers is that of its
    /// beginning, long past.
    pub(super) fn end(&self, answer: &Answer) -> Option<Reply<'static>> {
        let reply = || answer.failure().map_or(Reply::WatchEnded, Reply::BadAnswer);
        self.is_open.then(reply)
    }

    /// What reading takes, where the answer is a stream.
    pub(super) const fn open(&self) -> Option<&'static WatchWire> {
        if self.is_open { self.wire } else { None }
    }
}

impl<M: Watches> Session<'_, M> {
    /// Turns watching on, in the machine too: a candidate then holds a watch on the Lease instead
    /// of reading it again and again. Bodies have to come by
    /// [`response_body_at`](Self::response_body_at) then.
    pub fn watch(&mut self) {
        self.machine.watch();
        self.stream.wire = Some(&WATCH_WIRE);
    }
}

impl<M: DynMachine + ?Sized> Session<'_, M> {
    pub(super) fn take_lines(
        &mut self,
        wire: &WatchWire,
        now: Now,
        id: RequestId,
        piece: &[u8],
    ) -> Result<Reading, StaleRequest> {
        let mut rest = piece;
        loop {
            let (answer, keep) = (&mut self.store.answer, self.store.keep.as_mut());
            let Some(event) = (wire.next)(&mut self.stream.lines, answer, keep, &mut rest) else {
                let Some(failure) = self.store.answer.failure() else {
                    return Ok(Reading::More);
                };
                self.machine
                    .handle_watch(now, id, WatchEvent::Broken(failure))?;
                return Ok(Reading::Enough);
            };
            self.machine.handle_watch(now, id, event)?;
            if self.machine.in_flight_id() != Some(id) {
                // The machine wants something else.
                return Ok(Reading::Enough);
            }
        }
    }
}
