//! Completions and the manual page, from the definition of the command line.

use std::io;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::Outcome;

/// For whom.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints what a shell sources.
pub(crate) fn completions(args: &CompletionsArgs) -> Outcome {
    clap_complete::generate(
        args.shell,
        &mut Cli::command(),
        "kubelease",
        &mut io::stdout(),
    );
    Ok(0)
}

/// Prints the manual page, with all subcommands in one.
pub(crate) fn man() -> Outcome {
    let mut command = Cli::command();
    command.build();
    let mut out = io::stdout();
    clap_mangen::Man::new(command.clone()).render(&mut out)?;
    for subcommand in command.get_subcommands().filter(|each| !each.is_hide_set()) {
        clap_mangen::Man::new(subcommand.clone()).render(&mut out)?;
    }
    Ok(0)
}
