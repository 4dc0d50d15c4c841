//! Completions and the manual page, from the definition of the command line.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::{Failure, Outcome, print};

/// For whom.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Which page.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The command; an overview of all unless said.
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

/// Prints what a shell sources.
pub(crate) fn completions(args: &CompletionsArgs) -> Outcome {
    // It takes an end of the reader, such as `head`, for a reason to panic.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "kubelease", &mut script);
    print(script)?;
    Ok(0)
}

/// Prints the page of one command, or of all.
pub(crate) fn man(args: &ManArgs) -> Outcome {
    let mut cli = Cli::command();
    cli.build();
    let page = match &args.command {
        None => cli,
        Some(name) => {
            let command = cli.find_subcommand(name).cloned();
            command.ok_or_else(|| Failure::usage(format_args!("no command `{name}`")))?
        }
    };
    let source = concat!("kubelease ", env!("CARGO_PKG_VERSION"));
    let mut text = Vec::new();
    clap_mangen::Man::new(page)
        .source(source)
        .render(&mut text)?;
    print(text)?;
    Ok(0)
}
