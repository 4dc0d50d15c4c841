//! [`Keeper`]: makes the Node, and says that it is ready. No beat waits for it but the first.

use core::fmt::Write;
use core::future::poll_fn;
use core::pin::pin;
use core::task::Poll;
use std::sync::Arc;

use kubelease_core::drive::Clock as _;
use kubelease_core::heartbeat::Health;
use kubelease_core::time::{Duration, Instant, Now};
use kubelease_core::timestamp::Timestamp;
use tokio::sync::mpsc::UnboundedSender;

use super::shared::{Ready, Shared, Wishes};
use super::task::Call;
use crate::client::{ApiAnswer, ApiClient, ApiError};
use crate::clock::SharedClock;

/// The longest wait between two tries.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// The form in which kubelet sends conditions: those of other types are left alone.
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// What is to be done for a Node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Duties {
    pub(super) registers: bool,
    pub(super) keeps_ready: bool,
}

/// Fulfils wishes about the Node, one after another, until they are.
#[derive(Debug)]
pub(super) struct Keeper {
    pub(super) client: ApiClient,
    pub(super) clock: SharedClock,
    pub(super) shared: Arc<Shared>,
    /// To the heart.
    pub(super) calls: UnboundedSender<Call>,
    /// A DNS-1123 subdomain: it can stand in a path and in JSON as it is.
    pub(super) node: String,
    pub(super) duties: Duties,
    /// The first wait between two tries.
    pub(super) pause: Duration,
    /// Time between looks whether a registered Node is there still. Its lease may outlive it: not
    /// every lease has an owner, and not every server a garbage collector.
    pub(super) look_every: Duration,
    /// When the next look is due.
    pub(super) look_at: Instant,
}

/// Why a wish is not fulfilled.
#[derive(Debug)]
struct Obstacle {
    text: String,
    /// What the server asks for.
    retry_after: Duration,
}

impl Keeper {
    /// Makes the Node before the first beat asks for it. It has failed where the wish remains.
    pub(super) async fn begin(&mut self) {
        if self.duties.registers {
            let register = true;
            self.shared.wish(Wishes {
                register,
                ..Wishes::default()
            });
            if let Err(obstacle) = self.serve().await {
                self.shared.set_node_error(Some(obstacle.text));
            }
        }
    }

    /// Has no end.
    pub(super) async fn keep(mut self) {
        let mut pause = self.pause.min(PAUSE_MAX);
        if self.shared.node_error().is_some() {
            self.rest(pause).await;
        }
        loop {
            match self.serve().await {
                Ok(()) => {
                    pause = self.pause.min(PAUSE_MAX);
                    self.shared.set_node_error(None);
                    self.wait().await;
                }
                Err(obstacle) => {
                    self.shared.set_node_error(Some(obstacle.text));
                    self.rest(pause.max(obstacle.retry_after).min(PAUSE_MAX))
                        .await;
                    pause = pause.saturating_mul(2).min(PAUSE_MAX);
                }
            }
        }
    }

    /// Waits for a wish, or until a look is due.
    async fn wait(&self) {
        let mut wished = pin!(self.shared.wished.notified());
        let mut due = pin!(self.clock.sleep_until(self.look_at));
        poll_fn(|context| {
            if self.duties.registers && due.as_mut().poll(context).is_ready() {
                return Poll::Ready(());
            }
            wished.as_mut().poll(context)
        })
        .await;
    }

    async fn rest(&self, pause: Duration) {
        let until = self.clock.now().instant.saturating_add(pause);
        self.clock.sleep_until(until).await;
    }

    /// Does what can be done now, of what it has the duty to do.
    async fn serve(&mut self) -> Result<(), Obstacle> {
        if self.duties.registers && self.clock.now().instant >= self.look_at {
            self.look().await?;
        }
        if self.duties.registers && self.shared.wishes().register {
            self.register().await?;
        }
        // A Node that is said to be ready has to beat, and its host to live.
        if self.duties.keeps_ready
            && self.shared.health() == Health::Ok
            && let Some(ready) = self.shared.take_ready()
        {
            let posted = self.post_ready(ready).await;
            if posted.is_err() {
                self.shared.wish(Wishes {
                    ready: Some(ready),
                    ..Wishes::default()
                });
            }
            return posted;
        }
        Ok(())
    }

    /// Looks whether the Node is there, where its host lives and beats.
    async fn look(&mut self) -> Result<(), Obstacle> {
        if self.shared.health() == Health::Ok && self.shared.last_beat().is_some() {
            let path = format!("/api/v1/nodes/{}", self.node);
            let answer = self.client.get(&path).await;
            match answered("GET nodes", answer)? {
                (200, _) => {}
                (404, _) => self.shared.wish(Wishes {
                    register: true,
                    ..Wishes::default()
                }),
                (_, obstacle) => return Err(obstacle),
            }
        }
        self.look_later();
        Ok(())
    }

