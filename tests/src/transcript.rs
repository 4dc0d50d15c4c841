//! Transcripts: a whole election as a text of inputs and of what came of them.
//!
//! A line that begins with a number is an input at so many milliseconds; `#` begins a comment. The
//! indented lines are outputs, made anew by [`replay`].

use core::fmt::Write as _;

use kubelease_core::protocol::{Failure, Reply};

use crate::driver::Driver;
use crate::input::{Accepted, Call, Lease, Mine, held_by, released};
use crate::prelude::A;
use crate::subject::Subject;

/// Does what the inputs in `text` say, and answers `text` with the outputs that came of it.
///
/// # Panics
/// On an input that is none, and where a law is broken.
#[must_use]
pub fn replay(text: &str) -> String {
    replay_on(Driver::new(A), text)
}

/// The same with any machine, which was made from [`A`] and has not been polled.
///
/// # Panics
/// On an input that is none, and where a law is broken.
#[must_use]
pub fn replay_on<M: Subject>(mut driver: Driver<M>, text: &str) -> String {
    let mut played = String::new();
    for line in text.lines().filter(|line| !line.starts_with(' ')) {
        played.push_str(line);
        played.push('\n');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (ms, input) = line.split_once(' ').unwrap_or((line, ""));
        driver.go_to(ms.parse().expect("milliseconds"));
        give(&mut driver, input);
        let start = driver.transcript().len();
        driver.settle();
        for output in driver.transcript().get(start..).unwrap_or_default() {
            // The body of a write stands below it.
            let _ = writeln!(played, "  {}", output.replace("  ", "\n    "));
        }
        if let Some(until) = driver.leading_until() {
            let _ = writeln!(played, "  (leads until {until})");
        }
    }
    played
}

/// Gives one input to the machine.
fn give<M: Subject>(driver: &mut Driver<M>, input: &str) {
    let words: Vec<&str> = input.split(' ').collect();
    match words.as_slice() {
        [""] => {}
        ["accepted", version] => driver.take(Accepted(number(version))),
        ["mine", version] => driver.take(Mine(number(version))),
        ["released", version] => driver.take(released(number(version))),
        ["held", "by", holder, version, fields @ ..] => {
            let lease = held_by(holder, number(version));
            driver.take(fields.iter().fold(lease, with_field));
        }
        ["no", "lease"] => driver.take(Reply::LeaseMissing),
        ["conflict"] => driver.take(Reply::Conflict),
        ["forbidden"] => driver.take(Reply::Forbidden),
        ["error", status] => {
            let status = status.parse().expect("a status");
            driver.take(Reply::ServerError(status));
        }
        ["no", "answer"] => driver.take(Failure::Unknown),
        ["not", "sent"] => driver.take(Failure::NotSent),
        ["stop"] => driver.take(Call::Stop),
        ["stop", "when", "idle"] => driver.take(Call::StopWhenIdle),
        ["work", "done"] => driver.take(Call::WorkDone),
        ["step", "down", cooldown] => driver.take(Call::StepDown(number(cooldown))),
        _ => panic!("no input: {input}"),
    }
}

fn with_field(lease: Lease, field: &&str) -> Lease {
    let (name, value) = field.split_once('=').expect("name=value");
    match name {
        "renewed" => lease.renewed(number(value)),
        "duration" => lease.duration(value.parse().expect("seconds")),
        "transitions" => lease.transitions(value.parse().expect("a count")),
        "uid" => lease.uid(value),
        _ => panic!("no field: {field}"),
    }
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}
