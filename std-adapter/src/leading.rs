//! [`Contender`]: work that runs only while this process leads.

use core::error::Error;
use core::fmt;
use core::future::poll_fn;
use core::pin::{Pin, pin};
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::Arc;
use std::thread;

use kubelease_core::protocol::StopReason;
use kubelease_core::time::Instant;
use tokio::sync::mpsc::UnboundedSender;
use tokio_stream::Stream as _;
use tokio_stream::wrappers::WatchStream;

use crate::guard::Guard;
use crate::state::{Admission, Closing, Shared};
use crate::task::Call;

/// Runs work while this process leads, from [`Handle::contender`](crate::Handle::contender).
///
/// For tasks and threads that can't borrow the handle. Clone it freely: it keeps no elector alive.
#[derive(Clone, Debug)]
pub struct Contender {
    shared: Arc<Shared>,
    calls: UnboundedSender<Call>,
}

impl Contender {
    pub(crate) const fn new(shared: Arc<Shared>, calls: UnboundedSender<Call>) -> Self {
        Self { shared, calls }
    }

    /// Waits until this process leads and runs `work` in that term; see
    /// [`Handle::leading`](crate::Handle::leading).
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
        lead(self.clone(), work)
    }
}

/// Why work did not run to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeadingError {
    /// It was cancelled, because its term ended or a shutdown's patience did. It can be begun anew
    /// in the next term.
    Cancelled {
        /// The term that it ran in.
        term: u64,
        /// Why the term ended; [`StopReason::Stopped`] where it was a shutdown.
        reason: StopReason,
        /// How long past its `must_cease_by` it went on, where it did: work that does not yield
        /// can't be cancelled. Another may have led meanwhile.
        overstay: Option<Duration>,
    },
    /// It did not begin, for the elector stops or has stopped.
    Finished,
    /// The elector's task is dead: it panicked, or its runtime was shut down, or its handle
    /// dropped. Work that ran was cancelled.
    TaskDied,
}

impl fmt::Display for LeadingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled {
                term,
                reason,
                overstay,
            } => {
                write!(
                    f,
                    "expected term {term} to last as long as its work, found it ended by {reason:?}"
                )?;
                match overstay {
                    Some(overstay) => write!(f, "; the work went on for {overstay:?} too long"),
                    None => Ok(()),
                }
            }
            Self::Finished => f.write_str("expected a running elector, found it stopping"),
            Self::TaskDied => f.write_str("expected a running elector, found its task dead"),
        }
    }
}

impl Error for LeadingError {}

/// Waits for a term, and runs `work` in it.
async fn lead<W, F>(contender: Contender, work: W) -> Result<F::Output, LeadingError>
where
    W: FnOnce(Guard) -> F,
    F: Future,
{
    let shared = &contender.shared;
    let mut news = shared.news();
    let term = begin(shared, &mut news).await?;
    let running = Running(&contender);
    let guard = Guard::new(Arc::clone(shared), term);
    let output = {
        let mut work = pin!(work(guard.clone()));
        // Dropped with this block: that is how it is cancelled, before the clock is read.
        poll_fn(|context| poll_work(shared, &guard, &mut news, work.as_mut(), context)).await
    };
    let gone_at = shared.clock.now().instant;
    drop(running);
    match output {
        Some(output) => Ok(output),
        None => Err(why_cancelled(shared, term, gone_at, &mut news).await),
    }
}

/// Waits until this process leads.
async fn begin(shared: &Shared, news: &mut WatchStream<()>) -> Result<u64, LeadingError> {
    loop {
        match shared.admit() {
            Admission::Begin(term) => return Ok(term),
            Admission::Finished => return Err(LeadingError::Finished),
            Admission::Dead => return Err(LeadingError::TaskDied),
            Admission::Wait => next(news).await,
        }
    }
}

/// Polls work that may go on; ready with nothing where it may not.
fn poll_work<F: Future>(
    shared: &Shared,
    guard: &Guard,
    news: &mut WatchStream<()>,
    work: Pin<&mut F>,
    context: &mut Context<'_>,
) -> Poll<Option<F::Output>> {
    // First the news, for its waker, then the truth: a change between them wakes this anew.
    while Pin::new(&mut *news).poll_next(context).is_ready() {}
    let closing = shared.closing();
    if !guard.is_valid() || matches!(closing, Closing::Cancelling | Closing::Stuck) {
        return Poll::Ready(None);
    }
    work.poll(context).map(Some)
}

/// Why work was cancelled in `term` that was gone at `gone_at`.
async fn why_cancelled(
    shared: &Shared,
    term: u64,
    gone_at: Instant,
    news: &mut WatchStream<()>,
) -> LeadingError {
    loop {
        let cancelled = |reason, overstay| LeadingError::Cancelled {
            term,
            reason,
            overstay,
        };
        if let Some(ended) = shared.ended(term) {
            let overstay = Duration::from(gone_at.saturating_since(ended.must_cease_by));
            let overstay = Some(overstay).filter(|overstay| !overstay.is_zero());
            if let Some(overstay) = overstay {
                shared.telemetry.overstayed(term, overstay);
            }
            return cancelled(ended.reason, overstay);
        }
        if shared.is_over() {
            return LeadingError::TaskDied;
        }
        if matches!(shared.closing(), Closing::Cancelling | Closing::Stuck) {
            return cancelled(StopReason::Stopped, None);
        }
        if !shared.is_term(term) {
            // It ended before anybody was told that it had begun, so nobody is told of the end.
            return cancelled(StopReason::Deadline, None);
        }
        // By the clock the term is over; the elector says it in a moment.
        next(news).await;
    }
}

async fn next(news: &mut WatchStream<()>) {
    poll_fn(|context| Pin::new(&mut *news).poll_next(context)).await;
}

/// Work that counts as running, to its end or its panic.
struct Running<'c>(&'c Contender);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let Contender { shared, calls } = self.0;
        shared.work_ended();
        // A send fails where the task has ended, and then nobody waits for it.
        if thread::panicking() {
            // Work that dies while the lease is renewed for ever is nobody's work. A candidate
            // that panics each time must not lead each time, either.
            let cooldown = Duration::from(shared.timing.lease_duration);
            let _ = calls.send(Call::StepDown(cooldown));
        }
        let _ = calls.send(Call::WorkEnded);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_says_what_was_expected() {
        let cancelled = |overstay| LeadingError::Cancelled {
            term: 3,
            reason: StopReason::Lost,
            overstay,
        };
        assert_eq!(
            cancelled(None).to_string(),
            "expected term 3 to last as long as its work, found it ended by Lost"
        );
        assert_eq!(
            cancelled(Some(Duration::from_millis(20))).to_string(),
            "expected term 3 to last as long as its work, found it ended by Lost; the work went \
             on for 20ms too long"
        );
        assert_eq!(
            LeadingError::TaskDied.to_string(),
            "expected a running elector, found its task dead"
        );
        assert_eq!(
            LeadingError::Finished.to_string(),
            "expected a running elector, found it stopping"
        );
    }
}
