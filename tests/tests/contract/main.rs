//! What client-go promises, clause by clause: one test for each upstream test, under the number
//! that `tests/contract.txt` gives it. Where this machine is stricter on purpose, the test says so.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may")]

mod acquire;
mod heartbeat;
mod micro_time;
mod release;
mod renew;

use kubelease_tests::prelude::*;

/// The candidate of the upstream tests: identity `baz`, 10 s.
const BAZ: Config<'static> = Config {
    identity: "baz",
    timing: Timing {
        lease_duration: Duration::from_secs(10),
        renew_deadline: Duration::from_secs(7),
        retry_period: Duration::from_secs(2),
        request_timeout: Duration::from_millis(2_500),
        jitter_percent: 0,
    },
    ..Config::new("baz")
};

/// The candidate of the upstream tests of the whole loop: 15 s, 2 s, 1 s.
const QUICK: Config<'static> = Config {
    timing: Timing {
        lease_duration: Duration::from_secs(15),
        renew_deadline: Duration::from_secs(2),
        retry_period: Duration::from_secs(1),
        request_timeout: Duration::from_millis(500),
        jitter_percent: 0,
    },
    ..BAZ
};

/// The lease as bing holds it.
fn held_by_bing(version: u64, seconds: i32) -> Lease {
    held_by("bing", version).duration(seconds)
}
