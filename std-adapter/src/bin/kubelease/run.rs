//! `kubelease run`: a command that runs while this process leads, and at no other time.
//!
//! Three processes: this one runs for election, a [guard](guard) is the parent of the command and
//! kills it in time whatever becomes of this one, and the command. Each term has its own guard.

pub(crate) mod exec;
pub(crate) mod guard;

mod descriptor;
mod keeper;
mod kill;
mod term;
mod words;

use core::future::poll_fn;
use core::pin::Pin;
use core::time::Duration;
use std::ffi::OsString;
use std::io::{self, Write};

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use futures_core::Stream;
use kubelease::{Changes, Elector, Event, Handle, StopReason, Timing};
use rustix::process::{getpid, set_child_subreaper};
use tokio::runtime;
use tokio::time::timeout;

use self::term::TermEnd;
use crate::args::LeaseName;
use crate::connect::ConnectArgs;
use crate::exit::{Failure, LOST, Outcome, RUN_FAILED, USAGE, by_signal};
use crate::signals::{Signals, ends};
use crate::telling;
use crate::timing::TimingArgs;

/// What `kubelease run` is told.
#[derive(Debug, Args)]
#[command(after_long_help = PROMISES)]
pub(crate) struct RunArgs {
    /// The lease.
    #[arg(long, value_name = "[NAMESPACE/]NAME")]
    lease: LeaseName,
    /// The name of this candidate, which no other living process may have; the host name and 128
    /// random bits unless said.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    identity: Option<String>,
    /// What to do when leadership was lost and the command has ended.
    #[arg(long, value_enum, default_value = "retry")]
    on_lost: OnLost,
    /// How long the command may take to end after SIGTERM. After a loss it has less: it is killed
    /// before another may lead.
    #[arg(long, value_parser = humantime::parse_duration, default_value = "10s",
          value_name = "DURATION")]
    grace: Duration,
    /// Say nothing on standard error but why it failed.
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    timing: TimingArgs,
    #[command(flatten)]
    connect: ConnectArgs,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// What to do after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OnLost {
    /// Run for election again, and run the command again in the next term.
    Retry,
    /// Exit with code 124.
    Exit,
}

/// What `kubelease run --help` says about the end of the command.
const PROMISES: &str = "\
The command finds KUBELEASE_FENCE, a number that rises with each term of the lease, \
KUBELEASE_IDENTITY, KUBELEASE_LEASE and KUBELEASE_TERM in its environment, and runs in a process \
group of its own. KUBELEASE_FENCE stays that of the start of the term where the lease is deleted \
and made anew meanwhile, which is said on standard error. KUBELEASE_TOKEN is taken out of the \
environment. HUP, INT, QUIT, TERM, USR1, USR2 and WINCH are passed on to that group; after \
the first four nothing is started any more.

When leadership ends, the command gets SIGTERM, and SIGKILL before the last instant at which work \
of the term may go on: at once where another holder was seen, else half of the time between renew \
deadline and lease duration after the renew deadline. With it goes everything it started, also \
what left its group or session. A second process, kubelease-guard, does the same by itself where \
kubelease is stopped, hangs or dies: it counts on the clock that goes on in suspend, and kills \
the command unless it was told of a renewal. It has its own session, so that what stops the group \
of kubelease does not stop it.

A whole system or container that stands still stops all three. When it goes on, the command may \
run for a moment before it is killed: at most 24 ms in 15 freezes of a busy container, and mostly \
none. What it writes then is only stopped by a store that compares KUBELEASE_FENCE.";

/// How long the end of a term may take to be told, once its command has ended.
const END_PATIENCE: Duration = Duration::from_secs(1);

/// One `run`, from its start to its end.
#[derive(Debug)]
struct Run {
    args: Box<RunArgs>,
    lease: String,
    timing: Timing,
    handle: Handle,
    events: Changes,
    signals: Signals,
    /// The signal that asked for the end.
    stopped_by: Option<i32>,
    /// What was complained of last.
    complaint: Option<String>,
    /// The last term for which a command was started, and the last whose end was told.
    begun: u64,
    told_over: u64,
    /// The last fencing token that was seen.
    token: Option<u64>,
}

/// Runs for election, and runs the command.
pub(crate) fn run(args: Box<RunArgs>) -> Outcome {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    runtime
        .map_err(Failure::from)
        .and_then(|runtime| runtime.block_on(supervise(args)))
        .map_err(|failure| match failure.code {
            USAGE => failure,
            _ => failure.with_code(RUN_FAILED),
        })
}

async fn supervise(args: Box<RunArgs>) -> Outcome {
    // Whatever the guard leaves behind comes to this process.
    set_child_subreaper(Some(getpid()))?;
    let timing = args.timing.timing()?;
    let signals = Signals::new()?;
    let connected = args.connect.connect()?;
    let namespace = connected.namespace(&args.lease)?;
    let mut builder = Elector::builder()
        .connection(connected.connection.clone())
        .namespace(&namespace)
        .name(&args.lease.name)
        .timing(timing)
        // The command of an earlier life may still run: it is waited out.
        .treat_own_as_foreign();
    if let Some(identity) = &args.identity {
        builder = builder.identity(identity);
    }
    let handle = builder
        .start()
        .map_err(|error| Failure::not_started(&error))?;
    let run = Run {
        events: handle.changes(),
        lease: format!("{namespace}/{}", args.lease.name),
        args,
        timing,
        handle,
        signals,
        stopped_by: None,
        complaint: None,
        begun: 0,
        told_over: 0,
        token: None,
    };
    run.live().await
}

