//! One simulated process.

use kubelease::Instant;
use kubelease::Timing;
use kubelease::kubelease_core::Timestamp;
use kubelease::kubelease_core::elector::{Config, Elector};
use kubelease::kubelease_core::protocol::{Event, Output, RequestId};
use kubelease::kubelease_core::time::Now;

use super::server::Asked;

/// The civil time at which simulations begin, in microseconds of Unix.
const BEGIN_US: i64 = 1_767_225_600_000_000;

/// One process, until it crashes or has stopped.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) elector: Option<Elector<'static>>,
    /// When it is polled again.
    pub(super) wake_at: u64,
    /// The request that waits for its answer.
    pub(super) in_flight: Option<RequestId>,
}

/// What a process wants of the world.
#[derive(Debug)]
pub(super) enum Want {
    Event(Event),
    Send(RequestId, Box<Asked>),
}

impl Candidate {
    pub(super) fn new(name: &'static str, timing: Timing, seed: u64, begins_at: u64) -> Self {
        let config = Config {
            timing,
            seed,
            ..Config::new(name)
        };
        Self {
            // The timing is checked, and the names are good ones.
            elector: Elector::new(config, now(begins_at)).ok(),
            wake_at: begins_at,
            in_flight: None,
        }
    }

    /// Polls until there is nothing to do, or a want.
    pub(super) fn poll(&mut self, at: u64) -> Option<Want> {
        let elector = self.elector.as_mut()?;
        loop {
            match elector.poll(now(at)) {
                Output::Event(event) => return Some(Want::Event(event)),
                Output::Cancel(_) => self.in_flight = None,
                Output::Request(request) => {
                    let asked = Box::new(Asked::new(&request.operation)?);
                    self.in_flight = Some(request.id);
                    return Some(Want::Send(request.id, asked));
                }
                Output::WaitUntil(until) => {
                    self.wake_at = until.as_millis().max(at + 1);
                    return None;
                }
                Output::Done => {
                    self.elector = None;
                    return None;
                }
            }
        }
    }
}

/// Both clocks at a moment of the simulation. The machine's origin is far from zero.
pub(super) fn now(at: u64) -> Now {
    let instant = Instant::from_millis(at);
    let micros = i64::try_from(at.saturating_mul(1_000)).unwrap_or(i64::MAX);
    match Timestamp::from_unix_micros(BEGIN_US.saturating_add(micros)) {
        Some(wall) => Now::with_wall(instant, wall),
        None => Now::monotonic(instant),
    }
}
