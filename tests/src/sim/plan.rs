//! [`Plan`]: all that a world is made of: its processes, its clocks and what will happen.

use kubelease_core::elector::{Config, Create, Timing};
use kubelease_core::lease::Label;
use kubelease_core::time::Duration;

use super::clock::{Clock, TRUE_RATE};
use super::mix::{Mix, Rates};
use super::random::Random;
use super::schedule::{self, COOLDOWN_MAX, EDITED_DURATION_MAX_S, Entry};

/// The identities of a world, in the order in which they are used up.
pub const IDENTITIES: [&str; 40] = [
    "ada", "bob", "cyd", "dan", "eve", "fay", "gus", "hal", "ida", "jim", "kay", "leo", "mia",
    "ned", "ole", "pam", "quy", "ray", "sue", "tom", "una", "vic", "wes", "xie", "yan", "zoe",
    "abe", "bea", "cal", "dot", "eli", "flo", "gil", "hub", "ira", "joy", "kit", "lou", "max",
    "nan",
];

/// Everything about a world that its seed decides.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed, and of each request's fate.
    pub seed: u64,
    /// The kind of world.
    pub mix: Mix,
    /// The processes.
    pub seats: Vec<Seat>,
    /// What happens, in order of time.
    pub schedule: Vec<Entry>,
    /// Slowest and fastest rate of a monotonic clock.
    pub band: (u64, u64),
    /// How far the server's civil clock is off.
    pub server_offset_us: i64,
    /// From here on nothing happens any more, and the network is fair.
    pub calm_us: u64,
    /// From here on somebody leads.
    pub due_us: u64,
    /// What happens to the leader then.
    pub finale: Finale,
    /// How long requests are counted after that.
    pub quiet_us: u64,
}

/// A place for a process.
#[derive(Clone, Debug)]
pub struct Seat {
    /// The configuration of every process in this place, but for identity and seed.
    pub config: Config<'static>,
    /// The clocks of its host.
    pub clock: Clock,
    /// When the first process starts.
    pub starts_us: u64,
    /// How late it is polled at most.
    pub late_us: u64,
    /// How far back the monotonic clock can step between two calls.
    pub noise_ms: u64,
    /// Whether its processes watch.
    pub watches: bool,
}

/// What happens to the leader when the world is calm again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finale {
    /// Nothing.
    Quiet,
    /// It is killed and never comes back.
    Crash,
    /// It steps down for a minute.
    StepDown,
    /// It stops.
    Stop,
}

impl Plan {
    /// The plan of `mix` that `seed` makes.
    #[must_use]
    pub fn new(mix: &Mix, seed: u64) -> Self {
        let mut random = Random::of(&[seed, 0x706c_616e]);
        let count = random.between(2, 5);
        let timing = random.pick(mix.timings);
        let mut seats: Vec<Seat> = (0..count)
            .map(|number| draw_seat(mix, timing, number, &mut random))
            .collect();
        let band = draw_band(mix, &seats, &mut random);
        // Drawn apart, so that worlds are what they were before there were watches.
        let mut watching = Random::of(&[seed, 0x7761_7463]);
        for seat in &mut seats {
            seat.watches = watching.chance(500);
            let rate = rate_in(band, random.pick(&[0, 0, 300, 700, 1_000, 1_000]));
            seat.clock.set_rate(0, rate);
        }
        let calm_us = random.between(mix.unrest_s.0, mix.unrest_s.1) * 1_000_000;
        let schedule = draw_schedule(mix, seats.len(), calm_us, &mut random);
        let due_us = calm_us + settling_us(&seats, band);
        let finale = random.pick(&[Finale::Quiet, Finale::Crash, Finale::StepDown, Finale::Stop]);
        let skew_us = if mix.trust { 0 } else { 7_200_000_000 };
        let server_offset_us = signed_below(skew_us, &mut random);
        Self {
            seed,
            mix: *mix,
            seats,
            schedule,
            band,
            server_offset_us,
            calm_us,
            due_us,
            finale,
            quiet_us: 60_000_000,
        }
    }
}

/// The rate `thousandths` of the way from the slowest to the fastest.
#[must_use]
pub const fn rate_in(band: (u64, u64), thousandths: u64) -> u64 {
    band.0 + (band.1 - band.0) * thousandths / 1_000
}