impl Run {
    async fn live(mut self) -> Outcome {
        let code = loop {
            if !self.stand_by().await? {
                break by_signal(self.stopped_by.unwrap_or_default());
            }
            let end = match term::lead(&mut self).await {
                Ok(end) => end,
                // Nothing was started.
                Err(failure) => {
                    self.shut_down().await;
                    return Err(failure);
                }
            };
            match end {
                TermEnd::Ended(code) => break code,
                TermEnd::Lost if self.args.on_lost == OnLost::Exit => break LOST,
                TermEnd::Lost => self.hear_the_end().await,
                TermEnd::Unguarded => {
                    self.shut_down().await;
                    return Err(Failure::new("the guard died, and the command was killed"));
                }
                // The lease runs out by itself: it is not released over living work.
                TermEnd::Survived => {
                    return Err(Failure::new(
                        "something that the command started could not be killed",
                    ));
                }
            }
        };
        self.shut_down().await;
        Ok(code)
    }

    /// Waits until the end of the last term is told, which comes first, for a moment at most.
    async fn hear_the_end(&mut self) {
        let told = async {
            while self.told_over < self.begun
                && let Some(event) = next(&mut self.events).await
            {
                self.tell(event);
            }
        };
        // It may have been lost among too many events.
        let _ = timeout(END_PATIENCE, told).await;
    }

    /// Waits for leadership; says whether it came, and not a signal to end.
    async fn stand_by(&mut self) -> Result<bool, Failure> {
        self.say(format_args!(
            "standing by for {} as {}",
            self.lease,
            self.handle.identity()
        ));
        while self.handle.guard().is_none() {
            tokio::select! {
                biased;
                number = self.signals.next() => {
                    if ends(number) {
                        self.stopped_by = Some(number);
                        return Ok(false);
                    }
                }
                event = next(&mut self.events) => match event {
                    Some(event) => self.tell(event),
                    None => return Err(Failure::new("the elector's task died")),
                },
            }
        }
        Ok(true)
    }

    /// Releases the lease, unless another signal says that there is no time.
    async fn shut_down(self) {
        let quiet = self.args.quiet;
        let mut signals = self.signals;
        let finish = tokio::select! {
            finish = self.handle.shutdown() => finish,
            _ = async { while !ends(signals.next().await) {} } => return,
        };
        match finish {
            Ok(finish) => say(
                quiet,
                format_args!("the lease: {}", telling::finish(finish)),
            ),
            Err(error) => say(quiet, format_args!("the lease: {error}")),
        }
    }

    /// Says what an event means, where it is for people.
    fn tell(&mut self, event: Event) {
        match event {
            Event::StoppedLeading { term, reason, .. } => {
                let why = match reason {
                    StopReason::Deadline => "no renewal was acknowledged in time",
                    StopReason::Lost => "another holder, or none, was seen",
                    StopReason::ClockReset => "the clock went back",
                    StopReason::SteppedDown | StopReason::Stopped | _ => "it was given up",
                };
                self.say(format_args!("term {term} is over: {why}"));
                self.told_over = term;
            }
            Event::LeaderChanged => {
                let leader = self.handle.leader();
                let leader = leader.as_deref().unwrap_or("nobody");
                self.say(format_args!("the leader is {leader}"));
            }
            Event::Trouble { kind, verb } => {
                let text = telling::trouble(kind, verb, &self.lease);
                self.say(format_args!("{text}"));
                self.complain("");
            }
            Event::ReconnectAdvised => self.complain(""),
            Event::CredentialsRejected => self.complain(telling::REFUSED_CREDENTIALS),
            Event::IdentityCollision => {
                self.say(format_args!("another process has the same identity"));
            }
            Event::LeaseRecreated => self.tell_of_another_lease(),
            Event::VersionWentBack => self.say(format_args!(
                "the server's store went back: fencing tokens may be lower than earlier ones"
            )),
            Event::StartedLeading { .. }
            | Event::LeaseBeingDeleted
            | Event::NodeNotReady(_)
            | Event::Finished(_)
            | _ => {}
        }
    }

    /// The lease was deleted under the command, and made anew.
    fn tell_of_another_lease(&mut self) {
        let token = self.handle.fence().and_then(|fence| fence.token());
        let number = token.map_or_else(|| "unknown".to_owned(), |token| token.to_string());
        self.say(format_args!(
            "the lease was deleted and made anew: its fence is {number} now, and the command has \
             that of its start"
        ));
        self.compare(token);
    }

    /// Says where fencing tokens have started lower: who compares them lets the past in then.
    fn compare(&mut self, token: Option<u64>) {
        if let (Some(last), Some(token)) = (self.token, token)
            && token <= last
        {
            self.say(format_args!(
                "fencing tokens went back: {token} after {last}; a store that compares them has to \
                 be told"
            ));
        }
        self.token = token.or(self.token);
    }

    /// Says what is wrong with the server, and what may be the cause, once for each reason.
    fn complain(&mut self, cause: &str) {
        let reason = self.handle.last_error();
        if let Some(text) = reason.as_ref().filter(|_| reason != self.complaint) {
            self.say(format_args!("{text}{cause}"));
            self.complaint = reason;
        }
    }

    fn say(&self, text: core::fmt::Arguments<'_>) {
        say(self.args.quiet, text);
    }
}

fn say(quiet: bool, text: core::fmt::Arguments<'_>) {
    if !quiet {
        // Nobody may be there to read it.
        let _ = writeln!(io::stderr(), "kubelease: {text}");
    }
}

/// The next event; `None` once the elector is gone.
async fn next(events: &mut Changes) -> Option<Event> {
    poll_fn(|context| Pin::new(&mut *events).poll_next(context)).await
}
