//! `kubelease heartbeat`: one Lease that says that its holder lives.

mod transport;

use core::fmt;
use core::pin::pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io::{self, Write};

use clap::{Args, ValueEnum};
use kubelease::kubelease_core::drive::{self, Host};
use kubelease::kubelease_core::heartbeat::{Heartbeat, HeartbeatConfig, HeartbeatIdentity, Retire};
use kubelease::kubelease_core::session::{Session, UpdateMode};
use kubelease::kubelease_core::time::{Instant, Now};
use kubelease::kubelease_core::wire::path::LeasePath;
use kubelease::{Clock, Event, Finish, SystemClock};
use tokio::runtime;

use self::transport::ApiTransport;
use crate::args::LeaseName;
use crate::connect::ConnectArgs;
use crate::exit::{FAILED, Failure, Outcome};
use crate::signals::{Signals, ends};

/// The namespace of all Nodes' leases.
const NODE_NAMESPACE: &str = "kube-node-lease";

/// Room for all of a Lease that is not ours: a server takes 256 KiB of annotations.
const KEEP_MAX: usize = 320 * 1024;

/// Room for what a request has besides.
const REQUEST_MAX: usize = KEEP_MAX + 8 * 1024;

/// What `kubelease heartbeat` is told.
#[derive(Debug, Args)]
pub(crate) struct HeartbeatArgs {
    /// Beat for this Node, which holds and owns its lease in `kube-node-lease`.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["lease", "holder"],
          required_unless_present = "lease")]
    node: Option<String>,
    /// Beat this lease, which no Node owns.
    #[arg(long, value_name = "[NAMESPACE/]NAME", requires = "holder")]
    lease: Option<LeaseName>,
    /// Who holds the lease.
    #[arg(long, value_name = "NAME")]
    holder: Option<String>,
    /// How long others may take the holder for alive after a beat; whole seconds.
    #[arg(long, value_parser = humantime::parse_duration, value_name = "DURATION",
          default_value = "40s")]
    lease_duration: Duration,
    /// Time between beats; a quarter of the lease duration unless said.
    #[arg(long, value_parser = humantime::parse_duration, value_name = "DURATION")]
    interval: Option<Duration>,
    /// Beat at once, and not at a random moment of the first interval.
    #[arg(long)]
    at_once: bool,
    /// Never create the lease without its Node, nor beat one that has another owner.
    #[arg(long, requires = "node")]
    owner_required: bool,
    /// Beat the lease also where somebody else holds it.
    #[arg(long)]
    force_owner: bool,
    /// Look at the Node after an outage, and say where it is not ready.
    #[arg(long, requires = "node")]
    watch_node: bool,
    /// What becomes of the lease at the end.
    #[arg(long, value_enum, default_value = "keep")]
    retire: RetireArg,
    /// Say nothing on standard error but why it failed.
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// What becomes of the lease at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RetireArg {
    /// It stays as it is, and runs out.
    Keep,
    /// It is beaten once more, so that it lasts through a short restart.
    FinalBeat,
    /// It is deleted.
    Delete,
}

/// Beats until a signal comes.
pub(crate) fn run(args: &HeartbeatArgs) -> Outcome {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(beat(args))
}

async fn beat(args: &HeartbeatArgs) -> Outcome {
    let signals = Signals::new()?;
    let connected = args.connect.connect()?;
    let (namespace, name) = match (&args.node, &args.lease) {
        (Some(node), _) => (NODE_NAMESPACE.to_owned(), node.as_str()),
        (None, Some(lease)) => (connected.namespace(lease)?, lease.name.as_str()),
        (None, None) => return Err(Failure::new("expected --node or --lease, found neither")),
    };
    let config = config(args);
    let seed = SystemClock::new().now().wall;
    let identity = HeartbeatIdentity {
        node: args.node.as_deref(),
        // Nothing secret is made of it: the processes of a fleet only have to differ.
        seed: seed.map_or(0, |wall| wall.as_unix_micros().unsigned_abs())
            ^ u64::from(std::process::id()).rotate_left(32),
        ..HeartbeatIdentity::new(args.holder.as_deref().unwrap_or(name))
    };
    let clock = BootClock(SystemClock::new());
    let path = LeasePath::new(&namespace, name)
        .map_err(|error| Failure::new(format_args!("namespace or name: {error}")))?;
    let heart = Heartbeat::new(&config, identity, clock.0.now())
        .map_err(|error| Failure::new(format_args!("heartbeat: {error}")))?;
    let (mut keep, mut buffer) = (vec![0; KEEP_MAX], vec![0; REQUEST_MAX]);
    let mode = UpdateMode::Update {
        keep: &mut keep,
        patch_when_too_large: false,
    };
    let mut session = Session::new(heart, path, mode);
    let timeout = config.request_timeout.into();
    let mut transport = ApiTransport::new(connected.connection.clone(), timeout)?;
    let mut host = Beating {
        args,
        signals,
        last_beat: None,
        finish: None,
    };
    let run = drive::run(&mut session, &mut transport, &clock, &mut host, &mut buffer);
    pin!(run).await?;
    let finish = host.finish.unwrap_or(Finish::Unknown);
    host.say(format_args!("the lease: {finish:?}"));
    let is_done = matches!(finish, Finish::Kept | Finish::Deleted | Finish::NotHolder);
    Ok(if is_done { 0 } else { FAILED })
}

