//! Heartbeats: [`Heartbeat`] keeps one Lease renewed, as kubelet does for its node.
//!
//! The lease says that its holder lives. There is no election: whoever holds the lease beats it,
//! and nobody takes it over while it beats. What counts is what the node controller makes of it,
//! tried on Kubernetes 1.37:
//!
//! * Only a `renewTime` above the stored one is a beat, and a write that does not raise it can
//!   leave a dead node Ready for ever. So every write raises it, past whatever was ever stored or
//!   sent, and by as much as time has passed; nothing else is ever written.
//! * The holder is never cleared and the lease never rewritten at the end: a node is found dead by
//!   its silence.
//! * A lease whose owner does not exist is deleted by the garbage collector at once. So the Node is
//!   looked up anew when the lease is found deleted.
//!
//! ```
//! use kubelease_core::heartbeat::{Heartbeat, HeartbeatConfig, HeartbeatIdentity};
//! use kubelease_core::protocol::{Operation, Output, Reply, Response};
//! use kubelease_core::time::{Instant, Now};
//!
//! let config = HeartbeatConfig { spread_first_beat: false, ..HeartbeatConfig::NODE };
//! let now = Now::monotonic(Instant::from_millis(0));
//! let mut heart = Heartbeat::new(&config, HeartbeatIdentity::new("gateway-7"), now)?;
//! // The lease is read first: its renewTime has to be passed.
//! let Output::Request(read) = heart.poll(now) else { panic!() };
//! assert_eq!(read.operation, Operation::Get);
//! let id = read.id;
//! heart.handle_response(now, id, Response::new(Reply::LeaseMissing)).unwrap();
//! let Output::Request(beat) = heart.poll(now) else { panic!() };
//! assert!(matches!(beat.operation, Operation::Create { .. }));
//! # Ok::<(), kubelease_core::heartbeat::HeartbeatError>(())
//! ```

mod answers;
mod config;
mod decide;
mod looks;
mod notices;
mod pace;
mod requests;
mod retire;
mod state;
mod times;

pub use config::{
    HeartbeatConfig, HeartbeatError, HeartbeatIdentity, JITTER_PERCENT_DEFAULT, JITTER_PERCENT_MAX,
    REQUEST_TIMEOUT_DEFAULT_MAX,
};
pub use retire::Retire;

use core::borrow::Borrow;

use crate::contact::Contact;
use crate::inflight::InFlight;
use crate::lease::{NodeRef, Readiness, Uid};
use crate::machine::Machine;
use crate::monotonic::{Monotonic, Step};
use crate::protocol::{
    Action, Event, Failure, Finish, Output, Request, RequestId, Response, StaleRequest,
};
use crate::time::{Instant, Now};

use decide::Move;
use notices::Notices;
use pace::Pace;
use state::{Known, Sent, State};
use times::BeatTimes;

/// At most this many polls after an input reach a wait or the end: one for each kind of event
/// (7), a cancel, a request, and the wait itself.
pub const POLLS_MAX: usize = 10;

/// Beats one Lease.
///
/// It is a plain value that reads no clock and sends nothing: [`poll`](Self::poll) says what to
/// do, and the `handle_*` calls take what came of it. The laws of the crate's documentation hold,
/// as far as they are not about leadership.
///
/// `C` is how it has its config: a reference, so that a fleet shares one, or the config itself, so
/// that it can be moved together with the machine. `S` is how it has its names: references as
/// well, or texts of its own.
#[derive(Clone, Debug)]
// In this order, for small and busy members lie where short instructions reach them.
#[repr(C)]
pub struct Heartbeat<C, S> {
    /// Whether that is what the Node said last, or the host.
    uid_is_fresh: bool,
    /// Whether the owner was asked for in vain in this round.
    was_looked_up: bool,
    /// Whether the Node is to be looked at.
    must_look: bool,
    /// How many beats from now the Node is to be looked at for a look that came to nothing; 0
    /// where none did.
    look_in: u8,
    /// What the Node said last.
    readiness: Readiness,
    /// Whether it was told of this Node that it is not ready.
    is_told: bool,
    /// Whether a beat was ever acknowledged on this clock.
    has_beaten: bool,
    notices: Notices,
    state: State,
    pace: Pace,
    clock: Monotonic,
    /// When the last acknowledged beat was handed out, or the machine or its clock began.
    last_beat: Instant,
    /// The last instant at which the host counts as alive, where it has to say so; the clock's
    /// origin where it has not.
    alive_until: Instant,
    times: BeatTimes,
    slot: InFlight<Sent>,
    contact: Contact,
    holder: S,
    node: Option<S>,
    config: C,
    known: Known,
    /// The Node's uid as far as it is known; empty otherwise.
    node_uid: Uid,
}

