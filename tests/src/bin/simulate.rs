//! Runs many simulated worlds, or one of them with its log.
//!
//! ```text
//! simulate --seeds N [--from S] [--mix NAME]
//! simulate --seed S [--mix NAME] [--log]
//! ```
#![expect(clippy::std_instead_of_core, reason = "it runs on a host")]

use std::process::ExitCode;

use kubelease_tests::sim::minimise::explain;
use kubelease_tests::sim::mix::Mix;
use kubelease_tests::sim::plan::Plan;
use kubelease_tests::sim::totals::Totals;
use kubelease_tests::sim::world;

/// At most so many worlds that went wrong are shown.
const SHOWN_MAX: usize = 3;

fn main() -> ExitCode {
    match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments.run(),
        Err(message) => {
            eprintln!("{message}");
            eprintln!("usage: simulate --seeds N [--from S] [--mix NAME]");
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
                _ => return Err(format!("expected an option, found {word}")),
            }
        }
        Ok(arguments)
    }

    fn run(&self) -> ExitCode {
        let mut totals = Totals::default();
        let mut shown = 0;
        for seed in self.from..self.from.saturating_add(self.seeds) {
            let plan = Plan::new(self.mix_of(seed), seed);
            let outcome = world::run(&plan, self.log);
            totals.add(&outcome.totals);
            if let Some(violation) = outcome.violation {
                println!("seed {seed}, mix {}: {violation}", plan.mix.name);
                if shown < SHOWN_MAX && !self.log {
                    println!("{}", explain(&plan));
                }
                shown += 1;
            }
            if self.log {
                println!("{}", outcome.log);
            }
        }
        println!("{totals}");
        if totals.violations == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }

    fn mix_of(&self, seed: u64) -> &'static Mix {
        self.mix.unwrap_or_else(|| Mix::of_seed(seed))
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("expected a number, found {text}"))
}
