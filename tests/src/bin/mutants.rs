//! Puts each fault of the tables into a copy of the core, and fails if one is not found.
//!
//! ```text
//! mutants [--only WORD]...    those whose name has WORD in it
//! mutants --judge             looks for a fault in the elector that it was built with
//! mutants --judge-hearts      looks for one in the heartbeat
//! ```
//! The copies are below `target/mutants`, which serves one run at a time.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

use kubelease_tests::mutants::{self, Mutant, Trial, Verdict, Workshop};

/// How many copies are worked on at a time.
const WORKERS: usize = 2;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut only = Vec::new();
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match (word, words.next()) {
            ("--judge", None) => return say(&mutants::judge()),
            ("--judge-hearts", None) => return say(&mutants::judge_hearts()),
            ("--only", Some(name)) => only.push(name),
            _ => {
                eprintln!("usage: mutants [--only WORD]... | --judge | --judge-hearts");
                return ExitCode::from(2);
            }
        }
    }
    let is_wanted =
        |mutant: &&Mutant| only.is_empty() || only.iter().any(|word| mutant.name.contains(word));
    let wanted: Vec<&Mutant> = mutants::all().filter(is_wanted).collect();
    match try_all(&wanted) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(survivors) => {
            println!("{survivors} survived");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn say(verdict: &Verdict) -> ExitCode {
    println!("{verdict}");
    match verdict {
        Verdict::Sound { .. } => ExitCode::SUCCESS,
        Verdict::ByModel { .. } | Verdict::BySimulation { .. } => ExitCode::FAILURE,
    }
}

/// Tries all, and says how many survived.
fn try_all(mutants: &[&Mutant]) -> Result<usize, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let place = place(&root);
    let begun = begin();
    let first = Workshop::new(&root, &place.join("0")).map_err(|error| error.to_string())?;
    for of_hearts in [true, false] {
        if !mutants.iter().any(|it| it.is_of_hearts() == of_hearts) {
            continue;
        }
        match first.try_sound(of_hearts)? {
            Trial::Survived(words) => println!("{:>5} s  {:46} {words}", since(begun), "no fault"),
            Trial::Killed(words) => {
                return Err(format!("without a fault it did not pass: {words}"));
            }
        }
    }
    let left = Mutex::new(mutants.iter());
    let next = || left.lock().ok()?.next();
    let work = |workshop: &Workshop| -> Result<usize, String> {
        let mut survivors = 0;
        while let Some(mutant) = next() {
            let begun = begin();
            let trial = workshop
                .try_out(mutant)
                .map_err(|error| format!("{}: {error}", mutant.name))?;
            let words = match trial {
                Trial::Killed(words) => words,
                Trial::Survived(words) => {
                    survivors += 1;
                    format!("SURVIVED: {words} ({})", mutant.breaks)
                }
            };
            println!("{:>5} s  {:46} {words}", since(begun), mutant.name);
        }
        Ok(survivors)
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..WORKERS)
            .map(|worker| {
                let (first, place, work) = (&first, place.join(worker.to_string()), &work);
                scope.spawn(move || {
                    let workshop = first.another(&place).map_err(|e| e.to_string())?;
                    work(&workshop)
                })
            })
            .collect();
        let mut survivors = work(&first)?;
        for other in others {
            survivors += other.join().map_err(|_| "a worker panicked")??;
        }
        println!("{:>5} s  {} faults", since(begun), mutants.len());
        Ok(survivors)
    })
}

/// Where copies are made: below the directory that this program was built into.
fn place(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    target
        .map_or_else(|| root.join("target"), PathBuf::from)
        .join("mutants")
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a trial takes is a fact about this machine"
)]
fn begin() -> Instant {
    Instant::now()
}

fn since(begun: Instant) -> String {
    format!("{:.1}", begun.elapsed().as_secs_f64())
}
