//! The laws, the golden transcripts and random lives, through the C ABI: every call goes to an
//! elector or a heart of Rust and to one of C, whose answers come as HTTP, and both must say the
//! same.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may")]
#![allow(
    clippy::std_instead_of_core,
    clippy::wildcard_enum_match_arm,
    reason = "tests run on a host, and say so where a word is missing"
)]

mod calls;
mod heart;
mod hearts;
mod http;
mod pair;
mod words;

use std::path::Path;

use kubelease_core::prng::Prng;
use kubelease_core::protocol::RequestId;
use kubelease_tests::heart::transcript;
use kubelease_tests::prelude::*;
use kubelease_tests::transcript::replay_on;

use heart::HeartPair;
use kubelease_core::machine::Watches;
use pair::Pair;

#[test]
fn the_golden_transcripts_play_out_the_same() {
    let electors = all_play_out("electors", |golden| {
        replay_on(Driver::around(Pair::new(A), &A), golden)
    });
    assert!(electors >= 8, "{electors} transcripts");
    let hearts = all_play_out("hearts", transcript::replay::<HeartPair>);
    assert!(hearts >= 6, "{hearts} transcripts of hearts");
}

/// Plays each transcript of a folder; says how many there were.
fn all_play_out(of: &str, replay: impl Fn(&str) -> String) -> usize {
    let transcripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/transcripts");
    let mut count = 0;
    for entry in std::fs::read_dir(transcripts.join(of)).unwrap() {
        let path = entry.unwrap().path();
        let golden = std::fs::read_to_string(&path).unwrap();
        assert_eq!(replay(&golden), golden, "{path:?}");
        count += 1;
    }
    count
}

/// A random life: answers of all kinds, lost ones, late ones, calls, a clock that steps.
struct Life {
    e: Driver<Pair>,
    prng: Prng,
    version: u64,
}

impl Life {
    fn below(&mut self, end: u64) -> u64 {
        u64::from(self.prng.next_u32()) % end
    }

    fn step(&mut self) {
        match self.below(100) {
            0..45 => self.answer(),
            45..52 => self.fail(),
            52..56 => {
                for id in self.e.dead_ids() {
                    let response = Response::new(Reply::LeaseMissing);
                    assert!(self.e.respond_to(id, response).is_err());
                }
            }
            56..92 => self.pass_time(),
            92..96 => self.bend_time(),
            96 | 97 => self.call(),
            _ => {}
        }
        if self.below(10) == 0 {
            self.e.poll_once();
        } else if self.below(10) != 0 {
            self.e.settle();
        }
    }

    fn answer(&mut self) {
        let Some(sent) = self.e.flight_if_any().cloned() else {
            return;
        };
        self.version += self.below(3);
        let version = self.version;
        if sent.watch.is_some() {
            let _ = self.line(sent.id, version);
            return;
        }
        if let Some(write) = &sent.write
            && self.below(2) == 0
        {
            self.version += 1;
            let lease = Lease::written(write, self.version);
            let _ = self.e.respond_to(sent.id, lease.response());
            return;
        }
        let past = self.below(1_000);
        let lease = match self.below(16) {
            0..3 => self.e.last_claim_if_any().map_or_else(
                || held_by("A", version),
                |claim| Lease::written(claim, version),
            ),
            3 | 4 => held_by("B", version),
            5 => held_by(&"long".repeat(60), version).renewed(past),
            6 | 7 => released(version),
            8 => Lease::new(None, version).uid("u2"),
            9 => held_by("B", version).dated(wall(self.below(1 << 30) * 1_000)),
            _ => return self.reply(sent.id),
        };
        let _ = self.e.respond_to(sent.id, lease.response());
    }

    fn line(
        &mut self,
        id: RequestId,
        version: u64,
    ) -> Result<(), kubelease_core::protocol::StaleRequest> {
        let past = self.below(1_000);
        let line = match self.below(12) {
            0..4 => Changed(held_by("B", version).renewed(past)),
            4 => Changed(held_by("A", version)),
            5 => Changed(released(version)),
            6 => Deleted(held_by("B", version)),
            7 | 8 => Bookmark,
            9 => Line::Error,
            10 => Line::Broken(BadAnswer::NotJson),
            _ => return self.e.respond_to(id, Response::new(Reply::WatchEnded)),
        };
        self.e.tell_of(id, line.event())
    }

    fn reply(&mut self, id: RequestId) {
        let replies = [
            Reply::LeaseMissing,
            Reply::LeaseMissing,
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
        ];
        let reply = replies[self.below(replies.len() as u64) as usize];
        let response = if self.below(4) == 0 {
            retry_after(reply, self.below(70))
        } else {
            Response::new(reply)
        };
        let _ = self.e.respond_to(id, response);
    }

    fn fail(&mut self) {
        if let Some(sent) = self.e.flight_if_any().cloned() {
            let failures = [Failure::NotSent, Failure::Unknown, Failure::TimedOut];
            let failure = failures[self.below(3) as usize];
            let _ = self.e.fail_of(sent.id, failure);
        }
    }

    fn pass_time(&mut self) {
        let now = self.e.now().instant.as_millis();
        let wake = self.e.waits_until().map_or(now, Instant::as_millis);
        let next = match self.below(4) {
            0 | 1 => wake.max(now),
            2 => now + self.below(3_000),
            _ => wake.max(now) + self.below(3_000),
        };
        self.e.set_instant(Instant::from_millis(next));
    }

    fn bend_time(&mut self) {
        let now = self.e.now().instant.as_millis();
        let back = [500, 1_000, 1_001, 90_000][self.below(4) as usize];
        let (leap, wall) = (self.below(1 << 32), wall(self.below(1 << 32)));
        match self.below(6) {
            0 | 1 => self.e.set_instant(Instant::from_millis(now - back)),
            2 => self.e.set_instant(Instant::from_millis(now + leap)),
            3 => self.e.set_wall(None),
            _ => self.e.set_wall(Some(wall)),
        }
    }

    fn call(&mut self) {
        let cooldown = self.below(8_000);
        let call = match self.below(6) {
            0 => Stop,
            1 => StopWhenIdle,
            2 => WorkDone,
            _ => StepDown(cooldown),
        };
        self.e.take(call);
    }
}

#[test]
fn the_laws_hold_in_random_lives() {
    let jittered = Config {
        timing: Timing::KUBERNETES,
        ..A
    };
    let configs = [
        A,
        jittered,
        Config {
            create: Create::Put,
            timing: Timing::EDGE,
            ..A
        },
        Config {
            create: Create::Never,
            treat_own_as_foreign: true,
            ..jittered
        },
        Config {
            trust_renew_time: Some(Duration::from_secs(5)),
            release_budget: Some(Duration::from_millis(700)),
            ..jittered
        },
    ];
    let lives = configs
        .iter()
        .flat_map(|config| [(config, false), (config, true)]);
    for (seed, (config, watches)) in (0x6b6c_u64..).zip(lives) {
        let driver = || {
            let mut pair = Pair::new(*config);
            if watches {
                pair.watch();
            }
            Driver::around(pair, config)
        };
        let mut life = Life {
            e: driver(),
            prng: Prng::new(seed),
            version: 10,
        };
        for _ in 0..600 {
            life.step();
            if life.e.is_done() {
                life.e = driver();
            }
        }
    }
}
