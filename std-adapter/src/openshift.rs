//! Settings as OpenShift's operators have them, with the defaults of its library-go.
//!
//! [`LeaderElection`] has the members of `config.openshift.io/v1`; [`defaulting`] and
//! [`single_node`] fill in what `LeaderElectionDefaulting` and `LeaderElectionSNOConfig` do
//! (library-go, `pkg/config/leaderelection`). What differs is the machine behind them, and so the
//! figures: [`LeaderElection::report`] prints those of this one.
//!
//! ```
//! use kubelease::Elector;
//! use kubelease::openshift::{LeaderElection, defaulting};
//!
//! let given = LeaderElection::default();
//! let config = defaulting(&given, "openshift-pumps", "pump-operator-lock");
//! println!("{}", config.report());
//! let builder = config.apply(Elector::builder());
//! # let _ = builder;
//! ```

use core::fmt;
use core::time::Duration;
use std::fs;
use std::path::Path;

use kubelease_core::elector::Timing;

use crate::builder::Builder;
use crate::connection::NAMESPACE_FILE;

/// The leader election of an operator's configuration. Empty texts and zero durations are settings
/// that nobody made.
#[expect(
    clippy::exhaustive_structs,
    reason = "the members are those of a published API"
)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaderElection {
    /// Whether to run without an election: the caller's to obey, as in library-go.
    pub disable: bool,
    /// The namespace of the lease.
    pub namespace: String,
    /// The name of the lease.
    pub name: String,
    /// How long others wait after a leader's last sign of life.
    pub lease_duration: Duration,
    /// How long a leader believes after its last acknowledged write.
    pub renew_deadline: Duration,
    /// Time between renewals, and between the looks of a candidate.
    pub retry_period: Duration,
}

/// `config` with what it leaves out: 137 s, 107 s and 26 s, each by itself; this namespace, or that
/// of the pod; this name.
#[must_use]
pub fn defaulting(config: &LeaderElection, namespace: &str, name: &str) -> LeaderElection {
    defaulting_in(config, namespace, name, Path::new(NAMESPACE_FILE))
}

/// `config` for a cluster of one control-plane node: always 270 s, 240 s and 60 s, also where other
/// durations are given. A caller that respects those asks for this only where none are.
#[must_use]
pub fn single_node(config: &LeaderElection) -> LeaderElection {
    config.clone().with(Timing::OPENSHIFT_SINGLE_NODE)
}

fn defaulting_in(
    config: &LeaderElection,
    namespace: &str,
    name: &str,
    namespace_file: &Path,
) -> LeaderElection {
    let preset = LeaderElection::default().with(Timing::OPENSHIFT);
    let of_pod = || fs::read_to_string(namespace_file).map(|text| text.trim().to_owned());
    let or = |given: Duration, default: Duration| if given.is_zero() { default } else { given };
    let text =
        |given: &str, default: &str| if given.is_empty() { default } else { given }.to_owned();
    let mut namespace = text(&config.namespace, namespace);
    if namespace.is_empty() {
        namespace = of_pod().unwrap_or_default();
    }
    LeaderElection {
        disable: config.disable,
        namespace,
        name: text(&config.name, name),
        lease_duration: or(config.lease_duration, preset.lease_duration),
        renew_deadline: or(config.renew_deadline, preset.renew_deadline),
        retry_period: or(config.retry_period, preset.retry_period),
    }
}

impl LeaderElection {
    /// The durations for an elector, which checks them when it starts: some that library-go takes
    /// are refused there, for the leader could outlive its lease.
    #[must_use]
    pub fn timing(&self) -> Timing {
        Timing::new(
            self.lease_duration.into(),
            self.renew_deadline.into(),
            self.retry_period.into(),
        )
    }

    /// Sets namespace, name and durations of `builder`; what is empty stays unset there.
    pub fn apply(&self, mut builder: Builder) -> Builder {
        if !self.namespace.is_empty() {
            builder = builder.namespace(&self.namespace);
        }
        if !self.name.is_empty() {
            builder = builder.name(&self.name);
        }
        builder.timing(self.timing())
    }

    /// What the durations promise, in words.
    #[must_use]
    pub fn report(&self) -> Promise {
        Promise(self.timing())
    }

    fn with(mut self, timing: Timing) -> Self {
        self.lease_duration = timing.lease_duration.into();
        self.renew_deadline = timing.renew_deadline.into();
        self.retry_period = timing.retry_period.into();
        self
    }
}

