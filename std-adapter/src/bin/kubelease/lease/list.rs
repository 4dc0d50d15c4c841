//! `kubelease list`: all Leases of a namespace, or of all.

use core::time::Duration;

use clap::Args;
use serde_json::Value;

use super::api::LeaseApi;
use super::block_on;
use super::row::{Row, columns};
use super::seen::Watcher;
use crate::args::{Format, OutputArgs};
use crate::connect::ConnectArgs;
use crate::exit::{Failure, Outcome, print};
use crate::style::strong;

const HEADER: [&str; 8] = [
    "NAMESPACE",
    "NAME",
    "HOLDER",
    "DURATION",
    "RENEWED",
    "CHANGED",
    "TRANSITIONS",
    "AGE",
];

/// Which Leases, and how long to look at them.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// The namespace; the kubeconfig's or the pod's own unless said.
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// The leases of all namespaces.
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Look for so long, and say when each record changed meanwhile.
    #[arg(long, value_parser = humantime::parse_duration, value_name = "DURATION",
          default_value = "0s", hide_default_value = true)]
    observe: Duration,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Prints the Leases.
pub(crate) fn run(args: &ListArgs) -> Outcome {
    block_on(list(args))
}

async fn list(args: &ListArgs) -> Outcome {
    let connected = args.connect.connect()?;
    let given = args.namespace.as_deref();
    let namespace = given.or_else(|| connected.connection.default_namespace());
    if namespace.is_none() && !args.all_namespaces {
        return Err(Failure::new(
            "--namespace: expected a namespace, found none here or elsewhere",
        ));
    }
    let namespace = namespace.filter(|_| !args.all_namespaces);
    let mut api = LeaseApi::new(&connected)?;
    let mut watcher = Watcher::new(args.observe);
    let leases = loop {
        let leases = api.list(namespace).await?;
        leases.iter().for_each(|lease| watcher.look(lease));
        if !watcher.wait().await {
            break leases;
        }
    };
    let rows = leases.into_iter().map(|lease| {
        let seen = watcher.seen(&lease);
        Row::new(lease, seen)
    });
    let text = match args.output.output {
        Format::Table => {
            let text = columns(&HEADER, &rows.map(cells).collect::<Vec<_>>());
            let (header, rest) = text.split_once('\n').unwrap_or((&text, ""));
            format!("{}\n{rest}", strong(header))
        }
        Format::Json => {
            let rows: Vec<Value> = rows.map(|row| row.to_json()).collect();
            format!("{:#}\n", Value::Array(rows))
        }
    };
    print(text)?;
    Ok(0)
}

fn cells(row: Row) -> Vec<String> {
    let cells = [
        row.duration(),
        row.ago("/spec/renewTime"),
        row.changed(),
        row.transitions(),
        row.ago("/metadata/creationTimestamp"),
    ];
    let names = [row.namespace, row.name, row.holder];
    names.into_iter().chain(cells).collect()
}
