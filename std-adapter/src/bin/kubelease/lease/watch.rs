//! `kubelease watch`: what happens to a Lease, as it is seen.

mod state;
mod stream;

use core::time::Duration;
use std::io::{self, Write};

use clap::Args;
use kubelease::{Clock, SystemClock};
use tokio::time::{sleep, timeout};

use self::state::State;
use self::stream::{Change, ChangeStream};
use super::api::{LeaseApi, Trouble};
use super::block_on;
use crate::args::{Format, LeaseName, OutputArgs, more_than_nothing};
use crate::connect::ConnectArgs;
use crate::exit::{Failure, Outcome, print};

/// Which Lease, and how to look at it.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// The lease.
    #[arg(value_name = "[NAMESPACE/]NAME")]
    lease: LeaseName,
    /// Read the lease every `--interval` instead of watching it. It needs the right `get` alone,
    /// and no connection that stays. Without the rights `list` and `watch` it is done unasked.
    #[arg(long)]
    poll: bool,
    /// Time between two looks where the lease is not watched.
    #[arg(long, value_parser = humantime::parse_duration, value_name = "DURATION",
          default_value = "500ms")]
    interval: Duration,
    /// Read the lease anew where the watch was silent for so long. Servers send a bookmark about
    /// once a minute.
    #[arg(long, value_parser = humantime::parse_duration, value_name = "DURATION",
          default_value = "90s")]
    silence: Duration,
    /// Print renewals, too.
    #[arg(long)]
    renewals: bool,
    /// End after so long; with a signal unless said.
    #[arg(long = "for", value_parser = humantime::parse_duration, value_name = "DURATION")]
    length: Option<Duration>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// After this long a server ends a watch, and the next one goes on from there.
const WATCH_LENGTH: Duration = Duration::from_secs(300);

/// Waits before another try, the first and the longest; each is twice the one before.
const WAIT_MIN: Duration = Duration::from_millis(100);
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Prints a line for each change, the first for what there is.
pub(crate) fn run(args: &WatchArgs) -> Outcome {
    block_on(watch(args))
}

async fn watch(args: &WatchArgs) -> Outcome {
    // Without a pause it would do nothing but ask.
    more_than_nothing("--interval", args.interval)?;
    more_than_nothing("--silence", args.silence)?;
    let connected = args.connect.connect()?;
    let mut watcher = Watcher {
        namespace: connected.namespace(&args.lease)?,
        api: LeaseApi::new(&connected)?,
        args,
        wait: WAIT_MIN,
        last: None,
        is_answered: false,
        complaint: String::new(),
    };
    match args.length {
        None => watcher.look().await?,
        Some(length) => timeout(length, watcher.look()).await.unwrap_or(Ok(()))?,
    }
    match watcher.last {
        _ if watcher.is_answered => Ok(0),
        Some(State::Unknown(reason)) => Err(Failure::new(reason)),
        Some(State::Missing | State::There { .. }) | None => {
            Err(Failure::new("expected an answer meanwhile, found none"))
        }
    }
}

#[derive(Debug)]
struct Watcher<'a> {
    args: &'a WatchArgs,
    api: LeaseApi,
    namespace: String,
    /// Before the next try.
    wait: Duration,
    /// What was seen last, and told where it was news.
    last: Option<State>,
    /// Whether there was ever an answer that says what there is.
    is_answered: bool,
    /// What was complained of last.
    complaint: String,
}

impl Watcher<'_> {
    /// Looks for as long as somebody reads what is printed.
    async fn look(&mut self) -> Result<(), Failure> {
        if !self.args.poll {
            let interval = humantime::format_duration(self.args.interval);
            let failure = self.list_and_watch().await?;
            let reason = failure.reason;
            self.complain(format!(
                "{reason}; the lease is read every {interval} instead"
            ))?;
        }
        loop {
            let seen = match self.api.get(&self.namespace, &self.args.lease.name).await {
                Ok(lease) => State::of(lease),
                Err(failure) => State::Unknown(failure.reason),
            };
            self.show(seen)?;
            sleep(self.args.interval).await;
        }
    }

    /// Lists the lease and watches it from there, and again where something goes wrong, until the
    /// server says that this is forbidden: that is the answer.
    async fn list_and_watch(&mut self) -> Result<Failure, Failure> {
        loop {
            let name = &self.args.lease.name;
            match self.api.list_one(&self.namespace, name).await {
                Ok(listed) => {
                    self.show(State::of(listed.lease))?;
                    match self.follow(listed.version).await {
                        Ok(()) | Err(Trouble::Expired) => {}
                        Err(Trouble::Forbidden(failure)) => return Ok(failure),
                        Err(Trouble::Other(failure)) => self.complain(failure.reason)?,
                    }
                }
                Err(Trouble::Expired) => {}
                Err(Trouble::Forbidden(failure)) => return Ok(failure),
                Err(Trouble::Other(failure)) => self.show(State::Unknown(failure.reason))?,
            }
            self.pause().await;
        }
    }

    /// Watches from `version` until a watch is silent for too long, which may be a dead one.
    async fn follow(&mut self, mut version: String) -> Result<(), Trouble> {
        loop {
            let name = &self.args.lease.name;
            let watch = self
                .api
                .watch_one(&self.namespace, name, &version, WATCH_LENGTH);
            let mut changes = ChangeStream::new(watch.await?);
            loop {
                let Ok(change) = timeout(self.args.silence, changes.next()).await else {
                    return Ok(());
                };
                let Some(change) = change? else {
                    break;
                };
                change.version().clone_into(&mut version);
                self.wait = WAIT_MIN;
                match change {
                    Change::Bookmark(_) => {}
                    Change::There(lease) => self.show(State::of(Some(lease)))?,
                    Change::Gone(_) => self.show(State::Missing)?,
                }
            }
            // The server ends each watch at some time, and this one quietly.
            self.pause().await;
        }
    }

    async fn pause(&mut self) {
        sleep(self.wait).await;
        self.wait = WAIT_MAX.min(self.wait.saturating_mul(2));
    }

    /// Prints what was seen, where it is news.
    fn show(&mut self, seen: State) -> Result<(), Failure> {
        self.is_answered |= !matches!(seen, State::Unknown(_));
        let last = self.last.as_ref();
        if last != Some(&seen) {
            if self.args.renewals || last.is_none_or(|last| seen.differs(last)) {
                show(&seen, self.args.output.output)?;
            }
            self.last = Some(seen);
        }
        Ok(())
    }

    /// Says what is wrong with the watch, once for each reason.
    fn complain(&mut self, reason: String) -> Result<(), Failure> {
        if reason != self.complaint {
            writeln!(io::stderr(), "kubelease: {reason}")?;
            self.complaint = reason;
        }
        Ok(())
    }
}

fn show(state: &State, format: Format) -> Result<(), Failure> {
    let now = SystemClock::new().now().wall.map(|wall| wall.to_text());
    let now = now.as_ref().map_or("-", |text| text.as_str());
    let line = match format {
        Format::Table => format!("{now}  {}", state.words()),
        Format::Json => state.members(now).to_string(),
    };
    print(format!("{line}\n"))
}
