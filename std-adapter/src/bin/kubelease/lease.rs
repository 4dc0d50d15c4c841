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

use crate::exit::Outcome;

/// Runs one command to its end.
fn block_on(command: impl Future<Output = Outcome>) -> Outcome {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(command)
}
