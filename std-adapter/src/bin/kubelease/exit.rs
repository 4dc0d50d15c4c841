//! How a command ends: its exit code, and what it says then.

use core::fmt;
use std::io::{self, Write};

use kubelease::StartError;

/// What `--help` and the manual page say about exit codes.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    done; of `run`: the command exited with 0
  1    the command failed; its reason is on standard error
  2    the command line is wrong
  3    there is no such lease, nobody holds it, or it was not released
  124  run: leadership was lost, with `--on-lost exit`
  125  run: kubelease itself failed; no command is left running
  126  run: the command cannot be executed
  127  run: the command was not found
  128+N  signal N ended the command of run, or kubelease itself; 141 also where nobody reads
         what it prints
  Any other code of `run` is that of its command.";

/// The command line is wrong; clap says the same.
pub(crate) const USAGE: u8 = 2;

/// Nobody reads what is printed: what a shell says of a program that SIGPIPE ended.
const NOT_READ: u8 = SIGNAL_BASE + 13;

/// Anything but `run` failed.
pub(crate) const FAILED: u8 = 1;

/// No such lease, no holder, or no release.
pub(crate) const NOT_THERE: u8 = 3;

/// `run --on-lost exit` lost its leadership.
pub(crate) const LOST: u8 = 124;

/// `run` itself failed.
pub(crate) const RUN_FAILED: u8 = 125;

/// The command cannot be executed.
pub(crate) const NOT_EXECUTABLE: u8 = 126;

/// The command was not found.
pub(crate) const NOT_FOUND: u8 = 127;

/// Added to the number of a signal.
const SIGNAL_BASE: u8 = 128;

/// The code for an end by signal `number`.
pub(crate) fn by_signal(number: i32) -> u8 {
    SIGNAL_BASE.saturating_add(u8::try_from(number).unwrap_or(0))
}

/// Why a command failed, in words for people, and its exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) reason: String,
}

impl Failure {
    /// A failure with [`FAILED`].
    pub(crate) fn new(reason: impl fmt::Display) -> Self {
        Self {
            code: FAILED,
            reason: reason.to_string(),
        }
    }

    /// A value on the command line that cannot be meant.
    pub(crate) fn usage(reason: impl fmt::Display) -> Self {
        Self::new(reason).with_code(USAGE)
    }

    /// Nothing was started: where the settings are wrong, by the command line.
    pub(crate) fn not_started(error: &StartError) -> Self {
        let is_usage = matches!(
            error,
            StartError::Path(_) | StartError::Config(_) | StartError::Heartbeat(_)
        );
        Self::new(error).with_code(if is_usage { USAGE } else { FAILED })
    }

    /// The same with another code.
    pub(crate) fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }
}

impl<E: core::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}

/// Prints a result, whole. Where nobody reads it any more the command ends without a word, as
/// programs do that SIGPIPE ends.
pub(crate) fn print(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut out = io::stdout();
    let printed = out.write_all(text.as_ref()).and_then(|()| out.flush());
    printed.map_err(|error| {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Failure::new("").with_code(NOT_READ)
        } else {
            error.into()
        }
    })
}

/// What a command ends with: its exit code.
pub(crate) type Outcome = Result<u8, Failure>;
