//! Transcripts of hearts: whole lives, in the form of [`crate::transcript`].
//!
//! The line `heart` says what it is like: its holder, and the options that follow.

use kubelease_core::heartbeat::{HeartbeatConfig, HeartbeatIdentity, Retire};
use kubelease_core::lease::{NodeRecord, Readiness, Uid};
use kubelease_core::protocol::{Reply, Response};
use kubelease_core::time::Duration;

use super::{A, Alive, GW1, Heart, HeartDriver, STEADY, heart};
use crate::driven::Driven;
use crate::driver::Driver;
use crate::input::Input as _;
use crate::transcript::play;

/// What is called a heart here: it, and what is compared with it.
pub trait Beats: Driven {
    /// One that starts now.
    fn born(config: HeartbeatConfig, identity: HeartbeatIdentity<&'static str>) -> Driver<Self>;
    /// The host says that it is alive.
    fn vouch(driver: &mut Driver<Self>);
    /// The host ends it.
    fn end(driver: &mut Driver<Self>, how: Retire);
    /// When the last acknowledged beat left, in milliseconds since the origin.
    fn last_beat_ms(driver: &Driver<Self>) -> Option<u64>;
}

impl Beats for Heart {
    fn born(config: HeartbeatConfig, identity: HeartbeatIdentity<&'static str>) -> HeartDriver {
        heart(config, identity)
    }

    fn vouch(driver: &mut HeartDriver) {
        Alive.apply(driver);
    }

    fn end(driver: &mut HeartDriver, how: Retire) {
        how.apply(driver);
    }

    fn last_beat_ms(driver: &HeartDriver) -> Option<u64> {
        driver.last_beat_ms()
    }
}

/// Plays the life in `text`, and answers `text` with the outputs that came of it.
///
/// # Panics
/// On an input that is none, and where a law is broken.
#[must_use]
pub fn replay<M: Beats>(text: &str) -> String {
    let (config, identity) = text
        .lines()
        .find_map(|line| line.strip_prefix("heart "))
        .map(kind)
        .expect("the line `heart`");
    play(M::born(config, identity), text, call, |driver| {
        let last = M::last_beat_ms(driver)?;
        Some(format!("last beat {last}"))
    })
}

fn kind(words: &str) -> (HeartbeatConfig, HeartbeatIdentity<&'static str>) {
    let (mut config, mut identity) = (STEADY, A);
    for word in words.split(' ') {
        match word {
            "A" => {}
            "gw1" => identity = GW1,
            "uid=u1" => identity.node_uid = Some("u1"),
            "requires" => config.owner_required = true,
            "watches" => config.watch_node = true,
            "ttl=30" => config.liveness_ttl = Some(Duration::from_secs(30)),
            _ => panic!("no option: {word}"),
        }
    }
    (config, identity)
}

fn call<M: Beats>(driver: &mut Driver<M>, words: &[&str]) {
    match words {
        ["alive"] => M::vouch(driver),
        ["keep"] => M::end(driver, Retire::Keep),
        ["final", "beat"] => M::end(driver, Retire::FinalBeat),
        ["delete"] => M::end(driver, Retire::Delete),
        ["Node", uid, readiness] => {
            let uid = Uid::try_from(*uid).expect("a short uid");
            let readiness = match *readiness {
                "ready" => Readiness::Ready,
                "not-ready" => Readiness::NotReady,
                "unknown" => Readiness::Unknown,
                "unsaid" => Readiness::Unsaid,
                other => panic!("no readiness: {other}"),
            };
            let uid = &uid;
            driver.respond(Response::new(Reply::Node(NodeRecord { uid, readiness })));
        }
        _ => panic!("no input: {words:?}"),
    }
}
