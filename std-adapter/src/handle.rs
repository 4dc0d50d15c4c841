//! [`Handle`]: what the application holds of a running elector.

use core::time::Duration;
use std::sync::Arc;

use kubelease_core::lease::Fence;
use kubelease_core::protocol::Finish;
use kubelease_core::time::Instant;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;

use crate::changes::Changes;
use crate::error::ShutdownError;
use crate::guard::Guard;
use crate::http::Traffic;
use crate::state::Shared;
use crate::task::{Call, Outcome};

/// A running elector. All questions are answered at once, from memory.
///
/// Dropping it ends the elector's task at once and **releases nothing**: work of this term may
/// still be running, so others wait until the lease has run out. [`shutdown`](Self::shutdown) is
/// for a quick hand-over. No task outlives the handle either way.
#[derive(Debug)]
pub struct Handle {
    shared: Arc<Shared>,
    calls: UnboundedSender<Call>,
    task: JoinHandle<Outcome>,
    identity: String,
    traffic: Traffic,
}

impl Handle {
    pub(crate) const fn new(
        shared: Arc<Shared>,
        calls: UnboundedSender<Call>,
        task: JoinHandle<Outcome>,
        identity: String,
        traffic: Traffic,
    ) -> Self {
        Self {
            shared,
            calls,
            task,
            identity,
            traffic,
        }
    }

    /// Whether this process leads now.
    ///
    /// It compares the end of leadership with the clock at the call. So it turns false in time by
    /// itself, with the server silent, the elector's task starved or dead, or the system resumed
    /// from suspend a moment ago.
    #[must_use]
    pub fn is_leading(&self) -> bool {
        self.shared.leading_in(None, |_| ()).is_some()
    }

    /// When leadership ends unless it is renewed before, on the elector's [`Clock`](crate::Clock);
    /// `None` where this process does not lead.
    #[must_use]
    pub fn leading_until(&self) -> Option<Instant> {
        self.shared.leading_in(None, |leading| leading.until)
    }

    /// What a guarded store can compare, so that a leader of the past is refused; `None` where
    /// this process does not lead.
    #[must_use]
    pub fn fence(&self) -> Option<Fence> {
        self.shared
            .leading_in(None, |leading| leading.fence.clone())
            .flatten()
    }

    /// This term, for the work that belongs to it; `None` where this process does not lead.
    #[must_use]
    pub fn guard(&self) -> Option<Guard> {
        let term = self.shared.leading_in(None, |leading| leading.term)?;
        Some(Guard::new(Arc::clone(&self.shared), term))
    }

    /// The holder that was read last, this process or another; `None` where there was none, or
    /// nothing was read yet.
    #[must_use]
    pub fn leader(&self) -> Option<String> {
        self.shared.leader()
    }

    /// The number of this process's latest term, from 1; 0 before the first.
    #[must_use]
    pub fn term(&self) -> u64 {
        self.shared.term()
    }

    /// The identity under which this process runs for election.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// What was wrong with the last answer, or why there was none, in words for people; `None`
    /// where it was an ordinary one.
    #[must_use]
    pub fn last_error(&self) -> Option<String> {
        self.traffic.last_error()
    }

    /// How many requests have been sent so far, answered or not.
    #[must_use]
    pub fn requests_sent(&self) -> u64 {
        self.traffic.requests_sent()
    }

    /// A new stream of events; any number of them may be read, or left unread.
    #[must_use]
    pub fn changes(&self) -> Changes {
        self.shared.changes()
    }

    /// Gives the lease up and stays out of elections for `cooldown`; where this process does not
    /// lead, it only stays out. End the work of the term first: another may lead at once.
    ///
    /// It asks the elector's task and returns at once; [`is_leading`](Self::is_leading) turns
    /// false, and [`Event::StoppedLeading`](crate::Event::StoppedLeading) comes, in a moment.
    pub fn step_down(&self, cooldown: Duration) {
        self.call(Call::StepDown(cooldown));
    }

    /// Goes on leading, if it leads, but never acquires again: for a process that has work to
    /// finish before it ends. [`shutdown`](Self::shutdown) follows when the work is done.
    pub fn stop_when_idle(&self) {
        self.call(Call::StopWhenIdle);
    }

    /// Stops, and releases the lease if this process holds it. End the work of the term first:
    /// another may lead at once.
    ///
    /// It takes no longer than the elector's release budget. Dropping the future is dropping the
    /// handle.
    ///
    /// # Errors
    /// [`ShutdownError`] where the elector's task had died or given up before; its lease, if it
    /// held one, runs out by itself.
    pub async fn shutdown(mut self) -> Result<Finish, ShutdownError> {
        self.call(Call::Stop);
        match (&mut self.task).await {
            Ok(Ok(())) => self.shared.finish().ok_or(ShutdownError::TaskDied),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(ShutdownError::TaskDied),
        }
    }

    /// Ends the elector as a crash of the process would: at once, without a word to the server.
    /// For tests of what the others do then.
    pub fn kill(self) {
        drop(self);
    }

    fn call(&self, call: Call) {
        // It fails where the task has ended, and then there is nothing left to ask for.
        let _ = self.calls.send(call);
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.task.abort();
    }
}
