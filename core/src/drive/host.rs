//! The application's side of the loop.

use core::task::{Context, Poll};

use crate::machine::Machine;
use crate::protocol::Event;
use crate::time::Now;

/// What the application wants of the machine, and what it learns of it.
///
/// Every method has a default, so a host implements only what it needs; `()` is the host that
/// neither asks nor listens. All of them are called on the loop's own task: work that takes long
/// belongs elsewhere, or renewals come late.
pub trait Host<M: Machine> {
    /// Whether the host can take an event. The machine isn't polled before it can, so a host that
    /// is never ready stops the renewals.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let _ = context;
        Poll::Ready(())
    }

    /// Makes the next call that the application wants, such as `machine.stop(now)`.
    ///
    /// Ready where a call was made; the loop then polls the machine and asks again. Otherwise the
    /// waker in `context` has to be woken when there is something to call.
    fn poll_call(&mut self, context: &mut Context<'_>, machine: &mut M, now: Now) -> Poll<()> {
        let _ = (context, machine, now);
        Poll::Pending
    }

    /// Takes an event. `machine` is in the state that follows from it.
    fn event(&mut self, machine: &M, event: Event) {
        let _ = (machine, event);
    }

    /// Looks at the machine after each turn, before the loop waits: whenever anything about it
    /// may have changed.
    fn settled(&mut self, machine: &M, now: Now) {
        let _ = (machine, now);
    }
}

impl<M: Machine> Host<M> for () {}

impl<M: Machine, H: Host<M>> Host<M> for &mut H {
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        H::poll_ready(self, context)
    }

    fn poll_call(&mut self, context: &mut Context<'_>, machine: &mut M, now: Now) -> Poll<()> {
        H::poll_call(self, context, machine, now)
    }

    fn event(&mut self, machine: &M, event: Event) {
        H::event(self, machine, event);
    }

    fn settled(&mut self, machine: &M, now: Now) {
        H::settled(self, machine, now);
    }
}