    fn look_later(&mut self) {
        self.look_at = self.clock.now().instant.saturating_add(self.look_every);
    }

    /// Creates the Node; one that is there already is as good.
    async fn register(&mut self) -> Result<(), Obstacle> {
        let name = &self.node;
        let body = format!(r#"{{"kind":"Node","apiVersion":"v1","metadata":{{"name":"{name}"}}}}"#);
        let path = "/api/v1/nodes";
        let (json, body) = ("application/json", body.as_bytes());
        let answer = self.client.request("POST", path, json, body).await;
        match answered("POST nodes", answer)? {
            (201, _) => {
                self.shared.registered();
                // It fails where the heart has ended, which needs no owner any more.
                let _ = self.calls.send(Call::NodeReplaced);
                let is_transition = true;
                self.shared.wish(Wishes {
                    ready: Some(Ready { is_transition }),
                    ..Wishes::default()
                });
                Ok(())
            }
            (409, _) => {
                self.shared.registered();
                Ok(())
            }
            (_, obstacle) => Err(obstacle),
        }
    }

    async fn post_ready(&mut self, ready: Ready) -> Result<(), Obstacle> {
        let path = format!("/api/v1/nodes/{}/status", self.node);
        let body = condition(ready, self.clock.now());
        let body = body.as_bytes();
        let answer = self.client.request("PATCH", &path, STRATEGIC, body).await;
        match answered("PATCH nodes/status", answer)? {
            (200, _) => Ok(()),
            (404, obstacle) => {
                // Somebody has deleted the Node.
                let register = true;
                self.shared.wish(Wishes {
                    register,
                    ..Wishes::default()
                });
                Err(obstacle)
            }
            (_, obstacle) => Err(obstacle),
        }
    }
}

/// The status, and what to say of it where it is a wrong one.
fn answered(what: &str, answer: Result<ApiAnswer, ApiError>) -> Result<(u16, Obstacle), Obstacle> {
    let answer = answer.map_err(|error| Obstacle {
        text: format!("{what}: {error}"),
        retry_after: Duration::ZERO,
    })?;
    let seconds = answer.header("retry-after");
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(0);
    let status = answer.status();
    let obstacle = Obstacle {
        text: format!("{what}: expected it to be done, found status {status}"),
        retry_after: Duration::from_secs(seconds),
    };
    Ok((status, obstacle))
}

/// The condition as a strategic merge patch. That of a Node which may be ready already keeps the
/// time of its last transition.
fn condition(ready: Ready, now: Now) -> String {
    // Any other time than the last is a sign of life: one without a civil clock counts from 1970.
    let millis = i64::try_from(now.instant.as_millis()).unwrap_or(i64::MAX);
    let uptime = || Timestamp::from_unix_micros(millis.saturating_mul(1000));
    let time = now.wall.or_else(uptime).map(Timestamp::to_text);
    // The API has whole seconds here.
    let seconds = time.as_ref().and_then(|text| text.as_str().get(..19));
    let seconds = seconds.unwrap_or("1970-01-01T00:00:00");
    let mut times = format!(r#""lastHeartbeatTime":"{seconds}Z""#);
    if ready.is_transition {
        // Writing into a String does not fail.
        let _ = write!(times, r#","lastTransitionTime":"{seconds}Z""#);
    }
    format!(
        r#"{{"status":{{"conditions":[{{"type":"Ready","status":"True",{times},"reason":"HeartbeatReady","message":"the agent beats its lease"}}]}}}}"#
    )
}

#[cfg(test)]
mod tests {
    use kubelease_core::time::Instant;

    use super::*;

    #[test]
    fn a_condition_has_the_time_in_whole_seconds_and_a_transition_where_it_is_one() {
        let wall = Timestamp::parse("2026-12-01T00:36:08.123456Z").unwrap();
        let now = Now::with_wall(Instant::from_millis(5), wall);
        let is_transition = true;
        assert_eq!(
            condition(Ready { is_transition }, now),
            "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\
             \"lastHeartbeatTime\":\"2026-12-01T00:36:08Z\",\
             \"lastTransitionTime\":\"2026-12-01T00:36:08Z\",\"reason\":\"HeartbeatReady\",\
             \"message\":\"the agent beats its lease\"}]}}"
        );
        let text = condition(Ready::default(), now);
        assert!(!text.contains("lastTransitionTime"), "{text}");
    }

    #[test]
    fn without_a_civil_clock_each_condition_has_another_time_all_the_same() {
        let at = |seconds: u64| {
            let now = Now::monotonic(Instant::from_millis(seconds * 1000));
            condition(Ready::default(), now)
        };
        assert!(at(61).contains("\"1970-01-01T00:01:01Z\""), "{}", at(61));
        assert_ne!(at(61), at(62));
    }
}
