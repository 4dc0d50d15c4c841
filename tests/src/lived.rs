//! [`Lived`]: what random lives of all machines have in common.
#![allow(
    clippy::indexing_slicing,
    reason = "choices are below the length of what they choose from"
)]

use core::fmt::Debug;
use std::collections::{BTreeMap, VecDeque};

use kubelease_core::Timestamp;
use kubelease_core::protocol::{BadAnswer, Failure, Reply, RequestId, Response};
use kubelease_core::time::Instant;

use crate::choices::Choices;
use crate::driven::Driven;
use crate::driver::Driver;
use crate::input::{Lease, retry_after, wall};
use crate::seen::Sent;

/// How much of what was done last is kept.
const DONE_MAX: usize = 30;

/// A machine that lives as choices say, and how often each kind of output came up.
#[derive(Debug)]
pub struct Lived<M: Driven, C> {
    pub(crate) driver: Driver<M>,
    pub(crate) choices: C,
    /// The version of the lease.
    pub(crate) version: u64,
    /// What was done last.
    pub done: VecDeque<String>,
    /// How often each kind of output came up.
    pub outputs: BTreeMap<String, u64>,
}

impl<M: Driven, C: Choices> Lived<M, C> {
    /// The beginning of a life.
    pub(crate) const fn new(driver: Driver<M>, choices: C) -> Self {
        Self {
            driver,
            choices,
            version: 10,
            done: VecDeque::new(),
            outputs: BTreeMap::new(),
        }
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.choices.below(end)
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn note(&mut self, what: impl Debug) {
        let text = format!("{:?}: {what:?}", self.driver.now().instant);
        self.done.push_back(text);
        if self.done.len() > DONE_MAX {
            self.done.pop_front();
        }
    }

    /// The request in flight.
    pub(crate) fn flight(&self) -> Option<Sent> {
        self.driver.flight_if_any().cloned()
    }

    /// Polls until there is nothing to do. Says whether the machine has ended.
    pub(crate) fn settle(&mut self) -> bool {
        let seen = self.driver.settle();
        self.note(&seen);
        for text in seen {
            let kind = text.split(' ').next().unwrap_or_default();
            let detail = match kind {
                "PUT" => text.split(' ').next_back().unwrap_or_default(),
                "Stopped" | "Finished" => &text,
                "GET" if text.len() > kind.len() => "GET node",
                _ => kind,
            };
            *self.outputs.entry(detail.to_owned()).or_default() += 1;
        }
        self.driver.is_done()
    }

    /// Answers with this lease.
    pub(crate) fn answer_with(&mut self, id: RequestId, lease: &Lease) {
        self.note((id, lease));
        let _ = self.driver.respond_to(id, lease.response());
    }

    /// Answers with one of `replies`, and perhaps a `Retry-After`.
    pub(crate) fn refuse(&mut self, id: RequestId, replies: &[Reply<'static>]) {
        let reply = replies[self.below(replies.len() as u64) as usize];
        let response = if self.chance(20) {
            let far = [0, 1, 7, 61, 1 << 40, u64::MAX];
            retry_after(reply, far[self.below(6) as usize])
        } else {
            Response::new(reply)
        };
        self.note((id, response));
        let _ = self.driver.respond_to(id, response);
    }

    pub(crate) fn fail(&mut self) {
        let Some(sent) = self.flight() else { return };
        let failures = [Failure::NotSent, Failure::Unknown, Failure::TimedOut];
        let failure = failures[self.below(3) as usize];
        self.note((sent.id, failure));
        let _ = self.driver.fail_of(sent.id, failure);
    }

    /// An answer to a request that is long over.
    pub(crate) fn answer_the_dead(&mut self, id: RequestId, lease: &Lease) {
        self.note((id, lease));
        let taken = self.driver.respond_to(id, lease.response());
        assert!(taken.is_err(), "a dead id");
    }

    /// Lets time pass, mostly to the next wake, sometimes up to `most_ms` past it.
    pub(crate) fn pass_time(&mut self, most_ms: u64) {
        let now = self.driver.now().instant.as_millis();
        let wake = self.driver.waits_until().map_or(now, Instant::as_millis);
        let left = wake.saturating_sub(now);
        let next = match self.below(10) {
            0..6 => wake,
            6 | 7 => now + self.below(left.min(u64::from(u32::MAX)) + 1),
            8 => wake.saturating_add(self.below(most_ms)),
            _ => now.saturating_add(self.below(200)),
        };
        self.move_to(next.min((1 << 62) + 5));
    }

    /// Lets the civil clock go along where the monotonic one goes forward.
    fn move_to(&mut self, next: u64) {
        self.note(("time", next));
        let now = self.driver.now();
        let passed = next.saturating_sub(now.instant.as_millis());
        let wall = now.wall.map(|wall| {
            let micros = i64::try_from(passed).map_or(0, |passed| passed.saturating_mul(1_000));
            let sum = wall.as_unix_micros().saturating_add(micros);
            Timestamp::from_unix_micros(sum).unwrap_or(Timestamp::MAX)
        });
        self.driver.set_instant(Instant::from_millis(next));
        self.driver.set_wall(wall);
    }

    /// Does something to the clocks.
    pub(crate) fn bend_time(&mut self) {
        let now = self.driver.now().instant.as_millis();
        let (noise, back) = (self.below(1_000), self.below(100_000));
        let (leap, start) = (self.below(1 << 32), self.below(3_000));
        match self.below(40) {
            0..12 => self.move_to(now.saturating_sub(noise)),
            12..16 => self.move_to(now.saturating_sub(back)),
            16..18 => self.move_to(now.saturating_add(leap)),
            18 => self.move_to(start),
            19 => self.absurd(now),
            20..30 => {
                let micros = i64::try_from(leap).unwrap_or_default() * 60_000_000;
                self.note(("wall", micros));
                let wall = Timestamp::from_unix_micros(micros);
                self.driver.set_wall(wall);
            }
            30 => self.driver.set_wall(Some(Timestamp::MAX)),
            31..33 => self.driver.set_wall(None),
            33 => self.driver.set_wall(Some(Timestamp::MIN)),
            _ => self.driver.set_wall(Some(wall(leap << 1))),
        }
    }

    /// Tells the machine a time that is none, and goes back to the right one.
    fn absurd(&mut self, now: u64) {
        for instant in [u64::MAX, (1 << 62) + 1] {
            self.driver.set_instant(Instant::from_millis(instant));
            self.settle();
        }
        self.driver.set_instant(Instant::from_millis(now));
    }
}

/// Refusals that any request can meet.
pub(crate) const REFUSALS: [Reply<'static>; 17] = [
    Reply::LeaseMissing,
    Reply::LeaseMissing,
    Reply::Conflict,
    Reply::Conflict,
    Reply::NamespaceMissing,
    Reply::ApiUnavailable,
    Reply::BadRequest,
    Reply::Unauthorized,
    Reply::Forbidden,
    Reply::NamespaceTerminating,
    Reply::Invalid,
    Reply::Throttled,
    Reply::ServerError(503),
    Reply::Refused(418),
    Reply::BadAnswer(BadAnswer::Truncated),
    Reply::TooLarge,
    Reply::WatchEnded,
];
