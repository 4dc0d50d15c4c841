//! Transcripts of hearts: whole lives, in the form of [`crate::transcript`].
//!
//! The line `heart` says what it is like: its holder, and the options that follow.

use kubelease_core::heartbeat::{HeartbeatConfig, HeartbeatIdentity, Retire};
use kubelease_core::lease::Readiness;
use kubelease_core::time::{Duration, Instant};

use super::{A, Alive, GW1, Heart, HeartDriver, Node, STEADY, heart};
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
    /// When the last acknowledged beat left.
    fn last_beat(&self) -> Option<Instant>;
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

    fn last_beat(&self) -> Option<Instant> {
        Heart::last_beat(self)
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
        let last = driver.last_beat_ms()?;
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
            let readiness = match *readiness {
                "ready" => Readiness::Ready,
                "not-ready" => Readiness::NotReady,
                "unknown" => Readiness::Unknown,
                "unsaid" => Readiness::Unsaid,
                other => panic!("no readiness: {other}"),
            };
            driver.take(Node(uid, readiness));
        }
        _ => panic!("no input: {words:?}"),
    }
}
