//! [`HeartbeatHandle`]: what the application holds of a beating heart.

use core::time::Duration;
use std::sync::Arc;

use kubelease_core::heartbeat::{Health, Retire};
use kubelease_core::protocol::Finish;
use kubelease_core::time::Instant;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;

use super::shared::{Shared, Stage};
use super::task::Call;
use crate::changes::Changes;
use crate::error::ShutdownError;
use crate::http::Traffic;

/// A running heartbeat. All questions are answered at once, from memory.
///
/// Dropping it ends the task at once; the lease runs out.
#[derive(Debug)]
pub struct HeartbeatHandle {
    shared: Arc<Shared>,
    calls: UnboundedSender<Call>,
    task: JoinHandle<()>,
    traffic: Traffic,
}

impl HeartbeatHandle {
    pub(super) const fn new(
        shared: Arc<Shared>,
        calls: UnboundedSender<Call>,
        task: JoinHandle<()>,
        traffic: Traffic,
    ) -> Self {
        Self {
            shared,
            calls,
            task,
            traffic,
        }
    }

    /// When the last acknowledged beat was handed out, on the heart's [`Clock`](crate::Clock);
    /// `None` before the first.
    #[must_use]
    pub fn last_beat(&self) -> Option<Instant> {
        self.shared.last_beat()
    }

    /// How long ago that was.
    #[must_use]
    pub fn age(&self) -> Option<Duration> {
        let beaten = self.shared.last_beat()?;
        let now = self.shared.clock.now().instant;
        Some(now.saturating_since(beaten).into())
    }

    /// Whether it beats, at the call: a probe answers 200 for [`Health::Ok`] and 500 otherwise. A
    /// heart whose task is dead or starved is [`Health::NotPolled`].
    #[must_use]
    pub fn health(&self) -> Health {
        self.shared.health()
    }

    /// The host is alive, for the `liveness_ttl` of the config from now on. A beat that was left
    /// out meanwhile follows at once. Without a TTL it does nothing.
    pub fn alive(&self) {
        if self.shared.alive(self.shared.clock.now()) {
            self.call(Call::Alive);
        }
    }

    /// A new stream of events; any number of them may be read, or left unread.
    #[must_use]
    pub fn changes(&self) -> Changes {
        self.shared.changes()
    }

    /// What was wrong with the last answer, or why there was none, in words for people; or else
    /// what keeps the Node from being registered or ready. `None` where all is well.
    #[must_use]
    pub fn last_error(&self) -> Option<String> {
        let error = self.traffic.last_error();
        error.or_else(|| self.shared.node_error())
    }

    /// How many requests have been sent for the lease so far, answered or not.
    #[must_use]
    pub fn requests_sent(&self) -> u64 {
        self.traffic.requests_sent()
    }

    /// Waits for the first acknowledged beat; answers whether there was one before the end.
    pub async fn beaten(&self) -> bool {
        let mut stage = self.shared.stage();
        // It fails where the sender is gone, which the handle holds.
        let _ = stage.wait_for(|stage| *stage != Stage::Begun).await;
        self.shared.last_beat().is_some()
    }

    /// Waits until it has ended by itself.
    ///
    /// # Errors
    /// [`ShutdownError`] where its task died.
    pub async fn ended(&self) -> Result<Finish, ShutdownError> {
        let mut stage = self.shared.stage();
        let _ = stage.wait_for(|stage| *stage == Stage::Over).await;
        self.shared.outcome()
    }

    /// Ends, as `how` says, within the `retire_budget` of the config. Nothing is done for the Node
    /// any more, either. Dropping the future is dropping the handle.
    ///
    /// # Errors
    /// [`ShutdownError`] where the task had died before; the lease runs out then.
    pub async fn retire(self, how: Retire) -> Result<Finish, ShutdownError> {
        self.shared.stopping.send_replace(true);
        self.call(Call::Retire(how));
        self.ended().await
    }

    fn call(&self, call: Call) {
        // It fails where the task has ended, and then there is nothing left to ask for.
        let _ = self.calls.send(call);
    }
}

impl Drop for HeartbeatHandle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use core::future::pending;

    use kubelease_core::heartbeat::{HeartbeatConfig, HeartbeatIdentity};
    use tokio::sync::mpsc;

    use super::super::Heart;
    use super::*;
    use crate::clock;

    #[tokio::test]
    async fn signs_of_life_do_not_pile_up_before_a_task_that_hears_none() {
        let clock = clock::system().unwrap();
        let identity = HeartbeatIdentity::new(Arc::from("a"));
        let heart = Heart::new(HeartbeatConfig::NODE, identity, clock.now()).unwrap();
        let shared = Arc::new(Shared::new(clock, heart));
        let (calls, heard) = mpsc::unbounded_channel();
        let task = tokio::spawn(pending());
        let handle = HeartbeatHandle::new(shared, calls, task, Traffic::default());
        for _ in 0..1_000 {
            handle.alive();
        }
        assert_eq!(heard.len(), 1);
        assert!(handle.shared.take_alive().is_some());
        handle.alive();
        assert_eq!(
            heard.len(),
            2,
            "one that comes after the last was heard is told"
        );
    }
}
