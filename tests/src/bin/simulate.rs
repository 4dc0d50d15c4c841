//! Runs many simulated worlds, or one of them with its log.
//!
//! ```text
//! simulate --seeds N [--from S] [--mix NAME] [--laws]
//! simulate --seed S [--mix NAME] [--log]
//! ```
//! It exits with 1 where something was wrong. `--laws` asserts all laws on every step, and panics.

use core::num::NonZero;
use std::panic::resume_unwind;
use std::process::ExitCode;
use std::thread;

use kubelease_tests::sim::minimise::explain;
use kubelease_tests::sim::mix::Mix;
use kubelease_tests::sim::plan::Plan;
use kubelease_tests::sim::process::Watch;
use kubelease_tests::sim::totals::Totals;
use kubelease_tests::sim::world::{World, elector};

/// So many worlds that went wrong are explained, by each worker.
const SHOWN_MAX: u64 = 3;

fn main() -> ExitCode {
    match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments.run(),
        Err(message) => {
            eprintln!("{message}");
            eprintln!("usage: simulate --seeds N [--from S] [--mix NAME] [--laws]");
            eprintln!("       simulate --seed S [--mix NAME] [--log]");
            ExitCode::from(2)
        }
    }
}

#[derive(Debug, Default)]
struct Arguments {
    from: u64,
    seeds: u64,
    mix: Option<&'static Mix>,
    log: bool,
    laws: bool,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self {
            seeds: 1_000,
            ..Self::default()
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--seeds" => arguments.seeds = number(&value()?)?,
                "--from" => arguments.from = number(&value()?)?,
                "--seed" => (arguments.from, arguments.seeds) = (number(&value()?)?, 1),
                "--mix" => {
                    let name = value()?;
                    let unknown = || format!("expected a mix, found {name}");
                    arguments.mix = Some(Mix::named(&name).ok_or_else(unknown)?);
                }
                "--log" => arguments.log = true,
                "--laws" => arguments.laws = true,
                _ => return Err(format!("expected an option, found {word}")),
            }
        }
        Ok(arguments)
    }

    fn run(&self) -> ExitCode {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let workers = if self.log { 1 } else { cores };
        let totals = thread::scope(|scope| {
            let workers: Vec<_> = (0..workers)
                .map(|first| scope.spawn(move || self.run_every(first, workers)))
                .collect();
            let mut totals = Totals::default();
            for worker in workers {
                let part = worker.join();
                totals.add(&part.unwrap_or_else(|panic| resume_unwind(panic)));
            }
            totals
        });
        println!("{totals}");
        if totals.violations == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }

    /// Runs the worlds of one worker.
    fn run_every(&self, first: usize, step: usize) -> Totals {
        let mut totals = Totals::default();
        let seeds = self.from..self.from.saturating_add(self.seeds);
        for seed in seeds.skip(first).step_by(step) {
            let plan = Plan::new(self.mix_of(seed), seed);
            let named = Named(seed);
            let watch = if self.laws { Watch::Full } else { Watch::Cheap };
            let outcome = World::new(plan.clone(), self.log, watch, elector).run();
            drop(named);
            totals.add(&outcome.totals);
            if let Some(violation) = outcome.violation {
                println!("seed {seed}, mix {}: {violation}", plan.mix.name);
                if totals.violations <= SHOWN_MAX && !self.log {
                    println!("{}", explain(&plan));
                }
            }
            if self.log {
                println!("{}", outcome.log);
            }
        }
        totals
    }

    fn mix_of(&self, seed: u64) -> &'static Mix {
        self.mix.unwrap_or_else(|| Mix::of_seed(seed))
    }
}

/// Says which seed it was, where a law was broken.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("seed {}", self.0);
        }
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("expected a number, found {text}"))
}