/// What durations promise, in words: one figure a line.
///
/// library-go logs figures of the same names, computed from the durations alone. Those of its own
/// machine are worse than it says, for it adds a retry period to the deadline and up to 120 % of
/// jitter to each look. These are this machine's, and a test finds each of them tight.
#[derive(Clone, Copy, Debug)]
pub struct Promise(Timing);

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timing = self.0;
        if let Err(error) = timing.validate() {
            return write!(f, "these durations are refused: {error}");
        }
        let length = Duration::from;
        let report = timing.report();
        let apart = f64::from(report.clock_ratio_permille) / 10.0 - 100.0;
        let (lease, renew, retry) = (
            length(timing.lease_duration),
            length(timing.renew_deadline),
            length(timing.retry_period),
        );
        writeln!(
            f,
            "lease duration {lease:?}, renew deadline {renew:?}, retry period {retry:?}"
        )?;
        writeln!(f, "renewals that may fail at once: {}", report.tries)?;
        writeln!(f, "rate by which clocks may differ: {apart:.1} %")?;
        let outage = length(report.survived_outage);
        writeln!(
            f,
            "API downtime that costs nobody the leadership: {outage:?}"
        )?;
        let crash = length(report.crash_takeover);
        writeln!(f, "worst takeover after a crash: {crash:?} and round trips")?;
        let graceful = length(report.graceful_takeover);
        write!(
            f,
            "worst takeover after a release: {graceful:?} and round trips"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn of_seconds(lease: u64, renew: u64, retry: u64) -> LeaderElection {
        LeaderElection {
            disable: false,
            namespace: String::new(),
            name: String::new(),
            lease_duration: Duration::from_secs(lease),
            renew_deadline: Duration::from_secs(renew),
            retry_period: Duration::from_secs(retry),
        }
    }

    fn nowhere() -> &'static Path {
        Path::new("no/such/file")
    }

    fn disabled(is_disabled: bool) -> LeaderElection {
        LeaderElection {
            disable: is_disabled,
            ..LeaderElection::default()
        }
    }

    #[test]
    fn os_1_and_2_a_single_node_keeps_the_switch() {
        for disable in [true, false] {
            assert_eq!(single_node(&disabled(disable)).disable, disable);
        }
    }

    #[test]
    fn os_3_a_single_node_has_its_own_durations() {
        let config = single_node(&LeaderElection::default());
        assert_eq!(config, of_seconds(270, 240, 60));
    }

    #[test]
    fn os_4_a_single_node_overrides_what_was_given() {
        assert_eq!(
            single_node(&of_seconds(60, 40, 20)),
            of_seconds(270, 240, 60)
        );
    }

    #[test]
    fn os_5_and_6_defaulting_keeps_the_switch() {
        for disable in [true, false] {
            let config = defaulting_in(&disabled(disable), "", "", nowhere());
            assert_eq!(config.disable, disable);
        }
    }

    #[test]
    fn os_7_defaulting_fills_in_the_durations() {
        let config = defaulting_in(&LeaderElection::default(), "", "", nowhere());
        assert_eq!(config, of_seconds(137, 107, 26));
        // Each by itself.
        let given = of_seconds(200, 0, 0);
        let config = defaulting_in(&given, "", "", nowhere());
        assert_eq!(config, of_seconds(200, 107, 26));
    }

    #[test]
    fn os_8_defaulting_takes_the_default_name_and_namespace() {
        let config = defaulting_in(&LeaderElection::default(), "ns", "lock", nowhere());
        assert_eq!(
            (config.namespace.as_str(), config.name.as_str()),
            ("ns", "lock")
        );
    }

    #[test]
    fn os_9_defaulting_keeps_given_durations() {
        let given = of_seconds(60, 40, 20);
        assert_eq!(defaulting_in(&given, "", "", nowhere()), given);
    }

    #[test]
    fn os_10_defaulting_keeps_given_names_and_durations_over_defaults() {
        let given = LeaderElection {
            namespace: "own-ns".to_owned(),
            name: "own-lock".to_owned(),
            ..of_seconds(60, 40, 20)
        };
        assert_eq!(defaulting_in(&given, "ns", "lock", nowhere()), given);
    }

    #[test]
    fn the_namespace_of_the_pod_is_the_last_resort() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("namespace");
        fs::write(&file, "pod-ns\n").unwrap();
        let given = LeaderElection::default();
        assert_eq!(defaulting_in(&given, "", "lock", &file).namespace, "pod-ns");
        assert_eq!(defaulting_in(&given, "ns", "lock", &file).namespace, "ns");
        assert_eq!(defaulting_in(&given, "", "lock", nowhere()).namespace, "");
    }

    #[test]
    fn the_report_is_this_machines() {
        let config = defaulting_in(&LeaderElection::default(), "", "", nowhere());
        assert_eq!(
            config.report().to_string(),
            "lease duration 137s, renew deadline 107s, retry period 26s\n\
             renewals that may fail at once: 4\n\
             rate by which clocks may differ: 28.0 %\n\
             API downtime that costs nobody the leadership: 55s\n\
             worst takeover after a crash: 168.201s and round trips\n\
             worst takeover after a release: 31.2s and round trips"
        );
        assert_eq!(
            of_seconds(60, 60, 20).report().to_string(),
            "these durations are refused: expected a renew deadline below the lease duration, \
             found one that is not"
        );
    }

    #[tokio::test]
    async fn an_elector_takes_what_was_defaulted() {
        let config = defaulting_in(&LeaderElection::default(), "ns", "lock", nowhere());
        let builder = crate::Elector::builder().server("http://127.0.0.1:1");
        assert!(config.apply(builder.clone()).start().is_ok());
        let unnamed = defaulting_in(&LeaderElection::default(), "", "lock", nowhere());
        let error = unnamed.apply(builder).start().unwrap_err();
        assert_eq!(error, crate::StartError::Missing("namespace"));
    }
}
