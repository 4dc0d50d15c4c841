//! One term of `run`: a command under guard, from its start to its end.

use kubelease::kubelease_core::time::Duration;
use kubelease::{Clock, Event, Guard, Instant, SystemClock};

use super::keeper::Keeper;
use super::words::{Bounds, Order, Report};
use super::{Run, next};
use crate::exit::{Failure, by_signal};
use crate::signals::ends;

/// The command is killed this much sooner than it must have ended, so that the kernel has time to
/// do it; less where the grace is short.
const KILL_AHEAD: Duration = Duration::from_millis(100);

/// What is not dead by then is killed again.
const KILL_AGAIN: Duration = Duration::from_millis(50);

/// How long a guard may take to tell of the end of a command that was killed.
const GUARD_PATIENCE: Duration = Duration::from_secs(3);

/// How often renewals are passed on to the guard, in each retry period.
const LOOKS: u64 = 10;

/// How a term ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TermEnd {
    /// The command ended by itself, or by a signal that was passed on: `run`'s exit code.
    Ended(u8),
    /// Leadership was lost, and nothing of the command is left.
    Lost,
    /// The guard died, and nothing of the command is left.
    Unguarded,
    /// Something of the command is left.
    Survived,
}

/// Runs the command while this term lasts.
pub(super) async fn lead(run: &mut Run) -> Result<TermEnd, Failure> {
    let Some(guard) = run.handle.guard() else {
        return Ok(TermEnd::Lost);
    };
    let Some(until) = guard.valid_until() else {
        return Ok(TermEnd::Lost);
    };
    let bounds = bounds(run, until);
    run.begun = guard.term();
    let environment = environment(run, &guard);
    let keeper = Keeper::start(&run.args.command, &environment, bounds)?;
    let leading = Leading {
        keeper,
        guard,
        until,
        must_end_by: None,
        bounds,
        is_lost: false,
        has_events: true,
        killed_at: None,
        killing_at: None,
    };
    Ok(leading.live(run).await)
}

/// When a command has to end that may run until `until`.
fn bounds(run: &Run, until: Instant) -> Bounds {
    let grace = run.timing.report().grace;
    let ahead = KILL_AHEAD.min(grace.half().half());
    Bounds {
        // `run` itself says it sooner: at the end of leadership.
        term_at: until.saturating_add(grace.half()),
        kill_at: until.saturating_add(grace).saturating_sub(ahead),
    }
}

fn environment(run: &mut Run, guard: &Guard) -> Vec<(&'static str, String)> {
    let token = guard.fence().and_then(|fence| fence.token());
    let mut environment = vec![
        ("KUBELEASE_IDENTITY", run.handle.identity().to_owned()),
        ("KUBELEASE_LEASE", run.lease.clone()),
        ("KUBELEASE_TERM", guard.term().to_string()),
    ];
    run.compare(token);
    let fence = token.map(|token| token.to_string());
    run.say(format_args!(
        "leading as {}, term {}, fence {}",
        run.handle.identity(),
        guard.term(),
        fence.as_deref().unwrap_or("unknown")
    ));
    environment.push(("KUBELEASE_FENCE", fence.unwrap_or_default()));
    environment
}

/// A command that runs.
#[derive(Debug)]
struct Leading {
    keeper: Keeper,
    guard: Guard,
    /// The end of leadership that the guard was told last.
    until: Instant,
    /// Set once the command was asked to end.
    must_end_by: Option<Instant>,
    bounds: Bounds,
    is_lost: bool,
    /// Whether the elector is there to tell of itself.
    has_events: bool,
    /// When the command was killed first, and when it is killed again.
    killed_at: Option<Instant>,
    killing_at: Option<Instant>,
}

