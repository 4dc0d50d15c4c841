//! One turn of the loop: poll the session dry, then wait for whatever comes first.

use core::future::{Future, pending, poll_fn};
use core::mem;
use core::pin::{Pin, pin};
use core::task::Poll;

use super::host::Host;
use super::transport::{Clock, Transport};
use crate::machine::Machine;
use crate::protocol::{Event, RequestId};
use crate::session::{Action, Session};
use crate::time::Instant;

/// What the session wants once its events are taken.
pub(super) enum Turn {
    /// Nothing before this instant.
    Wait(Instant),
    /// A request to be sent.
    Send { id: RequestId, deadline: Instant },
    /// The end of the request in flight, whose answer nobody wants.
    Cancel,
    /// The end.
    Done,
}

/// The parts of the loop but for the transport, which a request in flight borrows.
pub(super) struct Turns<'d, 's, M, C, H> {
    pub(super) session: &'d mut Session<'s, M>,
    pub(super) clock: &'d C,
    host: &'d mut H,
    reconnect: bool,
    refresh: bool,
}

impl<'d, 's, M: Machine, C: Clock, H: Host<M>> Turns<'d, 's, M, C, H> {
    pub(super) fn new(session: &'d mut Session<'s, M>, clock: &'d C, host: &'d mut H) -> Self {
        Self {
            session,
            clock,
            host,
            reconnect: false,
            refresh: false,
        }
    }

    /// Takes all events; answers with what the session wants after them.
    pub(super) async fn settle(&mut self) -> Turn {
        loop {
            poll_fn(|context| self.host.poll_ready(context)).await;
            let now = self.clock.now();
            let turn = match self.session.poll(now) {
                Action::Event(event) => {
                    self.take_event(event);
                    continue;
                }
                Action::Send { id, deadline } => Turn::Send { id, deadline },
                Action::WaitUntil(at) => Turn::Wait(at),
                Action::Cancel(_) => Turn::Cancel,
                Action::Done => Turn::Done,
            };
            self.host.settled(self.session.machine(), now);
            return turn;
        }
    }

    /// Waits for `future`, serving session and host meanwhile.
    ///
    /// # Errors
    /// The turn that the session wants instead.
    pub(super) async fn attend<F: Future>(&mut self, future: F) -> Result<F::Output, Turn> {
        let mut future = pin!(future);
        loop {
            match self.settle().await {
                Turn::Wait(at) => {
                    if let Some(output) = self.race(at, future.as_mut()).await {
                        return Ok(output);
                    }
                }
                turn @ (Turn::Send { .. } | Turn::Cancel | Turn::Done) => return Err(turn),
            }
        }
    }

    /// Waits with nothing in flight until `at` or a call of the host.
    pub(super) async fn rest(&mut self, at: Instant) {
        let nothing = pin!(pending::<()>());
        self.race(at, nothing).await;
    }

    /// Lets the transport follow what events advised while it was busy.
    pub(super) fn follow_advice<T: Transport>(&mut self, transport: &mut T) {
        if mem::take(&mut self.reconnect) {
            transport.reconnect();
        }
        if mem::take(&mut self.refresh) {
            transport.refresh_credentials();
        }
    }

    /// Waits for the future, the instant `at` and a call of the host; `None` but for the future.
    async fn race<F: Future>(&mut self, at: Instant, mut future: Pin<&mut F>) -> Option<F::Output> {
        let (session, host, clock) = (&mut *self.session, &mut *self.host, self.clock);
        let began = clock.now().instant;
        let mut sleep = pin!(clock.sleep_until(at));
        poll_fn(|context| {
            let now = clock.now();
            let called = host.poll_call(context, session.machine_mut(), now);
            // The clock comes before the timer: that may be starved, or stand still in suspend. A
            // clock that went back is news for the machine, and no reason to sleep on.
            if called.is_ready() || now.instant >= at || now.instant < began {
                return Poll::Ready(None);
            }
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                return Poll::Ready(Some(output));
            }
            sleep.as_mut().poll(context).map(|()| None)
        })
        .await
    }

    fn take_event(&mut self, event: Event) {
        self.reconnect |= event == Event::ReconnectAdvised;
        self.refresh |= event == Event::CredentialsRejected;
        self.host.event(self.session.machine(), event);
    }
}
