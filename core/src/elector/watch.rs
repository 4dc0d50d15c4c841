//! Watch mode: a candidate holds one watch on the lease instead of reading it again and again.
//!
//! A release is then seen at once. All else is as without it: what a record holds is counted by
//! our own clock, each write has its condition, and a GET decides whenever the stream ends, fails
//! or falls silent. Polling alone always suffices, so whatever is wrong with watches costs time
//! and nothing else.
//!
//! There is never more than one request in flight: to write or to read, the watch is cancelled.
//! Candidates that all see one release write at once; the condition lets one of them in, and the
//! others meet a conflict, read the lease and watch again. A pause drawn at random would spare the
//! server some of that, at the price of what the watch is there for.

use super::Elector;
use super::decide;
use super::state::{Next, Sent, State};
use crate::backoff::Backoff;
use crate::machine::Watches;
use crate::protocol::{RequestId, StaleRequest, TroubleKind, Verb, WatchEvent};
use crate::time::{Duration, Instant, Now};

/// Longest silence of a stream: a server sends a bookmark every minute, as well as it can.
const SILENCE_MAX: Duration = Duration::from_secs(90);

/// Least time after which the server may end a stream, which a load balancer might do otherwise;
/// up to as much again is drawn at random, so that candidates do not come back all at once
/// (client-go's reflectors do the same).
const STREAM_MIN: Duration = Duration::from_secs(300);

/// Hundredths of [`STREAM_MIN`] that are drawn.
const STREAM_JITTER_PERCENT: u32 = 100;

/// Longest time for which the lease is polled because a stream brought nothing.
const POLLING_MAX: Duration = Duration::from_secs(600);

/// The state of watch mode.
#[derive(Clone, Debug, Default)]
pub(super) struct Watching {
    pub(super) hooks: Option<&'static Hooks>,
    /// No watch before here: the last one brought nothing.
    not_before: Instant,
    backoff: Backoff,
    /// Whether anything came of the watch in flight.
    heard: bool,
}