fn config(args: &HeartbeatArgs) -> HeartbeatConfig {
    let base = HeartbeatConfig::new(args.lease_duration.into());
    let interval = args.interval.map_or(base.interval, Into::into);
    HeartbeatConfig {
        interval,
        request_timeout: base.request_timeout.min(interval),
        retire_budget: interval,
        spread_first_beat: !args.at_once,
        owner_required: args.owner_required,
        force_owner: args.force_owner,
        watch_node: args.watch_node,
        ..base
    }
}

/// The system's clock, as the core's loop takes it.
#[derive(Debug)]
struct BootClock(SystemClock);

impl drive::Clock for BootClock {
    fn now(&self) -> Now {
        self.0.now()
    }

    async fn sleep_until(&self, at: Instant) {
        self.0.sleep_until(at).await;
    }
}

/// Stands between the heart and the terminal.
#[derive(Debug)]
struct Beating<'a> {
    args: &'a HeartbeatArgs,
    signals: Signals,
    last_beat: Option<Instant>,
    finish: Option<Finish>,
}

impl Beating<'_> {
    fn say(&self, text: fmt::Arguments<'_>) {
        if !self.args.quiet {
            // Nobody may be there to read it.
            let _ = writeln!(io::stderr(), "kubelease: {text}");
        }
    }
}

/// A heart with everything borrowed.
type Heart<'h> = Heartbeat<&'h HeartbeatConfig, &'h str>;

impl<'h> Host<Heart<'h>> for Beating<'_> {
    fn poll_call(
        &mut self,
        context: &mut Context<'_>,
        heart: &mut Heart<'h>,
        now: Now,
    ) -> Poll<()> {
        loop {
            let Poll::Ready(number) = self.signals.poll_next(context) else {
                return Poll::Pending;
            };
            if ends(number) {
                heart.retire(
                    now,
                    match self.args.retire {
                        RetireArg::Keep => Retire::Keep,
                        RetireArg::FinalBeat => Retire::FinalBeat,
                        RetireArg::Delete => Retire::Delete,
                    },
                );
                return Poll::Ready(());
            }
        }
    }

    fn event(&mut self, _heart: &Heart<'h>, event: Event) {
        match event {
            Event::Finished(finish) => self.finish = Some(finish),
            Event::NodeNotReady(readiness) => {
                self.say(format_args!("the Node is not ready: {readiness:?}"));
            }
            Event::Trouble { kind, verb } => {
                let verb = verb.as_str();
                self.say(format_args!("trouble with `{verb}`: {kind:?}"));
            }
            Event::LeaderChanged => self.say(format_args!("somebody else holds the lease")),
            Event::LeaseBeingDeleted => self.say(format_args!("the lease is being deleted")),
            Event::CredentialsRejected => self.say(format_args!("the credentials are refused")),
            Event::ReconnectAdvised => self.say(format_args!("the server does not answer")),
            Event::StartedLeading { .. }
            | Event::StoppedLeading { .. }
            | Event::LeaseRecreated
            | Event::IdentityCollision
            | Event::VersionWentBack
            | _ => {}
        }
    }

    fn settled(&mut self, heart: &Heart<'h>, _now: Now) {
        let last_beat = heart.last_beat();
        if last_beat.is_some() && self.last_beat.is_none() {
            self.say(format_args!("the lease is beaten"));
        }
        self.last_beat = last_beat;
    }
}
