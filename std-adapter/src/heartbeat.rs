//! [`Heartbeat`] and [`NodeHeartbeat`]: one lease that says that its holder lives.

mod builder;
mod handle;
mod keeper;
mod shared;
mod task;

use std::sync::Arc;

use kubelease_core::heartbeat::{self, HeartbeatConfig};

pub use self::builder::HeartbeatBuilder;
pub use self::handle::HeartbeatHandle;

/// The machine behind it all, which owns what it is told.
type Heart = heartbeat::Heartbeat<HeartbeatConfig, Arc<str>>;

/// Beats one lease, as kubelet does that of its node.
///
/// ```no_run
/// use kubelease::{Connection, Heartbeat, Retire};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let heart = Heartbeat::builder()
///     .connection(Connection::in_cluster()?)
///     .namespace("devices")
///     .name("pump-7")
///     .holder("gateway-1")
///     .start()?;
/// println!("beats: {:?}, the last {:?} ago", heart.health(), heart.age());
/// heart.retire(Retire::Keep).await?;
/// # Ok(())
/// # }
/// ```
///
/// There is no election: who holds the lease beats it, and nobody takes it over while it beats.
/// [`Fleet`](crate::Fleet) beats thousands of leases in one process.
#[derive(Debug)]
#[non_exhaustive]
pub struct Heartbeat;

impl Heartbeat {
    /// The settings of a new heartbeat.
    pub fn builder() -> HeartbeatBuilder {
        HeartbeatBuilder::default()
    }
}

/// The heartbeat of a Node whose agent is no kubelet, by kubelet's names and durations.
///
/// ```no_run
/// use kubelease::{Connection, NodeHeartbeat, Retire};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let heart = NodeHeartbeat::builder("gateway-7")
///     .connection(Connection::infer()?)
///     .register()
///     .keep_ready()
///     .start()?;
/// heart.retire(Retire::Keep).await?;
/// # Ok(())
/// # }
/// ```
///
/// A Node that was made by [`register`](HeartbeatBuilder::register) has room for no pod: it says
/// nothing of its capacity.
#[derive(Debug)]
#[non_exhaustive]
pub struct NodeHeartbeat;

impl NodeHeartbeat {
    /// The namespace of all Nodes' leases.
    pub const NAMESPACE: &'static str = "kube-node-lease";

    /// 40 s and 10 s as kubelet has them, beaten at once, and never without the Node as owner.
    pub const CONFIG: HeartbeatConfig = HeartbeatConfig {
        spread_first_beat: false,
        owner_required: true,
        ..HeartbeatConfig::NODE
    };

    /// The settings of the heartbeat of the Node `name`, which holds and owns the lease of its
    /// name.
    pub fn builder(name: impl Into<String>) -> HeartbeatBuilder {
        let name = name.into();
        Heartbeat::builder()
            .namespace(Self::NAMESPACE)
            .name(name.clone())
            .node(name)
            .config(Self::CONFIG)
    }
}
