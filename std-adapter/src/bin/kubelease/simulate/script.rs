//! What happens in a simulation.

use core::str::FromStr;
use core::time::Duration;

use kubelease::Timing;

/// Longer ones are no picture any more.
pub(super) const LENGTH_MAX: Duration = Duration::from_secs(24 * 3_600);

/// More take minutes to simulate, and gigabytes to draw.
pub(super) const LOOKS_MAX: u128 = 1_000_000;

/// Everything that a simulation is made of.
#[derive(Clone, Debug)]
pub(super) struct Script {
    pub(super) names: Vec<&'static str>,
    pub(super) timing: Timing,
    pub(super) outages: Vec<Outage>,
    pub(super) crashes: Vec<Moment>,
    pub(super) stops: Vec<Moment>,
    pub(super) length: Duration,
    pub(super) round_trip: Duration,
    pub(super) seed: u64,
}

impl Script {
    /// Whether the way from this candidate to the server is down at `at_ms`.
    pub(super) fn is_down(&self, who: usize, at_ms: u64) -> bool {
        let name = self.names.get(who).copied();
        self.outages.iter().any(|outage| {
            let is_meant = outage.who.is_none() || outage.who.as_deref() == name;
            is_meant && millis(outage.from) <= at_ms && at_ms < millis(outage.to)
        })
    }
}

/// A time without answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outage {
    /// `None` for all.
    pub(super) who: Option<String>,
    pub(super) from: Duration,
    pub(super) to: Duration,
}

impl FromStr for Outage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (who, times) = match text.split_once('@') {
            Some((who, times)) => (Some(who.to_owned()), times),
            None => (None, text),
        };
        let (from, to) = times
            .split_once("..")
            .ok_or("expected FROM..TO, found no `..`")?;
        let (from, to) = (duration(from)?, duration(to)?);
        if to <= from {
            return Err("expected an end after the start, found one before".to_owned());
        }
        Ok(Self { who, from, to })
    }
}

/// A moment in the life of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// `None` for whoever leads then.
    pub(super) who: Option<String>,
    pub(super) at: Duration,
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (who, at) = text
            .split_once('@')
            .ok_or("expected NAME@TIME, found no `@`")?;
        Ok(Self {
            who: (who != "leader").then(|| who.to_owned()),
            at: duration(at)?,
        })
    }
}

/// Whole milliseconds.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("{text}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outages_and_moments_are_read_as_they_are_written() {
        let seconds = Duration::from_secs;
        let outage = |who: Option<&str>| Outage {
            who: who.map(str::to_owned),
            from: seconds(60),
            to: seconds(120),
        };
        assert_eq!("60s..2m".parse(), Ok(outage(None)));
        assert_eq!("bob@1m..2m".parse(), Ok(outage(Some("bob"))));
        let moment = |who: Option<&str>| Moment {
            who: who.map(str::to_owned),
            at: seconds(40),
        };
        assert_eq!("leader@40s".parse(), Ok(moment(None)));
        assert_eq!("ada@40s".parse(), Ok(moment(Some("ada"))));
    }

    #[test]
    fn what_is_none_of_these_says_why() {
        let error = |text: &str| text.parse::<Outage>().unwrap_err();
        assert_eq!(error("60s"), "expected FROM..TO, found no `..`");
        let expected = "expected an end after the start, found one before";
        assert_eq!(error("60s..60s"), expected);
        assert!(error("x..60s").starts_with("x: "));
        let error = "40s".parse::<Moment>().unwrap_err();
        assert_eq!(error, "expected NAME@TIME, found no `@`");
    }
}
