//! The command line, as clap takes it.

use core::time::Duration;
#[cfg(target_os = "linux")]
use std::ffi::OsStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use kubelease::kubelease_core::wire::path::LeasePath;

use crate::dev_server::DevServerArgs;
use crate::exit::{EXIT_CODES, Failure};
use crate::heartbeat::HeartbeatArgs;
use crate::lease::{ListArgs, ReleaseArgs, StatusArgs, WatchArgs};
use crate::manual::{CompletionsArgs, ManArgs};
#[cfg(target_os = "linux")]
use crate::run::{RunArgs, exec::ExecArgs, guard::GuardArgs};
use crate::simulate::SimulateArgs;
use crate::timing::TimingReportArgs;

/// Leader election by Kubernetes Leases, from a shell.
#[derive(Debug, Parser)]
#[command(name = "kubelease", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command while this process leads, and at no other time.
    #[cfg(target_os = "linux")]
    Run(Box<RunArgs>),
    /// Beat a lease that says that its holder lives, such as a Node's.
    Heartbeat(HeartbeatArgs),
    /// Give a lease up whose holder has ended, so that others need not wait.
    Release(ReleaseArgs),
    /// Show one lease: who holds it, and whether it changes.
    Status(StatusArgs),
    /// Show all leases of a namespace, or of all.
    List(ListArgs),
    /// Print what happens to a lease, as it is seen.
    Watch(WatchArgs),
    /// What durations promise: takeovers, outages survived, clocks tolerated.
    Timing(TimingReportArgs),
    /// Draw who leads under given outages and crashes.
    Simulate(SimulateArgs),
    /// Run the API server for tests until a signal comes.
    DevServer(DevServerArgs),
    /// Print completions for a shell.
    Completions(CompletionsArgs),
    /// Print a page of the manual.
    Man(ManArgs),
}

/// The commands that `run` starts itself with. They are no part of the command line, so that no
/// help and no completion names them.
#[cfg(target_os = "linux")]
#[derive(Debug, Parser)]
#[command(name = "kubelease")]
pub(crate) enum Inner {
    /// Guards the command of one term.
    #[command(name = "guard-child")]
    Guard(GuardArgs),
    /// Becomes the command of one term.
    #[command(name = "exec-child")]
    Exec(ExecArgs),
}

#[cfg(target_os = "linux")]
impl Inner {
    /// Whether the first word of a command line is one of these.
    pub(crate) fn is_meant(word: &OsStr) -> bool {
        word == "guard-child" || word == "exec-child"
    }
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Table,
    /// For programs.
    Json,
}

/// Where results are printed.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// How to print the result.
    #[arg(
        short,
        long,
        value_enum,
        default_value = "table",
        value_name = "FORMAT"
    )]
    pub(crate) output: Format,
}

/// The lease that a command is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeaseName {
    /// Unless said: the kubeconfig's, or the pod's own.
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

impl core::str::FromStr for LeaseName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace.to_owned()), name),
            None => (None, text),
        };
        if name.is_empty() || name.contains('/') || namespace.as_deref() == Some("") {
            return Err(format!("expected NAMESPACE/NAME or NAME, found `{text}`"));
        }
        LeasePath::new(namespace.as_deref().unwrap_or("default"), name)
            .map_err(|error| error.to_string())?;
        Ok(Self {
            namespace,
            name: name.to_owned(),
        })
    }
}

/// Refuses a length of nothing, where nothing can't be meant.
pub(crate) fn more_than_nothing(option: &str, length: Duration) -> Result<(), Failure> {
    if length.is_zero() {
        let text = format_args!("{option}: expected more than 0s, found 0s");
        return Err(Failure::usage(text));
    }
    Ok(())
}
