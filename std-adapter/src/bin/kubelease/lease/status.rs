//! `kubelease status`: one Lease.

use core::time::Duration;

use clap::Args;

use super::api::LeaseApi;
use super::block_on;
use super::row::Row;
use super::seen::Watcher;
use crate::args::{Format, LeaseName, OutputArgs};
use crate::connect::ConnectArgs;
use crate::exit::{Failure, NOT_THERE, Outcome, print};
use crate::style::strong;

/// Which Lease, and how long to look at it.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The lease.
    #[arg(value_name = "[NAMESPACE/]NAME")]
    lease: LeaseName,
    /// Look for so long, and say when the record changed meanwhile: a holder that is alive changes
    /// it each retry period. Nothing else tells, for its times are of the holder's own clock.
    #[arg(long, value_parser = humantime::parse_duration, value_name = "DURATION",
          default_value = "0s", hide_default_value = true)]
    observe: Duration,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Prints the Lease. The exit code is [`NOT_THERE`] where there is none, or no holder.
pub(crate) fn run(args: &StatusArgs) -> Outcome {
    block_on(status(args))
}

async fn status(args: &StatusArgs) -> Outcome {
    let connected = args.connect.connect()?;
    let namespace = connected.namespace(&args.lease)?;
    let mut api = LeaseApi::new(&connected)?;
    let mut watcher = Watcher::new(args.observe);
    let lease = loop {
        let Some(lease) = api.get(&namespace, &args.lease.name).await? else {
            let missing = format!("no lease {namespace}/{}", args.lease.name);
            return Err(Failure::new(missing).with_code(NOT_THERE));
        };
        watcher.look(&lease);
        if !watcher.wait().await {
            break lease;
        }
    };
    let seen = watcher.seen(&lease);
    let row = Row::new(lease, seen);
    let text = match args.output.output {
        Format::Table => table(&row),
        Format::Json => format!("{:#}\n", row.to_json()),
    };
    print(text)?;
    Ok(if row.holder.is_empty() { NOT_THERE } else { 0 })
}

fn table(row: &Row) -> String {
    let holder = if row.holder.is_empty() {
        "nobody"
    } else {
        &row.holder
    };
    let ago = |pointer| match row.ago(pointer).as_str() {
        "-" => "-".to_owned(),
        length => format!("{length} ago"),
    };
    let lines = [
        ("lease", format!("{}/{}", row.namespace, row.name)),
        ("holder", strong(holder)),
        ("duration", row.duration()),
        ("acquired", ago("/spec/acquireTime")),
        ("renewed", ago("/spec/renewTime")),
        ("changed", row.changed()),
        ("transitions", row.transitions()),
        ("age", row.ago("/metadata/creationTimestamp")),
        ("version", row.text("/metadata/resourceVersion").to_owned()),
    ];
    let line = |(name, value): (&str, String)| format!("{name:13}{value}\n");
    lines.map(line).concat()
}
