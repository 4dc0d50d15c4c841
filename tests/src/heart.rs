//! Heartbeats under test: the book that is kept of one, what a timetable gives to it, and a server
//! with a lease and a Node.

pub mod book;
pub mod life;
pub mod model;
pub mod server;
pub mod sim;
pub mod transcript;

use kubelease_core::heartbeat::{Health, Heartbeat, HeartbeatConfig, HeartbeatIdentity, Retire};
use kubelease_core::lease::{NodeRecord, OwnerState, Owners, Readiness, Uid};
use kubelease_core::protocol::{Reply, Response};
use kubelease_core::time::{Instant, Now};

use crate::driven::Driven;
use crate::driver::{Driver, ORIGIN};
use crate::input::{Input, Lease};
use crate::seen::Sent;

use self::book::HeartBook;
use self::transcript::Beats;

/// The heart of most tests: 40 s, a beat each 10 s from the start on, no jitter.
pub const STEADY: HeartbeatConfig = HeartbeatConfig {
    jitter_percent: 0,
    spread_first_beat: false,
    ..HeartbeatConfig::NODE
};

/// A heart that belongs to no Node.
pub const A: HeartbeatIdentity<&'static str> = HeartbeatIdentity::new("A");

/// The heart of the Node `gw1`, whose uid the host does not know.
pub const GW1: HeartbeatIdentity<&'static str> = HeartbeatIdentity::of_node("gw1");

/// A heart, and a driver that keeps its book.
pub type HeartDriver = Driver<Heart>;

/// A heart under test, with its config in it.
pub type Heart = Heartbeat<HeartbeatConfig, &'static str>;

/// A heart that starts now.
///
/// # Panics
/// Where the config is refused.
#[must_use]
pub fn heart(config: HeartbeatConfig, identity: HeartbeatIdentity<&'static str>) -> HeartDriver {
    let instant = Instant::from_millis(ORIGIN);
    let now = Now::monotonic(instant);
    let machine = Heartbeat::new(config, identity, now).expect("a valid config");
    let book = HeartBook::new(config, identity, instant);
    Driver::with(machine, book)
}

/// A heart that has beaten at 0 ms, into version 2 of a lease that was there.
#[must_use]
#[track_caller]
pub fn beating(config: HeartbeatConfig) -> HeartDriver {
    let mut h = heart(config, A);
    crate::at!(h, 0 => ["GET"]);
    crate::at!(h, 0, crate::input::held_by("A", 1).duration(40) => ["PUT 1 renew"]);
    crate::at!(h, 0, crate::input::Accepted(2) => []);
    h
}

/// A heart that watches its Node, and does not know its uid.
#[must_use]
#[track_caller]
pub fn watching() -> HeartDriver {
    let watches = HeartbeatConfig {
        watch_node: true,
        ..STEADY
    };
    heart(watches, GW1)
}

impl Driven for Heart {
    type Ledger = HeartBook;
    type View = Pulse;

    fn view(&self, now: Now) -> Pulse {
        Pulse {
            last_beat: self.last_beat(),
            health: self.health(now.instant),
            node_uid: self.node_uid().map(str::to_owned),
            flight: self.in_flight().map(Sent::from),
        }
    }

    fn outlook(&self, _: Now) -> Vec<bool> {
        vec![self.last_beat().is_some()]
    }

    fn named(&self) -> Option<&str> {
        None
    }
}

/// What a heart's questions answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Pulse {
    last_beat: Option<Instant>,
    health: Health,
    node_uid: Option<String>,
    flight: Option<Sent>,
}

/// The Node with this uid and readiness, as an answer.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a>(pub &'a str, pub Readiness);

impl<M: Driven> Input<M> for Node<'_> {
    #[track_caller]
    fn apply(self, driver: &mut Driver<M>) {
        let uid = Uid::try_from(self.0).expect("a short uid");
        let readiness = self.1;
        let reply = Reply::Node(NodeRecord {
            uid: &uid,
            readiness,
        });
        driver.respond(Response::new(reply));
    }
}

/// The host says that it is alive.
#[derive(Clone, Copy, Debug)]
pub struct Alive;

impl Input<Heart> for Alive {
    fn apply(self, driver: &mut HeartDriver) {
        let at = driver.now().instant;
        driver.call(|heart, now| heart.alive(now));
        driver.ledger_mut().alive(at);
    }
}

/// The host says that it was alive so many milliseconds after the origin.
#[derive(Clone, Copy, Debug)]
pub struct AliveSince(pub u64);

impl Input<Heart> for AliveSince {
    fn apply(self, driver: &mut HeartDriver) {
        let at = Instant::from_millis(ORIGIN.saturating_add(self.0));
        let now = driver.now().instant;
        driver.call(|heart, now| heart.alive_since(now, at));
        driver.ledger_mut().alive_since(now, at);
    }
}

/// The host knows that the Node was made anew.
#[derive(Clone, Copy, Debug)]
pub struct NodeReplaced;

impl Input<Heart> for NodeReplaced {
    fn apply(self, driver: &mut HeartDriver) {
        driver.call(|heart, _| heart.node_was_replaced());
    }
}

impl Input<Heart> for Retire {
    fn apply(self, driver: &mut HeartDriver) {
        driver.call(|heart, now| heart.retire(now, self));
        driver.ledger_mut().retire(self);
    }
}

impl Lease {
    /// With these owners.
    #[must_use]
    pub const fn owned(mut self, node: OwnerState, has_others: bool) -> Self {
        self.record.owners = Owners { node, has_others };
        self
    }
}

impl<M: Beats> Driver<M> {
    /// When the last acknowledged beat left, in milliseconds since the origin.
    #[must_use]
    pub fn last_beat_ms(&self) -> Option<u64> {
        let last = self.machine().last_beat();
        last.map(|at| at.as_millis().saturating_sub(ORIGIN))
    }
}

impl HeartDriver {
    /// The health now.
    #[must_use]
    pub fn health(&self) -> Health {
        self.machine().health(self.now().instant)
    }
}
