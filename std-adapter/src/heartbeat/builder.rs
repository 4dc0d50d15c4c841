//! [`HeartbeatBuilder`]: from settings to a beating heart.

use std::sync::Arc;

use kubelease_core::heartbeat::{HeartbeatConfig, HeartbeatIdentity};
use kubelease_core::wire::path::LeasePath;
use tokio::runtime;
use tokio::sync::mpsc::{self, UnboundedSender};

use super::Heart;
use super::handle::HeartbeatHandle;
use super::keeper::{Duties, Keeper};
use super::shared::Shared;
use super::task::{Call, Publisher, Task};
use crate::client::ApiClient;
use crate::clock::{self, Clock, SharedClock};
use crate::connection::Connection;
use crate::error::StartError;
use crate::http::{HttpTransport, Traffic};
use crate::identity::random_seed;
use crate::line::Line;
use crate::shared_line::SharedLine;

/// The settings of a heartbeat, from [`Heartbeat::builder`](super::Heartbeat::builder) or
/// [`NodeHeartbeat::builder`](super::NodeHeartbeat::builder). Everything is checked by
/// [`start`](Self::start).
#[derive(Clone, Debug, Default)]
#[must_use = "nothing runs before `start`"]
pub struct HeartbeatBuilder {
    connection: Connection,
    namespace: Option<String>,
    name: Option<String>,
    holder: Option<String>,
    node: Option<String>,
    node_uid: Option<String>,
    config: HeartbeatConfig,
    patch_mode: bool,
    duties: Duties,
    clock: Option<Arc<dyn Clock>>,
}

impl HeartbeatBuilder {
    /// The way to the server.
    pub fn connection(mut self, connection: Connection) -> Self {
        self.connection = connection;
        self
    }

    /// The namespace of the lease. Unless said: the pod's own or the context's.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// The name of the lease.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Who holds it: `holderIdentity`. The name of the lease unless said.
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

    /// How to beat; [`HeartbeatConfig::NODE`] unless said. With a `liveness_ttl` it beats only
    /// while the host calls [`HeartbeatHandle::alive`].
    pub const fn config(mut self, config: HeartbeatConfig) -> Self {
        self.config = config;
        self
    }

    /// Writes by merge patch instead of PUT: shorter, and nothing of the lease is kept in memory,
    /// but it needs the right `patch` in place of `update`.
    pub const fn patch_mode(mut self) -> Self {
        self.patch_mode = true;
        self
    }

    /// Creates the Node where it is missing, at the start and later: with its name and nothing
    /// else. It needs the rights `create` and `get` on `nodes`, which the node authorizer grants
    /// a `system:node` for its own. While it beats, the Node is read once in each lease duration.
    ///
    /// The first beat waits for that request, for no longer than a request may take.
    pub const fn register(mut self) -> Self {
        self.duties.registers = true;
        self
    }

    /// Posts the condition `Ready=True` of the Node: once after the first beat, and again when the
    /// Node is found not ready after an outage, or was made anew, since beats alone bring no Node
    /// back. It turns `watch_node` on, and needs the right `patch` on `nodes/status`.
    ///
    /// It never does while the host is not alive, or no beat was acknowledged of late; and what
    /// goes wrong with it, and is tried again, holds up no beat.
    pub const fn keep_ready(mut self) -> Self {
        self.duties.keeps_ready = true;
        self
    }

    /// The clock that decides; the system's unless said.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Checks all settings and starts the heartbeat, as one task of the tokio runtime it is called
    /// in. The runtime needs its I/O and time drivers (`enable_all`).
    ///
    /// # Errors
    /// [`StartError`] names the setting that is wrong; nothing runs then.
    pub fn start(self) -> Result<HeartbeatHandle, StartError> {
        if !self.connection.leads_anywhere() {
            return Err(StartError::Missing("server"));
        }
        let clock = self.clock.clone().or_else(clock::system);
        let clock = SharedClock(clock.ok_or(StartError::NoClock)?);
        let namespace = self.connection.default_namespace().map(str::to_owned);
        let namespace = self.namespace.clone().or(namespace);
        let namespace = namespace.ok_or(StartError::Missing("namespace"))?;
        let name = self.name.clone().ok_or(StartError::Missing("name"))?;
        LeasePath::new(&namespace, &name).map_err(StartError::Path)?;
        let heart = self.heart(&name, &clock)?;
        let line = SharedLine::new(self.line(&clock)?, clock.clone());
        let shared = Arc::new(Shared::new(Arc::clone(&clock.0), heart.clone()));
        let (sender, receiver) = mpsc::unbounded_channel();
        let keeper = self.keeper(&clock, &shared, &sender)?;
        let runtime = runtime::Handle::try_current().map_err(|_| StartError::NoRuntime)?;

        let traffic = Traffic::default();
        let task = Task {
            namespace,
            name,
            heart,
            patch_mode: self.patch_mode,
            transport: HttpTransport::new(line, traffic.clone()),
            clock,
            publisher: Publisher::new(Arc::clone(&shared), receiver),
            keeper,
        };
        let task = runtime.spawn(task.run());
        Ok(HeartbeatHandle::new(shared, sender, task, traffic))
    }

