//! `kubelease simulate`: who leads under given outages and crashes, as a picture.
//!
//! The shipped elector decides; time, network and server are simulated.

mod candidate;
mod picture;
mod script;
mod server;
mod svg;
mod trace;
mod world;

use core::time::Duration;
use std::fs;
use std::path::PathBuf;

use clap::Args;

use self::script::{Moment, Outage, Script};
use crate::exit::{Failure, Outcome, print};
use crate::timing::{TimingArgs, human};

/// The names of candidates; the first contends first.
const NAMES: [&str; 8] = ["ada", "bob", "cyd", "dan", "eve", "fay", "gus", "hal"];

/// What happens, and where the picture goes.
#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// How many run for election: ada, bob, cyd, dan, eve, fay, gus, hal.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=8),
          value_name = "NUMBER")]
    candidates: u8,
    /// An outage of the API server, or of the network of one candidate alone, such as `60s..2m` or
    /// `ada@60s..2m`. Nothing is answered meanwhile. May be given more than once.
    #[arg(long, value_name = "[NAME@]FROM..TO")]
    outage: Vec<Outage>,
    /// A candidate that crashes, such as `ada@40s`, or whoever leads then: `leader@40s`.
    #[arg(long, value_name = "NAME@TIME")]
    crash: Vec<Moment>,
    /// A candidate that stops and releases the lease, or whoever leads then: `leader@40s`.
    #[arg(long, value_name = "NAME@TIME")]
    stop: Vec<Moment>,
    /// How long it all takes, at most one day; until everything given has had its effect unless
    /// said.
    #[arg(long = "for", value_parser = humantime::parse_duration, value_name = "DURATION")]
    length: Option<Duration>,
    /// A request and its answer on the network.
    #[arg(long, value_parser = humantime::parse_duration, default_value = "20ms",
          value_name = "DURATION")]
    round_trip: Duration,
    /// Another seed spreads the looks of candidates otherwise.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the picture, an SVG, goes; standard output unless said.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    timing: TimingArgs,
}

/// Lets it happen, and draws it.
pub(crate) fn run(args: &SimulateArgs) -> Outcome {
    let script = script(args)?;
    let trace = world::run(&script);
    let picture = picture::draw(&script, &trace);
    match &args.file {
        None => print(picture)?,
        Some(path) => {
            fs::write(path, picture)
                .map_err(|error| Failure::new(format_args!("{}: {error}", path.display())))?;
            print(trace.summary(&script))?;
        }
    }
    Ok(0)
}

fn script(args: &SimulateArgs) -> Result<Script, Failure> {
    let names: Vec<&'static str> = NAMES
        .into_iter()
        .take(usize::from(args.candidates))
        .collect();
    let given = args.outage.iter().filter_map(|outage| outage.who.as_ref());
    let moments = args.crash.iter().chain(&args.stop);
    let given = given.chain(moments.filter_map(|moment| moment.who.as_ref()));
    for name in given {
        if !names.contains(&name.as_str()) {
            let all = names.join(", ");
            return Err(Failure::usage(format_args!(
                "expected one of {all}, found `{name}`"
            )));
        }
    }
    let timing = args.timing.timing()?;
    let report = timing.report();
    let last = args.outage.iter().map(|outage| outage.to);
    let last = last.chain(args.crash.iter().chain(&args.stop).map(|moment| moment.at));
    let crash: Duration = report.crash_takeover.into();
    let length = args.length.unwrap_or_else(|| {
        let effect = crash.saturating_mul(3) / 2;
        let length = last.max().unwrap_or(crash).saturating_add(effect);
        Duration::from_secs(length.as_secs().saturating_add(1))
    });
    if length.is_zero() || length > script::LENGTH_MAX {
        return Err(Failure::usage(format_args!(
            "--for: expected more than 0s and at most {}, found {}",
            human(script::LENGTH_MAX),
            human(length)
        )));
    }
    let periods = length.as_millis() / u128::from(timing.retry_period.as_millis().max(1));
    let looks = periods.saturating_mul(u128::from(args.candidates));
    if looks > script::LOOKS_MAX {
        return Err(Failure::usage(format_args!(
            "--for: expected at most {} renewals and looks, found {looks}: lengthen --retry-period",
            script::LOOKS_MAX
        )));
    }
    Ok(Script {
        names,
        timing,
        outages: args.outage.clone(),
        crashes: args.crash.clone(),
        stops: args.stop.clone(),
        length,
        round_trip: args.round_trip,
        seed: args.seed,
    })
}
