//! [`FleetBuilder`]: from settings to a running fleet.

use core::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use kubelease_core::heartbeat::HeartbeatConfig;
use kubelease_core::wire::path::LeasePath;
use tokio::runtime;
use tokio::sync::{Notify, broadcast};
use tokio::task::JoinSet;

use super::Fleet;
use super::board::Board;
use super::shared::Shared;
use crate::clock::{self, Clock, SharedClock};
use crate::connection::Connection;
use crate::error::StartError;
use crate::http::{HttpTransport, Traffic};
use crate::line::Line;
use crate::shared_line::SharedLine;

/// How many requests may be in flight unless said. With five thousand leases, beaten every 10 s, of
/// which one in a hundred hangs for its whole timeout, 25 are.
const IN_FLIGHT_DEFAULT: usize = 64;

/// Events that a listener may be behind.
const EVENTS_KEPT: usize = 1024;

/// The settings of a fleet, from [`Fleet::builder`].
#[derive(Clone, Debug)]
#[must_use = "nothing runs before `start`"]
pub struct FleetBuilder {
    connection: Connection,
    namespace: Option<String>,
    config: HeartbeatConfig,
    max_in_flight: usize,
    writes_by_put: bool,
    clock: Option<Arc<dyn Clock>>,
}

impl Default for FleetBuilder {
    fn default() -> Self {
        Self {
            connection: Connection::default(),
            namespace: None,
            config: HeartbeatConfig::NODE,
            max_in_flight: IN_FLIGHT_DEFAULT,
            writes_by_put: false,
            clock: None,
        }
    }
}

impl FleetBuilder {
    /// The way to the server.
    pub fn connection(mut self, connection: Connection) -> Self {
        self.connection = connection;
        self
    }

    /// The namespace of all leases. Unless said: the pod's own or the context's.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// How to beat; [`HeartbeatConfig::NODE`] unless said.
    pub const fn config(mut self, config: HeartbeatConfig) -> Self {
        self.config = config;
        self
    }

    /// How many requests may be in flight, over as many connections; 64 unless said, and at least
    /// one. A request that hangs takes one of them until its timeout. Each has a task and 4 KiB
    /// from the start on, and in [`put_mode`](Self::put_mode) up to 650 KiB.
    pub const fn max_in_flight(mut self, requests: usize) -> Self {
        self.max_in_flight = requests;
        self
    }

    /// Writes by PUT, for Roles that grant `update` but not `patch`. Each beat then takes a read
    /// as well: what others wrote into a lease has to be put back, and a fleet does not keep it.
    pub const fn put_mode(mut self) -> Self {
        self.writes_by_put = true;
        self
    }

    /// The clock that decides; the system's unless said.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Checks all settings and starts an empty fleet, as tasks of the tokio runtime it is called
    /// in. The runtime needs its I/O and time drivers (`enable_all`).
    ///
    /// # Errors
    /// [`StartError`] names the setting that is wrong; nothing runs then.
    pub fn start(self) -> Result<Fleet, StartError> {
        self.config.validate().map_err(StartError::Heartbeat)?;
        if !self.connection.leads_anywhere() {
            return Err(StartError::Missing("server"));
        }
        let namespace = self.connection.default_namespace().map(str::to_owned);
        let namespace = self.namespace.or(namespace);
        let namespace = namespace.ok_or(StartError::Missing("namespace"))?;
        LeasePath::new(&namespace, "any").map_err(StartError::Path)?;
        let clock = self.clock.or_else(clock::system);
        let clock = SharedClock(clock.ok_or(StartError::NoClock)?);
        let timeout = self.config.request_timeout.into();
        let in_flight = self.max_in_flight.max(1);
        let line = Line::new(&self.connection, clock.clone(), timeout, in_flight);
        let line = SharedLine::new(line.map_err(StartError::Connection)?, clock.clone());
        let runtime = runtime::Handle::try_current().map_err(|_| StartError::NoRuntime)?;

        let shared = Arc::new(Shared {
            board: Mutex::new(Board::new(self.config)),
            clock,
            namespace,
            writes_by_put: self.writes_by_put,
            traffic: Traffic::default(),
            events: broadcast::Sender::new(EVENTS_KEPT),
            in_flight: AtomicUsize::new(0),
            turn: tokio::sync::Mutex::new(()),
            changed: Notify::new(),
        });
        let mut workers = JoinSet::new();
        for _ in 0..in_flight {
            let transport = HttpTransport::new(line.clone(), shared.traffic.clone());
            workers.spawn_on(Arc::clone(&shared).work(transport), &runtime);
        }
        Ok(Fleet { shared, workers })
    }
}
