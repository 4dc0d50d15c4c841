//! The rules of the heartbeat hold in every run of small worlds.
//!
//! A build with debug assertions has less of each fault than any other. The counts are printed
//! with `--nocapture`.

use kubelease_core::heartbeat::HeartbeatConfig;
use kubelease_tests::heart::life::Kind;
use kubelease_tests::heart::model::{Bounds, walk};
use kubelease_tests::heart::{GW1, STEADY};

/// One more where it is quick.
const MORE: u8 = if cfg!(debug_assertions) { 0 } else { 1 };

const OWNED: Kind = (
    HeartbeatConfig {
        owner_required: true,
        ..STEADY
    },
    GW1,
);

const NOTHING: Bounds = Bounds {
    hearts: &[OWNED],
    horizon_ms: 10_000,
    slow: 0,
    breaks: 0,
    crashes: 0,
    deletions: 0,
    registrations: 0,
    ends: 0,
};

#[track_caller]
fn holds(name: &str, bounds: Bounds) {
    let walk = walk(bounds);
    println!("{name}: {} states, {} steps deep", walk.states, walk.depth);
    assert_eq!(walk.broken, None, "{name}");
    assert!(walk.missed.is_empty(), "never happened: {:?}", walk.missed);
    assert!(walk.states > 100, "too small to show anything");
}

#[test]
fn model_of_a_lone_heart_whose_lease_is_deleted_and_whose_node_is_registered_anew() {
    holds(
        "registered anew",
        Bounds {
            slow: 1,
            crashes: MORE,
            deletions: MORE,
            registrations: 1,
            ..NOTHING
        },
    );
}

#[test]
fn model_of_a_lone_heart_that_dies_and_whose_connections_break() {
    holds(
        "dies",
        Bounds {
            slow: MORE,
            breaks: 1,
            crashes: 1,
            deletions: MORE,
            ..NOTHING
        },
    );
}

#[test]
fn model_of_a_heart_that_is_retired_at_any_moment() {
    holds(
        "retired",
        Bounds {
            slow: 1,
            breaks: MORE,
            deletions: 1,
            ends: 1,
            ..NOTHING
        },
    );
}

#[test]
fn model_of_two_processes_of_one_name() {
    holds(
        "twins",
        Bounds {
            hearts: &[OWNED, OWNED],
            horizon_ms: 10_000,
            slow: MORE,
            registrations: 1,
            ..NOTHING
        },
    );
}
