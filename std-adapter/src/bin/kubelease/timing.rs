//! Durations on the command line, and `kubelease timing`: what they promise.

use core::fmt::Write as _;
use core::time::Duration;

use clap::{Args, ValueEnum};
use kubelease::kubelease_core::time;
use kubelease::{Report, Timing};
use serde_json::json;

use crate::args::{Format, OutputArgs};
use crate::exit::{Failure, Outcome, print};

/// Durations that go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Preset {
    /// 15 s, 10 s, 2 s: what the components of Kubernetes use.
    Kubernetes,
    /// 60 s, 40 s, 5 s: thin and lossy links.
    Edge,
    /// 137 s, 107 s, 26 s: rides out about a minute without an API server.
    Openshift,
    /// 270 s, 240 s, 60 s: one control-plane node that restarts.
    OpenshiftSingleNode,
}

/// The durations of an election.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Timing")]
pub(crate) struct TimingArgs {
    /// Where the durations begin that are not given.
    #[arg(long, value_enum, default_value = "kubernetes")]
    preset: Preset,
    /// How long others wait after a leader's last sign of life; whole seconds. Given alone, the
    /// other durations of the preset shrink or grow with it.
    #[arg(long, value_parser = humantime::parse_duration, value_name = "DURATION")]
    lease_duration: Option<Duration>,
    /// How long a leader believes after its last acknowledged write.
    #[arg(long, value_parser = humantime::parse_duration, value_name = "DURATION")]
    renew_deadline: Option<Duration>,
    /// Time between renewals, and between the looks of a candidate.
    #[arg(long, value_parser = humantime::parse_duration, value_name = "DURATION")]
    retry_period: Option<Duration>,
    /// How long one request may take; from the others unless said.
    #[arg(long, value_parser = humantime::parse_duration, value_name = "DURATION")]
    request_timeout: Option<Duration>,
    /// Percent of the retry period by which a candidate's looks are spread.
    #[arg(long, value_name = "PERCENT")]
    jitter: Option<u32>,
}

impl Preset {
    const fn timing(self) -> Timing {
        match self {
            Self::Kubernetes => Timing::KUBERNETES,
            Self::Edge => Timing::EDGE,
            Self::Openshift => Timing::OPENSHIFT,
            Self::OpenshiftSingleNode => Timing::OPENSHIFT_SINGLE_NODE,
        }
    }
}

impl TimingArgs {
    /// The durations, checked.
    pub(crate) fn timing(&self) -> Result<Timing, Failure> {
        let base = self.preset.timing();
        let scaled = |preset: time::Duration| match self.lease_duration {
            Some(given) if self.renew_deadline.is_none() && self.retry_period.is_none() => {
                let part = u128::from(preset.as_millis()) * given.as_millis()
                    / u128::from(base.lease_duration.as_millis());
                Duration::from_millis(u64::try_from(part).unwrap_or(u64::MAX)).into()
            }
            _ => preset,
        };
        let mut timing = Timing::new(
            self.lease_duration.map_or(base.lease_duration, Into::into),
            self.renew_deadline
                .map_or_else(|| scaled(base.renew_deadline), Into::into),
            self.retry_period
                .map_or_else(|| scaled(base.retry_period), Into::into),
        );
        if let Some(timeout) = self.request_timeout {
            timing.request_timeout = timeout.into();
        }
        if let Some(jitter) = self.jitter {
            timing.jitter_percent = jitter;
        }
        timing
            .validate()
            .map_err(|error| Failure::usage(format_args!("timing: {error}")))?;
        Ok(timing)
    }
}

