//! The stream that answers a watch.

use super::Session;
use crate::lease::ResourceVersion;
use crate::machine::{Machine, Watches};
use crate::protocol::{Operation, Reply, RequestId, StaleRequest, WatchEvent};
use crate::time::{Duration, Now};
use crate::wire::{Answer, Reading, WATCH_WIRE, WatchLines, WatchWire};

/// What a session remembers of watching.
#[derive(Debug)]
pub(super) struct Stream<M> {
    /// None where the session does not watch.
    hooks: Option<Hooks<M>>,
    lines: WatchLines,
    /// Whether the request handed out last is a watch.
    is_watch: bool,
    /// Whether its answer is a stream: an error comes like any other answer.
    is_open: bool,
}

/// What watching takes, behind pointers: a program that never turns it on does not link it.
#[derive(Debug)]
pub(super) struct Hooks<M> {
    wire: &'static WatchWire,
    handle: fn(&mut M, Now, RequestId, WatchEvent<'_>) -> Result<(), StaleRequest>,
}

impl<M> Clone for Hooks<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Hooks<M> {}

impl<M> Stream<M> {
    pub(super) const fn new() -> Self {
        Self {
            hooks: None,
            lines: WatchLines::new(),
            is_watch: false,
            is_open: false,
        }
    }

    /// Whether a request can be sent: one that can't be is answered as if it had ended at once.
    pub(super) const fn admits(&mut self, operation: &Operation<'_>) -> bool {
        self.is_watch = matches!(operation, Operation::Watch { .. });
        self.is_open = false;
        !self.is_watch || self.hooks.is_some()
    }

    /// What writing the query of a watch takes.
    pub(super) const fn query<'o>(
        &self,
        operation: &Operation<'o>,
    ) -> Option<(&'static WatchWire, &'o ResourceVersion, Duration)> {
        match (operation, &self.hooks) {
            (Operation::Watch { version, timeout }, Some(hooks)) => {
                Some((hooks.wire, version, *timeout))
            }
            (_, _) => None,
        }
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
    pub(super) const fn open(&self) -> Option<Hooks<M>> {
        if self.is_open { self.hooks } else { None }
    }
}

impl<M: Watches> Session<'_, M> {
    /// Turns watching on, in the machine too: a candidate then holds a watch on the Lease instead
    /// of reading it again and again. Bodies have to come by
    /// [`response_body_at`](Self::response_body_at) then.
    pub fn watch(&mut self) {
        self.machine.watch();
        self.stream.hooks = Some(Hooks {
            wire: &WATCH_WIRE,
            handle: M::handle_watch,
        });
    }
}

impl<M: Machine> Session<'_, M> {
    pub(super) fn take_lines(
        &mut self,
        hooks: Hooks<M>,
        now: Now,
        id: RequestId,
        piece: &[u8],
    ) -> Result<Reading, StaleRequest> {
        let mut rest = piece;
        loop {
            let (answer, keep) = (&mut self.store.answer, self.store.keep.as_mut());
            let Some(event) = (hooks.wire.next)(&mut self.stream.lines, answer, keep, &mut rest)
            else {
                let Some(failure) = self.store.answer.failure() else {
                    return Ok(Reading::More);
                };
                (hooks.handle)(&mut self.machine, now, id, WatchEvent::Broken(failure))?;
                return Ok(Reading::Enough);
            };
            (hooks.handle)(&mut self.machine, now, id, event)?;
            if self.machine.in_flight_id() != Some(id) {
                // The machine wants something else.
                return Ok(Reading::Enough);
            }
        }
    }
}
