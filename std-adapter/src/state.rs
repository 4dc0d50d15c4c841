//! What the task tells and what handles read: the state of one elector.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kubelease_core::elector::Elector;
use kubelease_core::lease::Fence;
use kubelease_core::protocol::{Event, Finish};
use kubelease_core::time::{Instant, Now};
use tokio::sync::broadcast;

use crate::changes::Changes;
use crate::clock::Clock;

/// How many events a listener may be behind. Events are rare: a renewal is none.
const EVENTS_MAX: usize = 128;

/// Shared by the task, which writes, and all who ask. Held for a few instructions at a time.
#[derive(Debug)]
pub(crate) struct Shared {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
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
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let state = State {
            leading: None,
            term: 0,
            leader: None,
            finish: None,
            told_term: None,
            events: Some(broadcast::Sender::new(EVENTS_MAX)),
        };
        Self {
            clock,
            state: Mutex::new(state),
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
        let holds = leading.from <= now && now < leading.until;
        let is_meant = term.is_none_or(|term| term == leading.term);
        (holds && is_meant).then(|| ask(leading))
    }

    pub(crate) fn term(&self) -> u64 {
        self.lock().term
    }

    pub(crate) fn leader(&self) -> Option<String> {
        self.lock().leader.clone()
    }

    pub(crate) fn finish(&self) -> Option<Finish> {
        self.lock().finish
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

    /// Takes over what `elector` says.
    pub(crate) fn update(&self, elector: &Elector<'_>, now: Now) {
        self.lock().update(elector, now.instant);
    }

    /// Tells all listeners of `event`, after the state that follows from it.
    pub(crate) fn tell(&self, elector: &Elector<'_>, event: Event) {
        let mut state = self.lock();
        state.update(elector, self.clock.now().instant);
        state.tell(event);
    }

    /// The task is gone: nobody leads here, and no event will come.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        (state.leading, state.told_term, state.events) = (None, None, None);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is a plain store, so a panic elsewhere leaves nothing half-done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn update(&mut self, elector: &Elector<'_>, now: Instant) {
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
    }

    fn tell(&mut self, event: Event) {
        if let Event::StartedLeading { term } = event {
            self.told_term = Some(term);
        } else if let Event::StoppedLeading { .. } = event {
            self.told_term = None;
        } else if let Event::Finished(finish) = event {
            self.finish = Some(finish);
        }
        if let Some(events) = &self.events {
            // It fails where nobody listens, and that is nobody's loss.
            let _ = events.send(event);
        }
    }
}
