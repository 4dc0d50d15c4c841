//! [`Bounds`]: how large a world is, and how much may go wrong in it.

use kubelease_core::elector::{Config, Timing};
use kubelease_core::time::{Duration, Instant, Now};
use kubelease_core::timestamp::Timestamp;

/// Most electors of one world.
pub const NODES_MAX: usize = 3;

/// True time goes on by this much at most: half of a request timeout, so that an answer can be
/// slow and still in time.
pub const GRID_US: u64 = 250_000;

/// The least round durations in which a lost renewal can be made good before the deadline: 8, 6, 2
/// and 2 steps of time.
const TIMING: Timing = Timing {
    lease_duration: Duration::from_secs(2),
    renew_deadline: Duration::from_millis(1_500),
    retry_period: Duration::from_millis(500),
    request_timeout: Duration::from_millis(500),
    jitter_percent: 0,
};

const NAMES: [&str; NODES_MAX] = ["ann", "bob", "cyd"];

/// 2026-01-01T00:00:00Z in seconds of Unix time.
const WALL_START: i64 = 1_767_225_600;

/// How fast a clock runs: it shows `shows` milliseconds after `after` true ones.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Milliseconds of this clock.
    pub shows: u64,
    /// Milliseconds of true time.
    pub after: u64,
}

impl Rate {
    /// The clock that shows true time.
    pub const TRUE: Self = Self { shows: 1, after: 1 };
}

/// Whether work is taken to use up its grace after a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It ends with leadership.
    EndsAtOnce,
    /// It goes on until `must_cease_by`.
    UsesItsGrace,
}

/// The size of a world and the faults that it has. All counts are for the whole run.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How many electors, up to [`NODES_MAX`].
    pub nodes: usize,
    /// The run ends here, in microseconds of true time. They are finer than the electors' clocks,
    /// so that what these cut off counts.
    pub horizon_us: u64,
    /// Messages that do not arrive in the instant they were sent: late, or never.
    pub slow: u8,
    /// Requests that end in a broken connection or a 504, whether they are applied or not.
    pub failures: u8,
    /// Crashes. The process may start again at any time after.
    pub crashes: u8,
    /// Calls of `stop`.
    pub stops: u8,
    /// Calls of `step_down`.
    pub step_downs: u8,
    /// Times that a process is not run for a while, by a suspend or a full processor.
    pub stalls: u8,
    /// Deletions of the lease by somebody, once all know who leads.
    pub deletions: u8,
    /// The clock of each elector.
    pub rates: [Rate; NODES_MAX],
    /// Whether work after a deadline counts.
    pub work: Work,
    /// Seconds that are added to all durations of the first elector but its retry.
    pub first_is_longer_s: u64,
    /// Whether all have one name and take their own record for another's.
    pub namesakes: bool,
}

impl Bounds {
    /// Two electors with true clocks, in a world without faults.
    #[must_use]
    pub const fn quiet(horizon_us: u64) -> Self {
        Self {
            nodes: 2,
            horizon_us,
            slow: 0,
            failures: 0,
            crashes: 0,
            stops: 0,
            step_downs: 0,
            stalls: 0,
            deletions: 0,
            rates: [Rate::TRUE; NODES_MAX],
            work: Work::UsesItsGrace,
            first_is_longer_s: 0,
            namesakes: false,
        }
    }

    pub(super) fn config(&self, who: usize) -> Config<'static> {
        let mut timing = TIMING;
        if who == 0 {
            let longer = Duration::from_secs(self.first_is_longer_s);
            timing.lease_duration = timing.lease_duration.saturating_add(longer);
            timing.renew_deadline = timing.renew_deadline.saturating_add(longer);
        }
        Config {
            timing,
            treat_own_as_foreign: self.namesakes,
            ..Config::new(self.name(who))
        }
    }

    pub(super) const fn name(&self, who: usize) -> &'static str {
        NAMES[if self.namesakes { 0 } else { who }]
    }

    /// What the clocks of process `life` of elector `who` show at true time `now_us`.
    pub(super) fn now(&self, who: usize, life: u8, now_us: u64) -> Now {
        let rate = self.rates[who];
        let instant = Instant::from_millis(now_us * rate.shows / rate.after / 1_000);
        // Microseconds of different clocks have nothing to do with each other.
        let own = 331 * who as u64 + 113 * u64::from(life);
        let micros = (own + now_us / 59) % 1_000;
        let micros = u32::try_from(micros).expect("it is below 1000");
        let wall = Timestamp::from_unix(WALL_START, micros)
            .and_then(|start| start.checked_add_millis(now_us / 1_000))
            .expect("the run is in 2026");
        Now::with_wall(instant, wall)
    }

    /// The first true time at which the clock of `who` shows `instant`.
    pub(super) fn true_us(&self, who: usize, instant: Instant) -> u64 {
        let rate = self.rates[who];
        (instant.as_millis() * 1_000 * rate.after).div_ceil(rate.shows)
    }
}
