//! [`Pace`]: when the next request may leave.
//!
//! Beats keep to a schedule that slow calls do not shift. Within a round, writes that fail are
//! tried again at once, a few times; reads, looks and creations back off, and refusals more so.

use core::borrow::Borrow;

use super::{Heartbeat, HeartbeatConfig};
use crate::backoff::Backoff;
use crate::prng::Prng;
use crate::protocol::Verb;
use crate::time::{Duration, Instant};

/// Tries of one beat, as kubelet's.
const TRIES_MAX: u8 = 5;

/// First and longest pause while the lease cannot be read or created, as kubelet's.
const PAUSE_FIRST: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(7);

/// First and least longest pause after a refusal, which somebody has to mend. A server that just
/// started refuses everybody for half a second.
const REFUSED_FIRST: Duration = Duration::from_secs(1);
const REFUSED_MAX: Duration = Duration::from_secs(30);

/// Longest `Retry-After` that is obeyed.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);

/// When what may leave.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// The slot of the schedule that the round under way or the next one has.
    due: Instant,
    /// When the next request may leave.
    pub(super) at: Instant,
    /// Whether that begins a round.
    is_due: bool,
    /// Whether the round began before its slot.
    is_early: bool,
    /// Whether a beat was left out because the host was not alive.
    is_owed: bool,
    /// Tries of the round that failed.
    tries: u8,
    /// Whether the round has had its retry with new credentials.
    pub(super) is_reauthorized: bool,
    backoff: Backoff,
    prng: Prng,
}

impl Pace {
    pub(super) fn new(rules: &HeartbeatConfig, seed: u64, start: Instant) -> Self {
        let mut prng = Prng::new(seed);
        let spread = if rules.spread_first_beat {
            let spread = prng.jittered(rules.interval, 100);
            spread.saturating_sub(rules.interval)
        } else {
            Duration::ZERO
        };
        let first = start.saturating_add(spread);
        Self {
            due: first,
            at: first,
            is_due: true,
            is_early: false,
            is_owed: false,
            tries: 0,
            is_reauthorized: false,
            backoff: Backoff::default(),
            prng,
        }
    }

    /// The schedule starts anew with a beat at `now`.
    pub(super) const fn begin_at(&mut self, now: Instant) {
        self.due = now;
        self.at = now;
        self.is_due = true;
    }

    /// A request leaves, and begins a round where one is due.
    pub(super) const fn leave(&mut self) {
        if core::mem::replace(&mut self.is_due, false) {
            self.is_early = self.at.as_millis() < self.due.as_millis();
            self.tries = 0;
            self.is_reauthorized = false;
        }
    }

    /// The round goes on at `at`.
    pub(super) const fn follow_up(&mut self, at: Instant) {
        self.at = at;
        self.is_due = false;
    }

    /// The server answered as it should.
    pub(super) const fn is_well(&mut self) {
        self.backoff.reset();
    }
}

impl<C: Borrow<HeartbeatConfig>, S: AsRef<str>> Heartbeat<C, S> {
    /// The round goes on at once.
    pub(super) fn follow_up(&mut self) {
        self.pace.follow_up(self.now());
    }

    /// The round is over, its last beat having left at `sent`: the next slot that is not past
    /// then. One that has passed since is made up for at once.
    pub(super) fn end_round(&mut self, sent: Instant) {
        let (interval, percent) = (self.rules().interval, self.rules().jitter_percent);
        if !core::mem::replace(&mut self.pace.is_early, false) {
            let step = self.pace.prng.jittered(interval, percent);
            let next = self.pace.due.saturating_add(step);
            self.pace.due = if next > sent {
                next
            } else {
                sent.saturating_add(step)
            };
        }
        let mut at = self.pace.due;
        if self.is_held_by_another() {
            at = at.min(self.known.free_at);
        }
        self.pace.at = at.max(self.now());
        self.pace.is_due = true;
        self.was_looked_up = false;
    }

    /// A write of the round failed: once more at once, or in the next slot. Says whether at once.
    pub(super) fn try_again(&mut self, sent: Instant) -> bool {
        self.pace.tries = self.pace.tries.saturating_add(1);
        if self.pace.tries < TRIES_MAX {
            self.follow_up();
            true
        } else {
            self.end_round(sent);
            false
        }
    }

    /// The lease can't be read or created: the next try after a pause that grows.
    pub(super) fn pause(&mut self, least: Option<Duration>) {
        let ceiling = PAUSE_MAX.min(self.rules().interval).max(PAUSE_FIRST);
        let pause = self.pace.backoff.next_delay(PAUSE_FIRST, ceiling);
        self.rest(pause, least);
    }

    /// The server refuses: a try at once is useless.
    pub(super) fn pause_refused(&mut self, least: Option<Duration>) {
        let ceiling = REFUSED_MAX.max(self.rules().interval);
        let pause = self.pace.backoff.next_delay(REFUSED_FIRST, ceiling);
        self.rest(pause, least);
    }

    /// Nothing for `pause` and for what the server asked, with the jitter.
    fn rest(&mut self, pause: Duration, least: Option<Duration>) {
        let least = least.map_or(Duration::ZERO, |least| least.min(RETRY_AFTER_MAX));
        let percent = self.rules().jitter_percent;
        let pause = self.pace.prng.jittered(pause.max(least), percent);
        let at = self.now().saturating_add(pause);
        self.pace.follow_up(at);
    }

    /// Leaves out what may not leave now, and says so: its slot passes.
    pub(super) fn leave_out(&mut self) {
        let now = self.now();
        if self.slot.pending().is_some() || now < self.pace.at {
            return;
        }
        if let Some(kind) = self.obstacle() {
            self.trouble(kind, Verb::Update);
            self.look_was_left_out();
            // A round that began early keeps its slot; one that has passed too is left out with it.
            self.pace.is_early &= self.pace.due > now;
            self.end_round(now);
            self.pace.is_owed = true;
        }
    }

    /// What was left out is made up for, now that it may leave.
    pub(super) fn make_up(&mut self) {
        if core::mem::take(&mut self.pace.is_owed) {
            self.pace.begin_at(self.now());
        }
    }
}
