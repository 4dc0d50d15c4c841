//! What every machine can do, so that one session and one loop serve them all.
//!
//! [`Machine`] is what a machine is written by, and [`DynMachine`] what it is used by: the second
//! can be a trait object, so that the session's code is there once however many kinds of machine
//! a program has.

use crate::lease::NodeRef;
use crate::protocol::{
    Action, Failure, Output, Request, RequestId, Response, StaleRequest, WatchEvent,
};
use crate::time::Now;

/// A state machine that is driven from outside: time and answers go in, outputs come out.
pub trait Machine {
    /// Whether it ever reads a Node, names an owner or deletes. What a session needs for that is
    /// not linked where no machine does.
    const USES_NODES: bool = false;

    /// The Node to look for among the owners of the lease; [`Owners`](crate::lease::Owners) says
    /// what was found.
    fn owner(&self) -> Option<NodeRef<'_>> {
        None
    }

    /// What to do next. Call it after every input and at the instant of the last `WaitUntil`.
    fn poll(&mut self, now: Now) -> Output<'_>;

    /// The same, where the request itself is asked for later, by [`in_flight`](Self::in_flight). A
    /// machine that makes its requests anew each time says it for less.
    fn poll_action(&mut self, now: Now) -> Action {
        match self.poll(now) {
            Output::Event(event) => Action::Event(event),
            Output::Cancel(id) => Action::Cancel(id),
            Output::Request(Request { id, deadline, .. }) => Action::Send { id, deadline },
            Output::WaitUntil(instant) => Action::WaitUntil(instant),
            Output::Done => Action::Done,
        }
    }

    /// Takes the answer to request `id`.
    ///
    /// # Errors
    /// [`StaleRequest`] where `id` is not in flight any more; nothing has changed then.
    fn handle_response(
        &mut self,
        now: Now,
        id: RequestId,
        response: Response<'_>,
    ) -> Result<(), StaleRequest>;

    /// Takes the news that request `id` will have no answer.
    ///
    /// # Errors
    /// [`StaleRequest`] where `id` is not in flight any more; nothing has changed then.
    fn handle_failure(
        &mut self,
        now: Now,
        id: RequestId,
        failure: Failure,
    ) -> Result<(), StaleRequest>;

    /// The request that waits for its answer, the same as when it was handed out.
    fn in_flight(&self) -> Option<Request<'_>>;

    /// The id of that request. A machine that makes its requests anew each time says it for less.
    fn in_flight_id(&self) -> Option<RequestId> {
        self.in_flight().map(|request| request.id)
    }

    /// Takes one line of the stream that answers the watch `id`. A machine that never watches
    /// refuses all.
    ///
    /// # Errors
    /// [`StaleRequest`] where `id` is not in flight any more or is no watch; nothing has changed
    /// then.
    fn handle_watch(
        &mut self,
        _now: Now,
        _id: RequestId,
        _event: WatchEvent<'_>,
    ) -> Result<(), StaleRequest> {
        Err(StaleRequest)
    }
}

/// A machine that can watch the lease instead of reading it again and again.
pub trait Watches: Machine {
    /// Turns watching on, for good.
    fn watch(&mut self);
}

/// A [`Machine`] as a session uses it, each method being the machine's own of the same name.
pub trait DynMachine {
    /// See [`Machine::owner`].
    fn owner(&self) -> Option<NodeRef<'_>>;

    /// See [`Machine::poll_action`].
    fn poll_action(&mut self, now: Now) -> Action;

    /// See [`Machine::handle_response`].
    ///
    /// # Errors
    /// [`StaleRequest`] where `id` is not in flight any more.
    fn handle_response(
        &mut self,
        now: Now,
        id: RequestId,
        response: Response<'_>,
    ) -> Result<(), StaleRequest>;

    /// See [`Machine::handle_failure`].
    ///
    /// # Errors
    /// [`StaleRequest`] where `id` is not in flight any more.
    fn handle_failure(
        &mut self,
        now: Now,
        id: RequestId,
        failure: Failure,
    ) -> Result<(), StaleRequest>;

    /// See [`Machine::in_flight`].
    fn in_flight(&self) -> Option<Request<'_>>;

    /// See [`Machine::in_flight_id`].
    fn in_flight_id(&self) -> Option<RequestId>;

    /// See [`Machine::handle_watch`].
    ///
    /// # Errors
    /// [`StaleRequest`] where `id` is not in flight any more or is no watch.
    fn handle_watch(
        &mut self,
        now: Now,
        id: RequestId,
        event: WatchEvent<'_>,
    ) -> Result<(), StaleRequest>;
}

impl<M: Machine> DynMachine for M {
    fn owner(&self) -> Option<NodeRef<'_>> {
        Machine::owner(self)
    }

    fn poll_action(&mut self, now: Now) -> Action {
        Machine::poll_action(self, now)
    }

    fn handle_response(
        &mut self,
        now: Now,
        id: RequestId,
        response: Response<'_>,
    ) -> Result<(), StaleRequest> {
        Machine::handle_response(self, now, id, response)
    }

    fn handle_failure(
        &mut self,
        now: Now,
        id: RequestId,
        failure: Failure,
    ) -> Result<(), StaleRequest> {
        Machine::handle_failure(self, now, id, failure)
    }

    fn in_flight(&self) -> Option<Request<'_>> {
        Machine::in_flight(self)
    }

    fn in_flight_id(&self) -> Option<RequestId> {
        Machine::in_flight_id(self)
    }

    fn handle_watch(
        &mut self,
        now: Now,
        id: RequestId,
        event: WatchEvent<'_>,
    ) -> Result<(), StaleRequest> {
        Machine::handle_watch(self, now, id, event)
    }
}

/// A machine that somebody else keeps: so a session can be made for as long as one request takes,
/// and a fleet of machines needs few of them.
#[expect(clippy::exhaustive_structs, reason = "it is what it holds")]
#[derive(Debug)]
pub struct Lent<'m, M>(pub &'m mut M);

impl<M: Machine> Machine for Lent<'_, M> {
    const USES_NODES: bool = M::USES_NODES;

    fn owner(&self) -> Option<NodeRef<'_>> {
        Machine::owner(self.0)
    }

    fn poll(&mut self, now: Now) -> Output<'_> {
        self.0.poll(now)
    }

    fn poll_action(&mut self, now: Now) -> Action {
        Machine::poll_action(self.0, now)
    }

    fn handle_response(
        &mut self,
        now: Now,
        id: RequestId,
        response: Response<'_>,
    ) -> Result<(), StaleRequest> {
        Machine::handle_response(self.0, now, id, response)
    }

    fn handle_failure(
        &mut self,
        now: Now,
        id: RequestId,
        failure: Failure,
    ) -> Result<(), StaleRequest> {
        Machine::handle_failure(self.0, now, id, failure)
    }

    fn in_flight(&self) -> Option<Request<'_>> {
        Machine::in_flight(self.0)
    }

    fn in_flight_id(&self) -> Option<RequestId> {
        Machine::in_flight_id(self.0)
    }

    fn handle_watch(
        &mut self,
        now: Now,
        id: RequestId,
        event: WatchEvent<'_>,
    ) -> Result<(), StaleRequest> {
        Machine::handle_watch(self.0, now, id, event)
    }
}
