//! Transcripts: a whole election, or a heart's life, as a text of inputs and of what came of them.
//!
//! A line that begins with a number is an input at so many milliseconds; `#` begins a comment. The
//! indented lines are outputs, made anew by [`replay`].

use core::fmt::Write as _;

use kubelease_core::lease::OwnerState;
use kubelease_core::protocol::{Failure, Reply};

use crate::driven::Driven;
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

/// The same with any elector, which was made from [`A`] and has not been polled.
///
/// # Panics
/// On an input that is none, and where a law is broken.
#[must_use]
pub fn replay_on<M: Subject>(driver: Driver<M>, text: &str) -> String {
    play(driver, text, call, |driver| {
        let until = driver.leading_until()?;
        Some(format!("leads until {until}"))
    })
}

/// Plays `text` on any machine: `call` takes the words that are neither answers nor failures, and
/// what `remark` says stands below the outputs.
///
/// # Panics
/// On an input that is none, and where a law is broken.
pub(crate) fn play<M: Driven>(
    mut driver: Driver<M>,
    text: &str,
    call: impl Fn(&mut Driver<M>, &[&str]),
    remark: impl Fn(&Driver<M>) -> Option<String>,
) -> String {
    let mut played = String::new();
    for line in text.lines().filter(|line| !line.starts_with(' ')) {
        played.push_str(line);
        played.push('\n');
        if line.is_empty() || line.starts_with('#') || line.starts_with("heart ") {
            continue;
        }
        let (ms, input) = line.split_once(' ').unwrap_or((line, ""));
        driver.go_to(ms.parse().expect("milliseconds"));
        let words: Vec<&str> = input.split(' ').collect();
        if !answer(&mut driver, &words) {
            call(&mut driver, &words);
        }
        let start = driver.transcript().len();
        driver.settle();
        for output in driver.transcript().get(start..).unwrap_or_default() {
            // The body of a write stands below it.
            let _ = writeln!(played, "  {}", output.replace("  ", "\n    "));
        }
        if let Some(remark) = remark(&driver) {
            let _ = writeln!(played, "  ({remark})");
        }
    }
    played
}

/// Gives an answer, a failure or nothing to the machine; says whether the words were that.
fn answer<M: Driven>(driver: &mut Driver<M>, words: &[&str]) -> bool {
    match words {
        [""] => {}
        ["accepted", version] => driver.take(Accepted(number(version))),
        ["mine", version] => driver.take(Mine(number(version))),
        ["released", version] => driver.take(released(number(version))),
        ["held", "by", holder, version, fields @ ..] => {
            let lease = held_by(holder, number(version));
            driver.take(fields.iter().fold(lease, with_field));
        }
        ["no", "lease" | "Node"] => driver.take(Reply::LeaseMissing),
        ["conflict"] => driver.take(Reply::Conflict),
        ["forbidden"] => driver.take(Reply::Forbidden),
        ["deleted"] => driver.take(Reply::Deleted),
        ["error", status] => {
            let status = status.parse().expect("a status");
            driver.take(Reply::ServerError(status));
        }
        ["no", "answer"] => driver.take(Failure::Unknown),
        ["not", "sent"] => driver.take(Failure::NotSent),
        _ => return false,
    }
    true
}

/// Calls an elector.
fn call<M: Subject>(driver: &mut Driver<M>, words: &[&str]) {
    match words {
        ["stop"] => driver.take(Call::Stop),
        ["stop", "when", "idle"] => driver.take(Call::StopWhenIdle),
        ["work", "done"] => driver.take(Call::WorkDone),
        ["step", "down", cooldown] => driver.take(Call::StepDown(number(cooldown))),
        _ => panic!("no input: {words:?}"),
    }
}

fn with_field(lease: Lease, field: &&str) -> Lease {
    let (name, value) = field.split_once('=').expect("name=value");
    match name {
        "renewed" => lease.renewed(number(value)),
        "duration" => lease.duration(value.parse().expect("seconds")),
        "transitions" => lease.transitions(value.parse().expect("a count")),
        "uid" => lease.uid(value),
        "owner" => lease.owned(
            match value {
                "current" => OwnerState::Current,
                "stale" => OwnerState::Stale,
                _ => panic!("no owner: {value}"),
            },
            false,
        ),
        _ => panic!("no field: {field}"),
    }
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}
