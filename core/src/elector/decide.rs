//! Pure decisions: whose a record is, how long it holds, and what to do next.

use super::config::Create;
use super::observe::{Judge, Observed, Seen};
use super::state::{Attempt, Belief, Next, State};
use crate::lease::RecordSpec;
use crate::time::{Duration, Instant};
use crate::timestamp::Timestamp;

/// Whose a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nobody's.
    Free,
    /// A write of this life: this name, and a renewTime that was sent.
    Mine,
    /// What an earlier life of this identity left.
    Restart,
    /// Somebody else's.
    Foreign,
    /// A second living process with this identity.
    Twin,
}

impl Standing {
    /// Whether the record has to be waited out.
    pub(crate) const fn is_foreign(self) -> bool {
        matches!(self, Self::Foreign | Self::Twin)
    }
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    Read,
    Create,
    Acquire,
    Renew,
    Release,
    Wait(Instant),
}

/// How long a record holds from the moment it was first seen.
///
/// It is the duration that its writer wrote (client-go since 1.27), or our own where it has none.
/// With `trust_renew_time` a record that was long dead by the server's own clock holds no longer;
/// its renewTime must then not lie before the lease was made, or a writer's clock is wrong.
pub(crate) fn wait_for(
    spec: &RecordSpec,
    created: Option<Timestamp>,
    standing: Standing,
    judge: Judge<'_>,
) -> Duration {
    let written = spec
        .lease_duration_seconds
        .and_then(|seconds| u64::try_from(seconds).ok());
    let wait = written
        .filter(|seconds| *seconds > 0)
        .map_or(judge.own_duration, Duration::from_secs);
    let long_dead = || {
        let (skew, date) = (judge.max_skew?, judge.server_time?);
        let renewed = spec.renew_time.timestamp()?;
        let plausible = renewed.checked_add_millis(skew.as_millis())? >= created?;
        let age = Duration::from_millis(date.millis_since(renewed)?);
        Some(plausible && age > wait.saturating_add(skew))
    };
    let dead = standing == Standing::Foreign && long_dead() == Some(true);
    if dead { Duration::ZERO } else { wait }
}

/// What the elector does at `now`, where no request is in flight.
pub(crate) fn decide(
    state: &State,
    belief: &Belief,
    observed: &Observed,
    attempt: &Attempt,
    create: Create,
    now: Instant,
) -> Move {
    match (state, belief) {
        (State::Ended(_), _) => Move::Wait(now),
        (State::Releasing(release), _) => {
            if now < release.not_before {
                return Move::Wait(release.not_before.min(release.until));
            }
            let act = if observed.must_read {
                Move::Read
            } else {
                Move::Release
            };
            at_its_time(attempt.next, now, release.until, act)
        }
        (State::Resting { until, .. }, _) => at_its_time(attempt.next, now, *until, Move::Read),
        (State::Contending | State::Finishing, Belief::Leading { until, .. }) => {
            at_its_time(attempt.next, now, *until, lead(observed, create))
        }
        (State::Contending | State::Finishing, Belief::Nothing) => {
            contend(observed, attempt.next, create, now)
        }
    }
}

/// `act` when its time has come, or else a wait for it or for `end`.
fn at_its_time(next: Next, now: Instant, end: Instant, act: Move) -> Move {
    match next {
        Next::FollowUp => act,
        Next::Due(at) | Next::Retry(at) => {
            if now >= at {
                act
            } else {
                Move::Wait(at.min(end))
            }
        }
    }
}

/// What keeps a leader in office.
fn lead(observed: &Observed, create: Create) -> Move {
    if observed.must_read {
        return Move::Read;
    }
    match (&observed.seen, create) {
        (Seen::Nothing, _) | (Seen::Missing { .. }, Create::Never) => Move::Read,
        (Seen::Missing { .. }, Create::Post | Create::Put) => Move::Create,
        (Seen::Record, _) => Move::Renew,
    }
}

/// What brings a candidate into office.
fn contend(observed: &Observed, next: Next, create: Create, now: Instant) -> Move {
    let takeover_at = takeover_at(observed, create);
    let act = if takeover_at.is_some_and(|at| now >= at) {
        take(observed)
    } else {
        Move::Read
    };
    match next {
        Next::FollowUp => act,
        Next::Retry(at) => at_its_time(Next::Retry(at), now, at, act),
        Next::Due(at) => {
            let soonest = takeover_at.map_or(at, |takeover| takeover.min(at));
            at_its_time(Next::Due(soonest), now, soonest, act)
        }
    }
}

/// When a candidate may write, by what it knows for certain.
pub(crate) fn takeover_at(observed: &Observed, create: Create) -> Option<Instant> {
    let forbidden = create == Create::Never && matches!(observed.seen, Seen::Missing { .. });
    if observed.must_read || forbidden {
        None
    } else {
        observed.takeover_at()
    }
}

fn take(observed: &Observed) -> Move {
    match observed.seen {
        Seen::Nothing => Move::Read,
        Seen::Missing { .. } => Move::Create,
        Seen::Record => Move::Acquire,
    }
}
