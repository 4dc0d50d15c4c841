//! [`Timing`]: the durations of an election, their presets, and the relations they must keep.

use core::fmt;

use crate::prng::percent_of;
use crate::time::Duration;

/// Least distance between renew deadline and lease duration. Below it, the ordinary delay between
/// a process and its work is enough for two leaders at once.
pub const MARGIN_MIN: Duration = Duration::from_millis(100);

/// Longest default of the request timeout: a call that takes longer is as good as lost.
pub const REQUEST_TIMEOUT_DEFAULT_MAX: Duration = Duration::from_secs(15);

/// Default jitter in hundredths of the retry period.
pub const JITTER_PERCENT_DEFAULT: u32 = 20;

/// Most jitter that can be asked for, in hundredths of the retry period.
pub const JITTER_PERCENT_MAX: u32 = 500;

/// The durations of an election.
///
/// [`report`](Self::report) says what they promise.
#[expect(
    clippy::exhaustive_structs,
    reason = "users write it out, and it is checked when used"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long others wait after a leader's last sign of life; whole seconds from 1 to
    /// `i32::MAX`. Written into the record. Longer is calmer and takes over more slowly.
    pub lease_duration: Duration,
    /// How long a leader believes after its last acknowledged write was sent. The distance to the
    /// lease duration is the safety margin.
    pub renew_deadline: Duration,
    /// Time between renewals, and between the looks of a candidate. Shorter costs requests.
    pub retry_period: Duration,
    /// How long one request may take. A lost try and then GET and PUT have to fit into the renew
    /// deadline.
    pub request_timeout: Duration,
    /// Hundredths of the retry period by which a candidate's looks are spread, so that standbys
    /// do not fall into step. 0 turns it off.
    pub jitter_percent: u32,
}

impl Timing {
    /// 15 s, 10 s, 2 s: what the components of Kubernetes use.
    pub const KUBERNETES: Self = Self::of_seconds(15, 10, 2);

    /// 137 s, 107 s, 26 s: rides out about a minute without an API server.
    pub const OPENSHIFT: Self = Self::of_seconds(137, 107, 26);

    /// 270 s, 240 s, 60 s: one control-plane node that restarts.
    pub const OPENSHIFT_SINGLE_NODE: Self = Self::of_seconds(270, 240, 60);

    /// 60 s, 40 s, 5 s: thin and lossy links at the edge.
    pub const EDGE: Self = Self::of_seconds(60, 40, 5);

    /// These three durations with the default request timeout, `min((R − P) / 2, 15 s)`, and the
    /// default jitter.
    #[must_use]
    pub const fn new(
        lease_duration: Duration,
        renew_deadline: Duration,
        retry_period: Duration,
    ) -> Self {
        let half = renew_deadline.saturating_sub(retry_period).half();
        let longest = REQUEST_TIMEOUT_DEFAULT_MAX;
        let short = half.as_millis() < longest.as_millis();
        Self {
            lease_duration,
            renew_deadline,
            retry_period,
            request_timeout: if short { half } else { longest },
            jitter_percent: JITTER_PERCENT_DEFAULT,
        }
    }

    const fn of_seconds(lease: u64, renew: u64, retry: u64) -> Self {
        Self::new(
            Duration::from_secs(lease),
            Duration::from_secs(renew),
            Duration::from_secs(retry),
        )
    }

    /// Checks every relation that the election rests on.
    ///
    /// # Errors
    /// The first relation that does not hold, in the order of the variants of [`TimingError`].
    pub fn validate(&self) -> Result<(), TimingError> {
        use TimingError as Bad;
        let Self {
            lease_duration,
            renew_deadline,
            retry_period,
            request_timeout,
            ..
        } = *self;
        let (seconds, rest) = lease_duration.as_secs_and_millis();
        let jitter =
            Duration::from_millis(u64::from(percent_of(retry_period, self.jitter_percent)));
        let two_requests = request_timeout.saturating_mul(2);
        let error = if lease_duration == Duration::ZERO {
            Bad::LeaseDurationZero
        } else if rest != 0 {
            Bad::LeaseDurationNotWholeSeconds
        } else if i32::try_from(seconds).is_err() {
            Bad::LeaseDurationTooLong
        } else if renew_deadline == Duration::ZERO {
            Bad::RenewDeadlineZero
        } else if retry_period == Duration::ZERO {
            Bad::RetryPeriodZero
        } else if request_timeout == Duration::ZERO {
            Bad::RequestTimeoutZero
        } else if self.jitter_percent > JITTER_PERCENT_MAX {
            Bad::JitterTooLarge
        } else if renew_deadline >= lease_duration {
            Bad::RenewDeadlineNotBelowLeaseDuration
        } else if lease_duration.saturating_sub(renew_deadline) < MARGIN_MIN {
            Bad::MarginTooSmall
        } else if retry_period >= renew_deadline {
            Bad::RetryPeriodNotBelowRenewDeadline
        } else if retry_period.saturating_add(jitter) >= renew_deadline {
            Bad::JitteredRetryPeriodNotBelowRenewDeadline
        } else if retry_period.saturating_add(two_requests) > renew_deadline {
            Bad::RequestTimeoutLeavesNoRetry
        } else {
            return Ok(());
        };
        Err(error)
    }

