//! [`Report`]: what a [`Timing`] promises, computed for this machine.

use super::timing::Timing;
use crate::prng::percent_of;
use crate::time::Duration;

/// Below this margin the report warns: a busy host can lose as much between clock and work.
const MARGIN_COMFORTABLE: Duration = Duration::from_secs(1);

/// client-go compares records with their times cut to whole seconds, so that it can take over up
/// to this much too early.
const CLIENT_GO_EARLY: Duration = Duration::from_secs(1);

/// What a timing promises. Each figure is true for this machine and tight; network time comes on
/// top where it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// How many renewals fit before the deadline where each fails at once.
    pub tries: u32,
    /// `(D − R) / 2`: how long work may go on past the deadline.
    pub grace: Duration,
    /// The highest rate of another's clock, in thousandths of this one's, at which two never lead:
    /// `D / R`.
    pub clock_ratio_permille: u32,
    /// The same where work uses up its grace: `2·D / (R + D)`.
    pub clock_ratio_with_grace_permille: u32,
    /// `R − P − max(P, T)`: an API outage of this length, less the round trips of a GET and a PUT,
    /// costs nobody the leadership whenever it begins. It may begin just before a renewal, which
    /// is `P` after the last, and its end may meet a try that has just begun.
    pub survived_outage: Duration,
    /// Longest time from a release to the look that finds it, `P·(1 + J)`; then GET and PUT.
    pub graceful_takeover: Duration,
    /// Longest time from a crashed leader's last write to the takeover, `D + P·(1 + J) + 1 ms`;
    /// then the round trips of the GET that saw the last write, and of the PUT.
    pub crash_takeover: Duration,
    /// In watch mode: how long a stream that died without a sign goes unnoticed, by durations as
    /// long as these in the record: `max(P, min(D / 2, 90 s))`. While it lives, a release is seen
    /// at once, and a crashed leader is followed `D + 1 ms` after its last write; this comes on
    /// top of both where the stream has just died, and then a GET. Where the server refuses
    /// streams or ends them at once, the candidate reads, and the two figures above hold.
    pub watch_silence: Duration,
    /// Longest time between two tries of a candidate that the server keeps refusing, but for a
    /// `Retry-After`: that is obeyed up to 60 s.
    pub slowest_retry: Duration,
    /// Whether the margin `D − R` is below a second.
    pub margin_is_narrow: bool,
    /// Whether `R + 1 s ≤ D`: safe beside client-go at any retry period.
    pub safe_beside_client_go: bool,
    /// Writes that a leader sends in an hour of quiet.
    pub leader_writes_per_hour: u32,
    /// Reads that a candidate sends in an hour of quiet, at most.
    pub candidate_reads_per_hour: u32,
}

impl Timing {
    /// What these durations promise, given that [`validate`](Self::validate) passes.
    #[must_use]
    pub fn report(&self) -> Report {
        let Self {
            lease_duration: d,
            renew_deadline: r,
            retry_period: p,
            ..
        } = *self;
        let jittered = with_jitter(p, self.jitter_percent);
        let margin = d.saturating_sub(r);
        let hour = Duration::from_secs(3_600);
        Report {
            tries: ratio(r.saturating_sub(Duration::from_millis(1)), p, 1),
            grace: self.grace(),
            clock_ratio_permille: ratio(d, r, 1_000),
            clock_ratio_with_grace_permille: ratio(d.saturating_mul(2), r.saturating_add(d), 1_000),
            survived_outage: r
                .saturating_sub(p)
                .saturating_sub(p.max(self.request_timeout)),
            graceful_takeover: jittered,
            crash_takeover: d.saturating_add(jittered).saturating_add(super::LATE),
            watch_silence: super::watch::silence(d, p),
            slowest_retry: with_jitter(p.max(super::SLOWEST_RETRY), self.jitter_percent),
            margin_is_narrow: margin < MARGIN_COMFORTABLE,
            safe_beside_client_go: margin >= CLIENT_GO_EARLY,
            leader_writes_per_hour: ratio(hour, p, 1),
            candidate_reads_per_hour: ratio(hour, p, 1),
        }
    }
}

/// `base` with the most jitter that can be drawn.
fn with_jitter(base: Duration, percent: u32) -> Duration {
    base.saturating_add(Duration::from_millis(u64::from(percent_of(base, percent))))
}

/// `scale · a / b`, rounded down; `u32::MAX` where that is too much. The only 64-bit division of
/// the core, linked only where a report is asked for.
fn ratio(a: Duration, b: Duration, scale: u64) -> u32 {
    let quotient = a
        .as_millis()
        .saturating_mul(scale)
        .checked_div(b.as_millis());
    quotient
        .and_then(|value| u32::try_from(value).ok())
        .unwrap_or(u32::MAX)
}
