//! What the task tells and what the handle reads: the state of one heartbeat.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kubelease_core::heartbeat::Health;
use kubelease_core::protocol::{Event, Finish};
use kubelease_core::session::RequestError;
use kubelease_core::time::{Instant, Now};
use tokio::sync::{Notify, broadcast, watch};

use super::Heart;
use crate::changes::Changes;
use crate::clock::Clock;
use crate::error::ShutdownError;

/// How many events a listener may be behind. Events are rare: a beat is none.
const EVENTS_MAX: usize = 128;

/// Shared by the task and all who ask. Held for a few instructions at a time.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) clock: Arc<dyn Clock>,
    state: Mutex<State>,
    stage: watch::Sender<Stage>,
    /// Whether the end was asked for: nobody does anything for the Node any more.
    pub(super) stopping: watch::Sender<bool>,
    wishes: Mutex<Wishes>,
    /// Told where a wish may be fulfilled.
    pub(super) wished: Notify,
}

#[derive(Debug)]
struct State {
    /// As it was after the last turn: it answers questions by the core's own rules.
    heart: Heart,
    finish: Option<Finish>,
    error: Option<RequestError>,
    /// The last sign of life that the task has not heard of.
    alive_at: Option<Instant>,
    /// What went wrong with the Node last.
    node_error: Option<String>,
    /// `None` once the task is gone.
    events: Option<broadcast::Sender<Event>>,
}

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Begun,
    /// A beat was acknowledged.
    Beaten,
    /// The task is gone.
    Over,
}

/// What is to be done for the Node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wishes {
    pub(super) register: bool,
    pub(super) ready: Option<Ready>,
    /// Whether the first beat is done, and the look at the Node after it.
    pub(super) has_greeted: bool,
}

/// The condition is to be posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ready {
    /// Whether the Node is known to be not ready, so that this is a transition.
    pub(super) is_transition: bool,
}

impl Shared {
    pub(super) fn new(clock: Arc<dyn Clock>, heart: Heart) -> Self {
        Self {
            clock,
            state: Mutex::new(State {
                heart,
                finish: None,
                error: None,
                alive_at: None,
                node_error: None,
                events: Some(broadcast::Sender::new(EVENTS_MAX)),
            }),
            stage: watch::Sender::new(Stage::Begun),
            stopping: watch::Sender::new(false),
            wishes: Mutex::default(),
            wished: Notify::new(),
        }
    }

    pub(super) fn last_beat(&self) -> Option<Instant> {
        self.state().heart.last_beat()
    }

    pub(super) fn health(&self) -> Health {
        let state = self.state();
        // The clock is read under the lock, or the state could be newer than the reading.
        let now = self.clock.now().instant;
        match (state.finish, &state.events) {
            (Some(_), _) => Health::Ok,
            (None, None) => Health::NotPolled,
            (None, Some(_)) => state.heart.health(now),
        }
    }

    /// The host is alive; the answers say so before the task has heard of it. Says whether the task
    /// has to be told: it is not where it has not heard of an earlier sign either.
    pub(super) fn alive(&self, now: Now) -> bool {
        let mut state = self.state();
        state.heart.alive(now);
        let is_first = state.alive_at.replace(now.instant).is_none();
        drop(state);
        self.wished.notify_one();
        is_first
    }

    /// The last sign of life; the task has heard of it now.
    pub(super) fn take_alive(&self) -> Option<Instant> {
        self.state().alive_at.take()
    }

    pub(super) fn changes(&self) -> Changes {
        let state = self.state();
        let events = state.events.as_ref().map(broadcast::Sender::subscribe);
        Changes::new(state.finish.map(Event::Finished), events)
    }

    pub(super) fn stage(&self) -> watch::Receiver<Stage> {
        self.stage.subscribe()
    }

    pub(super) fn node_error(&self) -> Option<String> {
        self.state().node_error.clone()
    }

    pub(super) fn set_node_error(&self, error: Option<String>) {
        self.state().node_error = error;
    }

    /// How it ended, where its task is gone.
    pub(super) fn outcome(&self) -> Result<Finish, ShutdownError> {
        let state = self.state();
        match (state.finish, state.error) {
            (_, Some(error)) => Err(ShutdownError::Request(error)),
            (Some(finish), None) => Ok(finish),
            (None, None) => Err(ShutdownError::TaskDied),
        }
    }

    /// Takes over how the heart is after a turn; says whether this was its first beat.
    pub(super) fn update(&self, heart: &Heart) -> bool {
        self.state().heart.clone_from(heart);
        let wishes = self.wishes();
        if wishes.register || wishes.ready.is_some() {
            self.wished.notify_one();
        }
        let has_beaten = heart.last_beat().is_some();
        self.stage.send_if_modified(|stage| {
            let is_first = has_beaten && *stage == Stage::Begun;
            if is_first {
                *stage = Stage::Beaten;
            }
            is_first
        })
    }

    /// Tells all listeners of `event`, after the state that follows from it.
    pub(super) fn tell(&self, heart: &Heart, event: Event) {
        let mut state = self.state();
        state.heart.clone_from(heart);
        if let Event::Finished(finish) = event {
            state.finish = Some(finish);
        }
        if let Some(events) = &state.events {
            // It fails where nobody listens, and that is nobody's loss.
            let _ = events.send(event);
        }
    }

    /// Notes why the task ends.
    pub(super) fn fail(&self, error: RequestError) {
        self.state().error = Some(error);
    }

    /// The task is gone.
    pub(super) fn end(&self) {
        self.state().events = None;
        self.stage.send_replace(Stage::Over);
    }

    pub(super) fn wishes(&self) -> Wishes {
        *self.wishes_mut()
    }

    /// Has something done for the Node, besides what is to be done already.
    pub(super) fn wish(&self, more: Wishes) {
        let mut wishes = self.wishes_mut();
        wishes.register |= more.register;
        wishes.has_greeted |= more.has_greeted;
        wishes.ready = match (wishes.ready, more.ready) {
            (Some(one), Some(other)) => Some(Ready {
                is_transition: one.is_transition || other.is_transition,
            }),
            (one, other) => one.or(other),
        };
        drop(wishes);
        self.wished.notify_one();
    }

    /// What is to be posted, where the time has come; it is being done.
    pub(super) fn take_ready(&self) -> Option<Ready> {
        let mut wishes = self.wishes_mut();
        if wishes.has_greeted {
            wishes.ready.take()
        } else {
            None
        }
    }

    pub(super) fn registered(&self) {
        self.wishes_mut().register = false;
    }

    fn wishes_mut(&self) -> MutexGuard<'_, Wishes> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is a plain store, so a panic elsewhere leaves nothing half-done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
