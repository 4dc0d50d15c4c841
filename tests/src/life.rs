//! Random lives: whatever comes in, in whatever order. The driver asserts the laws.
#![allow(
    clippy::indexing_slicing,
    reason = "choices are below the length of what they choose from"
)]

use core::ops::{Deref, DerefMut};

use kubelease_core::Timestamp;
use kubelease_core::elector::Elector;
use kubelease_core::lease::RecordTime;

use crate::choices::Choices;
use crate::lived::{Lived, REFUSALS};
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

/// A random life of an elector.
#[derive(Debug)]
pub struct Life<C> {
    lived: Lived<Elector<'static>, C>,
    config: Config<'static>,
    watches: bool,
}

impl<C> Deref for Life<C> {
    type Target = Lived<Elector<'static>, C>;

    fn deref(&self) -> &Self::Target {
        &self.lived
    }
}

impl<C> DerefMut for Life<C> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.lived
    }
}

impl<C: Choices> Life<C> {
    /// The beginning of a life that goes on as `choices` says.
    #[must_use]
    pub fn new(config: Config<'static>, choices: C) -> Self {
        Self {
            lived: Lived::new(Driver::new(config), choices),
            config,
            watches: false,
        }
    }

    /// In watch mode.
    #[must_use]
    pub fn watching(mut self) -> Self {
        self.watches = true;
        self.driver.watch();
        self
    }

    /// Whether there is nothing left to choose by.
    pub fn is_over(&self) -> bool {
        self.choices.is_over()
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
            52..88 => self.pass_time(3_000),
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
        if self.lived.settle() {
            self.driver = if self.chance(20) {
                Driver::without_wall(self.config)
            } else {
                Driver::new(self.config)
            };
            if self.watches {
                self.driver.watch();
            }
        }
    }

    /// Polls as a caller does who was interrupted.
    fn poll_a_little(&mut self) {
        for _ in 0..self.below(3) {
            let seen = self.driver.poll_once();
            self.note(&seen);
            if seen.is_settled() {
                break;
            }
        }
    }

    fn answer(&mut self) {
        let Some(sent) = self.flight() else {
            return;
        };
        let response_to = sent.id;
        if sent.watch.is_some() && self.chance(85) {
            let line = self.line();
            self.note((response_to, &line));
            let _ = self.driver.tell_of(response_to, line.event());
            return;
        }
        if self.chance(45)
            && let Some(write) = &sent.write
        {
            self.version += 1 + self.below(3);
            let lease = Lease::written(write, self.version);
            self.note((response_to, "done"));
            let _ = self.driver.respond_to(response_to, lease.response());
            return;
        }
        if self.chance(65) {
            let lease = self.lease();
            self.answer_with(response_to, &lease);
        } else {
            self.refuse(response_to, &REFUSALS);
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
        match self.driver.last_claim_if_any() {
            Some(claim) => Lease::written(claim, version),
            None => held_by("A", version),
        }
    }

    fn answer_the_dead(&mut self) {
        for id in self.driver.dead_ids() {
            let lease = self.lease();
            self.lived.answer_the_dead(id, &lease);
        }
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
        self.driver.take(call);
    }
}
