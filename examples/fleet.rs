//! One process that beats thousands of leases, and what a server saw of it.
//!
//! ```text
//! cargo run --release --example fleet -- --leases 5000 --interval 10s --for 60s
//! ```
//!
//! The API server for tests runs as a process of its own. One in a hundred requests hangs there,
//! and one lease is deleted half-way. The run fails where any lease went 40 s without a write, the
//! busiest tenth of a second had more than three times the mean, or the deleted lease is not back.
//! With `--in-flight N` more requests than 64 may be in flight, as a hundred thousand leases need.
//! With `--restart` a second fleet follows over the leases of the first, which must not create or
//! delete any. With `--server URL` it beats in the namespace `default` of that server instead,
//! which must be asked what it saw.

#[path = "fleet/judge.rs"]
mod judge;
#[path = "fleet/options.rs"]
mod options;
#[path = "fleet/process.rs"]
mod process;

use core::error::Error;
use core::time::Duration;

use kubelease::{Connection, Counters, Fleet, FleetLease, HeartbeatConfig, Retire};
use tokio::time::{Instant, sleep};

use judge::Judge;
use options::Options;
use process::Usage;

/// After so long without a write the node controller takes a node for dead.
const PATIENCE: Duration = Duration::from_secs(40);

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse(std::env::args().skip(1))?;
    if options.serves {
        return judge::serve(&options);
    }
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build()?.block_on(beat(&options))
}

async fn beat(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut judge = options.server.is_none().then(|| Judge::start(options));
    let url = match (&options.server, &mut judge) {
        (Some(url), _) => url.clone(),
        (None, Some(Ok(judge))) => judge.url()?,
        (None, Some(Err(error))) => return Err(error.to_string().into()),
        (None, None) => return Err("no server".into()),
    };
    let judge = judge.transpose()?;
    run(options, &url, options.length).await?;
    if options.restarts {
        println!("\nA second fleet over the same leases:");
        run(options, &url, options.interval.mul_f64(1.5)).await?;
    }
    judge.map_or(Ok(()), |judge| judge.verdict(options))
}

/// One fleet from its first lease to its end.
async fn run(options: &Options, url: &str, length: Duration) -> Result<(), Box<dyn Error>> {
    let config = HeartbeatConfig {
        interval: options.interval.into(),
        request_timeout: (options.interval / 2).min(Duration::from_secs(5)).into(),
        ..HeartbeatConfig::new((options.interval * 4).into())
    };
    let fleet = Fleet::builder()
        .connection(Connection::to(url))
        .namespace("default")
        .config(config)
        .max_in_flight(options.in_flight)
        .start()?;
    let before = Usage::now();
    for index in 0..options.leases {
        fleet.add(FleetLease::new(format!("device-{index}")).holder("gateway-1"))?;
    }
    let begun = Instant::now();
    while begun.elapsed() < length {
        let left = length.saturating_sub(begun.elapsed());
        sleep(left.min(Duration::from_secs(5))).await;
        progress(begun.elapsed(), &fleet.counters());
    }
    let (counters, took) = (fleet.counters(), begun.elapsed());
    table(&counters, took, &before, options.leases);
    let end = fleet.shutdown(Retire::Keep, Duration::from_secs(15)).await;
    if end.left > 0 || counters.oldest_age > PATIENCE.max(options.interval * 4) {
        return Err(format!("{} leases left, oldest {:?}", end.left, counters.oldest_age).into());
    }
    Ok(())
}

fn progress(elapsed: Duration, counters: &Counters) {
    println!(
        "{:5.0} s  {} beats, {} late, oldest {:.1} s, {} in flight",
        elapsed.as_secs_f64(),
        counters.beats,
        counters.late_beats,
        counters.oldest_age.as_secs_f64(),
        counters.in_flight,
    );
}

fn table(counters: &Counters, took: Duration, before: &Usage, leases: u32) {
    let after = Usage::now();
    let beats = counters.beats as f64;
    let late = |percent| counters.lateness(percent).unwrap_or_default().as_millis();
    println!("\n| what | figure |\n| --- | ---: |");
    println!("| leases | {leases} |");
    println!("| beats a second | {:.1} |", beats / took.as_secs_f64());
    println!(
        "| requests a beat | {:.3} |",
        counters.requests as f64 / beats
    );
    println!("| late beats | {} |", counters.late_beats);
    println!(
        "| lateness, median and 99 % | < {} ms, < {} ms |",
        late(50) + 1,
        late(99) + 1
    );
    println!(
        "| longest gap | {:.1} s |",
        counters.longest_gap.as_secs_f64()
    );
    let memory = after.memory.saturating_sub(before.memory);
    println!(
        "| memory a lease | {} B |",
        memory / u64::from(leases.max(1))
    );
    let cpu = after.cpu.saturating_sub(before.cpu);
    println!(
        "| processor a beat | {:.0} us |",
        cpu.as_micros() as f64 / beats
    );
}
