//! Random lives: whatever comes in, in whatever order. The driver asserts the laws.
#![allow(
    clippy::indexing_slicing,
    reason = "choices are below the length of what they choose from"
)]

use std::collections::{BTreeMap, VecDeque};

use kubelease_core::Timestamp;
use kubelease_core::lease::RecordTime;

use crate::choices::Choices;
use crate::prelude::*;

/// Electors of all kinds.
#[must_use]
pub fn configs(seed: u64) -> Vec<Config<'static>> {
    let jittered = Config {
        timing: Timing::KUBERNETES,
        seed,
        ..A
    };
    let tight = Timing {
        jitter_percent: 50,
        ..Timing::new(
            Duration::from_secs(2),
            Duration::from_millis(1_900),
            Duration::from_millis(300),
        )
    };
    vec![
        A,
        jittered,
        Config {
            timing: Timing::EDGE,
            ..jittered
        },
        Config {
            timing: tight,
            ..jittered
        },
        Config {
            create: Create::Put,
            ..jittered
        },
        Config {
            create: Create::Never,
            ..jittered
        },
        Config {
            treat_own_as_foreign: true,
            ..jittered
        },
        Config {
            trust_renew_time: Some(Duration::from_secs(5)),
            ..jittered
        },
        Config {
            release_budget: Some(Duration::from_millis(700)),
            ..jittered
        },
    ]
}

/// A random life, and how often each kind of output came up.
#[derive(Debug)]
pub struct Life<C> {
    e: Driver,
    config: Config<'static>,
    watches: bool,
    choices: C,
    version: u64,
    /// What was done last.
    pub done: VecDeque<String>,
    /// How often each kind of output came up.
    pub outputs: BTreeMap<String, u64>,
}

impl<C: Choices> Life<C> {
    /// The beginning of a life that goes on as `choices` says.
    #[must_use]
    pub fn new(config: Config<'static>, choices: C) -> Self {
        Self {
            e: Driver::new(config),
            config,
            watches: false,
            choices,
            version: 10,
            done: VecDeque::new(),
            outputs: BTreeMap::new(),
        }
    }

    /// In watch mode.
    #[must_use]
    pub fn watching(mut self) -> Self {
        self.watches = true;
        self.e.watch();
        self
    }

    /// Whether there is nothing left to choose by.
    pub fn is_over(&self) -> bool {
        self.choices.is_over()
    }

