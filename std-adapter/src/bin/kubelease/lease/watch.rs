//! `kubelease watch`: what happens to a Lease, as it is seen.

use core::time::Duration;
use std::io::{self, Write};

use clap::Args;
use kubelease::{Clock, SystemClock};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::api::LeaseApi;
use super::block_on;
use super::row::Row;
use crate::args::{Format, LeaseName, OutputArgs};
use crate::connect::ConnectArgs;
use crate::exit::{Failure, Outcome};

/// Which Lease, and how often to look at it.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// The lease.
    #[arg(value_name = "[NAMESPACE/]NAME")]
    lease: LeaseName,
    /// Time between two looks. It needs the right `get` alone, and no connection that stays.
    #[arg(long, value_parser = humantime::parse_duration, value_name = "DURATION",
          default_value = "500ms")]
    interval: Duration,
    /// Print renewals, too.
    #[arg(long)]
    renewals: bool,
    /// End after so long; with a signal unless said.
    #[arg(long = "for", value_parser = humantime::parse_duration, value_name = "DURATION")]
    length: Option<Duration>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Prints a line for each change, the first for what there is.
pub(crate) fn run(args: &WatchArgs) -> Outcome {
    block_on(watch(args))
}

async fn watch(args: &WatchArgs) -> Outcome {
    let connected = args.connect.connect()?;
    let namespace = connected.namespace(&args.lease)?;
    let mut api = LeaseApi::new(&connected)?;
    let clock = SystemClock::new();
    let begun = clock.now().instant;
    let end = args
        .length
        .map(|length| begun.saturating_add(length.into()));
    let mut last = None;
    while end.is_none_or(|end| clock.now().instant < end) {
        let seen = match api.get(&namespace, &args.lease.name).await {
            Ok(lease) => State::of(lease),
            Err(failure) => State::Unknown(failure.reason),
        };
        if last.as_ref() != Some(&seen) {
            let is_news = args.renewals || last.as_ref().is_none_or(|last| seen.differs(last));
            if is_news {
                print(&seen, args.output.output)?;
            }
            last = Some(seen);
        }
        sleep(args.interval).await;
    }
    Ok(0)
}

/// What a look found.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Missing,
    /// There was no answer, or not this one.
    Unknown(String),
    There {
        holder: String,
        transitions: String,
        uid: String,
        renewed: String,
        version: String,
    },
}

impl State {
    fn of(lease: Option<Value>) -> Self {
        let Some(lease) = lease else {
            return Self::Missing;
        };
        let row = Row::new(lease, None);
        Self::There {
            transitions: row.transitions(),
            uid: row.text("/metadata/uid").to_owned(),
            renewed: row.text("/spec/renewTime").to_owned(),
            version: row.text("/metadata/resourceVersion").to_owned(),
            holder: row.holder,
        }
    }

    /// Whether it is more than a renewal of `last`.
    fn differs(&self, last: &Self) -> bool {
        match (self, last) {
            (
                Self::There {
                    holder,
                    transitions,
                    uid,
                    ..
                },
                Self::There {
                    holder: last_holder,
                    transitions: last_transitions,
                    uid: last_uid,
                    ..
                },
            ) => (holder, transitions, uid) != (last_holder, last_transitions, last_uid),
            (Self::Missing | Self::Unknown(_) | Self::There { .. }, _) => self != last,
        }
    }
}

fn print(state: &State, format: Format) -> Result<(), Failure> {
    let now = SystemClock::new().now().wall.map(|wall| wall.to_text());
    let now = now.as_ref().map_or("-", |text| text.as_str());
    let line = match format {
        Format::Table => format!("{now}  {}", words(state)),
        Format::Json => members(state, now).to_string(),
    };
    let mut out = io::stdout();
    writeln!(out, "{line}")?;
    out.flush()?;
    Ok(())
}

fn words(state: &State) -> String {
    match state {
        State::Missing => "there is no lease".to_owned(),
        State::Unknown(reason) => format!("unknown: {reason}"),
        State::There {
            holder,
            transitions,
            version,
            ..
        } => {
            let holder = if holder.is_empty() { "nobody" } else { holder };
            format!("held by {holder}, transitions {transitions}, version {version}")
        }
    }
}

fn members(state: &State, now: &str) -> Value {
    match state {
        State::Missing => json!({"seenAt": now, "lease": null}),
        State::Unknown(reason) => json!({"seenAt": now, "error": reason}),
        State::There {
            holder,
            transitions,
            uid,
            renewed,
            version,
        } => json!({
            "seenAt": now,
            "lease": {
                "holderIdentity": holder,
                "leaseTransitions": transitions.parse::<i64>().ok(),
                "renewTime": renewed,
                "resourceVersion": version,
                "uid": uid,
            },
        }),
    }
}
