//! [`Handle`]: what the application holds of a running elector.

use core::future::poll_fn;
use core::pin::Pin;
use core::task::Poll;
use core::time::Duration;
use std::sync::Arc;

use kubelease_core::elector::Health;
use kubelease_core::lease::Fence;
use kubelease_core::protocol::Finish;
use kubelease_core::time::Instant;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;
use tokio_stream::Stream as _;

use crate::changes::Changes;
use crate::error::ShutdownError;
use crate::guard::Guard;
use crate::http::Traffic;
use crate::leading::{Contender, LeadingError};
use crate::state::{Closing, Shared};
use crate::task::Call;

/// A running elector. All questions are answered at once, from memory.
///
/// Dropping it ends the elector's task at once and **releases nothing**: work of this term may
/// still be running, so others wait until the lease has run out. [`shutdown`](Self::shutdown) is
/// for a quick hand-over. No task outlives the handle either way.
#[derive(Debug)]
pub struct Handle {
    shared: Arc<Shared>,
    calls: UnboundedSender<Call>,
    task: JoinHandle<()>,
    identity: String,
    traffic: Traffic,
    /// How long a shutdown waits for work.
    work_budget: Duration,
}

impl Handle {
    pub(crate) const fn new(
        shared: Arc<Shared>,
        calls: UnboundedSender<Call>,
        task: JoinHandle<()>,
        identity: String,
        traffic: Traffic,
        work_budget: Duration,
    ) -> Self {
        Self {
            shared,
            calls,
            task,
            identity,
            traffic,
            work_budget,
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

    /// Waits until this process leads, and runs `work` in that term, as part of the caller's task.
    ///
    /// The work is polled only while its guard is valid. When the term ends it is dropped at its
    /// next `.await`, and the error says why, and whether that came later than its `must_cease_by`:
    /// work that computes or blocks for long between two `.await`s overstays, and asks
    /// [`Guard::is_valid`] itself before each step, or goes to a thread of its own that does. The
    /// next term takes a new call:
    ///
    /// ```no_run
    /// # use kubelease::{Guard, Handle, LeadingError};
    /// # async fn pump(guard: Guard) {}
    /// # async fn example(handle: Handle) {
    /// while let Err(LeadingError::Cancelled { overstay, .. }) = handle.leading(pump).await {
    ///     println!("waiting for the next term; overstayed: {overstay:?}");
    /// }
    /// # }
    /// ```
    ///
    /// A panic in the work steps down, with the lease duration as cooldown, and goes on to the
    /// caller. Dropping the future cancels the work and changes nothing about leadership; to hand
    /// over then, [`step_down`](Self::step_down) or [`shutdown`](Self::shutdown).
    ///
    /// # Errors
    /// [`LeadingError`] where the work did not run to its end.
    pub fn leading<W, F>(
        &self,
        work: W,
    ) -> impl Future<Output = Result<F::Output, LeadingError>> + use<W, F>
    where
        W: FnOnce(Guard) -> F,
        F: Future,
    {
        self.contender().leading(work)
    }

    /// What runs work where the handle can't be borrowed, as in a task with a loop of its own.
    #[must_use]
    pub fn contender(&self) -> Contender {
        Contender::new(Arc::clone(&self.shared), self.calls.clone())
    }

    /// Whether the elector can do its work, at the call: a probe answers 200 for
    /// [`Health::Ok`] and 500 otherwise. Also a candidate that does not reach the server is not
    /// well, and an elector whose task is dead or starved is [`Health::NotPolled`].
    #[must_use]
    pub fn health(&self) -> Health {
        self.shared.health()
    }

    /// Waits until the elector has ended, by itself or by [`stop_when_idle`](Self::stop_when_idle)
    /// and a loss.
    ///
    /// # Errors
    /// [`ShutdownError`] where its task died.
    pub async fn ended(&self) -> Result<Finish, ShutdownError> {
        let mut news = self.shared.news();
        while !self.shared.is_over() {
            poll_fn(|context| Pin::new(&mut news).poll_next(context)).await;
        }
        self.shared.outcome()
    }

    /// Stops, and releases the lease if this process holds it.
    ///
    /// Work in [`leading`](Self::leading) comes first: it is asked to end
    /// ([`Guard::shutdown_asked`]) while renewals go on, cancelled when the work budget is used
    /// up, and the lease is released when all of it is gone. Other work of the term should have
    /// ended before: another may lead at once.
    ///
    /// It takes no longer than the work budget, a second, and the release budget. Dropping the
    /// future is dropping the handle.
    ///
    /// # Errors
    /// [`ShutdownError::WorkStuck`] where work does not end when it is cancelled: nothing is
    /// released then. Otherwise the elector's task had died or given up before. The lease, if this
    /// process held it, runs out by itself in all these cases.
    pub async fn shutdown(mut self) -> Result<Finish, ShutdownError> {
        self.call(Call::Stop(self.work_budget));
        let mut news = self.shared.news();
        poll_fn(|context| {
            while Pin::new(&mut news).poll_next(context).is_ready() {}
            if self.shared.closing() == Closing::Stuck && !self.shared.is_over() {
                return Poll::Ready(Err(ShutdownError::WorkStuck));
            }
            // How the task itself ended is in what it shared, or missing there.
            Pin::new(&mut self.task)
                .poll(context)
                .map(|_| self.shared.outcome())
        })
        .await
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
