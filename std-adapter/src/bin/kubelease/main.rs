//! The command `kubelease`: elections from a shell.
#![forbid(unsafe_code)]

mod args;
mod connect;
mod dev_server;
mod exit;
mod heartbeat;
mod lease;
mod manual;
#[cfg(target_os = "linux")]
mod run;
mod signals;
mod simulate;
mod style;
mod telling;
mod timing;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

#[cfg(target_os = "linux")]
use crate::args::Inner;
use crate::args::{Cli, Command};
use crate::exit::Outcome;

fn main() -> ExitCode {
    match outcome() {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            if !failure.reason.is_empty() {
                // Nobody may be there to read it.
                let _ = writeln!(std::io::stderr(), "kubelease: {}", failure.reason);
            }
            ExitCode::from(failure.code)
        }
    }
}

fn outcome() -> Outcome {
    #[cfg(target_os = "linux")]
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| Inner::is_meant(&word))
    {
        return match Inner::parse() {
            Inner::Guard(args) => run::guard::run(args),
            Inner::Exec(args) => run::exec::run(&args),
        };
    }
    dispatch(Cli::parse().command)
}

fn dispatch(command: Command) -> Outcome {
    match command {
        #[cfg(target_os = "linux")]
        Command::Run(args) => run::run(args),
        Command::Heartbeat(args) => heartbeat::run(&args),
        Command::Release(args) => lease::release(&args),
        Command::Status(args) => lease::status(&args),
        Command::List(args) => lease::list(&args),
        Command::Watch(args) => lease::watch(&args),
        Command::Timing(args) => timing::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::DevServer(args) => dev_server::run(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
    }
}
