//! What every test of the elector uses.

pub use kubelease_core::elector::{Config, Create, Timing};
pub use kubelease_core::protocol::{BadAnswer, Failure, Reply, Response};
pub use kubelease_core::time::{Duration, Instant};

pub use crate::at;
pub use crate::driver::{Driver, ORIGIN};
pub use crate::input::Call::{StepDown, Stop, StopWhenIdle, WorkDone};
pub use crate::input::Line::{Bookmark, Changed, Deleted};
pub use crate::input::{Accepted, Input, Lease, Line, Mine, held_by, released, retry_after, wall};
pub use crate::store::{Store, converse, run};
pub use crate::subject::Subject;

/// The candidate of most tests: 15 s, 10 s, 2 s, at most 4 s a request, and no jitter, so that
/// timetables are exact.
pub const A: Config<'static> = Config {
    timing: STEADY,
    ..Config::new("A")
};

/// The timing of [`A`].
pub const STEADY: Timing = Timing {
    jitter_percent: 0,
    ..Timing::KUBERNETES
};

/// A leader in term 1 since 0 ms, whose last acknowledged write was sent then and made version 7.
#[must_use]
#[track_caller]
pub fn leading(config: Config<'static>) -> Driver {
    let mut e = Driver::new(config);
    at!(e, 0 => ["GET"]);
    at!(e, 0, released(6) => ["PUT 6 acquire"]);
    at!(e, 0, Accepted(7) => ["Started 1"]);
    e
}

/// A candidate in watch mode that saw B's lease of 15 s in version 9 at 0 ms, and watches.
#[must_use]
#[track_caller]
pub fn watching(config: Config<'static>) -> Driver {
    let mut e = Driver::watching(config);
    at!(e, 0 => ["GET"]);
    at!(e, 0, held_by("B", 9) => ["Leader B", "WATCH 9"]);
    e
}

/// A candidate that saw B's lease of 15 s in version 9 at 0 ms.
#[must_use]
#[track_caller]
pub fn standby(config: Config<'static>) -> Driver {
    let mut e = Driver::new(config);
    at!(e, 0 => ["GET"]);
    at!(e, 0, held_by("B", 9) => ["Leader B"]);
    e
}
