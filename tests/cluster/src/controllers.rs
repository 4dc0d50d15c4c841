//! [`Controllers`]: the real node-lifecycle controller, which judges heartbeats, and the garbage
//! collector.

use core::time::Duration;

use crate::Cluster;
use crate::nodes::{Nodes, Seen};

/// How long they may take to begin.
const LONG: Duration = Duration::from_secs(20);

/// The controller's settings, and the heartbeat's.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How often the controller looks at the Nodes.
    pub monitor_period: Duration,
    /// How long after the last beat a Node is taken for dead.
    pub grace: Duration,
    /// Of the beats, as a flag.
    pub lease_duration: &'static str,
    /// Between beats, as a flag.
    pub interval: &'static str,
}

impl Pace {
    /// All is a tenth of what it is elsewhere, or less.
    pub const FAST: Self = Self {
        monitor_period: Duration::from_millis(200),
        grace: Duration::from_secs(4),
        lease_duration: "4s",
        interval: "400ms",
    };

    /// The defaults of the controller and of kubelet.
    pub const DEFAULT: Self = Self {
        monitor_period: Duration::from_secs(5),
        grace: Duration::from_secs(50),
        lease_duration: "40s",
        interval: "10s",
    };

    /// The latest moment of a verdict after the last beat, on a machine that is never late.
    #[must_use]
    pub const fn latest(self) -> Duration {
        let periods = self.monitor_period.saturating_mul(2);
        self.grace.saturating_add(periods)
    }
}

/// Running controllers; they are killed when this is dropped.
#[derive(Debug)]
pub struct Controllers(Cluster);

impl Controllers {
    /// Starts them with the flags of a test, and waits until they look after a Node.
    pub async fn start(cluster: &Cluster, nodes: &Nodes, pace: Pace, more: &[&str]) -> Self {
        let period = pace.monitor_period.as_millis();
        let period = format!("--node-monitor-period={period}ms");
        let grace = format!("--node-monitor-grace-period={}s", pace.grace.as_secs());
        let flags = [&[period.as_str(), grace.as_str()], more].concat();
        cluster.controllers().start_with(&flags);
        let controllers = Self(cluster.clone());
        nodes.make("probe").await;
        // The server itself gives it a taint, which they take off.
        let is_alive = |seen: &Seen| !seen.uid.is_empty() && seen.taints.is_empty();
        nodes
            .until("probe", LONG, is_alive, "the controllers")
            .await;
        nodes.remove("probe").await;
        controllers
    }

    /// Ends them.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Controllers {
    fn drop(&mut self) {
        let controllers = self.0.controllers();
        if controllers.is_running() {
            controllers.kill();
        }
    }
}
