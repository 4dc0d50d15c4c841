//! Leader election: [`Elector`], its [`Config`] and its [`Timing`].
//!
//! The rules are stricter than client-go's on purpose; each is cited where it is kept.

mod answers;
mod config;
mod decide;
mod notices;
mod observe;
mod pace;
mod release;
mod report;
mod requests;
mod standing;
mod state;
mod term;
mod timing;
mod watch;

pub use config::{CheckedConfig, Config, ConfigError, Create, IDENTITY_MAX, LABELS_MAX};
pub use report::Report;
pub use timing::{
    JITTER_PERCENT_DEFAULT, JITTER_PERCENT_MAX, MARGIN_MIN, REQUEST_TIMEOUT_DEFAULT_MAX, Timing,
    TimingError,
};

use crate::backoff::Backoff;
use crate::contact::Contact;
use crate::inflight::InFlight;
use crate::lease::{Fence, Version};
use crate::machine::Machine;
use crate::monotonic::{Monotonic, Step};
use crate::prng::Prng;
use crate::protocol::{
    Action, Event, Failure, Output, Request, RequestId, Response, StaleRequest, StopReason,
    WatchEvent,
};
use crate::renewal_clock::RenewalClock;
use crate::time::{Duration, Instant, Now};

use decide::Move;
use notices::Notices;
use observe::Observed;
use state::{Attempt, Belief, Next, Releasing, Sent, State, Then};
use watch::Watching;

/// How late a candidate's takeover timer fires: instants are cut to whole milliseconds.
pub(crate) const LATE: Duration = Duration::from_millis(1);

/// Least ceiling of the growing delay between tries that the server refuses.
pub(crate) const SLOWEST_RETRY: Duration = Duration::from_secs(30);

/// At most this many polls after an input reach a wait or the end: one for each kind of event
/// (11), a cancel, a request, and the wait itself.
pub const POLLS_MAX: usize = 14;

/// A candidate without a good answer for its lease duration and this much more is unreachable.
pub const UNREACHABLE_AFTER: Duration = Duration::from_secs(20);

/// Runs for election on one Lease, and leads.
///
/// It is a plain value that reads no clock and sends nothing: [`poll`](Self::poll) says what to
/// do, and the `handle_*` calls take what came of it. All of its promises are in the laws of the
/// crate's documentation.
#[derive(Clone, Debug)]
// In this order, for small and busy members lie where short instructions reach them.
#[repr(C)]
pub struct Elector<'a> {
    /// Whether the deletion of the lease seen last was told.
    deletion_told: bool,
    backoff: Backoff,
    prng: Prng,
    belief: Belief,
    clock: Monotonic,
    attempt: Attempt,
    notices: Notices,
    state: State,
    slot: InFlight<Sent>,
    watching: Watching,
    contact: Contact,
    renewals: RenewalClock,
    /// Work of the last term may go on until here.
    ceased_at: Instant,
    term: u64,
    config: Config<'a>,
    observed: Observed,
    fence: Fence,
}

/// Whether the elector can do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Health {
    /// It can.
    Ok,
    /// No good answer for the lease duration and 20 s more.
    Unreachable,
    /// Nobody polls it: its deadlines have passed unseen.
    NotPolled,
}

impl<'a> Elector<'a> {
    /// A candidate that asks for the lease at its first poll.
    ///
    /// # Errors
    /// [`ConfigError`] for the first thing that is wrong with `config`.
    pub fn new(config: Config<'a>, now: Now) -> Result<Self, ConfigError> {
        Ok(Self::of_checked(config.checked()?, now))
    }