impl Leading {
    async fn live(mut self, run: &mut Run) -> TermEnd {
        let clock = SystemClock::new();
        let period = run.timing.retry_period.as_millis() / LOOKS;
        let grace = run.timing.report().grace.as_millis() / 4;
        let tick = Duration::from_millis(period.min(grace).max(1));
        let mut look_at = clock.now().instant.saturating_add(tick);
        loop {
            // Time comes first: whoever wakes after the end kills before anything else.
            let now = clock.now().instant;
            if now >= self.kill_at() {
                self.kill(now);
                if self.is_guard_silent(now) {
                    return self.abandon().await;
                }
            }
            if now >= look_at {
                look_at = now.saturating_add(tick);
                self.look(run, now);
            }
            let wake_at = self.kill_at().min(look_at);
            tokio::select! {
                biased;
                () = clock.sleep_until(wake_at) => {}
                report = self.keeper.report() => match report {
                    Some(Report::Started(_)) => {}
                    Some(Report::Exited(code)) => {
                        return self.ended(run, u8::try_from(code).unwrap_or(u8::MAX)).await;
                    }
                    Some(Report::Signaled(number)) => {
                        return self.ended(run, by_signal(number)).await;
                    }
                    Some(Report::TooLate) => {
                        self.keeper.finish().await;
                        return TermEnd::Lost;
                    }
                    Some(Report::Survived) => return self.survived().await,
                    None => return self.abandon().await,
                },
                number = run.signals.next() => self.signal(run, number, clock.now().instant),
                event = next(&mut run.events), if self.has_events => match event {
                    Some(event) => self.hear(run, event, clock.now().instant),
                    // The elector is gone, and nothing renews any more.
                    None => {
                        self.has_events = false;
                        self.lose(run, clock.now().instant, clock.now().instant);
                    }
                },
            }
        }
    }

    /// The next instant at which the command is killed.
    fn kill_at(&self) -> Instant {
        self.killing_at.unwrap_or(self.bounds.kill_at)
    }

    fn kill(&mut self, now: Instant) {
        self.keeper.kill();
        self.killed_at.get_or_insert(now);
        self.killing_at = Some(now.saturating_add(KILL_AGAIN));
    }

    /// Whether the command is killed, and the guard has not said so for long.
    fn is_guard_silent(&self, now: Instant) -> bool {
        self.killed_at
            .is_some_and(|at| now.saturating_since(at) >= GUARD_PATIENCE)
    }

    /// Passes a renewal on to the guard.
    fn look(&mut self, run: &Run, now: Instant) {
        match self.guard.valid_until() {
            Some(until) if until != self.until => {
                self.until = until;
                let bounds = bounds(run, until);
                self.set_bounds(bounds);
            }
            Some(_) => {}
            // The event may have been lost among too many.
            None => self.lose(run, now, self.bounds.kill_at),
        }
    }

    /// Tells the guard until when the command may run, by the lease and by what was asked of it.
    fn set_bounds(&mut self, bounds: Bounds) {
        if self.is_lost {
            return;
        }
        self.bounds = Bounds {
            term_at: bounds.term_at,
            kill_at: self
                .must_end_by
                .map_or(bounds.kill_at, |by| bounds.kill_at.min(by)),
        };
        self.keeper.order(Order::Bounds(self.bounds));
    }

    /// Passes a signal on.
    fn signal(&mut self, run: &mut Run, number: i32, now: Instant) {
        self.keeper.order(Order::Signal(number));
        if ends(number) && run.stopped_by.is_none() {
            run.stopped_by = Some(number);
            self.must_end_by = Some(now.saturating_add(run.args.grace.into()));
            self.set_bounds(self.bounds);
        }
    }

    fn hear(&mut self, run: &mut Run, event: Event, now: Instant) {
        run.tell(event);
        if let Event::StoppedLeading {
            term,
            must_cease_by,
            ..
        } = event
            && term == self.guard.term()
        {
            self.lose(run, now, must_cease_by);
        }
    }

    /// Leadership is over: the command is told so, and killed in time.
    fn lose(&mut self, run: &Run, now: Instant, must_cease_by: Instant) {
        if self.is_lost {
            return;
        }
        let asked = now.saturating_add(run.args.grace.into());
        let kill_at = self.bounds.kill_at.min(must_cease_by).min(asked);
        self.set_bounds(Bounds {
            term_at: now,
            kill_at,
        });
        self.is_lost = true;
    }

    async fn ended(self, run: &Run, code: u8) -> TermEnd {
        self.keeper.finish().await;
        if self.is_lost && run.stopped_by.is_none() {
            TermEnd::Lost
        } else {
            TermEnd::Ended(code)
        }
    }

    async fn survived(self) -> TermEnd {
        self.keeper.finish().await;
        TermEnd::Survived
    }

    async fn abandon(self) -> TermEnd {
        if self.keeper.abandon().await {
            TermEnd::Unguarded
        } else {
            TermEnd::Survived
        }
    }
}
