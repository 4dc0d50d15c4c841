//! [`Subject`]: what the driver needs of an elector, so that faulty ones can be driven too.

use kubelease_core::elector::Elector;
use kubelease_core::lease::Fence;
use kubelease_core::machine::Watches;
use kubelease_core::time::{Duration, Instant, Now};

/// An elector under test.
pub trait Subject: Watches + Clone {
    /// Gives up, and contends again after `cooldown`.
    fn step_down(&mut self, now: Now, cooldown: Duration);
    /// Gives up and ends.
    fn stop(&mut self, now: Now);
    /// Goes on leading, never acquires again.
    fn stop_when_idle(&mut self, now: Now);
    /// The work that `stop_when_idle` waits for has ended.
    fn work_done(&mut self, now: Now);
    /// Whether this process leads at that instant.
    fn is_leading(&self, at: Instant) -> bool;
    /// When leadership ends by itself.
    fn leading_until(&self) -> Option<Instant>;
    /// The fencing token.
    fn fence(&self) -> Option<Fence>;
    /// Who leads.
    fn leader(&self) -> Option<&str>;
    /// The number of the last term.
    fn term(&self) -> u64;
}

impl Subject for Elector<'_> {
    fn step_down(&mut self, now: Now, cooldown: Duration) {
        Elector::step_down(self, now, cooldown);
    }

    fn stop(&mut self, now: Now) {
        Elector::stop(self, now);
    }

    fn stop_when_idle(&mut self, now: Now) {
        Elector::stop_when_idle(self, now);
    }

    fn work_done(&mut self, now: Now) {
        Elector::work_done(self, now);
    }

    fn is_leading(&self, at: Instant) -> bool {
        Elector::is_leading(self, at)
    }

    fn leading_until(&self) -> Option<Instant> {
        Elector::leading_until(self)
    }

    fn fence(&self) -> Option<Fence> {
        Elector::fence(self)
    }

    fn leader(&self) -> Option<&str> {
        Elector::leader(self)
    }

    fn term(&self) -> u64 {
        Elector::term(self)
    }
}