    /// The same, where the configuration has been checked before.
    #[must_use]
    pub fn of_checked(CheckedConfig(config): CheckedConfig<'a>, now: Now) -> Self {
        let clock = Monotonic::new(now.instant);
        let start = clock.latest();
        let next = Next::Retry(start);
        Self {
            config,
            clock,
            renewals: RenewalClock::default(),
            prng: Prng::new(config.seed),
            state: State::Contending,
            belief: Belief::Nothing,
            ceased_at: start,
            observed: Observed::NOTHING,
            slot: InFlight::new(),
            attempt: Attempt {
                started: start,
                next,
                quick_rounds: 0,
                reauthorized: false,
            },
            backoff: Backoff::default(),
            contact: Contact::new(start),
            notices: Notices::default(),
            watching: Watching::default(),
            deletion_told: false,
            term: 0,
            fence: Fence::NONE,
        }
    }

    /// What to do next. Call it after every input, and at the instant of the last `WaitUntil`; a
    /// poll before that says the same wait again.
    pub fn poll(&mut self, now: Now) -> Output<'_> {
        match self.act(now) {
            Action::Event(event) => Output::Event(event),
            Action::Cancel(id) => Output::Cancel(id),
            Action::WaitUntil(instant) => Output::WaitUntil(instant),
            Action::Done => Output::Done,
            // What was just sent can be made again, so that the default is never taken.
            Action::Send { .. } => self
                .in_flight()
                .map_or(Output::WaitUntil(now.instant), Output::Request),
        }
    }

    /// Takes the answer to request `id`.
    ///
    /// # Errors
    /// [`StaleRequest`] where the request was cancelled or its deadline has come.
    pub fn handle_response(
        &mut self,
        now: Now,
        id: RequestId,
        response: Response<'_>,
    ) -> Result<(), StaleRequest> {
        self.advance(now.instant);
        self.answered(id, &response)
    }

    /// Takes the news that request `id` has no answer.
    ///
    /// # Errors
    /// [`StaleRequest`] where the request was cancelled or its deadline has come.
    pub fn handle_failure(
        &mut self,
        now: Now,
        id: RequestId,
        failure: Failure,
    ) -> Result<(), StaleRequest> {
        self.advance(now.instant);
        let pending = self.slot.finish(id)?;
        self.unanswered(&pending, failure);
        Ok(())
    }

    /// Gives up leadership and the lease, and contends again after `cooldown`. A candidate only
    /// rests: it observes and writes nothing.
    pub fn step_down(&mut self, now: Now, cooldown: Duration) {
        self.advance(now.instant);
        let until = self.now().saturating_add(cooldown);
        let rest = Then::Rest { until, cooldown };
        match &mut self.state {
            State::Contending if self.belief.is_leading() => {
                self.give_up(rest, StopReason::SteppedDown);
            }
            State::Contending | State::Resting { .. } => {
                self.state = State::Resting { until, cooldown };
                if self
                    .slot
                    .pending()
                    .is_some_and(|pending| !matches!(pending.kind, Sent::Get))
                {
                    self.cancel();
                    self.attempt.next = Next::Due(self.candidate_pace());
                }
            }
            // It was never to acquire again, so that nothing is left to do after the release.
            State::Finishing => self.give_up(Then::End, StopReason::SteppedDown),
            State::Releasing(release) => {
                if matches!(release.then, Then::Rest { .. }) {
                    release.then = rest;
                }
            }
            State::Ended { .. } => {}
        }
    }

    /// Gives up leadership and the lease, and ends. [`Output::Done`] follows in any case, at the
    /// latest when the release budget is used up.
    ///
    /// A write of this process that the network delivers only after the look which found the lease
    /// in other hands, or free, may still be done; others then wait for the lease duration.
    pub fn stop(&mut self, now: Now) {
        self.advance(now.instant);
        match &mut self.state {
            State::Contending | State::Finishing | State::Resting { .. } => {
                self.give_up(Then::End, StopReason::Stopped);
            }
            State::Releasing(release) => release.then = Then::End,
            State::Ended { .. } => {}
        }
    }

    /// Leads on while the application's work goes on, and never acquires again;
    /// [`work_done`](Self::work_done) ends it. Whoever does not lead ends at once.
    pub fn stop_when_idle(&mut self, now: Now) {
        self.advance(now.instant);
        if matches!(self.state, State::Contending) && self.belief.is_leading() {
            self.state = State::Finishing;
        } else if !matches!(self.state, State::Finishing) {
            self.stop(now);
        }
    }

    /// The application's work has ended: the same as [`stop`](Self::stop).
    pub fn work_done(&mut self, now: Now) {
        self.stop(now);
    }

    /// Whether this process leads at `at`, which may lie in the future: it turns false by itself.
    #[must_use]
    pub fn is_leading(&self, at: Instant) -> bool {
        match self.belief {
            Belief::Nothing => false,
            Belief::Leading { sent, until, .. } => sent <= at && at < until,
        }
    }

    /// The instant at which leadership ends unless a write is acknowledged before, as of the last
    /// call: whether it has come is for [`is_leading`](Self::is_leading) to say.
    #[must_use]
    pub const fn leading_until(&self) -> Option<Instant> {
        self.belief.until()
    }

    /// The token of the term that led at the last call: whether it still leads is for
    /// [`is_leading`](Self::is_leading) to say. A store that compares tokens needs no more.
    #[must_use]
    pub fn fence(&self) -> Option<Fence> {
        self.fence_ref().cloned()
    }

    /// The same where it lies.
    #[must_use]
    pub fn fence_ref(&self) -> Option<&Fence> {
        self.belief.is_leading().then_some(&self.fence)
    }

    /// Who led at the last call, by what had been seen: this process, or the holder in the record
    /// (the beginning of it where it is longer than [`HOLDER_PREFIX_MAX`]).
    ///
    /// [`HOLDER_PREFIX_MAX`]: crate::lease::HOLDER_PREFIX_MAX
    #[must_use]
    pub fn leader(&self) -> Option<&str> {
        match self.belief {
            Belief::Leading { .. } => Some(self.config.identity),
            Belief::Nothing => self.observed.foreign_leader(),
        }
    }

    /// The bytes of [`leader`](Self::leader), none where nobody is known: less code, where the text
    /// is only handed on.
    #[must_use]
    pub fn leader_bytes(&self) -> &[u8] {
        match self.belief {
            Belief::Leading { .. } => self.config.identity.as_bytes(),
            Belief::Nothing => self.observed.foreign_leader_bytes(),
        }
    }

    /// The version of the lease seen last, by an answer or in a watch; empty where none was seen.
    #[must_use]
    pub const fn observed_version(&self) -> &Version {
        self.observed.last_version()
    }

    /// How many terms this process has begun.
    #[must_use]
    pub const fn term(&self) -> u64 {
        self.term
    }

    /// When an answer last told the state of the lease; at first when the machine was made.
    #[must_use]
    pub const fn last_good_answer(&self) -> Instant {
        self.contact.last_good()
    }

    /// What it was configured with.
    #[must_use]
    pub const fn config(&self) -> &Config<'a> {
        &self.config
    }

    /// Whether it can do its work, as seen at `at`.
    #[must_use]
    pub fn health(&self, at: Instant) -> Health {
        let patience = self
            .config
            .timing
            .lease_duration
            .saturating_add(UNREACHABLE_AFTER);
        let overdue = self.belief.until().is_some_and(|until| at >= until);
        if matches!(self.state, State::Ended { .. }) {
            Health::Ok
        } else if overdue || at.saturating_since(self.now()) > patience {
            Health::NotPolled
        } else if at.saturating_since(self.contact.last_good()) > patience {
            Health::Unreachable
        } else {
            Health::Ok
        }
    }

    /// The request that waits for its answer, the same as when it was handed out.
    #[must_use]
    pub fn in_flight(&self) -> Option<Request<'_>> {
        let pending = self.slot.pending()?;
        let operation = self.operation(&pending.kind)?;
        Some(Request {
            id: pending.id,
            deadline: pending.deadline,
            operation,
        })
    }

    /// The latest instant seen.
    const fn now(&self) -> Instant {
        self.clock.latest()
    }

    /// Lets time pass: everything that ends by itself ends here, before anything else happens.
    fn advance(&mut self, instant: Instant) {
        if let Step::Reset { before } = self.clock.step(instant) {
            self.clock_was_reset(before);
        }
        let now = self.now();
        if let Some(expired) = self.slot.expire(now) {
            self.unanswered(&expired, Failure::TimedOut);
        }
        if let Some(until) = self.belief.until().filter(|until| now >= *until) {
            // What the lease says now is not known: the next term begins with a look.
            self.observed.must_read = true;
            let grace = self.config.timing.grace();
            self.end_term(StopReason::Deadline, until.saturating_add(grace));
        }
        match self.state {
            State::Resting { until, .. } if now >= until => {
                self.state = State::Contending;
                self.attempt.next = Next::Retry(now);
            }
            State::Releasing(release) if now >= release.until => self.budget_is_over(),
            State::Contending
            | State::Finishing
            | State::Resting { .. }
            | State::Releasing(_)
            | State::Ended { .. } => {}
        }
    }

    fn act(&mut self, now: Now) -> Action {
        self.advance(now.instant);
        self.next_action(now)
    }

    /// What to do next, by the time of [`advance`](Self::advance). A call of its own, so that it is
    /// not on the stack while that runs.
    #[inline(never)]
    fn next_action(&mut self, now: Now) -> Action {
        if let Some(event) = self.take_event() {
            return Action::Event(event);
        }
        if let Some(id) = self.slot.take_cancelled() {
            return Action::Cancel(id);
        }
        if matches!(self.state, State::Ended { .. }) {
            return Action::Done;
        }
        if let Some(pending) = self.slot.pending() {
            return Action::WaitUntil(pending.deadline);
        }
        match self.decide() {
            Move::Wait(until) => Action::WaitUntil(until),
            Move::Send(act) => {
                let (id, deadline) = self.send(act, now);
                Action::Send { id, deadline }
            }
        }
    }

    fn take_event(&mut self) -> Option<Event> {
        if let Some(event) = self.notices.take() {
            return Some(event);
        }
        if let Belief::Leading { announced, .. } = &mut self.belief
            && !core::mem::replace(announced, true)
        {
            return Some(Event::StartedLeading { term: self.term });
        }
        if let State::Ended { finish, is_told } = &mut self.state
            && !core::mem::replace(is_told, true)
        {
            return Some(Event::Finished(*finish));
        }
        None
    }

    fn decide(&self) -> Move {
        let Self {
            state,
            belief,
            observed,
            attempt,
            config,
            ..
        } = self;
        decide::decide(state, belief, observed, attempt, config.create, self.now())
    }
}

impl Machine for Elector<'_> {
    fn poll(&mut self, now: Now) -> Output<'_> {
        self.poll(now)
    }

    fn poll_action(&mut self, now: Now) -> Action {
        self.act(now)
    }

    fn handle_response(
        &mut self,
        now: Now,
        id: RequestId,
        response: Response<'_>,
    ) -> Result<(), StaleRequest> {
        self.handle_response(now, id, response)
    }

    fn handle_failure(
        &mut self,
        now: Now,
        id: RequestId,
        failure: Failure,
    ) -> Result<(), StaleRequest> {
        self.handle_failure(now, id, failure)
    }

    fn in_flight(&self) -> Option<Request<'_>> {
        self.in_flight()
    }

    fn in_flight_id(&self) -> Option<RequestId> {
        self.slot.pending().map(|pending| pending.id)
    }

    /// By the hooks: one that does not watch has no watch in flight, either.
    fn handle_watch(
        &mut self,
        now: Now,
        id: RequestId,
        event: WatchEvent<'_>,
    ) -> Result<(), StaleRequest> {
        match self.watching.hooks {
            Some(hooks) => (hooks.line)(self, now, id, event),
            None => Err(StaleRequest),
        }
    }
}
