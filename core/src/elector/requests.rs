//! Making requests: what each write says, and the deadline that it gets.

use super::decide::Act;
use super::standing::Standing;
use super::state::Written;
use super::{Create, Elector, Next, Sent, State};
use crate::lease::LeaseSpec;
use crate::protocol::{Changes, Operation, RequestId};
use crate::time::{Instant, Now};
use crate::timestamp::Timestamp;

/// Largest `leaseTransitions` of the API, which has 31 bits.
const TRANSITIONS_MAX: u32 = i32::MAX.unsigned_abs();

/// The duration in a released record: valid for the server, and short for old readers that do not
/// know that an empty holder is free (client-go before 1.14).
const RELEASED_SECONDS: u32 = 1;

impl<'a> Elector<'a> {
    /// Puts the request of `act` in flight; its id and deadline.
    pub(super) fn send(&mut self, act: Act, now: Now) -> (RequestId, Instant) {
        let at = self.now();
        if !matches!(self.attempt.next, Next::FollowUp) {
            self.attempt.started = at;
            self.attempt.quick_rounds = 0;
            self.attempt.reauthorized = false;
        }
        let mut deadline = self.deadline(at);
        let kind = match act {
            Act::Watch => match self.watching.hooks {
                Some(hooks) => {
                    deadline = (hooks.until)(self);
                    (hooks.open)(self)
                }
                None => Sent::Get,
            },
            Act::Read => Sent::Get,
            Act::Create | Act::Acquire | Act::Renew | Act::Release => self.write(act, now),
        };
        // Leadership counts from the call's own instant, which clock noise may put a little
        // before the latest one.
        let sent = self.clock.earliest_of(now.instant);
        (self.slot.start(sent, deadline, kind), deadline)
    }

    /// `min(sent + timeout, leading_until)`, and within the budget of a release.
    fn deadline(&self, at: Instant) -> Instant {
        let timeout = at.saturating_add(self.config.timing.request_timeout);
        let within = match self.state {
            State::Releasing(release) => timeout.min(release.until),
            State::Contending | State::Finishing | State::Resting { .. } | State::Ended { .. } => {
                timeout
            }
        };
        self.belief
            .until()
            .map_or(within, |until| within.min(until))
    }

    /// A write: with its own time as acquireTime, where it begins a term, and the transitions.
    fn write(&mut self, act: Act, now: Now) -> Sent {
        let (acquire_time, transitions) = match act {
            Act::Create | Act::Read | Act::Watch => (None, 0),
            Act::Acquire => self.taken_over(),
            Act::Renew | Act::Release => self.kept(),
        };
        let renew_time = self.renewals.next(now, self.clock.latest());
        self.observed.sent.push(renew_time);
        let written = Written {
            renew_time,
            acquire_time: acquire_time.unwrap_or(renew_time),
            transitions,
        };
        match act {
            Act::Create => Sent::Create(written),
            Act::Acquire => Sent::Acquire(written),
            Act::Renew => Sent::Renew(written),
            Act::Release => Sent::Release(written),
            Act::Read | Act::Watch => Sent::Get,
        }
    }

    /// Times and transitions of the record's own term.
    fn kept(&self) -> (Option<Timestamp>, u32) {
        self.observed.record().map_or((None, 0), |record| {
            (record.acquire_time, record.transitions)
        })
    }

    /// The same, counted up where the holder changes: not for a restart of this identity.
    fn taken_over(&self) -> (Option<Timestamp>, u32) {
        let Some(record) = self.observed.record() else {
            return (None, 0);
        };
        let same = record.holder.matches(self.config.identity);
        if same && record.standing != Standing::Twin {
            return self.kept();
        }
        (
            None,
            record.transitions.saturating_add(1).min(TRANSITIONS_MAX),
        )
    }

    /// What the write `kind` says; nothing where it is none.
    pub(super) fn spec(&self, kind: &Sent) -> Option<LeaseSpec<'a>> {
        let written = kind.written()?;
        let lease_duration_seconds = match kind {
            Sent::Release(_) => RELEASED_SECONDS,
            Sent::Get
            | Sent::Watch { .. }
            | Sent::Create(_)
            | Sent::Acquire(_)
            | Sent::Renew(_) => self.config.timing.lease_duration_seconds(),
        };
        Some(LeaseSpec {
            holder_identity: self.holder_of(kind),
            lease_duration_seconds,
            acquire_time: Some(written.acquire_time),
            renew_time: written.renew_time,
            lease_transitions: Some(written.transitions),
        })
    }

    /// The holder that the write `kind` names.
    pub(super) const fn holder_of(&self, kind: &Sent) -> &'a str {
        match kind {
            Sent::Release(_) => "",
            Sent::Get
            | Sent::Watch { .. }
            | Sent::Create(_)
            | Sent::Acquire(_)
            | Sent::Renew(_) => self.config.identity,
        }
    }

    /// The operation of a request in flight, made from state each time.
    #[inline]
    pub(super) fn operation(&self, kind: &Sent) -> Option<Operation<'_>> {
        if let Sent::Watch { timeout } = *kind {
            let version = &self.observed.last_version().resource_version;
            return Some(Operation::Watch { version, timeout });
        }
        let Some(spec) = self.spec(kind) else {
            return Some(Operation::Get);
        };
        let (changes, labels) = match kind {
            Sent::Get | Sent::Watch { .. } | Sent::Create(_) => {
                return Some(Operation::Create {
                    spec,
                    labels: self.config.labels,
                    owner: None,
                    by_put: self.config.create == Create::Put,
                });
            }
            Sent::Acquire(_) => (Changes::Acquire, self.config.labels),
            Sent::Renew(_) => (Changes::Renew, &[][..]),
            Sent::Release(_) => (Changes::Release, &[][..]),
        };
        Some(Operation::Update {
            spec,
            version: &self.observed.record()?.version,
            changes,
            labels,
            owner: None,
        })
    }
}
