//! Leases as people look at them: read, listed, watched, released.

mod api;
mod list;
mod release;
mod row;
mod seen;
mod status;
mod watch;

pub(crate) use self::list::{ListArgs, run as list};
pub(crate) use self::release::{ReleaseArgs, run as release};
pub(crate) use self::status::{StatusArgs, run as status};
pub(crate) use self::watch::{WatchArgs, run as watch};

use core::future::Future;

use tokio::runtime;

use crate::exit::{Outcome, by_signal};
use crate::signals::{Signals, ends};

/// Runs one command to its end, or to a signal. Programs that issue credentials end with it: they
/// have process groups of their own, which no terminal's signal reaches.
fn block_on(command: impl Future<Output = Outcome>) -> Outcome {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(async {
        let mut signals = Signals::new()?;
        let end = async {
            loop {
                let number = signals.next().await;
                if ends(number) {
                    break Ok(by_signal(number));
                }
            }
        };
        tokio::select! {
            outcome = command => outcome,
            outcome = end => outcome,
        }
    });
    // A name that is looked up holds nobody back.
    runtime.shutdown_background();
    outcome
}
