//! What the task tells and what handles read: the state of one elector.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kubelease_core::elector::{Elector, Health, Timing, UNREACHABLE_AFTER};
use kubelease_core::lease::Fence;
use kubelease_core::protocol::{Event, Finish, StopReason};
use kubelease_core::session::RequestError;
use kubelease_core::time::{Instant, Now};
use tokio::sync::{broadcast, watch};
use tokio_stream::wrappers::WatchStream;

use crate::changes::Changes;
use crate::clock::Clock;
use crate::error::ShutdownError;
use crate::telemetry::Telemetry;

/// How many events a listener may be behind. Events are rare: a renewal is none.
const EVENTS_MAX: usize = 128;

/// Shared by the task, which writes, and all who ask. Held for a few instructions at a time.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) timing: Timing,
    pub(crate) telemetry: Telemetry,
    state: Mutex<State>,
    /// Told of what ends work or waiting for it; a renewal is no such news.
    news: watch::Sender<()>,
}

#[derive(Debug)]
struct State {
    leading: Option<Leading>,
    term: u64,
    leader: Option<String>,
    finish: Option<Finish>,
    /// The term of which listeners were told that it has begun, and not that it ended.
    told_term: Option<u64>,
    /// `None` once the task is gone.
    events: Option<broadcast::Sender<Event>>,
    /// How the last term ended of which listeners were told.
    ended: Option<Ended>,
    closing: Closing,
    /// How many pieces of work are running under guards.
    works: usize,
    /// The elector's last turn, and the last good answer that it had by then.
    turned_at: Instant,
    answered_at: Instant,
    error: Option<RequestError>,
}

/// How a term ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) term: u64,
    pub(crate) reason: StopReason,
    pub(crate) must_cease_by: Instant,
}

/// How far a shutdown has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    /// Nobody asked for one.
    No,
    /// No work begins any more, and what runs is asked to end.
    Asked,
    /// Work is cancelled.
    Cancelling,
    /// There is work that goes on all the same.
    Stuck,
}

/// Whether work may begin.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Admission {
    /// In this term; it counts as running from now on.
    Begin(u64),
    Wait,
    /// Never again, for the elector stops or has stopped.
    Finished,
    /// Never again, for the elector's task died.
    Dead,
}

/// When and as what this process leads: `from ≤ t < until`.
#[derive(Debug)]
pub(crate) struct Leading {
    from: Instant,
    pub(crate) until: Instant,
    pub(crate) term: u64,
    pub(crate) fence: Option<Fence>,
}

impl Shared {
    pub(crate) fn new(clock: Arc<dyn Clock>, timing: Timing, telemetry: Telemetry) -> Self {
        let now = clock.now().instant;
        let state = State {
            leading: None,
            term: 0,
            leader: None,
            finish: None,
            told_term: None,
            events: Some(broadcast::Sender::new(EVENTS_MAX)),
            ended: None,
            closing: Closing::No,
            works: 0,
            turned_at: now,
            answered_at: now,
            error: None,
        };
        Self {
            clock,
            timing,
            telemetry,
            state: Mutex::new(state),
            news: watch::Sender::new(()),
        }
    }

    /// Asks about the leadership that holds by the clock as it is now: in this term, or in any.
    pub(crate) fn leading_in<T>(
        &self,
        term: Option<u64>,
        ask: impl FnOnce(&Leading) -> T,
    ) -> Option<T> {
        let state = self.lock();
        let leading = state.leading.as_ref()?;
        // The clock is read under the lock, or the state could be newer than the reading.
        let now = self.clock.now().instant;
        let holding = leading.at(now)?;
        let is_meant = term.is_none_or(|term| term == holding);
        is_meant.then(|| ask(leading))
    }

    pub(crate) fn term(&self) -> u64 {
        self.lock().term
    }

    pub(crate) fn leader(&self) -> Option<String> {
        self.lock().leader.clone()
    }

    /// A stream that begins with what holds now.
    pub(crate) fn changes(&self) -> Changes {
        let state = self.lock();
        let started = state.told_term.map(|term| Event::StartedLeading { term });
        let first = started.or_else(|| state.finish.map(Event::Finished));
        Changes::new(
            first,
            state.events.as_ref().map(broadcast::Sender::subscribe),
        )
    }

    /// News for work, from now on. All questions have to be asked anew at each.
    pub(crate) fn news(&self) -> WatchStream<()> {
        WatchStream::from_changes(self.news.subscribe())
    }

    /// Lets work begin, where it may.
    pub(crate) fn admit(&self) -> Admission {
        let mut state = self.lock();
        if state.finish.is_some() || (state.closing != Closing::No && state.events.is_some()) {
            return Admission::Finished;
        }
        if state.events.is_none() {
            return Admission::Dead;
        }
        let now = self.clock.now().instant;
        let Some(term) = state.leading.as_ref().and_then(|leading| leading.at(now)) else {
            return Admission::Wait;
        };
        state.works = state.works.saturating_add(1);
        Admission::Begin(term)
    }