/// Whether the heart beats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Health {
    /// It does, or has ended.
    Ok,
    /// No beat was acknowledged for a lease duration.
    Lapsed,
    /// The host has not said for its `liveness_ttl` that it is alive.
    NotAlive,
    /// Nobody polls it: its deadlines have passed unseen.
    NotPolled,
}

impl<C: Borrow<HeartbeatConfig>, S: AsRef<str>> Heartbeat<C, S> {
    /// A heart that beats from its first poll on, or from a moment in the first interval.
    ///
    /// # Errors
    /// [`HeartbeatError`] for the first thing that is wrong with the config or the identity.
    pub fn new(
        config: C,
        identity: HeartbeatIdentity<S>,
        now: Now,
    ) -> Result<Self, HeartbeatError> {
        let rules = config.borrow();
        rules.validate()?;
        identity.validate()?;
        if identity.node.is_none() && rules.owner_required {
            return Err(HeartbeatError::OwnerRequiredWithoutNode);
        }
        if identity.node.is_none() && rules.watch_node {
            return Err(HeartbeatError::WatchWithoutNode);
        }
        let clock = Monotonic::new(now.instant);
        let start = clock.latest();
        let node_uid = identity.node_uid.as_ref().map_or("", AsRef::as_ref);
        let node_uid = Uid::try_from(node_uid);
        Ok(Self {
            pace: Pace::new(rules, identity.seed, start),
            holder: identity.holder,
            node: identity.node,
            clock,
            times: BeatTimes::new(start),
            state: State::Beating,
            known: Known::new(start),
            slot: InFlight::new(),
            contact: Contact::new(start),
            notices: Notices::default(),
            // Its length was checked.
            node_uid: node_uid.unwrap_or_default(),
            uid_is_fresh: identity.node_uid.is_some(),
            was_looked_up: false,
            must_look: false,
            look_in: 0,
            readiness: Readiness::Ready,
            is_told: false,
            has_beaten: false,
            last_beat: start,
            alive_until: Instant::default(),
            config,
        })
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
        let pending = self.slot.finish(id)?;
        if now.wall.is_none()
            && let Some(date) = response.server_time
        {
            self.times.learn_date(date, self.now());
        }
        self.answered(&pending, response);
        Ok(())
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
        self.unanswered(&pending.kind, failure);
        Ok(())
    }

    /// The host is alive: beats are allowed up to and including its `liveness_ttl` from now. A
    /// beat that was left out meanwhile follows at once. Without a TTL it does nothing.
    pub fn alive(&mut self, now: Now) {
        // Before time is applied: a beat that is due at this very moment is not left out.
        self.pass_time(now.instant);
        self.vouch(self.now());
        self.advance(now.instant);
    }

    /// The same for a sign of life that was given at `at` and is heard of only now: beats are
    /// allowed up to and including the `liveness_ttl` from then. One that is older than that does
    /// nothing, and none takes back what a later one allowed.
    pub fn alive_since(&mut self, now: Now, at: Instant) {
        self.pass_time(now.instant);
        self.vouch(at.min(self.now()));
        self.advance(now.instant);
    }

    /// The instant at which the last acknowledged beat was handed out.
    #[must_use]
    pub fn last_beat(&self) -> Option<Instant> {
        self.has_beaten.then_some(self.last_beat)
    }

    /// The instant before which no request leaves. It spares a fleet the first poll of a heart
    /// whose first beat is spread; [`poll`](Self::poll) says the same, and why.
    #[must_use]
    pub const fn quiet_until(&self) -> Instant {
        self.pace.at
    }

    /// Whether the heart beats, as seen at `at`.
    #[must_use]
    pub fn health(&self, at: Instant) -> Health {
        let patience = self.rules().lease_duration;
        if matches!(self.state, State::Ended { .. }) {
            Health::Ok
        } else if at.saturating_since(self.now()) > patience {
            Health::NotPolled
        } else if !self.is_alive(at) {
            Health::NotAlive
        } else if at.saturating_since(self.last_beat) >= patience {
            Health::Lapsed
        } else {
            Health::Ok
        }
    }

