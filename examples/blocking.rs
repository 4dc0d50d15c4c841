//! Leads from a program that has no runtime and blocks as it likes.
//!
//! ```text
//! cargo run --example blocking
//! ```
//!
//! The elector has a thread of its own. All questions to the handle are answered from memory, so
//! they need no runtime. It runs against an API server of its own; on a cluster, `infer()` takes
//! the place of `server(..)`.

use core::error::Error;
use core::time::Duration;
use std::thread::sleep;

use kubelease::testing::ApiServer;
use kubelease::{Elector, Finish, Timing};
use kubelease_core::time::Duration as Millis;
use tokio::runtime;

/// Two seconds and less, so that nobody waits long for an example.
const QUICK: Timing = Timing::new(
    Millis::from_millis(2_000),
    Millis::from_millis(1_500),
    Millis::from_millis(300),
);

fn main() -> Result<(), Box<dyn Error>> {
    let server = ApiServer::start()?;

    let handle = Elector::builder()
        .server(server.url())
        .namespace("default")
        .name("pump-control")
        .timing(QUICK)
        .dedicated_thread()
        .start()?;

    let mut steps = 0;
    while steps < 3 {
        // Asked before each step: it turns false by itself where the lease can't be renewed.
        let Some(guard) = handle.guard() else {
            sleep(Duration::from_millis(20));
            continue;
        };
        steps += 1;
        println!(
            "step {steps} with token {:?}",
            guard.fence().and_then(|fence| fence.token())
        );
        // This blocks its thread for longer than the lease lasts without a renewal; the elector's
        // own thread renews it meanwhile.
        sleep(Duration::from_millis(2_500));
        if !guard.is_valid() {
            return Err("the term ended although the server answers".into());
        }
    }

    // The one thing to wait for, on this thread.
    let waiting = runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    let finish = waiting.block_on(handle.shutdown())?;
    println!("the lease: {finish:?}");
    if finish == Finish::Released {
        Ok(())
    } else {
        Err("the lease was not released".into())
    }
}
