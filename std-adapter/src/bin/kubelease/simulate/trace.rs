//! What happened in a simulation.

use core::fmt::Write;

use kubelease::StopReason;

use super::picture::rounded;
use super::script::Script;
use crate::timing::human;

/// Everything that is drawn.
#[derive(Clone, Debug, Default)]
pub(super) struct Trace {
    pub(super) terms: Vec<Term>,
    pub(super) requests: Vec<Ticked>,
    /// Who crashed, and when.
    pub(super) crashes: Vec<(usize, u64)>,
    /// Who was stopped, and when.
    pub(super) stops: Vec<(usize, u64)>,
}

/// One term of one candidate, in milliseconds since the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) who: usize,
    pub(super) fence: u64,
    pub(super) from: u64,
    /// When belief ended, or would have had the candidate not crashed; `None` while it lasts.
    pub(super) to: Option<u64>,
    /// Until when work could go on.
    pub(super) ceased: u64,
    /// When its lease ends, as the server's time says: where it was not released.
    pub(super) lease_end: Option<u64>,
    pub(super) why: Option<Why>,
}

/// Why a term ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Crashed,
    Reason(StopReason),
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticked {
    pub(super) who: usize,
    pub(super) at: u64,
    pub(super) is_write: bool,
    pub(super) is_answered: bool,
}

impl Trace {
    /// The terms as text.
    pub(super) fn summary(&self, script: &Script) -> String {
        let mut text = String::new();
        for term in &self.terms {
            let name = script.names.get(term.who).copied().unwrap_or_default();
            let seconds = |millis| format!("{}.{:03}s", millis / 1_000, millis % 1_000);
            let to = term
                .to
                .map_or_else(|| "-".to_owned(), |to| seconds(term.ended(to)));
            let why = match term.why {
                None => "it leads on",
                Some(Why::Crashed) => "it crashed",
                Some(Why::Reason(StopReason::Deadline)) => "no renewal in time",
                Some(Why::Reason(StopReason::Stopped)) => "it stopped, and released the lease",
                Some(Why::Reason(_)) => "it was lost",
            };
            // Writing into a String does not fail.
            let _ = writeln!(
                text,
                "{name} leads from {:>10} to {to:>10}, fence {}: {why}",
                seconds(term.from),
                term.fence
            );
        }
        let (sum, longest) = self.leaderless(script);
        let _ = writeln!(
            text,
            "nobody leads for {} of {}, at most {} at a time",
            rounded(sum),
            human(script.length),
            rounded(longest)
        );
        text
    }

    /// How long nobody leads: in all, and at a time.
    pub(super) fn leaderless(&self, script: &Script) -> (u64, u64) {
        let length = super::script::millis(script.length);
        let (mut sum, mut longest, mut led_until) = (0, 0, 0);
        for term in &self.terms {
            let gap = term.from.saturating_sub(led_until);
            (sum, longest) = (sum + gap, longest.max(gap));
            led_until = term.to.map_or(length, |to| term.ended(to)).max(led_until);
        }
        let gap = length.saturating_sub(led_until);
        (sum + gap, longest.max(gap))
    }
}

impl Term {
    /// When the process led no more: a crash may end it before its belief.
    pub(super) fn ended(&self, to: u64) -> u64 {
        if self.why == Some(Why::Crashed) {
            self.ceased
        } else {
            to
        }
    }
}