/// What watch mode does, behind pointers: a program that never turns it on does not link it.
#[derive(Debug)]
pub(super) struct Hooks {
    /// A line came.
    pub(super) line:
        fn(&mut Elector<'_>, Now, RequestId, WatchEvent<'_>) -> Result<(), StaleRequest>,
    /// The lease is known, and the next look has its time: perhaps a watch instead.
    pub(super) looked: fn(&mut Elector<'_>),
    /// When a watch that starts or was heard now counts as dead.
    pub(super) until: fn(&Elector<'_>) -> Instant,
    /// A watch begins.
    pub(super) open: fn(&mut Elector<'_>) -> Sent,
    /// A watch has ended, and the next try has its time; perhaps the server named one.
    pub(super) ended: fn(&mut Elector<'_>, Option<Duration>),
}

static HOOKS: Hooks = Hooks {
    line,
    looked,
    until,
    open,
    ended,
};

impl Elector<'_> {
    /// Turns watch mode on: from its next look on, a candidate holds a watch on the lease instead
    /// of reading it every retry period. The right `watch` is wanted then; where it is missing,
    /// the candidate says so and polls.
    ///
    /// The answer to [`Operation::Watch`](crate::protocol::Operation::Watch) is a stream: each of
    /// its lines goes to [`handle_watch`](Self::handle_watch), its end to
    /// [`handle_response`](Self::handle_response) as
    /// [`Reply::WatchEnded`](crate::protocol::Reply::WatchEnded), and poll after each of them. A
    /// `Cancel` may come at any time.
    pub fn watch(&mut self) {
        self.watching.hooks = Some(&HOOKS);
    }

    /// Takes one line of the stream that answers the watch `id`.
    ///
    /// # Errors
    /// [`StaleRequest`] where the watch was cancelled, its deadline has come, or `id` is another
    /// request.
    pub fn handle_watch(
        &mut self,
        now: Now,
        id: RequestId,
        event: WatchEvent<'_>,
    ) -> Result<(), StaleRequest> {
        self.advance(now.instant);
        let pending = self.slot.pending().ok_or(StaleRequest)?;
        if pending.id != id || !matches!(pending.kind, Sent::Watch { .. }) {
            return Err(StaleRequest);
        }
        self.heard(event);
        Ok(())
    }

    fn heard(&mut self, event: WatchEvent<'_>) {
        let now = self.now();
        self.contact.answered();
        if let WatchEvent::Broken(bad) = event {
            self.trouble(TroubleKind::BadAnswer(bad), Verb::Watch);
        }
        if matches!(event, WatchEvent::Error | WatchEvent::Broken(_)) {
            self.cancel();
            self.retry(None);
            ended(self, None);
            return;
        }
        self.watching.heard = true;
        self.watching.backoff.reset();
        self.contact.good(Verb::Watch, now);
        match event {
            // What lies behind was sent by a server that lags, or came twice.
            WatchEvent::Changed(record) if !self.observed.is_past(&record.version) => {
                self.was_read(record, None, Verb::Watch);
            }
            WatchEvent::Deleted(record) if !self.observed.is_past(&record.version) => {
                self.observed.set_deleted(&record.version);
                self.was_missing(Verb::Watch);
            }
            WatchEvent::Changed(_)
            | WatchEvent::Deleted(_)
            | WatchEvent::Bookmark
            | WatchEvent::Error
            | WatchEvent::Broken(_) => {}
        }
        if matches!(self.attempt.next, Next::FollowUp) {
            // The lease can be taken: that is an attempt of its own.
            self.cancel();
            self.attempt.next = Next::Due(now);
        } else {
            let until = until(self);
            self.slot.move_deadline(until);
        }
    }
}

impl Watches for Elector<'_> {
    fn watch(&mut self) {
        self.watch();
    }
}

fn line(
    elector: &mut Elector<'_>,
    now: Now,
    id: RequestId,
    event: WatchEvent<'_>,
) -> Result<(), StaleRequest> {
    elector.handle_watch(now, id, event)
}

/// A watch begins at the version of a record: where there is none, or one that is no number, the
/// lease is polled.
fn looked(elector: &mut Elector<'_>) {
    let record = elector.observed.record();
    let version = record.and_then(|record| record.version.resource_version.as_number());
    if version.is_some() && elector.now() >= elector.watching.not_before {
        elector.attempt.next = Next::Watch;
    }
}

/// How long a stream may be silent: half of what the record holds. Its leader writes several times
/// as often, so that a stream which has died unnoticed costs no more than that.
pub(super) fn silence(holds: Duration, retry_period: Duration) -> Duration {
    holds.half().min(SILENCE_MAX).max(retry_period)
}

/// The end of that silence, or when the lease may be taken.
fn until(elector: &Elector<'_>) -> Instant {
    let quiet = silence(elector.observed.wait(), elector.config.timing.retry_period);
    let dead_at = elector.now().saturating_add(quiet);
    let due_at = match elector.state {
        State::Resting { until, .. } => Some(until),
        State::Contending | State::Finishing | State::Releasing(_) | State::Ended { .. } => {
            decide::takeover_at(&elector.observed, elector.config.create)
        }
    };
    due_at.map_or(dead_at, |at| at.min(dead_at))
}

fn open(elector: &mut Elector<'_>) -> Sent {
    elector.watching.heard = false;
    let timeout = elector.prng.jittered(STREAM_MIN, STREAM_JITTER_PERCENT);
    Sent::Watch { timeout }
}

/// One that brought nothing is not tried again for a while. A takeover need not wait for a look
/// whose time the server did not choose.
fn ended(elector: &mut Elector<'_>, retry_after: Option<Duration>) {
    if !elector.watching.heard {
        let period = elector.config.timing.retry_period;
        let pause = elector.watching.backoff.next_delay(period, POLLING_MAX);
        elector.watching.not_before = elector.now().saturating_add(pause);
    }
    if let (Next::Retry(at), None) = (elector.attempt.next, retry_after) {
        elector.attempt.next = Next::Due(at);
    }
}
