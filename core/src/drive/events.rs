//! Events as a stream, without a heap: the stream itself drives the loop.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use futures_core::{FusedStream, Stream};
use heapless::spsc::{Consumer, Producer, Queue};

use super::host::Host;
use crate::machine::Machine;
use crate::protocol::Event;
use crate::time::Now;

/// The place where one event waits until it is taken from [`Events`].
///
/// The loop stands still meanwhile, as a machine driven by hand does: a program that takes no
/// events makes no renewals either, and loses the lease.
#[derive(Default)]
pub struct EventSlot(Queue<Event, 2>);

impl EventSlot {
    /// An empty slot.
    #[must_use]
    pub const fn new() -> Self {
        Self(Queue::new())
    }

    /// Its two ends: a host for [`run`](super::run), which joins `host` to the slot, and what
    /// becomes the stream.
    pub fn split<H>(&mut self, host: H) -> (WithEvents<'_, H>, EventSource<'_>) {
        // What another loop left behind says nothing about this one.
        while self.0.dequeue().is_some() {}
        let (producer, consumer) = self.0.split();
        (WithEvents { host, producer }, EventSource(consumer))
    }
}

impl fmt::Debug for EventSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSlot").finish_non_exhaustive()
    }
}

/// A host that puts events into an [`EventSlot`], and leaves all else to another host.
pub struct WithEvents<'q, H> {
    host: H,
    producer: Producer<'q, Event>,
}

impl<M: Machine, H: Host<M>> Host<M> for WithEvents<'_, H> {
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.producer.ready() {
            self.host.poll_ready(context)
        } else {
            // The stream polls the loop again once it has emptied the slot.
            Poll::Pending
        }
    }

    fn poll_call(&mut self, context: &mut Context<'_>, machine: &mut M, now: Now) -> Poll<()> {
        self.host.poll_call(context, machine, now)
    }

    fn event(&mut self, machine: &M, event: Event) {
        self.host.event(machine, event);
        // There is room: the loop has seen `poll_ready` before each event.
        let _ = self.producer.enqueue(event);
    }

    fn settled(&mut self, machine: &M, now: Now) {
        self.host.settled(machine, now);
    }
}

impl<H: fmt::Debug> fmt::Debug for WithEvents<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithEvents")
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

/// The end of an [`EventSlot`] from which events come.
pub struct EventSource<'q>(Consumer<'q, Event>);

impl<'q> EventSource<'q> {
    /// The stream of the events of `run`, the loop that has the slot's other end. Nothing runs
    /// but while the stream is polled.
    pub const fn driving<F: Future>(self, run: Pin<&mut F>) -> Events<'q, '_, F> {
        Events {
            consumer: self.0,
            run,
            outcome: None,
        }
    }
}

impl fmt::Debug for EventSource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSource").finish_non_exhaustive()
    }
}

/// The events of one loop, which runs while they are awaited. It ends with the loop.
///
/// Nothing is lost where the future of one `next` is dropped: the loop goes on where it was with
/// the following one.
pub struct Events<'q, 'r, F: Future> {
    consumer: Consumer<'q, Event>,
    run: Pin<&'r mut F>,
    outcome: Option<F::Output>,
}

impl<F: Future> Events<'_, '_, F> {
    /// What the loop ended with; `None` while it has not.
    pub const fn outcome(&self) -> Option<&F::Output> {
        self.outcome.as_ref()
    }
}

impl<F: Future> Stream for Events<'_, '_, F>
where
    F::Output: Unpin,
{
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let events = self.get_mut();
        let is_due = events.consumer.is_empty() && events.outcome.is_none();
        if is_due && let Poll::Ready(outcome) = events.run.as_mut().poll(context) {
            events.outcome = Some(outcome);
        }
        match (events.consumer.dequeue(), &events.outcome) {
            (Some(event), _) => Poll::Ready(Some(event)),
            (None, Some(_)) => Poll::Ready(None),
            (None, None) => Poll::Pending,
        }
    }
}

impl<F: Future> FusedStream for Events<'_, '_, F>
where
    F::Output: Unpin,
{
    fn is_terminated(&self) -> bool {
        self.outcome.is_some() && self.consumer.is_empty()
    }
}

impl<F: Future> fmt::Debug for Events<'_, '_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events")
            .field("ended", &self.outcome.is_some())
            .finish_non_exhaustive()
    }
}