    /// What it was configured with.
    #[must_use]
    pub fn config(&self) -> &HeartbeatConfig {
        self.config.borrow()
    }

    /// The uid of the Node, where it is known.
    #[must_use]
    pub fn node_uid(&self) -> Option<&str> {
        Some(self.node_uid.as_str()).filter(|uid| !uid.is_empty())
    }

    /// The bytes of [`node_uid`](Self::node_uid), empty for `None`: those that a server sent are
    /// checked in a quarter of the code then.
    #[must_use]
    pub fn node_uid_bytes(&self) -> &[u8] {
        self.node_uid.as_bytes()
    }

    /// The request that waits for its answer, the same as when it was handed out.
    #[must_use]
    pub fn in_flight(&self) -> Option<Request<'_>> {
        let pending = self.slot.pending()?;
        Some(Request {
            id: pending.id,
            deadline: pending.deadline,
            operation: self.operation(&pending.kind),
        })
    }

    fn rules(&self) -> &HeartbeatConfig {
        self.config.borrow()
    }

    /// The latest instant seen.
    const fn now(&self) -> Instant {
        self.clock.latest()
    }

    fn is_alive(&self, at: Instant) -> bool {
        let has_said = self.alive_until > Instant::default();
        self.rules().liveness_ttl.is_none() || (has_said && at <= self.alive_until)
    }

    /// The host was alive at `at`.
    fn vouch(&mut self, at: Instant) {
        if let Some(ttl) = self.rules().liveness_ttl {
            self.alive_until = self.alive_until.max(at.saturating_add(ttl));
            if self.is_alive(self.now()) {
                self.make_up();
            }
        }
    }

    /// Lets time pass: everything that ends by itself ends here, before anything else happens.
    fn advance(&mut self, instant: Instant) {
        self.pass_time(instant);
        match self.state {
            State::Beating => self.leave_out(),
            State::Retiring(retiring) if self.now() >= retiring.until => {
                self.budget_is_over(retiring);
            }
            State::Retiring(_) | State::Ended { .. } => {}
        }
    }

    fn pass_time(&mut self, instant: Instant) {
        if let Step::Reset { before } = self.clock.step(instant) {
            self.clock_was_reset(before);
        }
        if let Some(expired) = self.slot.expire(self.now()) {
            self.unanswered(&expired.kind, Failure::TimedOut);
        }
    }

    /// All instants mean something else now: what is timed starts anew.
    fn clock_was_reset(&mut self, before: Instant) {
        let now = self.now();
        self.cancel();
        self.times.reset(before, now);
        self.known.wait_from(now);
        self.contact.restart(now);
        self.pace.begin_at(now);
        self.has_beaten = false;
        self.last_beat = now;
        if self.alive_until > Instant::default()
            && let Some(ttl) = self.rules().liveness_ttl
        {
            self.alive_until = now.saturating_add(ttl);
        }
        let until = now.saturating_add(self.rules().retire_budget);
        if let State::Retiring(retiring) = &mut self.state {
            retiring.until = until;
        }
    }

    /// Ends the request in flight. A write that is left alone may still be done.
    fn cancel(&mut self) {
        if self
            .slot
            .cancel()
            .is_some_and(|pending| pending.kind.is_write())
        {
            self.known.must_read = true;
        }
    }

    /// A poll, but for making the request itself.
    fn act(&mut self, now: Now) -> Action {
        self.advance(now.instant);
        self.next_action(now)
    }

    /// Time was applied before, by a call that is over when this one begins: both take some stack.
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
        if let State::Ended { finish, is_told } = &mut self.state
            && !core::mem::replace(is_told, true)
        {
            return Some(Event::Finished(*finish));
        }
        None
    }

    fn end(&mut self, finish: Finish) {
        let is_told = false;
        self.state = State::Ended { finish, is_told };
    }
}

impl<C: Borrow<HeartbeatConfig>, S: AsRef<str>> Machine for Heartbeat<C, S> {
    const USES_NODES: bool = true;

    fn owner(&self) -> Option<NodeRef<'_>> {
        let uid = self.node_uid.as_bytes();
        let name = self.node.as_ref()?.as_ref();
        Some(NodeRef { name, uid })
    }

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
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use core::mem::size_of;

    use super::*;

    #[test]
    fn a_hundred_thousand_hearts_fit_into_forty_megabytes() {
        assert!(size_of::<Heartbeat<&HeartbeatConfig, &str>>() <= 392);
    }
}