/// What `kubelease timing` is told.
#[derive(Debug, Args)]
pub(crate) struct TimingReportArgs {
    #[command(flatten)]
    timing: TimingArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Prints what the durations promise.
pub(crate) fn run(args: &TimingReportArgs) -> Outcome {
    let timing = args.timing.timing()?;
    let report = timing.report();
    let text = match args.output.output {
        Format::Table => table(&timing, &report),
        Format::Json => format!("{:#}\n", as_json(&timing, &report)),
    };
    print(text)?;
    Ok(0)
}

/// A length of time for people: `1m 30s`, `300ms`.
pub(crate) fn human(duration: impl Into<Duration>) -> String {
    humantime::format_duration(duration.into()).to_string()
}

fn table(timing: &Timing, report: &Report) -> String {
    let percent = |permille: u32| {
        let over = permille.saturating_sub(1_000);
        format!("{}.{} %", over / 10, over % 10)
    };
    let yes = |holds: bool| if holds { "yes" } else { "no" }.to_owned();
    let rows = [
        ("lease duration", human(timing.lease_duration)),
        ("renew deadline", human(timing.renew_deadline)),
        ("retry period", human(timing.retry_period)),
        ("request timeout", human(timing.request_timeout)),
        ("jitter", format!("{} %", timing.jitter_percent)),
        ("", String::new()),
        ("renewals that may fail at once", report.tries.to_string()),
        (
            "API outage that costs nobody the lead",
            human(report.survived_outage),
        ),
        (
            "takeover after a release, at most",
            human(report.graceful_takeover),
        ),
        (
            "takeover after a crash, at most",
            human(report.crash_takeover),
        ),
        ("work may go on past the deadline for", human(report.grace)),
        ("clocks may differ by", percent(report.clock_ratio_permille)),
        (
            "the same where work uses its grace up",
            percent(report.clock_ratio_with_grace_permille),
        ),
        (
            "slowest retry of a refused candidate",
            human(report.slowest_retry),
        ),
        (
            "writes of a leader per hour",
            report.leader_writes_per_hour.to_string(),
        ),
        (
            "reads of a candidate per hour",
            report.candidate_reads_per_hour.to_string(),
        ),
        ("safe beside client-go", yes(report.safe_beside_client_go)),
    ];
    let mut text = String::new();
    for (name, value) in rows {
        // Writing into a String does not fail.
        let _ = writeln!(text, "{}", format!("{name:39}{value}").trim_end());
    }
    if report.margin_is_narrow {
        text.push_str("\nwarning: less than a second between renew deadline and lease duration\n");
    }
    text
}

fn as_json(timing: &Timing, report: &Report) -> serde_json::Value {
    json!({
        "leaseDurationMs": timing.lease_duration.as_millis(),
        "renewDeadlineMs": timing.renew_deadline.as_millis(),
        "retryPeriodMs": timing.retry_period.as_millis(),
        "requestTimeoutMs": timing.request_timeout.as_millis(),
        "jitterPercent": timing.jitter_percent,
        "tries": report.tries,
        "survivedOutageMs": report.survived_outage.as_millis(),
        "gracefulTakeoverMs": report.graceful_takeover.as_millis(),
        "crashTakeoverMs": report.crash_takeover.as_millis(),
        "graceMs": report.grace.as_millis(),
        "clockRatioPermille": report.clock_ratio_permille,
        "clockRatioWithGracePermille": report.clock_ratio_with_grace_permille,
        "slowestRetryMs": report.slowest_retry.as_millis(),
        "leaderWritesPerHour": report.leader_writes_per_hour,
        "candidateReadsPerHour": report.candidate_reads_per_hour,
        "safeBesideClientGo": report.safe_beside_client_go,
        "marginIsNarrow": report.margin_is_narrow,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        timing: TimingArgs,
    }

    fn timing(words: &str) -> Result<Timing, Failure> {
        let words = core::iter::once("x").chain(words.split_whitespace());
        Line::try_parse_from(words).unwrap().timing.timing()
    }

    #[test]
    fn a_lease_duration_alone_takes_the_rest_of_the_preset_along() {
        let seconds = time::Duration::from_secs;
        assert_eq!(timing("").unwrap(), Timing::KUBERNETES);
        let scaled = Timing::new(seconds(30), seconds(20), seconds(4));
        assert_eq!(timing("--lease-duration 30s").unwrap(), scaled);
        let scaled = Timing::new(seconds(12), seconds(8), seconds(1));
        assert_eq!(
            timing("--preset edge --lease-duration 12s").unwrap(),
            scaled
        );
    }

    #[test]
    fn a_relation_that_does_not_hold_is_named() {
        let failure = timing("--lease-duration 15s --renew-deadline 20s").unwrap_err();
        assert_eq!(
            failure.reason,
            "timing: expected a renew deadline below the lease duration, found one that is not"
        );
    }

    #[test]
    fn each_preset_prints_its_report() {
        for preset in Preset::value_variants() {
            let timing = preset.timing();
            let text = table(&timing, &timing.report());
            assert!(text.contains("safe beside client-go"), "{text}");
            assert_eq!(text.lines().count(), 17);
        }
    }
}
