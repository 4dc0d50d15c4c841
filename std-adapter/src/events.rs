//! core/v1 Events about the lease, as client-go's recorder makes them.
//!
//! They are for people, so they hold up nothing: a queue that drops when it is full, a rate at
//! which clusters are not flooded, and a connection of their own.

use core::time::Duration;
use std::sync::Arc;

use kubelease_core::elector::Elector;
use kubelease_core::lease::Version;
use kubelease_core::protocol::Event;
use kubelease_core::time::{self, Instant, Now};
use kubelease_core::timestamp::Timestamp;
use serde_json::json;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::client::{ApiAnswer, ApiClient};
use crate::clock::Clock;
use crate::settings::millis;

/// How many wait for their sending: a server that does not answer is not told everything.
const QUEUE_MAX: usize = 16;

/// At most this many at once, and one more in each [`REFILL`]: client-go's spam filter.
const BURST: u32 = 25;
const REFILL: time::Duration = time::Duration::from_secs(300);

/// How often one is sent that gets no answer, and how far apart. An answer is final.
const TRIES_MAX: u32 = 12;
const PAUSE: Duration = Duration::from_secs(10);

/// How long the body of an answer may take. Without its end the connection is not used again.
const REST_MAX: Duration = Duration::from_secs(1);

/// What an Event is about.
#[derive(Clone, Debug)]
pub(crate) struct Regarding {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    /// `None` for an object without one: its Events are in `default`.
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

/// Makes Events of what happens.
#[derive(Debug)]
pub(crate) struct Recorder {
    regarding: Regarding,
    identity: String,
    component: String,
    bucket: Bucket,
    queue: Sender<String>,
}

impl Recorder {
    /// A recorder, and the queue that [`post`] empties.
    pub(crate) fn new(
        regarding: Regarding,
        identity: String,
        component: String,
    ) -> (Self, Receiver<String>) {
        let (queue, posts) = channel(QUEUE_MAX);
        let recorder = Self {
            regarding,
            identity,
            component,
            bucket: Bucket::default(),
            queue,
        };
        (recorder, posts)
    }

    /// The path to which Events go.
    pub(crate) fn target(&self) -> String {
        format!(
            "/api/v1/namespaces/{}/events?fieldManager=kubelease",
            self.namespace()
        )
    }

    pub(crate) fn event(&mut self, elector: &Elector<'_>, event: Event, now: Now) {
        let words = if let Event::StartedLeading { .. } = event {
            "became leader"
        } else if let Event::StoppedLeading { .. } = event {
            "stopped leading"
        } else {
            return;
        };
        // A clock without a date has no time to put into an Event.
        let Some(wall) = now.wall else { return };
        if self.bucket.take(now.instant) {
            // A full queue loses it, and so does a task that is gone.
            let body = self.body(words, elector.observed_version(), wall);
            let _ = self.queue.try_send(body);
        }
    }

    fn namespace(&self) -> &str {
        self.regarding.namespace.as_deref().unwrap_or("default")
    }

    /// The body of one Event. Like client-go's it names the version of the lease seen last.
    fn body(&self, words: &str, version: &Version, wall: Timestamp) -> String {
        let Regarding {
            api_version,
            kind,
            namespace,
            name,
        } = &self.regarding;
        // Whole seconds, as core/v1 has them.
        let text = wall.to_text();
        let time = format!("{}Z", text.as_str().get(..19).unwrap_or_default());
        let nanos = wall.as_unix_micros().saturating_mul(1_000);
        let mut involved = json!({"kind": kind, "apiVersion": api_version, "name": name});
        let mut add = |key: &str, value: &str| {
            if let Some(involved) = involved.as_object_mut() {
                involved.insert(key.to_owned(), value.into());
            }
        };
        if let Some(namespace) = namespace {
            add("namespace", namespace);
        }
        add("uid", version.uid.as_str());
        add("resourceVersion", version.resource_version.as_str());
        json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": event_name(name, nanos),
                "namespace": self.namespace(),
            },
            "involvedObject": involved,
            "reason": "LeaderElection",
            "message": format!("{} {words}", self.identity),
            "source": {"component": self.component},
            "firstTimestamp": time,
            "lastTimestamp": time,
            "count": 1,
            "type": "Normal",
            "eventTime": null,
            "reportingComponent": self.component,
            "reportingInstance": "",
        })
        .to_string()
    }
}

/// `<lease>.<nanoseconds in hex>`; of a long name so much that it stays one.
fn event_name(name: &str, nanos: i64) -> String {
    let start: String = name.chars().take(230).collect();
    format!("{}.{nanos:x}", start.trim_end_matches(['.', '-']))
}

/// Sends what is queued, until the recorder is gone and the queue empty.
pub(crate) async fn post(
    mut client: ApiClient,
    target: String,
    mut posts: Receiver<String>,
    clock: Arc<dyn Clock>,
) {
    while let Some(body) = posts.recv().await {
        for _ in 0..TRIES_MAX {
            let sent = client.request("POST", &target, "application/json", body.as_bytes());
            match sent.await {
                Ok(answer) => {
                    note_refusal(answer.status());
                    let _ = tokio::time::timeout(REST_MAX, read_to_end(answer)).await;
                    break;
                }
                Err(_) => {
                    let at = clock.now().instant.saturating_add(millis(PAUSE));
                    clock.sleep_until(at).await;
                }
            }
        }
    }
}

