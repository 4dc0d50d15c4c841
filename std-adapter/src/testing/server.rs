//! The server as its owner sees it.

use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::sync::Arc;

use super::builder::Builder;
use super::fault::Rule;
use super::listener::{Command, Shared, Thread};
use super::log::LoggedRequest;
use super::socket::lock;

/// A Kubernetes API server for tests, in this process, on a port of the loopback interface.
///
/// It runs on a thread of its own and may be used from programs with and without an async
/// runtime. Dropping it ends it: the port is closed, connections end, the thread is joined.
///
/// Methods that speak of the server's state act at once and as an administrator would: they are
/// not logged, no fault meets them, and watches see what they change.
#[derive(Debug)]
pub struct ApiServer {
    pub(super) thread: Thread,
    pub(super) shared: Arc<Shared>,
}

impl ApiServer {
    /// Starts a server on a free port that lets everybody do everything.
    ///
    /// # Errors
    ///
    /// When no port can be bound or no thread started.
    pub fn start() -> io::Result<Self> {
        Self::builder().start()
    }

    /// Says how the server is to be before it starts.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// Ends the server, as dropping it does.
    pub fn shutdown(mut self) {
        self.thread.stop();
    }

    /// `http://127.0.0.1:PORT`
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.thread.addr)
    }

    /// The address that the server listens at.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.thread.addr
    }
}

/// The log of requests.
impl ApiServer {
    /// The requests that were read since the start or since the log was cleared.
    #[must_use]
    pub fn requests(&self) -> Vec<LoggedRequest> {
        lock(&self.shared.log).snapshot()
    }

    /// How many requests of this method the log has.
    #[must_use]
    pub fn count(&self, method: &str) -> usize {
        self.count_if(|request| request.method == method)
    }

    /// How many requests the log has of which this is true. The log is locked meanwhile: `is_meant`
    /// must ask the server nothing.
    #[must_use]
    pub fn count_if(&self, is_meant: impl Fn(&LoggedRequest) -> bool) -> usize {
        lock(&self.shared.log).count(is_meant)
    }

    /// Empties the log. The numbers of requests go on.
    pub fn clear_requests(&self) {
        lock(&self.shared.log).clear();
    }

    /// How long the server has been running; the zero of [`LoggedRequest::at`].
    #[must_use]
    pub fn uptime(&self) -> Duration {
        lock(&self.shared.api).clock.since_start()
    }
}

/// Faults.
impl ApiServer {
    /// Orders a fault, behind those already ordered.
    pub fn inject(&self, rule: Rule) {
        lock(&self.shared.rules).push(rule);
    }

    /// Takes all ordered faults back. Those that are under way go on.
    pub fn clear_faults(&self) {
        lock(&self.shared.rules).clear();
    }

    /// An outage: closes the port, so that connections are refused, and ends all connections.
    /// A write that was read before may still be stored.
    ///
    /// # Panics
    ///
    /// When the thread of the server has ended, which only a panic in it can do.
    pub fn pause(&self) {
        self.order(Command::Pause);
    }

    /// Ends the outage: the server listens again, at the same port.
    ///
    /// # Panics
    ///
    /// When the port cannot be bound again; on Unix it is kept meanwhile.
    pub fn resume(&self) {
        self.order(Command::Resume);
    }

    /// Ends all connections without an answer to what is under way. New ones are served.
    ///
    /// # Panics
    ///
    /// When the thread of the server has ended, which only a panic in it can do.
    pub fn close_connections(&self) {
        self.order(Command::CloseConnections);
    }

    /// Takes the next `n` connections and resets them at once; `u64::MAX` until told otherwise,
    /// 0 to end it.
    pub fn refuse_connections(&self, n: u64) {
        *lock(&self.shared.refusals) = n;
    }

    fn order(&self, command: Command) {
        let result = self.thread.order(command);
        result.expect("the thread of the test API server carries out orders");
    }
}
