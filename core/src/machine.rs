//! What every machine can do, so that one session and one loop serve them all.

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
}

/// A machine that can watch the lease instead of reading it again and again.
pub trait Watches: Machine {
    /// Turns watching on, for good.
    fn watch(&mut self);

    /// Takes one line of the stream that answers the watch `id`.
    ///
    /// # Errors
    /// [`StaleRequest`] where `id` is not in flight any more or is no watch; nothing has changed
    /// then.
    fn handle_watch(
        &mut self,
        now: Now,
        id: RequestId,
        event: WatchEvent<'_>,
    ) -> Result<(), StaleRequest>;
}

/// A machine that somebody else keeps: so a session can be made for as long as one request takes,
/// and a fleet of machines needs few of them.
#[expect(clippy::exhaustive_structs, reason = "it is what it holds")]
#[derive(Debug)]
pub struct Lent<'m, M>(pub &'m mut M);

impl<M: Machine> Machine for Lent<'_, M> {
    const USES_NODES: bool = M::USES_NODES;

    fn owner(&self) -> Option<NodeRef<'_>> {
        self.0.owner()
    }

    fn poll(&mut self, now: Now) -> Output<'_> {
        self.0.poll(now)
    }

    fn poll_action(&mut self, now: Now) -> Action {
        self.0.poll_action(now)
    }

    fn handle_response(
        &mut self,
        now: Now,
        id: RequestId,
        response: Response<'_>,
    ) -> Result<(), StaleRequest> {
        self.0.handle_response(now, id, response)
    }

    fn handle_failure(
        &mut self,
        now: Now,
        id: RequestId,
        failure: Failure,
    ) -> Result<(), StaleRequest> {
        self.0.handle_failure(now, id, failure)
    }

    fn in_flight(&self) -> Option<Request<'_>> {
        self.0.in_flight()
    }

    fn in_flight_id(&self) -> Option<RequestId> {
        self.0.in_flight_id()
    }
}
