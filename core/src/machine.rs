//! What every machine can do, so that one session and one loop serve them all.

use crate::protocol::{Failure, Output, Request, RequestId, Response, StaleRequest, WatchEvent};
use crate::time::Now;

/// A state machine that is driven from outside: time and answers go in, outputs come out.
pub trait Machine {
    /// What to do next. Call it after every input and at the instant of the last `WaitUntil`.
    fn poll(&mut self, now: Now) -> Output<'_>;

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
