//! [`Plan`]: all of a world that is drawn before it begins.

use kubelease_core::heartbeat::{HeartbeatConfig, HeartbeatIdentity, Retire};
use kubelease_core::lease::Readiness;
use kubelease_core::time::Duration;

use crate::heart::life::Kind;
use crate::sim::clock::{Clock, TRUE_RATE};
use crate::sim::net::Weather;
use crate::sim::random::Random;
use crate::sim::schedule::{self, What};

/// The slowest and the fastest clock of a host, in millionths of true time.
pub(super) const RATES: (u64, u64) = (930_000, 1_070_000);

/// Names of leases, Nodes and holders.
const NAMES: [&str; 4] = ["gw1", "gw2", "gw3", "gw4"];

/// Holders that share the lease of another.
const RIVALS: [&str; 4] = ["old1", "old2", "old3", "old4"];

/// For how long things go wrong.
const UNREST_US: (u64, u64) = (150_000_000, 400_000_000);

/// From the calm on until everything has to be well: the longest pause and the longest record of
/// somebody else are over.
pub(super) const SETTLING_US: u64 = 140_000_000;

/// How long it has to be well.
pub(super) const WELL_US: u64 = 65_000_000;

/// A world.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it is drawn from.
    pub seed: u64,
    pub(super) seats: Vec<Seat>,
    pub(super) schedule: Vec<Entry>,
    pub(super) weather: Weather,
    /// From here on nothing goes wrong any more.
    pub(super) calm_us: u64,
}

/// Where processes run, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    pub(super) kind: Kind,
    /// Which lease it beats.
    pub(super) place: usize,
    pub(super) clock: Clock,
    pub(super) starts_us: u64,
    /// How late it is polled at most.
    pub(super) late_us: u64,
}

/// One happening.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) at_us: u64,
    pub(super) until_us: u64,
    pub(super) what: Happening,
}

/// What happens.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happening {
    /// What can happen to electors too.
    Shared(What),
    /// The Node of this place is registered anew, with a condition or without.
    Register(usize, Readiness),
    /// The Node of this place is deleted; it is back when the happening is over.
    Unregister(usize),
    /// Somebody adds an owner of his own.
    AddOwner(usize),
    /// The host of this seat does not say that it is alive.
    Silence(usize),
    /// The process of this seat ends like this; another starts when the happening is over.
    Retire(usize, Retire),
}

impl Plan {
    /// The world that `seed` names.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut random = Random::of(&[seed, 0x6865_6172_7473]);
        let calm_us = random.between(UNREST_US.0, UNREST_US.1);
        let seats = draw_seats(&mut random);
        let places = 1 + seats.iter().map(|seat| seat.place).max().unwrap_or(0);
        let count = random.between(4, 16);
        let draw = |_| draw_entry(seats.len(), places, calm_us, &mut random);
        let mut schedule: Vec<Entry> = (0..count).map(draw).collect();
        schedule.sort_by_key(|entry| entry.at_us);
        Self {
            seed,
            weather: random.pick(&[Weather::FAIR, Weather::FAIR, Weather::ROUGH]),
            seats,
            schedule,
            calm_us,
        }
    }

    pub(super) const fn end_us(&self) -> u64 {
        self.calm_us + SETTLING_US + WELL_US
    }
}

fn draw_seats(random: &mut Random) -> Vec<Seat> {
    let count = random.between(2, 4);
    let mut seats: Vec<Seat> = Vec::new();
    for number in 0..count {
        let index = usize::try_from(number).unwrap_or_default();
        let last = seats.last().map(|seat| (seat.kind, seat.place));
        let own = index.min(last.map_or(0, |(_, place)| place + 1));
        let (kind, place) = match (last, random.below(10)) {
            // A process that was forgotten beats on beside its successor.
            (Some(same), 0) => same,
            // Another holder waits for the lease.
            (Some(((config, _), place)), 1) => {
                let rival = HeartbeatIdentity::new(RIVALS[index]);
                ((without_node(config), rival), place)
            }
            (Some(_) | None, _) => (draw_kind(NAMES[own], random), own),
        };
        let wall = random.pick(&[
            None,
            Some(0),
            Some(0),
            Some(3_600_000_000),
            Some(-3_600_000_000),
            Some(-1_767_000_000_000_000),
            Some(2_000_000_000_000_000),
        ]);
        let rate = random.pick(&[TRUE_RATE, TRUE_RATE, RATES.0, RATES.1]);
        let (config, identity) = kind;
        let seed = random.next_u64();
        seats.push(Seat {
            kind: (config, HeartbeatIdentity { seed, ..identity }),
            place,
            clock: Clock::new(random.below(1 << 40), rate, wall),
            starts_us: random.below(20_000_000),
            late_us: random.pick(&[0, 5_000, 50_000]),
        });
    }
    seats
}

fn draw_kind(name: &'static str, random: &mut Random) -> Kind {
    let seconds = random.pick(&[40, 40, 40, 40, 20, 8]);
    let plain = HeartbeatConfig {
        create_with_put: random.chance(300),
        spread_first_beat: random.chance(700),
        ..HeartbeatConfig::new(Duration::from_secs(seconds))
    };
    let watching = HeartbeatConfig {
        watch_node: true,
        owner_required: random.chance(500),
        ..plain
    };
    let vouching = HeartbeatConfig {
        liveness_ttl: Some(Duration::from_secs(30)),
        ..watching
    };
    let forcing = HeartbeatConfig {
        force_owner: true,
        ..plain
    };
    let node = HeartbeatIdentity::of_node(name);
    let known = HeartbeatIdentity {
        node_uid: Some("n1"),
        ..node
    };
    random.pick(&[
        (plain, HeartbeatIdentity::new(name)),
        (forcing, HeartbeatIdentity::new(name)),
        (plain, node),
        (watching, node),
        (watching, node),
        (watching, known),
        (vouching, node),
    ])
}

const fn without_node(config: HeartbeatConfig) -> HeartbeatConfig {
    HeartbeatConfig {
        watch_node: false,
        owner_required: false,
        force_owner: false,
        liveness_ttl: None,
        ..config
    }
}

fn draw_entry(seats: usize, places: usize, calm_us: u64, random: &mut Random) -> Entry {
    let any = |count: usize, random: &mut Random| {
        usize::try_from(random.below(count as u64)).unwrap_or_default()
    };
    let (seat, place) = (any(seats, random), any(places, random));
    let readiness = random.pick(&[Readiness::Ready, Readiness::NotReady, Readiness::Unsaid]);
    let how = random.pick(&[Retire::Keep, Retire::FinalBeat, Retire::Delete]);
    let kind = random.pick(&schedule::Kind::ALL);
    let shared = schedule::draw(kind, seats, calm_us, random);
    let what = match random.below(16) {
        0 | 1 => Happening::Register(place, readiness),
        2 => Happening::Unregister(place),
        3 => Happening::AddOwner(place),
        4 => Happening::Silence(seat),
        5 | 6 => Happening::Retire(seat, how),
        _ => match shared.what {
            // An elector's calls are not a heart's.
            What::Call(..) => Happening::Retire(seat, how),
            other => Happening::Shared(other),
        },
    };
    Entry {
        at_us: shared.at_us,
        until_us: shared.until_us,
        what,
    }
}