    /// The lease duration as the record has it.
    pub(crate) fn lease_duration_seconds(&self) -> u32 {
        self.lease_duration.as_secs_and_millis().0
    }

    /// How long work may go on past the renew deadline: half of the safety margin.
    pub(crate) const fn grace(&self) -> Duration {
        self.lease_duration
            .saturating_sub(self.renew_deadline)
            .half()
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self::KUBERNETES
    }
}

/// A relation between durations that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimingError {
    /// The lease duration is zero.
    LeaseDurationZero,
    /// The record has whole seconds only, and rounding would break the other relations.
    LeaseDurationNotWholeSeconds,
    /// The record has 31 bits of seconds.
    LeaseDurationTooLong,
    /// The renew deadline is zero.
    RenewDeadlineZero,
    /// The retry period is zero.
    RetryPeriodZero,
    /// The request timeout is zero.
    RequestTimeoutZero,
    /// More jitter than [`JITTER_PERCENT_MAX`].
    JitterTooLarge,
    /// A leader would still believe when others take over.
    RenewDeadlineNotBelowLeaseDuration,
    /// Less than [`MARGIN_MIN`] between the two.
    MarginTooSmall,
    /// There would be no renewal before the deadline.
    RetryPeriodNotBelowRenewDeadline,
    /// With its jitter the retry period reaches the deadline.
    JitteredRetryPeriodNotBelowRenewDeadline,
    /// One lost request would use up the deadline: `P + 2·T > R`.
    RequestTimeoutLeavesNoRetry,
}

impl fmt::Display for TimingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LeaseDurationZero => "expected a lease duration of at least 1 s, found zero",
            Self::LeaseDurationNotWholeSeconds => {
                "expected a lease duration of whole seconds, found a fraction"
            }
            Self::LeaseDurationTooLong => {
                "expected a lease duration of at most 2147483647 s, found a longer one"
            }
            Self::RenewDeadlineZero => "expected a renew deadline above zero, found zero",
            Self::RetryPeriodZero => "expected a retry period above zero, found zero",
            Self::RequestTimeoutZero => "expected a request timeout above zero, found zero",
            Self::JitterTooLarge => "expected a jitter of at most 500 percent, found more",
            Self::RenewDeadlineNotBelowLeaseDuration => {
                "expected a renew deadline below the lease duration, found one that is not"
            }
            Self::MarginTooSmall => {
                "expected at least 100 ms between renew deadline and lease duration, found less"
            }
            Self::RetryPeriodNotBelowRenewDeadline => {
                "expected a retry period below the renew deadline, found one that is not"
            }
            Self::JitteredRetryPeriodNotBelowRenewDeadline => {
                "expected retry period and jitter below the renew deadline, found a longer sum"
            }
            Self::RequestTimeoutLeavesNoRetry => {
                "expected retry period and twice the request timeout within the renew deadline, \
                 found a longer sum"
            }
        })
    }
}

impl core::error::Error for TimingError {}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn the_presets_are_valid_and_have_the_default_timeout() {
        let presets = [
            (Timing::KUBERNETES, 4_000),
            (Timing::EDGE, 15_000),
            (Timing::OPENSHIFT, 15_000),
            (Timing::OPENSHIFT_SINGLE_NODE, 15_000),
        ];
        for (timing, timeout_ms) in presets {
            assert_eq!(timing.validate(), Ok(()));
            assert_eq!(timing.request_timeout, Duration::from_millis(timeout_ms));
        }
        assert_eq!(Timing::default(), Timing::KUBERNETES);
    }

    #[test]
    fn each_error_says_what_was_expected_and_found() {
        use TimingError as Bad;
        let texts = [
            (
                Bad::LeaseDurationZero,
                "expected a lease duration of at least 1 s, found zero",
            ),
            (
                Bad::LeaseDurationNotWholeSeconds,
                "expected a lease duration of whole seconds, found a fraction",
            ),
            (
                Bad::LeaseDurationTooLong,
                "expected a lease duration of at most 2147483647 s, found a longer one",
            ),
            (
                Bad::RenewDeadlineZero,
                "expected a renew deadline above zero, found zero",
            ),
            (
                Bad::RetryPeriodZero,
                "expected a retry period above zero, found zero",
            ),
            (
                Bad::RequestTimeoutZero,
                "expected a request timeout above zero, found zero",
            ),
            (
                Bad::JitterTooLarge,
                "expected a jitter of at most 500 percent, found more",
            ),
            (
                Bad::RenewDeadlineNotBelowLeaseDuration,
                "expected a renew deadline below the lease duration, found one that is not",
            ),
            (
                Bad::MarginTooSmall,
                "expected at least 100 ms between renew deadline and lease duration, found less",
            ),
            (
                Bad::RetryPeriodNotBelowRenewDeadline,
                "expected a retry period below the renew deadline, found one that is not",
            ),
            (
                Bad::JitteredRetryPeriodNotBelowRenewDeadline,
                "expected retry period and jitter below the renew deadline, found a longer sum",
            ),
            (
                Bad::RequestTimeoutLeavesNoRetry,
                "expected retry period and twice the request timeout within the renew deadline, \
                 found a longer sum",
            ),
        ];
        for (error, text) in texts {
            assert_eq!(error.to_string(), text);
        }
    }
}
