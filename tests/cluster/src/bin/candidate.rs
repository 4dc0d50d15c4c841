//! A candidate of ours, with the flags and the log of client-go's in `go/elector`.
//!
//! It logs from the side of the user's work: a thread of its own asks the guard each 10 ms.
#![forbid(unsafe_code)]

use core::error::Error;
use core::time::Duration;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use clap::Parser;
use clap::builder::TypedValueParser as _;
use kubelease::{Builder, Create, Elector, Event, Guard, Timing};
use kubelease_cluster::log::Log;
use tokio::signal::unix::{SignalKind, signal};
use tokio_stream::StreamExt as _;

/// How often a believer says so.
const TICK: Duration = Duration::from_millis(10);

#[derive(Debug, Parser)]
struct Flags {
    /// The API server's URL.
    #[arg(long)]
    server: String,
    /// A file with the authority of its certificate.
    #[arg(long)]
    ca: Option<PathBuf>,
    /// A bearer token.
    #[arg(long)]
    token: Option<String>,
    /// NAMESPACE/NAME.
    #[arg(long)]
    lease: String,
    /// The name of this candidate.
    #[arg(long)]
    identity: String,
    #[arg(long, default_value = "15s", value_parser = duration())]
    lease_duration: Duration,
    #[arg(long, default_value = "10s", value_parser = duration())]
    renew_deadline: Duration,
    #[arg(long, default_value = "2s", value_parser = duration())]
    retry_period: Duration,
    /// Half the time between retry period and deadline, unless said.
    #[arg(long, value_parser = duration())]
    request_timeout: Option<Duration>,
    /// How a held lease is written: put or patch.
    #[arg(long, default_value = "put", value_parser = ["put", "patch"])]
    update: String,
    /// Watch the lease while not leading, instead of reading it each retry period.
    #[arg(long)]
    watch: bool,
    /// How a lease is made: post, put (to its URL) or never.
    #[arg(long, default_value = "post", value_parser = ["post", "put", "never"])]
    create: String,
    /// The file to append to.
    #[arg(long, default_value = "/dev/stdout")]
    log: PathBuf,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let flags = Flags::parse();
    let log = Arc::new(Log::open(&flags.log)?);
    log.line(&format!("start {}", flags.identity));
    let mut terminated = signal(SignalKind::terminate())?;
    let handle = elector(&flags)?.start()?;
    let mut changes = handle.changes();
    let term = Term::default();
    believe(Arc::clone(&log), term.clone());
    loop {
        let event = tokio::select! {
            Some(event) = changes.next() => event,
            _ = terminated.recv() => break,
        };
        if let Event::StartedLeading { .. } = event {
            term.set(handle.guard());
        }
        tell(&log, &event, handle.leader());
    }
    let finish = handle.shutdown().await?;
    while let Some(event) = changes.next().await {
        tell(&log, &event, None);
    }
    log.line(&format!("end {finish:?}"));
    Ok(())
}

fn elector(flags: &Flags) -> Result<Builder, Box<dyn Error>> {
    let (namespace, name) = flags
        .lease
        .split_once('/')
        .ok_or("expected --lease NAMESPACE/NAME")?;
    let mut timing = Timing::new(
        core_duration(flags.lease_duration)?,
        core_duration(flags.renew_deadline)?,
        core_duration(flags.retry_period)?,
    );
    if let Some(timeout) = flags.request_timeout {
        timing.request_timeout = core_duration(timeout)?;
    }
    let create = match flags.create.as_str() {
        "put" => Create::Put,
        "never" => Create::Never,
        _ => Create::Post,
    };
    let mut builder = Elector::builder()
        .server(&flags.server)
        .namespace(namespace)
        .name(name)
        .identity(&flags.identity)
        .timing(timing)
        .create(create);
    if let Some(ca) = &flags.ca {
        builder = builder.ca_pem(fs::read(ca)?);
    }
    if let Some(token) = &flags.token {
        builder = builder.bearer_token(token);
    }
    if flags.watch {
        builder = builder.watch();
    }
    if flags.update == "patch" {
        builder = builder.patch_mode();
    }
    Ok(builder)
}

fn core_duration(
    duration: Duration,
) -> Result<kubelease::kubelease_core::time::Duration, Box<dyn Error>> {
    let millis = u64::try_from(duration.as_millis())?;
    Ok(kubelease::kubelease_core::time::Duration::from_millis(
        millis,
    ))
}

fn tell(log: &Log, event: &Event, leader: Option<String>) {
    if let Event::StartedLeading { .. } = event {
        log.line("started");
    } else if let Event::StoppedLeading { reason, .. } = event {
        log.line(&format!("stopped {reason:?}"));
    } else if *event == Event::LeaderChanged {
        log.line(&format!("leader {}", leader.unwrap_or_default()));
    } else {
        log.line(&format!("event {event:?}"));
    }
}

/// The guard of the newest term.
#[derive(Clone, Debug, Default)]
struct Term(Arc<Mutex<Option<Guard>>>);

impl Term {
    fn set(&self, guard: Option<Guard>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = guard;
    }

    fn is_valid(&self) -> bool {
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        guard.as_ref().is_some_and(Guard::is_valid)
    }
}

/// What work under the guard would do: it asks, and then does its step at the time that is written.
fn believe(log: Arc<Log>, term: Term) {
    thread::spawn(move || {
        loop {
            if term.is_valid() {
                log.line("leads");
            }
            thread::sleep(TICK);
        }
    });
}

/// `15s` or `500ms`, as Go reads them.
fn duration() -> impl clap::builder::TypedValueParser<Value = Duration> {
    clap::builder::NonEmptyStringValueParser::new().try_map(|text| {
        let (number, unit) = match text.strip_suffix("ms") {
            Some(number) => (number, 1),
            None => (
                text.strip_suffix('s').ok_or("expected a unit, s or ms")?,
                1_000,
            ),
        };
        let number: u64 = number.parse().map_err(|_| "expected a whole number")?;
        Ok::<_, &str>(Duration::from_millis(number.saturating_mul(unit)))
    })
}
