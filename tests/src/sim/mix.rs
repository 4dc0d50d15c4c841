//! [`Mix`]: a kind of world, by what can happen in it.

use kubelease_core::elector::Timing;
use kubelease_core::time::Duration;

use super::net::Weather;
use super::schedule::Kind;

/// A kind of world.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// Its name on the command line.
    pub name: &'static str,
    /// The durations that processes are configured with.
    pub timings: &'static [Timing],
    /// Whether all processes have the same durations.
    pub same_timing: bool,
    /// The network at its best.
    pub weather: Weather,
    /// What happens, the likelier the more often it is listed.
    pub kinds: &'static [Kind],
    /// Fewest and most such happenings.
    pub happenings: (u64, u64),
    /// How the monotonic clocks run.
    pub rates: Rates,
    /// Whether two living processes have one identity.
    pub twins: bool,
    /// Whether processes trust the times in records; their civil clocks are then good to 2 s.
    pub trust: bool,
    /// Shortest and longest time during which things happen, in seconds.
    pub unrest_s: (u64, u64),
}

/// How the monotonic clocks of a world run, by the ratio of the fastest to the slowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rates {
    /// All the same.
    Same,
    /// Up to `2·D / (R + D)`: not even work in its grace overlaps.
    WithinGrace,
    /// Up to `D / R`: two never lead.
    Within,
    /// Half as much again: two may lead, and it is counted.
    Beyond,
}

impl Mix {
    /// The mix of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        MIXES.iter().find(|mix| mix.name == name)
    }

    /// The mix that `seed` is of, where none is named: they take turns.
    #[must_use]
    pub fn of_seed(seed: u64) -> &'static Self {
        let index = usize::try_from(seed % MIXES.len() as u64).unwrap_or_default();
        &MIXES[index]
    }
}

const fn timing(lease_s: u64, renew_ms: u64, retry_ms: u64, jitter_percent: u32) -> Timing {
    let timing = Timing::new(
        Duration::from_secs(lease_s),
        Duration::from_millis(renew_ms),
        Duration::from_millis(retry_ms),
    );
    Timing {
        jitter_percent,
        ..timing
    }
}

/// Durations of every shape: the presets, a quick one, wide and narrow margins, much jitter.
const TIMINGS: &[Timing] = &[
    Timing::KUBERNETES,
    Timing::KUBERNETES,
    Timing::EDGE,
    Timing::OPENSHIFT,
    timing(4, 2_500, 500, 20),
    timing(10, 6_000, 1_500, 100),
    timing(15, 14_800, 2_000, 0),
    timing(30, 10_000, 3_000, 20),
    timing(20, 15_000, 2_000, 400),
];

/// Durations whose clocks may differ by enough to matter.
const TOLERANT: &[Timing] = &[
    Timing::KUBERNETES,
    Timing::EDGE,
    timing(4, 2_500, 500, 20),
    timing(30, 10_000, 3_000, 20),
];

const CALM: Mix = Mix {
    name: "calm",
    timings: TIMINGS,
    same_timing: false,
    weather: Weather::FAIR,
    kinds: &[],
    happenings: (0, 0),
    rates: Rates::WithinGrace,
    twins: false,
    trust: false,
    unrest_s: (60, 120),
};

/// All mixes.
pub const MIXES: &[Mix] = &[
    CALM,
    Mix {
        name: "rough",
        weather: Weather::ROUGH,
        kinds: &[Kind::Weather, Kind::Cut, Kind::Crash, Kind::Pause],
        happenings: (2, 10),
        rates: Rates::WithinGrace,
        unrest_s: (120, 360),
        ..CALM
    },
    Mix {
        name: "processes",
        kinds: &[
            Kind::Pause,
            Kind::Crash,
            Kind::Crash,
            Kind::Call,
            Kind::Call,
            Kind::Reset,
            Kind::Weather,
        ],
        happenings: (3, 14),
        unrest_s: (120, 360),
        ..CALM
    },
    Mix {
        name: "clocks",
        timings: TOLERANT,
        kinds: &[Kind::Rate, Kind::Wall, Kind::Reset, Kind::Cut, Kind::Pause],
        happenings: (3, 14),
        rates: Rates::Within,
        unrest_s: (120, 360),
        ..CALM
    },
    Mix {
        name: "server",
        kinds: &[
            Kind::Storm,
            Kind::Storm,
            Kind::Down,
            Kind::Crash,
            Kind::Weather,
        ],
        happenings: (2, 10),
        unrest_s: (120, 360),
        ..CALM
    },
    Mix {
        name: "edits",
        kinds: &[
            Kind::Edit,
            Kind::Edit,
            Kind::Edit,
            Kind::Namespace,
            Kind::Crash,
            Kind::Weather,
        ],
        happenings: (3, 12),
        unrest_s: (120, 360),
        ..CALM
    },
    Mix {
        name: "everything",
        weather: Weather {
            lost: 10,
            answer_lost: 10,
            late: 10,
            twice: 5,
            late_us: 30_000_000,
            ..Weather::FAIR
        },
        kinds: &Kind::ALL,
        happenings: (6, 24),
        unrest_s: (180, 420),
        ..CALM
    },
    Mix {
        name: "trust",
        weather: Weather::ROUGH,
        kinds: &[Kind::Crash, Kind::Crash, Kind::Cut, Kind::Pause, Kind::Call],
        happenings: (3, 12),
        trust: true,
        unrest_s: (120, 360),
        ..CALM
    },
    Mix {
        name: "twins",
        kinds: &[Kind::Crash, Kind::Cut, Kind::Pause, Kind::Weather],
        happenings: (1, 6),
        twins: true,
        unrest_s: (120, 360),
        ..CALM
    },
    Mix {
        name: "beyond",
        timings: TOLERANT,
        same_timing: true,
        kinds: &[Kind::Cut, Kind::Cut, Kind::Rate, Kind::Pause],
        happenings: (3, 10),
        rates: Rates::Beyond,
        unrest_s: (120, 360),
        ..CALM
    },
];
