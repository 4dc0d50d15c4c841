//! [`Fleet`]: one process that vouches for many.

mod board;
mod builder;
mod counters;
mod pace;
mod shared;

use core::fmt;
use core::sync::atomic::Ordering;
use core::time::Duration;
use std::sync::Arc;

use kubelease_core::drive::Clock as _;
use kubelease_core::heartbeat::{HeartbeatError, HeartbeatIdentity, Retire};
use kubelease_core::protocol::Event;
use kubelease_core::wire::path::{LeasePath, PathError};
use tokio::task::JoinSet;

use self::shared::Shared;
use crate::changes::Changes;
use crate::identity::random_seed;

pub use self::builder::FleetBuilder;
pub use self::counters::Counters;

/// Beats any number of leases from one process, such as those of the leaf devices that a gateway
/// vouches for.
///
/// Each lease has its own schedule, from the moment it is added. What is due is served in the
/// order in which it became due, by a bounded number of requests at a time over as many
/// connections, and never faster than 1.4 times the pace of the schedule: so a server that was away
/// for a minute is not met by a storm, and leases whose requests hang hold up no others. One lease
/// takes well below a kilobyte.
///
/// ```no_run
/// use core::time::Duration;
/// use kubelease::{Connection, Fleet, FleetLease, HeartbeatConfig, Retire};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let fleet = Fleet::builder()
///     .connection(Connection::in_cluster()?)
///     .namespace("devices")
///     .config(HeartbeatConfig { liveness_ttl: None, ..HeartbeatConfig::NODE })
///     .start()?;
/// let pump = fleet.add(FleetLease::new("pump-7").holder("gateway-1"))?;
/// // It reports no more: its lease runs out.
/// fleet.remove("pump-7", pump, Retire::Keep);
/// let end = fleet.shutdown(Retire::FinalBeat, Duration::from_secs(10)).await;
/// assert_eq!(end.left, 0);
/// # Ok(())
/// # }
/// ```
///
/// Dropping it ends all requests and leaves the leases to run out.
#[derive(Debug)]
pub struct Fleet {
    shared: Arc<Shared>,
    workers: JoinSet<()>,
}

/// A lease to be beaten.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "nothing is beaten before `Fleet::add`"]
pub struct FleetLease {
    name: String,
    holder: Option<String>,
    node: Option<String>,
    node_uid: Option<String>,
}

impl FleetLease {
    /// The lease `name`, held by that name unless said otherwise.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            holder: None,
            node: None,
            node_uid: None,
        }
    }

    /// Who holds it: `holderIdentity`.
    pub fn holder(mut self, holder: impl Into<String>) -> Self {
        self.holder = Some(holder.into());
        self
    }

    /// The Node that owns it.
    pub fn node(mut self, node: impl Into<String>) -> Self {
        self.node = Some(node.into());
        self
    }

    /// The uid of that Node, where it is known; it is read from the server otherwise.
    pub fn node_uid(mut self, uid: impl Into<String>) -> Self {
        self.node_uid = Some(uid.into());
        self
    }
}

/// An event of one lease of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FleetEvent {
    /// The name of the lease.
    pub name: Arc<str>,
    /// Which of the leases of that name, from [`Fleet::add`].
    pub generation: u64,
    /// What happened.
    pub event: Event,
}

/// How a fleet ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FleetEnd {
    /// Leases whose end was not done in time; they run out.
    pub left: usize,
}

/// Why a lease was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddError {
    /// There is a lease of that name.
    Exists,
    /// The name is none of a lease.
    Path(PathError),
    /// The holder, the Node or its uid is wrong.
    Heartbeat(HeartbeatError),
    /// The operating system gives no random bytes for the jitter.
    NoRandomness,
}

impl fmt::Display for AddError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists => f.write_str("expected the name of a new lease, found one in the fleet"),
            Self::Path(error) => write!(f, "{error}"),
            Self::Heartbeat(error) => write!(f, "{error}"),
            Self::NoRandomness => {
                f.write_str("expected random bytes from the operating system, found none")
            }
        }
    }
}

