//! The worst that clocks can do: a slow leader loses the network after a renewal that a fast
//! candidate saw at once.

use kubelease_core::elector::{Config, Timing};
use kubelease_core::time::Duration;
use kubelease_tests::sim::clock::{Clock, TRUE_RATE};
use kubelease_tests::sim::mix::{Mix, Rates};
use kubelease_tests::sim::net::Weather;
use kubelease_tests::sim::plan::{Finale, Plan, Seat};
use kubelease_tests::sim::random::Random;
use kubelease_tests::sim::schedule::{Entry, What};

const SECOND_US: u64 = 1_000_000;

/// Two processes that differ in nothing that is not said here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Duel {
    /// Their durations.
    pub(crate) timing: Timing,
    /// The rate of the candidate's clock; the leader's is true.
    pub(crate) rate: u64,
    /// What is checked.
    pub(crate) rates: Rates,
    /// How long each way takes the leader's requests.
    pub(crate) way_us: u64,
    /// When the network is cut, between two renewals.
    pub(crate) seed: u64,
}

impl Duel {
    /// The world of this duel.
    pub(crate) fn plan(self) -> Plan {
        let timing = self.timing;
        let (d_us, p_us) = (us(timing.lease_duration), us(timing.retry_period));
        let mut random = Random::of(&[self.seed, 0x6475_656c]);
        let cut_us = 5 * p_us + random.below(p_us);
        let over_us = cut_us + 2 * d_us;
        // It looks so often that what it sees is never older than a third of a hundredth of R.
        let look = Duration::from_millis(timing.renew_deadline.as_millis() / 300);
        let watchful = Timing {
            retry_period: look,
            request_timeout: Duration::from_millis(500),
            jitter_percent: 0,
            ..timing
        };
        let mix = Mix {
            weather: Weather::STILL,
            rates: self.rates,
            ..*Mix::named("calm").expect("a mix")
        };
        let way = Weather {
            way_us: (self.way_us, self.way_us),
            ..Weather::STILL
        };
        Plan {
            seats: vec![
                seat("ada", timing, TRUE_RATE, 0),
                seat("bob", watchful, self.rate, SECOND_US),
            ],
            schedule: vec![
                during(0, cut_us, way),
                during(cut_us, over_us, Weather::CUT),
            ],
            band: (TRUE_RATE, self.rate),
            calm_us: over_us,
            due_us: over_us + SECOND_US,
            finale: Finale::Quiet,
            quiet_us: SECOND_US,
            ..Plan::new(&mix, self.seed)
        }
    }
}

fn seat(identity: &'static str, timing: Timing, rate: u64, starts_us: u64) -> Seat {
    Seat {
        config: Config {
            timing,
            ..Config::new(identity)
        },
        clock: Clock::new(1_000 * SECOND_US, rate, Some(0)),
        starts_us,
        late_us: 0,
        noise_ms: 0,
        watches: false,
    }
}

/// This weather for the leader.
fn during(at_us: u64, until_us: u64, weather: Weather) -> Entry {
    let what = What::Weather(Some(0), weather);
    Entry {
        at_us,
        until_us,
        what,
    }
}

fn us(duration: Duration) -> u64 {
    duration.as_millis() * 1_000
}
