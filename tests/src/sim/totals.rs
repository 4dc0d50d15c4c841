//! [`Totals`]: what happened in many worlds.

use core::fmt;
use std::collections::BTreeMap;

/// Counts over worlds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Worlds.
    pub worlds: u64,
    /// True time in them.
    pub simulated_us: u64,
    /// How often leadership went to another process.
    pub changes: u64,
    /// Terms.
    pub terms: u64,
    /// Requests handed out.
    pub requests: u64,
    /// Watches among them that were answered by a stream.
    pub streams: u64,
    /// Lines of those that arrived.
    pub lines: u64,
    /// Faults by kind.
    pub faults: BTreeMap<&'static str, u64>,
    /// Overlaps that somebody outside caused.
    pub overlaps: u64,
    /// Those that had to end within a retry period and the requests on their way.
    pub overlaps_prompt: u64,
    /// The longest.
    pub overlap_max_us: u64,
    /// Overlaps by clocks beyond the tolerated ratio.
    pub by_clocks: u64,
    /// Takeovers after a crash or a release that were in time.
    pub takeovers: u64,
    /// Processes whose requests in calm were counted.
    pub quiet: u64,
    /// Twins noticed.
    pub collisions: u64,
    /// Own writes that were taken for a twin's.
    pub forgotten: u64,
    /// Worlds in which something was wrong.
    pub violations: u64,
}

impl Totals {
    /// Counts one fault.
    pub fn fault(&mut self, kind: &'static str) {
        *self.faults.entry(kind).or_default() += 1;
    }

    /// Adds the counts of others.
    pub fn add(&mut self, other: &Self) {
        self.worlds += other.worlds;
        self.simulated_us += other.simulated_us;
        self.changes += other.changes;
        self.terms += other.terms;
        self.requests += other.requests;
        self.streams += other.streams;
        self.lines += other.lines;
        for (kind, count) in &other.faults {
            *self.faults.entry(kind).or_default() += count;
        }
        self.overlaps += other.overlaps;
        self.overlaps_prompt += other.overlaps_prompt;
        self.overlap_max_us = self.overlap_max_us.max(other.overlap_max_us);
        self.by_clocks += other.by_clocks;
        self.takeovers += other.takeovers;
        self.quiet += other.quiet;
        self.collisions += other.collisions;
        self.forgotten += other.forgotten;
        self.violations += other.violations;
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.simulated_us / 1_000_000;
        writeln!(f, "worlds              {:>12}", self.worlds)?;
        writeln!(f, "simulated hours     {:>12}", seconds / 3_600)?;
        writeln!(f, "leadership changes  {:>12}", self.changes)?;
        writeln!(f, "terms               {:>12}", self.terms)?;
        writeln!(f, "requests            {:>12}", self.requests)?;
        writeln!(f, "streams             {:>12}", self.streams)?;
        writeln!(f, "  lines             {:>12}", self.lines)?;
        writeln!(f, "takeovers in time   {:>12}", self.takeovers)?;
        writeln!(f, "quiet processes     {:>12}", self.quiet)?;
        writeln!(f, "twins noticed       {:>12}", self.collisions)?;
        writeln!(f, "  but own ghosts    {:>12}", self.forgotten)?;
        writeln!(f, "overlaps by edits   {:>12}", self.overlaps)?;
        writeln!(f, "  held to one look  {:>12}", self.overlaps_prompt)?;
        writeln!(f, "  longest, ms       {:>12}", self.overlap_max_us / 1_000)?;
        writeln!(f, "overlaps by clocks  {:>12}", self.by_clocks)?;
        for (kind, count) in &self.faults {
            writeln!(f, "fault {kind:<14}{count:>12}")?;
        }
        write!(f, "violations          {:>12}", self.violations)
    }
}
