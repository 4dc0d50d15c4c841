//! The worlds that are walked through, each in two sizes.

use super::bounds::{Bounds, GRID_US, NODES_MAX, Rate, Work};

/// A world.
#[expect(clippy::exhaustive_structs, reason = "plain data of a test")]
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// In a word.
    pub name: &'static str,
    /// A few thousand states: for a build with debug assertions, and for many faults in turn.
    pub small: Bounds,
    /// As many states as fit into seconds.
    pub large: Bounds,
}

/// How many steps of time an expiry takes: the first record, and then a lease and a little more.
const EXPIRY: u64 = 10;

const fn quiet(steps: u64) -> Bounds {
    Bounds::quiet(steps * GRID_US)
}

/// The second clock runs as much faster as the shipped report says can be borne, `D / R`.
const AT_TOLERANCE: [Rate; NODES_MAX] = second_shows(4, 3);

/// The same where work uses up its grace, `2·D / (R + D)`.
const AT_TOLERANCE_WITH_GRACE: [Rate; NODES_MAX] = second_shows(8, 7);

/// Three hundredths more.
const PAST_TOLERANCE: [Rate; NODES_MAX] = second_shows(103, 75);

const PAST_TOLERANCE_WITH_GRACE: [Rate; NODES_MAX] = second_shows(206, 175);

const fn second_shows(shows: u64, after: u64) -> [Rate; NODES_MAX] {
    [Rate::TRUE, Rate { shows, after }, Rate::TRUE]
}

/// Worlds in which every rule holds.
pub const SCENES: [Scene; 12] = [
    Scene {
        name: "messages late, lost and out of order",
        small: Bounds {
            slow: 1,
            ..quiet(8)
        },
        large: Bounds {
            slow: 3,
            ..quiet(9)
        },
    },
    Scene {
        name: "broken connections and proxies",
        small: Bounds {
            failures: 1,
            ..quiet(8)
        },
        large: Bounds {
            failures: 2,
            slow: 1,
            ..quiet(9)
        },
    },
    Scene {
        name: "crashes and restarts",
        small: Bounds {
            crashes: 1,
            ..quiet(EXPIRY)
        },
        large: Bounds {
            crashes: 1,
            slow: 1,
            ..quiet(EXPIRY + 2)
        },
    },
    Scene {
        name: "stops",
        small: Bounds {
            stops: 1,
            slow: 1,
            ..quiet(3)
        },
        large: Bounds {
            stops: 1,
            slow: 1,
            failures: 1,
            ..quiet(6)
        },
    },
    Scene {
        name: "steps down",
        small: Bounds {
            step_downs: 1,
            slow: 1,
            ..quiet(3)
        },
        large: Bounds {
            step_downs: 1,
            slow: 1,
            ..quiet(12)
        },
    },
    Scene {
        name: "processes that stand still",
        small: Bounds {
            stalls: 1,
            ..quiet(EXPIRY)
        },
        large: Bounds {
            stalls: 2,
            ..quiet(EXPIRY + 4)
        },
    },
    Scene {
        name: "stalled leaders that stop",
        small: Bounds {
            stalls: 1,
            stops: 1,
            ..quiet(7)
        },
        large: Bounds {
            stalls: 1,
            stops: 1,
            ..quiet(12)
        },
    },
    Scene {
        name: "deletions",
        small: Bounds {
            deletions: 1,
            stalls: 1,
            ..quiet(EXPIRY + 1)
        },
        large: Bounds {
            deletions: 1,
            stalls: 1,
            slow: 1,
            ..quiet(EXPIRY)
        },
    },
    Scene {
        name: "clocks as unlike as can be borne",
        small: Bounds {
            stalls: 1,
            slow: 1,
            rates: AT_TOLERANCE,
            work: Work::EndsAtOnce,
            ..quiet(8)
        },
        large: Bounds {
            stalls: 1,
            slow: 1,
            rates: AT_TOLERANCE,
            work: Work::EndsAtOnce,
            ..quiet(EXPIRY + 2)
        },
    },
    Scene {
        name: "clocks as unlike as can be borne with grace",
        small: Bounds {
            stalls: 1,
            rates: AT_TOLERANCE_WITH_GRACE,
            ..quiet(EXPIRY)
        },
        large: Bounds {
            stalls: 1,
            slow: 1,
            rates: AT_TOLERANCE_WITH_GRACE,
            ..quiet(EXPIRY + 2)
        },
    },
    Scene {
        name: "unlike durations",
        small: Bounds {
            stalls: 1,
            first_is_longer_s: 1,
            ..quiet(EXPIRY + 4)
        },
        large: Bounds {
            stalls: 1,
            slow: 1,
            first_is_longer_s: 1,
            ..quiet(EXPIRY + 4)
        },
    },
    Scene {
        name: "namesakes that wait for each other",
        small: Bounds {
            stalls: 1,
            namesakes: true,
            ..quiet(EXPIRY)
        },
        large: Bounds {
            stalls: 1,
            slow: 1,
            namesakes: true,
            ..quiet(EXPIRY + 1)
        },
    },
];

/// Three electors, in fewer steps.
pub const THREE: [Scene; 3] = [
    Scene {
        name: "three: messages",
        small: Bounds {
            nodes: 3,
            slow: 1,
            ..quiet(2)
        },
        large: Bounds {
            nodes: 3,
            slow: 1,
            ..quiet(10)
        },
    },
    Scene {
        name: "three: a crash",
        small: Bounds {
            nodes: 3,
            crashes: 1,
            ..quiet(4)
        },
        large: Bounds {
            nodes: 3,
            crashes: 1,
            ..quiet(12)
        },
    },
    Scene {
        name: "three: a stop",
        small: Bounds {
            nodes: 3,
            stops: 1,
            ..quiet(4)
        },
        large: Bounds {
            nodes: 3,
            stops: 1,
            failures: 1,
            ..quiet(5)
        },
    },
];

/// Worlds past what can be borne: there two do lead, or the model is blind.
pub const BEYOND: [Scene; 2] = [
    Scene {
        name: "clocks more unlike than can be borne",
        small: Bounds {
            stalls: 1,
            rates: PAST_TOLERANCE,
            work: Work::EndsAtOnce,
            ..quiet(EXPIRY)
        },
        large: Bounds {
            stalls: 1,
            rates: PAST_TOLERANCE,
            work: Work::EndsAtOnce,
            ..quiet(EXPIRY)
        },
    },
    Scene {
        name: "clocks more unlike than can be borne with grace",
        small: Bounds {
            stalls: 1,
            rates: PAST_TOLERANCE_WITH_GRACE,
            ..quiet(EXPIRY)
        },
        large: Bounds {
            stalls: 1,
            rates: PAST_TOLERANCE_WITH_GRACE,
            ..quiet(EXPIRY)
        },
    },
];
