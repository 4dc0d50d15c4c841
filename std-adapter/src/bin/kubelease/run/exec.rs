//! The hidden command that becomes the user's: what has to be set in the process itself.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;

use clap::Args;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::exit::{Failure, NOT_EXECUTABLE, NOT_FOUND, Outcome, RUN_FAILED};

/// Which command, under which guard.
#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// The process that has to live while the command does.
    #[arg(long)]
    guard: i32,
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Ties this process to the life of its guard, and becomes the command.
pub(crate) fn run(args: &ExecArgs) -> Outcome {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // A guard that died before this sends no signal any more.
    let parent = getppid().map(|parent| parent.as_raw_nonzero().get());
    if parent != Some(args.guard) {
        return Err(
            Failure::new("expected the guard as parent, found it dead").with_code(RUN_FAILED)
        );
    }
    let Some((program, rest)) = args.command.split_first() else {
        return Err(Failure::new("expected a command, found none").with_code(RUN_FAILED));
    };
    let error = Command::new(program).args(rest).exec();
    let code = if error.kind() == io::ErrorKind::NotFound {
        NOT_FOUND
    } else {
        NOT_EXECUTABLE
    };
    let _ = writeln!(io::stderr(), "kubelease: {}: {error}", program.display());
    Ok(code)
}
