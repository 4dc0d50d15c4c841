//! Judges an export of `llvm-cov`: `coverage EXPORT LIST`.
//!
//! Prints how much of the core was reached. Fails below the floor, and where the regions that were
//! not are other than those that the list has a reason for.
#![allow(clippy::std_instead_of_core, reason = "it runs on a host")]

use std::process::ExitCode;
use std::{env, fs, io};

use kubelease_tests::coverage::{Coverage, compare};
use kubelease_tests::tidy::all_sources;

/// Least share of regions that tests reach, in percent.
const FLOOR: f64 = 97.0;

fn main() -> io::Result<ExitCode> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [export, list] = arguments.as_slice() else {
        eprintln!("usage: coverage EXPORT LIST");
        return Ok(ExitCode::from(2));
    };
    let sources = all_sources();
    let coverage = Coverage::read(&fs::read_to_string(export)?, &sources)?;
    let (all, reached) = coverage.counts();
    let percent = reached as f64 * 100.0 / all as f64;
    println!("core: {reached} of {all} regions reached, {percent:.2} %, at least {FLOOR} %");
    let complaints = compare(&coverage.unreached(&sources), &fs::read_to_string(list)?);
    for complaint in &complaints {
        println!("{complaint}");
    }
    let is_good = percent >= FLOOR && complaints.is_empty();
    Ok(ExitCode::from(u8::from(!is_good)))
}