    fn below(&mut self, end: u64) -> u64 {
        self.choices.below(end)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn note(&mut self, what: impl core::fmt::Debug) {
        let text = format!("{:?}: {what:?}", self.e.now().instant);
        self.done.push_back(text);
        if self.done.len() > 30 {
            self.done.pop_front();
        }
    }

    /// Does something, and polls mostly.
    ///
    /// # Panics
    /// Where a law is broken.
    pub fn step(&mut self) {
        match self.below(100) {
            0..40 => self.answer(),
            40..48 => self.fail(),
            48..52 => self.answer_the_dead(),
            52..88 => self.pass_time(),
            88..92 => self.bend_time(),
            92..94 => self.call(),
            _ => {}
        }
        if self.chance(10) {
            self.poll_a_little();
        } else if self.chance(90) {
            self.settle();
        }
    }

    fn settle(&mut self) {
        let seen = self.e.settle();
        self.note(&seen);
        for text in seen {
            let kind = text.split(' ').next().unwrap_or_default();
            let detail = if kind == "PUT" {
                text.split(' ').next_back().unwrap_or_default()
            } else if matches!(kind, "Stopped" | "Finished") {
                &text
            } else {
                kind
            };
            *self.outputs.entry(detail.to_owned()).or_default() += 1;
        }
        if self.e.is_done() {
            self.e = if self.chance(20) {
                Driver::without_wall(self.config)
            } else {
                Driver::new(self.config)
            };
            if self.watches {
                self.e.watch();
            }
        }
    }

    /// Polls as a caller does who was interrupted.
    fn poll_a_little(&mut self) {
        for _ in 0..self.below(3) {
            let seen = self.e.poll_once();
            self.note(&seen);
            if seen.is_settled() {
                break;
            }
        }
    }

    fn answer(&mut self) {
        let Some(sent) = self.e.flight_if_any().cloned() else {
            return;
        };
        let response_to = sent.id;
        if sent.watch.is_some() && self.chance(85) {
            let line = self.line();
            self.note((response_to, &line));
            let _ = self.e.tell_of(response_to, line.event());
            return;
        }
        if self.chance(45)
            && let Some(write) = &sent.write
        {
            self.version += 1 + self.below(3);
            let lease = Lease::written(write, self.version);
            self.note((response_to, "done"));
            let _ = self.e.respond_to(response_to, lease.response());
            return;
        }
        if self.chance(65) {
            let lease = self.lease();
            self.note((response_to, &lease));
            let _ = self.e.respond_to(response_to, lease.response());
        } else {
            let response = self.response();
            self.note((response_to, response));
            let _ = self.e.respond_to(response_to, response);
        }
    }

    fn line(&mut self) -> Line {
        match self.below(21) {
            0..14 => Changed(self.lease()),
            14..16 => Deleted(self.lease()),
            16..19 => Bookmark,
            19 => Line::Broken(BadAnswer::Malformed),
            _ => Line::Error,
        }
    }

    fn lease(&mut self) -> Lease {
        match self.below(20) {
            0..12 => self.version += self.below(3),
            12 => self.version = self.version.saturating_sub(self.below(9)),
            _ => {}
        }
        let version = self.version;
        let past = self.below(1_000);
        let mut lease = match self.below(10) {
            0..3 => self.mine(version),
            3 => held_by("B", version),
            4 => held_by("C", version).renewed(past),
            5 | 6 => released(version),
            7 => held_by("A", version).renewed(past),
            8 => held_by(&"long".repeat(60), version),
            _ => Lease::new(None, version),
        };
        if self.chance(30) {
            let odd = [0, 1, 2, 15, 30, -1, i32::MAX, i32::MIN];
            lease = lease.duration(odd[self.below(8) as usize]);
        }
        if self.chance(10) {
            lease = lease.spec(|spec| spec.renew_time = RecordTime::Canonical(Timestamp::MAX));
        }
        if self.chance(5) {
            lease = lease.transitions(i32::MAX);
        }
        if self.chance(5) {
            lease = lease.uid("u2");
        }
        if self.chance(3) {
            lease = lease.version(["", "x", "01"][self.below(3) as usize]);
        }
        lease.record.being_deleted = self.chance(5);
        if self.chance(20) {
            let created = wall(0).checked_sub_millis(self.below(100_000_000));
            lease.record.creation_timestamp = created;
            lease = lease.dated(wall(self.below(1 << 40)));
        }
        lease
    }

    fn mine(&self, version: u64) -> Lease {
        match self.e.last_claim_if_any() {
            Some(claim) => Lease::written(claim, version),
            None => held_by("A", version),
        }
    }

    fn response(&mut self) -> Response<'static> {
        let replies = [
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
        let reply = replies[self.below(17) as usize];
        if self.chance(20) {
            let far = [0, 1, 7, 61, 1 << 40, u64::MAX];
            retry_after(reply, far[self.below(6) as usize])
        } else {
            Response::new(reply)
        }
    }

    fn fail(&mut self) {
        let Some(sent) = self.e.flight_if_any().cloned() else {
            return;
        };
        let failures = [Failure::NotSent, Failure::Unknown, Failure::TimedOut];
        let failure = failures[self.below(3) as usize];
        self.note((sent.id, failure));
        let _ = self.e.fail_of(sent.id, failure);
    }

    fn answer_the_dead(&mut self) {
        for id in self.e.dead_ids() {
            let lease = self.lease();
            self.note((id, &lease));
            assert!(
                self.e.respond_to(id, lease.response()).is_err(),
                "a dead id"
            );
        }
    }

    fn pass_time(&mut self) {
        let now = self.e.now().instant.as_millis();
        let wake = self.e.waits_until().map_or(now, Instant::as_millis);
        let left = wake.saturating_sub(now);
        let next = match self.below(10) {
            0..6 => wake,
            6 | 7 => now + self.below(left.min(u64::from(u32::MAX)) + 1),
            8 => wake.saturating_add(self.below(3_000)),
            _ => now.saturating_add(self.below(200)),
        };
        self.move_to(next.min((1 << 62) + 5));
    }

    /// Lets the civil clock go along where the monotonic one goes forward.
    fn move_to(&mut self, next: u64) {
        self.note(("time", next));
        let now = self.e.now();
        let passed = next.saturating_sub(now.instant.as_millis());
        let wall = now.wall.map(|wall| {
            let micros = i64::try_from(passed).map_or(0, |passed| passed.saturating_mul(1_000));
            let sum = wall.as_unix_micros().saturating_add(micros);
            Timestamp::from_unix_micros(sum).unwrap_or(Timestamp::MAX)
        });
        self.e.set_instant(Instant::from_millis(next));
        self.e.set_wall(wall);
    }

    fn bend_time(&mut self) {
        let now = self.e.now().instant.as_millis();
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
                self.e.set_wall(Timestamp::from_unix_micros(micros));
            }
            30 => self.e.set_wall(Some(Timestamp::MAX)),
            31..33 => self.e.set_wall(None),
            33 => self.e.set_wall(Some(Timestamp::MIN)),
            _ => self.e.set_wall(Some(wall(leap << 1))),
        }
    }

    /// Tells the machine a time that is none, and goes back to the right one.
    fn absurd(&mut self, now: u64) {
        for instant in [u64::MAX, (1 << 62) + 1] {
            self.e.set_instant(Instant::from_millis(instant));
            self.settle();
        }
        self.e.set_instant(Instant::from_millis(now));
    }

    fn call(&mut self) {
        let cooldowns = [0, 1, 500, 5_000, 60_000, u64::MAX];
        let call = match self.below(8) {
            0 => Stop,
            1 => StopWhenIdle,
            2 => WorkDone,
            _ => StepDown(cooldowns[self.below(6) as usize]),
        };
        self.note(call);
        self.e.take(call);
    }
}
