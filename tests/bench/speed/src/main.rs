//! How fast a Lease is read and a renewal is written, beside `serde_json` with the types of
//! `k8s-openapi`. Each side reads the same text and writes what says the same.
//!
//! Prints one table. The two sides of a row take turns, and each figure is the median of its
//! rounds; the ratio is the median of theirs, so that what else a machine does falls on both.

mod counting;
mod ours;
mod rival;

use std::time::Instant;

use counting::allocations;
use ours::Mode;

/// A Lease as a server answers it.
const LEASE: &[u8] = include_bytes!("lease.json");

const ROUNDS: usize = 301;
const CALLS: u32 = 500;

fn main() {
    let mut buffer = [0; 4_096];
    println!("a Lease of {} bytes", LEASE.len());
    for (what, mode) in [
        ("read", Mode::Patch),
        ("read, and kept for a PUT", Mode::Put),
    ] {
        let mut session = ours::session(mode);
        row(
            what,
            || ours::read(&mut session, LEASE),
            || drop(rival::read(LEASE)),
        );
    }
    let renewals = [
        ("renewal by PUT", Mode::Put, rival::read(LEASE)),
        ("renewal by merge patch", Mode::Patch, rival::renewal()),
    ];
    for (what, mode, lease) in renewals {
        let mut session = ours::session(mode);
        ours::read(&mut session, LEASE);
        row(
            what,
            || ours::write(&session, &mut buffer),
            || drop(rival::write(&lease)),
        );
    }
}

/// Measures both sides in turns, and prints the row.
fn row(name: &str, mut ours: impl FnMut(), mut theirs: impl FnMut()) {
    let counts = (allocations(&mut ours), allocations(&mut theirs));
    let mut rounds: Vec<(f64, f64)> = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push((nanoseconds(&mut ours), nanoseconds(&mut theirs)));
    }
    let ratio = median(rounds.iter().map(|(ours, theirs)| ours / theirs));
    let ours = median(rounds.iter().map(|(ours, _)| *ours));
    let theirs = median(rounds.iter().map(|(_, theirs)| *theirs));
    println!(
        "{name:<24} {ours:>5.0} ns, {} allocations; serde_json {theirs:>5.0} ns, {}; ratio {ratio:.2}",
        counts.0, counts.1
    );
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn nanoseconds(call: &mut impl FnMut()) -> f64 {
    let begun = Instant::now();
    for _ in 0..CALLS {
        call();
    }
    begun.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
