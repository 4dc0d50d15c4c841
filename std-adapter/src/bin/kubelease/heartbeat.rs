//! `kubelease heartbeat`: one Lease that says that its holder lives.

use core::fmt;
use core::future::poll_fn;
use core::pin::{Pin, pin};
use core::task::{Context, Poll};
use core::time::Duration;
use std::io::{self, Write};

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use kubelease::kubelease_core::lease::Readiness;
use kubelease::{
    Changes, Event, Finish, Heartbeat, HeartbeatBuilder, HeartbeatConfig, HeartbeatHandle, Instant,
    NodeHeartbeat, Retire,
};
use tokio::runtime;
use tokio::time::{Interval, interval};
use tokio_stream::Stream as _;

use crate::args::LeaseName;
use crate::connect::ConnectArgs;
use crate::exit::{FAILED, Failure, Outcome};
use crate::signals::{Signals, ends};
use crate::telling;

/// Between two looks whether it beats again, while something is wrong.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// What `kubelease heartbeat` is told.
#[derive(Debug, Args)]
pub(crate) struct HeartbeatArgs {
    /// Beat for this Node, which holds and owns its lease in `kube-node-lease`.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(),
          conflicts_with_all = ["lease", "holder"],
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
    #[arg(long)]
    owner_required: bool,
    /// Beat the lease also where somebody else holds it.
    #[arg(long)]
    force_owner: bool,
    /// Look at the Node after an outage, and say where it is not ready.
    #[arg(long)]
    watch_node: bool,
    /// Create the Node where it is missing.
    #[arg(long)]
    register: bool,
    /// Post that the Node is ready, after the first beat and after an outage.
    #[arg(long)]
    keep_ready: bool,
    /// Create the lease by PUT to its own URL, which a Role with `resourceNames` can grant.
    #[arg(long)]
    create_with_put: bool,
    /// Beat by merge patch instead of PUT: it needs the right `patch` in place of `update`.
    #[arg(long)]
    patch: bool,
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

impl HeartbeatArgs {
    /// What is about a Node needs one. With `--lease`, clap leaves that to this.
    fn check(&self) -> Result<(), Failure> {
        let flags = [
            (self.owner_required, "--owner-required"),
            (self.watch_node, "--watch-node"),
            (self.register, "--register"),
            (self.keep_ready, "--keep-ready"),
        ];
        let given = flags.into_iter().find(|(is_given, _)| *is_given);
        match given {
            Some((_, flag)) if self.node.is_none() => {
                Err(Failure::usage(format_args!("{flag} needs --node")))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Beats until a signal comes.
pub(crate) fn run(args: &HeartbeatArgs) -> Outcome {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(beat(args))
}

async fn beat(args: &HeartbeatArgs) -> Outcome {
    args.check()?;
    let signals = Signals::new()?;
    let connected = args.connect.connect()?;
    let (lease, builder) = match (&args.node, &args.lease) {
        (Some(node), _) => (
            format!("{}/{node}", NodeHeartbeat::NAMESPACE),
            NodeHeartbeat::builder(node.as_str()),
        ),
        (None, Some(lease)) => {
            let namespace = connected.namespace(lease)?;
            let builder = Heartbeat::builder()
                .namespace(&namespace)
                .name(&lease.name)
                .holder(args.holder.as_deref().unwrap_or(&lease.name));
            (format!("{namespace}/{}", lease.name), builder)
        }
        (None, None) => return Err(Failure::new("expected --node or --lease, found neither")),
    };
    let builder = builder
        .connection(connected.connection.clone())
        .config(config(args));
    let handle = with_ways(builder, args)
        .start()
        .map_err(|error| Failure::not_started(&error))?;
    let mut beating = Beating {
        args,
        signals,
        changes: handle.changes(),
        lease,
        last_said: None,
        not_ready: None,
        troubled: None,
        ticks: interval(LOOK_EVERY),
    };
    beating.watch(&handle).await;
    let finish = handle.retire(args.retire.into()).await?;
    beating.say(format_args!("the lease: {}", telling::finish(finish)));
    let is_done = matches!(finish, Finish::Kept | Finish::Deleted | Finish::NotHolder);
    Ok(if is_done { 0 } else { FAILED })
}

fn with_ways(mut builder: HeartbeatBuilder, args: &HeartbeatArgs) -> HeartbeatBuilder {
    if args.register {
        builder = builder.register();
    }
    if args.keep_ready {
        builder = builder.keep_ready();
    }
    if args.patch {
        builder = builder.patch_mode();
    }
    builder
}

fn config(args: &HeartbeatArgs) -> HeartbeatConfig {
    let base = HeartbeatConfig::new(args.lease_duration.into());
    let interval = args.interval.map_or(base.interval, Into::into);
    HeartbeatConfig {
        interval,
        request_timeout: base.request_timeout.min(interval),
        retire_budget: interval,
        spread_first_beat: !args.at_once,
        create_with_put: args.create_with_put,
        owner_required: args.owner_required,
        force_owner: args.force_owner,
        watch_node: args.watch_node,
        ..base
    }
}

impl From<RetireArg> for Retire {
    fn from(how: RetireArg) -> Self {
        match how {
            RetireArg::Keep => Self::Keep,
            RetireArg::FinalBeat => Self::FinalBeat,
            RetireArg::Delete => Self::Delete,
        }
    }
}

/// Stands between the heart and the terminal.
#[derive(Debug)]
struct Beating<'a> {
    args: &'a HeartbeatArgs,
    signals: Signals,
    changes: Changes,
    /// Its namespace and name.
    lease: String,
    /// What went wrong last, as it was said.
    last_said: Option<String>,
    /// How the Node was not ready, as it was said last.
    not_ready: Option<Readiness>,
    /// The last beat before something went wrong, until there is another.
    troubled: Option<Option<Instant>>,
    /// When to look for that.
    ticks: Interval,
}

impl Beating<'_> {
    /// Says what happens, until a signal comes that ends it, or it has ended.
    async fn watch(&mut self, handle: &HeartbeatHandle) {
        let mut beaten = pin!(handle.beaten());
        let mut is_answered = false;
        poll_fn(|context| {
            if !is_answered && let Poll::Ready(has_beaten) = beaten.as_mut().poll(context) {
                is_answered = true;
                if has_beaten {
                    self.troubled = None;
                    self.say(format_args!("the lease is beaten"));
                }
            }
            self.poll(context, handle)
        })
        .await;
    }

    fn poll(&mut self, context: &mut Context<'_>, handle: &HeartbeatHandle) -> Poll<()> {
        while let Poll::Ready(event) = Pin::new(&mut self.changes).poll_next(context) {
            let Some(event) = event else {
                return Poll::Ready(());
            };
            self.tell(event, handle.last_beat());
            let cause = if event == Event::CredentialsRejected {
                telling::REFUSED_CREDENTIALS
            } else {
                ""
            };
            self.explain(handle.last_error(), cause);
        }
        while self.troubled.is_some() && self.ticks.poll_tick(context).is_ready() {
            self.look(handle.last_beat());
        }
        while let Poll::Ready(number) = self.signals.poll_next(context) {
            if ends(number) {
                return Poll::Ready(());
            }
        }
        Poll::Pending
    }

    /// Says that the trouble is over, where it is.
    fn look(&mut self, last_beat: Option<Instant>) {
        if self.troubled.is_some_and(|before| last_beat > before) {
            self.troubled = None;
            self.not_ready = None;
            self.say(format_args!("the lease is beaten again"));
        }
    }

    /// Says what was wrong, where it is something else than before, and what may be the cause.
    fn explain(&mut self, error: Option<String>, cause: &str) {
        if let Some(error) = &error
            && self.last_said.as_ref() != Some(error)
        {
            self.say(format_args!("{error}{cause}"));
        }
        self.last_said = error;
    }

    fn tell(&mut self, event: Event, last_beat: Option<Instant>) {
        if matches!(
            event,
            Event::Trouble { .. } | Event::CredentialsRejected | Event::ReconnectAdvised
        ) {
            self.troubled.get_or_insert(last_beat);
        }
        match event {
            Event::NodeNotReady(readiness) => {
                if self.not_ready.replace(readiness) != Some(readiness) {
                    let why = telling::not_ready(readiness);
                    let then = if self.args.keep_ready {
                        "; it is posted as ready"
                    } else {
                        ""
                    };
                    self.say(format_args!("the Node is not ready: {why}{then}"));
                }
            }
            Event::Trouble { kind, verb } => {
                let text = telling::trouble(kind, verb, &self.lease);
                self.say(format_args!("{text}"));
            }
            Event::LeaderChanged => self.say(format_args!("somebody else holds the lease")),
            Event::LeaseBeingDeleted => self.say(format_args!("the lease is being deleted")),
            Event::ReconnectAdvised => self.say(format_args!("the server does not answer")),
            Event::LeaseRecreated => {
                self.say(format_args!("the lease was deleted, and is made anew"));
            }
            Event::VersionWentBack => self.say(format_args!("the server's store went back")),
            Event::StartedLeading { .. }
            | Event::StoppedLeading { .. }
            | Event::CredentialsRejected
            | Event::IdentityCollision
            | Event::Finished(_)
            | _ => {}
        }
    }

    fn say(&self, text: fmt::Arguments<'_>) {
        if !self.args.quiet {
            // Nobody may be there to read it.
            let _ = writeln!(io::stderr(), "kubelease: {text}");
        }
    }
}