    /// Work that was let begin is over.
    pub(crate) fn work_ended(&self) {
        let mut state = self.lock();
        state.works = state.works.saturating_sub(1);
    }

    pub(crate) fn works(&self) -> usize {
        self.lock().works
    }

    pub(crate) fn closing(&self) -> Closing {
        self.lock().closing
    }

    pub(crate) fn set_closing(&self, closing: Closing) {
        self.lock().closing = closing;
        self.news.send_replace(());
    }

    /// How `term` ended; `None` where the elector's task has not said it yet.
    pub(crate) fn ended(&self, term: u64) -> Option<Ended> {
        self.lock().ended.filter(|ended| ended.term >= term)
    }

    /// Whether `term` is the one that the elector believed to lead in at its last turn.
    pub(crate) fn is_term(&self, term: u64) -> bool {
        let state = self.lock();
        let leading = state.leading.as_ref();
        leading.is_some_and(|leading| leading.term == term)
    }

    /// Whether the elector's task is gone.
    pub(crate) fn is_over(&self) -> bool {
        self.lock().events.is_none()
    }

    /// How the elector ended, where its task is gone.
    pub(crate) fn outcome(&self) -> Result<Finish, ShutdownError> {
        let state = self.lock();
        match (state.finish, state.error) {
            (_, Some(error)) => Err(ShutdownError::Request(error)),
            (Some(finish), None) => Ok(finish),
            (None, None) => Err(ShutdownError::TaskDied),
        }
    }

    /// Notes why the task ends.
    pub(crate) fn fail(&self, error: RequestError) {
        self.lock().error = Some(error);
    }

    /// What the core's `health` says, also where nobody polls it.
    pub(crate) fn health(&self) -> Health {
        let state = self.lock();
        let now = self.clock.now().instant;
        let patience = self.timing.lease_duration;
        let patience = patience.saturating_add(UNREACHABLE_AFTER);
        let overdue = state
            .leading
            .as_ref()
            .is_some_and(|leading| now >= leading.until);
        if state.finish.is_some() {
            Health::Ok
        } else if state.events.is_none()
            || overdue
            || now.saturating_since(state.turned_at) > patience
        {
            Health::NotPolled
        } else if now.saturating_since(state.answered_at) > patience {
            Health::Unreachable
        } else {
            Health::Ok
        }
    }

    /// Takes over what `elector` says.
    pub(crate) fn update(&self, elector: &Elector<'_>, now: Now) {
        if self.lock().update(elector, now.instant) {
            self.news.send_replace(());
        }
    }

    /// Tells all listeners of `event`, after the state that follows from it.
    pub(crate) fn tell(&self, elector: &Elector<'_>, event: Event) {
        let mut state = self.lock();
        state.update(elector, self.clock.now().instant);
        state.tell(event);
        drop(state);
        self.news.send_replace(());
    }

    /// The task is gone: nobody leads here, and no event will come.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        (state.leading, state.told_term, state.events) = (None, None, None);
        drop(state);
        self.news.send_replace(());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is a plain store, so a panic elsewhere leaves nothing half-done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Leading {
    /// The term, where it lasts at `now`.
    fn at(&self, now: Instant) -> Option<u64> {
        (self.from <= now && now < self.until).then_some(self.term)
    }
}

impl State {
    /// Takes over what `elector` says, and answers whether that ends or begins a term.
    fn update(&mut self, elector: &Elector<'_>, now: Instant) -> bool {
        let before = self.leading.as_ref().map(|leading| leading.term);
        (self.turned_at, self.answered_at) = (now, elector.last_good_answer());
        self.leading = elector.leading_until().map(|until| Leading {
            // Not from when the write was sent: were the clock set back since, the time before
            // this turn would count as led.
            from: now,
            until,
            term: elector.term(),
            fence: elector.fence(),
        });
        self.term = elector.term();
        if self.leader.as_deref() != elector.leader() {
            self.leader = elector.leader().map(str::to_owned);
        }
        before != self.leading.as_ref().map(|leading| leading.term)
    }

    fn tell(&mut self, event: Event) {
        if let Event::StartedLeading { term } = event {
            self.told_term = Some(term);
        } else if let Event::StoppedLeading {
            term,
            reason,
            must_cease_by,
        } = event
        {
            self.told_term = None;
            self.ended = Some(Ended {
                term,
                reason,
                must_cease_by,
            });
        } else if let Event::Finished(finish) = event {
            self.finish = Some(finish);
        }
        if let Some(events) = &self.events {
            // It fails where nobody listens, and that is nobody's loss.
            let _ = events.send(event);
        }
    }
}