impl core::error::Error for AddError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Path(error) => Some(error),
            Self::Heartbeat(error) => Some(error),
            Self::Exists | Self::NoRandomness => None,
        }
    }
}

impl Fleet {
    /// The settings of a new fleet.
    pub fn builder() -> FleetBuilder {
        FleetBuilder::default()
    }

    /// Adds a lease; its generation tells it from others of the same name, before and after.
    ///
    /// # Errors
    /// [`AddError`] says what is wrong with it; nothing was added then.
    pub fn add(&self, lease: FleetLease) -> Result<u64, AddError> {
        LeasePath::new(&self.shared.namespace, &lease.name).map_err(AddError::Path)?;
        let name: Arc<str> = lease.name.into();
        let shared_or_new = |text: String| {
            if *text == *name {
                Arc::clone(&name)
            } else {
                Arc::from(text)
            }
        };
        let identity = HeartbeatIdentity {
            holder: lease
                .holder
                .map_or_else(|| Arc::clone(&name), shared_or_new),
            node: lease.node.map(shared_or_new),
            node_uid: lease.node_uid.map(Arc::from),
            seed: random_seed().map_err(|_| AddError::NoRandomness)?,
        };
        let now = self.shared.clock.now();
        let added = self
            .shared
            .with_board(|board| board.add(name, identity, now));
        added.map_err(|error| error.map_or(AddError::Exists, AddError::Heartbeat))
    }

    /// Ends a lease, as `how` says, in the background; whether there was one of that name and
    /// generation. The name is free at once.
    pub fn remove(&self, name: &str, generation: u64, how: Retire) -> bool {
        let now = self.shared.clock.now();
        self.shared
            .with_board(|board| board.remove(name, generation, how, now))
    }

    /// Says that the host of a lease is alive, where the config has a `liveness_ttl`; whether there
    /// is one of that name and generation.
    pub fn alive(&self, name: &str, generation: u64) -> bool {
        let now = self.shared.clock.now();
        self.shared
            .with_board(|board| board.alive(name, generation, now))
    }

    /// How long ago the lease was last beaten: from when that write was handed out. `None` where it
    /// never was, and where there is none of that name and generation.
    #[must_use]
    pub fn age(&self, name: &str, generation: u64) -> Option<Duration> {
        let now = self.shared.clock.now().instant;
        let beaten = self
            .shared
            .with_board(|board| board.last_beat(name, generation))?;
        Some(now.saturating_since(beaten).into())
    }

    /// What it did so far, and how it stands. It looks at each lease once.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let now = self.shared.clock.now().instant;
        let in_flight = self.shared.in_flight.load(Ordering::Relaxed);
        self.shared.with_board(|board| Counters {
            requests: self.shared.traffic.requests_sent(),
            leases: board.leases(),
            in_flight,
            oldest_age: board
                .oldest()
                .map_or(Duration::ZERO, |oldest| now.saturating_since(oldest).into()),
            ..board.counters
        })
    }

    /// The events of all leases from now on. A listener that falls behind loses the oldest, and
    /// holds up nothing.
    #[must_use]
    pub fn changes(&self) -> Changes<FleetEvent> {
        Changes::new(None, Some(self.shared.events.subscribe()))
    }

    /// What was wrong with the last answer to any of its requests, or why there was none, in words
    /// for people; `None` where it was an ordinary one.
    #[must_use]
    pub fn last_error(&self) -> Option<String> {
        self.shared.traffic.last_error()
    }

    /// Ends all leases, as `how` says, at the pace at which a fleet catches up, for as long as
    /// `within`.
    pub async fn shutdown(mut self, how: Retire, within: Duration) -> FleetEnd {
        let now = self.shared.clock.now();
        self.shared.with_board(|board| board.end(how, now));
        let all = async { while self.workers.join_next().await.is_some() {} };
        // What has not ended by then is counted.
        let _ = tokio::time::timeout(within, all).await;
        let left = self.shared.with_board(|board| board.leases());
        FleetEnd { left }
    }
}
