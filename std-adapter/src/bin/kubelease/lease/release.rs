//! `kubelease release`: gives a Lease up, so that others need not wait for its end.

use core::time::Duration;
use std::io::{self, Write};

use clap::Args;
use kubelease::{Clock, SystemClock};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::api::{LeaseApi, Written};
use super::block_on;
use super::row::{Row, short};
use crate::args::{LeaseName, more_than_nothing};
use crate::connect::ConnectArgs;
use crate::exit::{Failure, NOT_THERE, Outcome};

/// How long a holder is looked at that is said to be dead, in parts of its lease duration: every
/// usual retry period is shorter.
const LOOK_PART: u32 = 3;

/// The duration of a record that has none.
const DURATION_DEFAULT_S: i64 = 15;

/// Which Lease, and whose.
#[derive(Debug, Args)]
#[command(
    override_usage = "kubelease release [OPTIONS] <--identity <NAME>|--force> [NAMESPACE/]NAME"
)]
pub(crate) struct ReleaseArgs {
    /// The lease.
    #[arg(value_name = "[NAMESPACE/]NAME")]
    lease: LeaseName,
    /// The holder whose lease it is. Its process must have ended: it may lead on until it looks.
    #[arg(long, value_name = "NAME", required_unless_present = "force")]
    identity: Option<String>,
    /// Release it whoever holds it, after a look at whether the holder renews it still. The look
    /// proves nothing of a holder that is cut off and works on.
    #[arg(long)]
    force: bool,
    /// How long to look before a forced release, more than 0s; a third of the lease duration
    /// unless said. A living holder renews once in its retry period.
    #[arg(long, value_parser = humantime::parse_duration, value_name = "DURATION",
          requires = "force")]
    observe: Option<Duration>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Releases the Lease. The exit code is [`NOT_THERE`] where it was not released.
pub(crate) fn run(args: &ReleaseArgs) -> Outcome {
    block_on(release(args))
}

async fn release(args: &ReleaseArgs) -> Outcome {
    if let Some(look) = args.observe {
        more_than_nothing("--observe", look)?;
    }
    let connected = args.connect.connect()?;
    let namespace = connected.namespace(&args.lease)?;
    let (name, mut api) = (&args.lease.name, LeaseApi::new(&connected)?);
    let Some(lease) = api.get(&namespace, name).await? else {
        return Err(not_released("there is no such lease"));
    };
    let row = Row::new(lease.clone(), None);
    if row.holder.is_empty() {
        return Err(not_released("nobody holds it"));
    }
    if args.identity.as_ref().is_some_and(|own| *own != row.holder) {
        return Err(not_released(format_args!("{} holds it", row.holder)));
    }
    if args.force {
        let seconds = row.number("/spec/leaseDurationSeconds");
        let seconds = u64::try_from(seconds.unwrap_or(DURATION_DEFAULT_S)).unwrap_or(0);
        let usual = Duration::from_secs(seconds) / LOOK_PART;
        let look = args.observe.unwrap_or(usual);
        if look < usual {
            say(format_args!(
                "{} may be shorter than the retry period of {}, who may live and not renew in it; \
                 {} is not",
                short(look),
                row.holder,
                short(usual)
            ));
        }
        say(format_args!(
            "looking for {} whether {} renews it",
            short(look),
            row.holder
        ));
        sleep(look).await;
    }
    // The version is of before the look: whoever has written since is alive.
    match api.put(&namespace, name, &released(lease)).await? {
        Written::Done => {
            say(format_args!(
                "released {namespace}/{name}, held by {}",
                row.holder
            ));
            Ok(0)
        }
        Written::Conflict => Err(not_released(format_args!("{} is alive", row.holder))),
    }
}

/// The same Lease without a holder, as an elector would release it.
fn released(mut lease: Value) -> Value {
    let now = SystemClock::new().now().wall.map(|wall| wall.to_text());
    if let Some(spec) = lease.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert("holderIdentity".to_owned(), json!(""));
        spec.insert("leaseDurationSeconds".to_owned(), json!(1));
        if let Some(now) = now {
            spec.insert("renewTime".to_owned(), json!(now.as_str()));
        }
    }
    lease
}

fn not_released(why: impl core::fmt::Display) -> Failure {
    Failure::new(format_args!("not released: {why}")).with_code(NOT_THERE)
}

fn say(text: core::fmt::Arguments<'_>) {
    // Nobody may be there to read it.
    let _ = writeln!(io::stderr(), "kubelease: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_not_the_holders_is_kept() {
        let lease = json!({
            "metadata": {"resourceVersion": "7", "labels": {"a": "b"}},
            "spec": {
                "holderIdentity": "a",
                "leaseDurationSeconds": 15,
                "leaseTransitions": 3,
                "strategy": "x",
            },
        });
        let after = released(lease.clone());
        assert_eq!(after["metadata"], lease["metadata"]);
        assert_eq!(after["spec"]["leaseTransitions"], 3);
        assert_eq!(after["spec"]["strategy"], "x");
        assert_eq!(after["spec"]["holderIdentity"], "");
        assert_eq!(after["spec"]["leaseDurationSeconds"], 1);
    }
}