    fn heart(&self, name: &str, clock: &SharedClock) -> Result<Heart, StartError> {
        let mut config = self.config;
        config.watch_node |= self.duties.keeps_ready;
        let identity = HeartbeatIdentity {
            node: self.node.as_deref().map(Arc::from),
            node_uid: self.node_uid.as_deref().map(Arc::from),
            seed: random_seed()?,
            ..HeartbeatIdentity::new(Arc::from(self.holder.as_deref().unwrap_or(name)))
        };
        Heart::new(config, identity, clock.0.now()).map_err(StartError::Heartbeat)
    }

    fn line(&self, clock: &SharedClock) -> Result<Line, StartError> {
        let timeout = self.config.request_timeout.into();
        Line::new(&self.connection, clock.clone(), timeout, 1).map_err(StartError::Connection)
    }

    /// Who looks after the Node, where anybody has to. He has a line of his own, so that a request
    /// of his that hangs is in no beat's way.
    fn keeper(
        &self,
        clock: &SharedClock,
        shared: &Arc<Shared>,
        calls: &UnboundedSender<Call>,
    ) -> Result<Option<Keeper>, StartError> {
        if self.duties == Duties::default() {
            return Ok(None);
        }
        let node = self.node.clone().ok_or(StartError::Missing("node"))?;
        let client = ApiClient::over(self.line(clock)?, self.config.request_timeout.into());
        Ok(Some(Keeper {
            client,
            clock: clock.clone(),
            shared: Arc::clone(shared),
            calls: calls.clone(),
            node,
            duties: self.duties,
            pause: self.config.interval,
            look_every: self.config.lease_duration,
            look_at: clock
                .0
                .now()
                .instant
                .saturating_add(self.config.lease_duration),
        }))
    }
}

#[cfg(test)]
mod tests {
    use kubelease_core::heartbeat::HeartbeatError;
    use kubelease_core::time::Duration;
    use kubelease_core::wire::path::PathError;

    use super::*;
    use crate::heartbeat::{Heartbeat, NodeHeartbeat};

    fn connection() -> Connection {
        Connection::to("http://[::1]:80")
    }

    /// A builder that lacks nothing.
    fn complete() -> HeartbeatBuilder {
        Heartbeat::builder()
            .connection(connection())
            .namespace("n")
            .name("l")
    }

    #[tokio::test]
    async fn what_has_no_default_must_be_given() {
        complete().start().unwrap();
        NodeHeartbeat::builder("gw1")
            .connection(connection())
            .start()
            .unwrap();
        let here = || Heartbeat::builder().connection(connection());
        let cases = [
            (Heartbeat::builder(), "server"),
            (here().name("l"), "namespace"),
            (here().namespace("n"), "name"),
            (complete().register(), "node"),
        ];
        for (builder, setting) in cases {
            let error = builder.start().unwrap_err();
            assert_eq!(error, StartError::Missing(setting));
        }
    }

    #[tokio::test]
    async fn what_the_core_refuses_is_refused_before_anything_runs() {
        let zero = HeartbeatConfig {
            interval: Duration::ZERO,
            ..HeartbeatConfig::NODE
        };
        let cases = [
            (
                complete().name("UPPER"),
                StartError::Path(PathError::NameMalformed),
            ),
            (
                complete().config(zero),
                StartError::Heartbeat(HeartbeatError::IntervalZero),
            ),
            (
                complete().holder(""),
                StartError::Heartbeat(HeartbeatError::HolderEmpty),
            ),
            (
                complete().keep_ready(),
                StartError::Heartbeat(HeartbeatError::WatchWithoutNode),
            ),
        ];
        for (builder, expected) in cases {
            assert_eq!(builder.start().unwrap_err(), expected);
        }
    }

    #[test]
    fn a_heartbeat_outside_of_a_runtime_is_refused() {
        assert_eq!(complete().start().unwrap_err(), StartError::NoRuntime);
    }
}
