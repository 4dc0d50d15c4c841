//! Pure decisions: whose a record is, how long it holds, and what to do next.

use super::config::Create;
use super::observe::{Observed, Seen};
use super::state::{Attempt, Belief, Next, State};
use crate::time::Instant;

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// Nothing before this instant.
    Wait(Instant),
    /// This request, now.
    Send(Act),
}

/// A request that can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Read,
    Watch,
    Create,
    Acquire,
    Renew,
    Release,
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
        (State::Ended { .. }, _) => Move::Wait(now),
        (State::Releasing(release), _) => {
            if now < release.not_before {
                return Move::Wait(release.not_before.min(release.until));
            }
            let act = if observed.must_read {
                Act::Read
            } else {
                Act::Release
            };
            at_its_time(attempt.next, now, release.until, act)
        }
        (State::Resting { until, .. }, _) => at_its_time(attempt.next, now, *until, Act::Read),
        (State::Contending | State::Finishing, Belief::Leading { until, .. }) => {
            at_its_time(attempt.next, now, *until, lead(observed, create))
        }
        (State::Contending | State::Finishing, Belief::Nothing) => {
            contend(observed, attempt.next, create, now)
        }
    }
}

/// `act` when its time has come, or else a wait for it or for `end`.
fn at_its_time(next: Next, now: Instant, end: Instant, act: Act) -> Move {
    match next {
        Next::FollowUp => Move::Send(act),
        Next::Watch => Move::Send(Act::Watch),
        Next::Due(at) | Next::Retry(at) => {
            if now >= at {
                Move::Send(act)
            } else {
                Move::Wait(at.min(end))
            }
        }
    }
}

/// What keeps a leader in office.
fn lead(observed: &Observed, create: Create) -> Act {
    if observed.must_read {
        return Act::Read;
    }
    match (&observed.seen, create) {
        (Seen::Nothing, _) | (Seen::Missing { .. }, Create::Never) => Act::Read,
        (Seen::Missing { .. }, Create::Post | Create::Put) => Act::Create,
        (Seen::Record, _) => Act::Renew,
    }
}

/// What brings a candidate into office.
fn contend(observed: &Observed, next: Next, create: Create, now: Instant) -> Move {
    let takeover_at = takeover_at(observed, create);
    let act = if takeover_at.is_some_and(|at| now >= at) {
        take(observed)
    } else {
        Act::Read
    };
    match next {
        Next::Watch if act == Act::Read => Move::Send(Act::Watch),
        Next::FollowUp | Next::Watch => Move::Send(act),
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

fn take(observed: &Observed) -> Act {
    match observed.seen {
        Seen::Nothing => Act::Read,
        Seen::Missing { .. } => Act::Create,
        Seen::Record => Act::Acquire,
    }
}
