//! What a fleet's workers and its handle share.

use core::future::{Future, poll_fn};
use core::pin::pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::Poll;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kubelease_core::drive::{self, Clock as _, Host};
use kubelease_core::machine::Lent;
use kubelease_core::protocol::Event;
use kubelease_core::session::{Session, UpdateMode};
use kubelease_core::time::{Duration, Instant};
use kubelease_core::wire::path::LeasePath;
use tokio::sync::{Notify, broadcast};

use super::FleetEvent;
use super::board::{Board, Heart, Job, Next};
use crate::clock::SharedClock;
use crate::http::{HttpTransport, Traffic};
use crate::task::KEEP_MAX;

/// Room for a request without what a PUT puts back: target, names, times.
const REQUEST_MAX: usize = 4 * 1024;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) board: Mutex<Board>,
    pub(super) clock: SharedClock,
    pub(super) namespace: String,
    pub(super) writes_by_put: bool,
    pub(super) traffic: Traffic,
    pub(super) events: broadcast::Sender<FleetEvent>,
    pub(super) in_flight: AtomicUsize,
    /// One worker waits for the next lease that is due; the others wait for their turn.
    pub(super) turn: tokio::sync::Mutex<()>,
    pub(super) changed: Notify,
}

impl Shared {
    /// Does something with the leases, and wakes the worker that waits where it has to.
    pub(super) fn with_board<T>(&self, change: impl FnOnce(&mut Board) -> T) -> T {
        let (result, has_news) = {
            let mut board = self.lock();
            (change(&mut board), board.take_news())
        };
        if has_news {
            self.changed.notify_one();
        }
        result
    }

    /// Serves one lease after another, until there are none and never will be.
    pub(super) async fn work(self: Arc<Self>, mut transport: HttpTransport) {
        let keep_max = if self.writes_by_put { KEEP_MAX } else { 0 };
        let mut keep = vec![0; keep_max];
        let mut buffer = vec![0; REQUEST_MAX + keep_max];
        while let Some(mut job) = self.next().await {
            self.in_flight.fetch_add(1, Ordering::Relaxed);
            let next = self
                .serve(&mut job, &mut transport, &mut keep, &mut buffer)
                .await;
            self.in_flight.fetch_sub(1, Ordering::Relaxed);
            self.with_board(|board| board.done(job, next, self.clock.now()));
        }
        // The next of the others looks, and ends as well.
        self.changed.notify_one();
    }

    /// The next lease, when it is due.
    async fn next(&self) -> Option<Job> {
        let _turn = self.turn.lock().await;
        loop {
            let at = {
                let mut board = self.lock();
                if board.is_over() {
                    return None;
                }
                match board.next(self.clock.now().instant) {
                    Next::Serve(job) => return Some(job),
                    Next::Wait(at) => at,
                }
            };
            self.wait(at).await;
        }
    }

    async fn wait(&self, at: Option<Instant>) {
        let mut changed = pin!(self.changed.notified());
        let Some(at) = at else {
            return changed.await;
        };
        let mut sleep = pin!(self.clock.sleep_until(at));
        poll_fn(|context| {
            if changed.as_mut().poll(context).is_ready() {
                return Poll::Ready(());
            }
            sleep.as_mut().poll(context)
        })
        .await;
    }

    /// Serves one lease until it waits; when it wants to be served again, if ever.
    async fn serve(
        &self,
        job: &mut Job,
        transport: &mut HttpTransport,
        keep: &mut [u8],
        buffer: &mut [u8],
    ) -> Option<Instant> {
        let update = if self.writes_by_put {
            UpdateMode::Update {
                keep,
                patch_when_too_large: false,
            }
        } else {
            UpdateMode::MergePatch
        };
        // Both were checked when they were given.
        let path = LeasePath::new(&self.namespace, &job.name).ok()?;
        let mut teller = Teller {
            events: &self.events,
            name: &job.name,
            generation: job.generation,
        };
        let mut session = Session::new(Lent(&mut *job.heart), path, update);
        let waits =
            drive::run_until_wait(&mut session, transport, &self.clock, &mut teller, buffer).await;
        // A request that does not fit into its buffer is given up, as one that is never answered.
        waits.unwrap_or_else(|_| Some(self.clock.now().instant.saturating_add(UNWRITTEN_PAUSE)))
    }

    fn lock(&self) -> MutexGuard<'_, Board> {
        // A panic in it would be a bug; what it left is no worse than a fleet that stands still.
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// After how long a request that could not be written is looked at again: it has timed out then.
const UNWRITTEN_PAUSE: Duration = Duration::from_secs(15);

/// Tells the events of one lease.
struct Teller<'j> {
    events: &'j broadcast::Sender<FleetEvent>,
    name: &'j Arc<str>,
    generation: u64,
}

impl Host<Lent<'_, Heart>> for Teller<'_> {
    fn event(&mut self, _: &Lent<'_, Heart>, event: Event) {
        // Without a listener there is nobody to tell.
        let _ = self.events.send(FleetEvent {
            name: Arc::clone(self.name),
            generation: self.generation,
            event,
        });
    }
}