/// Reads an answer to its end, so that its connection can be used again. Nobody wants what it says.
async fn read_to_end(mut answer: ApiAnswer) {
    while let Ok(Some(_)) = answer.chunk().await {}
}

fn note_refusal(status: u16) {
    #[cfg(feature = "tracing")]
    if status >= 300 {
        tracing::warn!(status, "the server takes no Event");
    }
    let _ = status;
}

/// How many Events may be made now.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: u32,
    /// From when the next refill counts.
    since: Option<Instant>,
}

impl Default for Bucket {
    fn default() -> Self {
        Self {
            tokens: BURST,
            since: None,
        }
    }
}

impl Bucket {
    fn take(&mut self, now: Instant) -> bool {
        let mut since = self.since.unwrap_or(now);
        while self.tokens < BURST && now.saturating_since(since) >= REFILL {
            since = since.saturating_add(REFILL);
            self.tokens += 1;
        }
        self.since = Some(if self.tokens == BURST { now } else { since });
        let is_left = self.tokens > 0;
        self.tokens = self.tokens.saturating_sub(1);
        is_left
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use serde_json::Value;

    use super::*;
    use crate::clock;
    use crate::connection::Connection;

    fn recorder(namespace: Option<&str>) -> Recorder {
        let regarding = Regarding {
            api_version: "coordination.k8s.io/v1".to_owned(),
            kind: "Lease".to_owned(),
            namespace: namespace.map(str::to_owned),
            name: "lock".to_owned(),
        };
        Recorder::new(regarding, "node-7_1c9f".to_owned(), "pumps".to_owned()).0
    }

    #[test]
    fn an_event_has_the_shape_of_client_gos() {
        let wall = Timestamp::parse("2026-05-04T03:02:01.999999Z").unwrap();
        let recorder = recorder(Some("plant-3"));
        let version = Version {
            uid: "6c1f".try_into().unwrap(),
            resource_version: "107".try_into().unwrap(),
        };
        let body = recorder.body("became leader", &version, wall);
        let event: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            event,
            json!({
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": "lock.18ac3da2b8dd2018", "namespace": "plant-3"},
                "involvedObject": {
                    "kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "name": "lock",
                    "namespace": "plant-3", "uid": "6c1f", "resourceVersion": "107",
                },
                "reason": "LeaderElection",
                "message": "node-7_1c9f became leader",
                "source": {"component": "pumps"},
                "firstTimestamp": "2026-05-04T03:02:01Z",
                "lastTimestamp": "2026-05-04T03:02:01Z",
                "count": 1,
                "type": "Normal",
                "eventTime": null,
                "reportingComponent": "pumps",
                "reportingInstance": "",
            })
        );
    }

    #[test]
    fn an_object_without_a_namespace_has_its_events_in_default() {
        let recorder = recorder(None);
        assert_eq!(
            recorder.target(),
            "/api/v1/namespaces/default/events?fieldManager=kubelease"
        );
        let body = recorder.body(
            "stopped leading",
            &Version::default(),
            Timestamp::UNIX_EPOCH,
        );
        let event: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(event.pointer("/involvedObject/namespace"), None);
        assert_eq!(
            event.pointer("/metadata/namespace"),
            Some(&json!("default"))
        );
    }

    #[test]
    fn names_of_events_stay_names() {
        assert_eq!(event_name("a", 255), "a.ff");
        let long = format!("{}.{}", "a".repeat(229), "b".repeat(20));
        assert_eq!(event_name(&long, i64::MAX).len(), 229 + 17);
    }

    #[test]
    fn a_burst_is_let_through_and_then_one_in_five_minutes() {
        let at = |seconds: u64| Instant::from_millis(seconds * 1_000);
        let mut bucket = Bucket::default();
        let taken =
            |bucket: &mut Bucket, seconds| (0..100).filter(|_| bucket.take(at(seconds))).count();
        assert_eq!(taken(&mut bucket, 7), 25);
        assert_eq!(taken(&mut bucket, 306), 0);
        assert_eq!(taken(&mut bucket, 307), 1);
        assert_eq!(taken(&mut bucket, 307 + 600), 2);
        assert_eq!(taken(&mut bucket, 1_000_000), 25);
    }

    /// Answers two requests, each on a connection of its own, with a head and no body.
    fn serve_heads() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            let mut connections = Vec::new();
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 4096]);
                let head = b"HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\n";
                stream.write_all(head).unwrap();
                connections.push(stream);
            }
            // They stay open for as long as anybody listens at the other end.
            for mut stream in connections {
                let _ = stream.read(&mut [0; 4096]);
            }
        });
        url
    }

    #[tokio::test]
    async fn an_answer_that_never_ends_holds_up_no_other_event() {
        let long = Duration::from_secs(20);
        let clock = clock::system().unwrap();
        let client = ApiClient::new(&Connection::to(serve_heads()), long).unwrap();
        let (queue, posts) = channel(2);
        queue.try_send("{}".to_owned()).unwrap();
        queue.try_send("{}".to_owned()).unwrap();
        drop(queue);
        let sent = post(client, "/events".to_owned(), posts, clock);
        let sent = tokio::time::timeout(long, sent).await;
        sent.expect("both are sent, and neither is waited for");
    }
}