fn draw_seat(mix: &Mix, timing: Timing, number: u64, random: &mut Random) -> Seat {
    let index = if mix.twins { number / 2 } else { number };
    let identity = IDENTITIES[usize::try_from(index).unwrap_or_default()];
    let timing = if mix.same_timing || random.chance(500) {
        timing
    } else {
        random.pick(mix.timings)
    };
    let config = Config {
        timing,
        labels: random.pick(&[&[], LABELS]),
        create: random.pick(&[Create::Post, Create::Post, Create::Put, Create::Never]),
        treat_own_as_foreign: random.chance(300),
        trust_renew_time: mix.trust.then_some(SKEW_MAX),
        release_budget: random.pick(&[None, None, Some(Duration::from_secs(3))]),
        ..Config::new(identity)
    };
    let offset_us = if mix.trust {
        Some(signed_below(2_000_000, random))
    } else {
        let reach_us = random.pick(&[1_000_000, 86_400_000_000]);
        random.chance(800).then(|| signed_below(reach_us, random))
    };
    let latest_us = random.pick(&[1, 3_000_000, 60_000_000]);
    let uptime_us = random.between(1, 1_000) * 86_400_000 + random.below(1_000);
    Seat {
        config,
        clock: Clock::new(uptime_us, TRUE_RATE, offset_us),
        starts_us: random.below(latest_us),
        late_us: random.pick(&[0, 0, 2_000, 50_000]),
        noise_ms: random.pick(&[0, 0, 0, 40]),
        watches: false,
    }
}

/// What processes that trust times allow for: the clocks' 2 s each way, and whole seconds.
const SKEW_MAX: Duration = Duration::from_secs(5);

const LABELS: &[Label<'static>] = &[Label {
    key: "example.com/zone",
    value: "north",
}];

/// Slowest and fastest rate. The ratio is cut, not rounded, so that it keeps within.
fn draw_band(mix: &Mix, seats: &[Seat], random: &mut Random) -> (u64, u64) {
    let ratio = |seat: &Seat| {
        let timing = seat.config.timing;
        let (d, r) = (
            timing.lease_duration.as_millis(),
            timing.renew_deadline.as_millis(),
        );
        match mix.rates {
            Rates::Same => TRUE_RATE,
            Rates::WithinGrace => 2 * d * TRUE_RATE / (d + r),
            Rates::Within => d * TRUE_RATE / r,
            Rates::Beyond => d * TRUE_RATE / r * 3 / 2,
        }
    };
    let most = seats.iter().map(ratio).min().unwrap_or(TRUE_RATE);
    // Who trusts times in records compares with the server's clock too, which keeps true time.
    let slowest = if mix.trust {
        random.between((TRUE_RATE * TRUE_RATE).div_ceil(most), TRUE_RATE)
    } else {
        random.between(700_000, 1_300_000)
    };
    (slowest, slowest * most / TRUE_RATE)
}

fn draw_schedule(mix: &Mix, seats: usize, calm_us: u64, random: &mut Random) -> Vec<Entry> {
    let (fewest, most) = mix.happenings;
    let count = random.between(fewest, most);
    let mut schedule: Vec<Entry> = (0..count)
        .map(|_| schedule::draw(random.pick(mix.kinds), seats, calm_us, random))
        .collect();
    schedule.sort_by_key(|entry| entry.at_us);
    schedule
}

/// How long after the last fault somebody leads for certain: the longest pause that a candidate
/// has been told or makes by itself, a look, the longest duration in a record, and a write; or,
/// where somebody is resting, that and the release before it.
fn settling_us(seats: &[Seat], band: (u64, u64)) -> u64 {
    let waits = seats.iter().map(|seat| {
        let timing = seat.config.timing;
        let report = timing.report();
        let longest = report.slowest_retry.max(RETRY_AFTER_MAX).max(
            timing
                .request_timeout
                .saturating_add(report.graceful_takeover),
        );
        let release = timing.renew_deadline.saturating_add(COOLDOWN_MAX);
        let silence = if seat.watches {
            report.watch_silence
        } else {
            Duration::ZERO
        };
        longest
            .saturating_add(release)
            .saturating_add(silence)
            .as_millis()
    });
    let edited = Duration::from_secs(u64::from(EDITED_DURATION_MAX_S.unsigned_abs()));
    let records = seats
        .iter()
        .map(|seat| seat.config.timing.lease_duration.max(edited).as_millis());
    let local_ms = waits.max().unwrap_or_default() + records.max().unwrap_or_default() + 1;
    (local_ms * 1_000 * TRUE_RATE).div_ceil(band.0) + ROUND_TRIPS_US
}

/// Longest `Retry-After` that is obeyed.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);

/// A dozen ways of fair weather and a poll that is late each time.
const ROUND_TRIPS_US: u64 = 12 * (20_000 + 50_000);

fn signed_below(reach_us: u64, random: &mut Random) -> i64 {
    let value = i64::try_from(random.below(2 * reach_us + 1)).unwrap_or_default();
    value - i64::try_from(reach_us).unwrap_or_default()
}
