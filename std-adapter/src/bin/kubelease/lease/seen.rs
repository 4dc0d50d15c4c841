//! When a record changed, as this process saw it: the one thing that says that a holder is alive.

use core::time::Duration;
use std::collections::BTreeMap;

use kubelease::{Clock, Instant, SystemClock};
use serde_json::Value;
use tokio::time::sleep;

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// What was seen of one Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// For how long.
    pub(super) looked: Duration,
    /// How long ago its last change was, where there was one.
    pub(super) changed: Option<Duration>,
}

/// Looks that follow each other.
#[derive(Debug)]
pub(super) struct Watcher {
    begun: Instant,
    end: Instant,
    records: BTreeMap<String, Record>,
}

#[derive(Debug)]
struct Record {
    first: Instant,
    spec: Value,
    changed_at: Option<Instant>,
}

impl Watcher {
    /// Looks for as long as `length`.
    pub(super) fn new(length: Duration) -> Self {
        let begun = now();
        Self {
            begun,
            end: begun.saturating_add(length.into()),
            records: BTreeMap::new(),
        }
    }

    /// Takes one look at a Lease.
    pub(super) fn look(&mut self, lease: &Value) {
        let (now, key) = (now(), key(lease));
        let spec = lease.get("spec").cloned().unwrap_or_default();
        match self.records.get_mut(&key) {
            Some(record) if record.spec == spec => {}
            Some(record) => {
                record.spec = spec;
                record.changed_at = Some(now);
            }
            None => {
                let record = Record {
                    first: now,
                    spec,
                    changed_at: None,
                };
                self.records.insert(key, record);
            }
        }
    }

    /// Waits for the next look; says whether there is one.
    pub(super) async fn wait(&self) -> bool {
        let left = Duration::from(self.end.saturating_since(now()));
        sleep(left.min(LOOK_EVERY)).await;
        !left.is_zero()
    }

    /// What was seen of a Lease; `None` where no look was wanted.
    pub(super) fn seen(&self, lease: &Value) -> Option<Seen> {
        let record = self.records.get(&key(lease))?;
        (self.end > self.begun).then(|| Seen {
            looked: now().saturating_since(record.first).into(),
            changed: record
                .changed_at
                .map(|at| now().saturating_since(at).into()),
        })
    }
}

fn now() -> Instant {
    SystemClock::new().now().instant
}

/// A Lease that was deleted and made anew is another.
fn key(lease: &Value) -> String {
    let uid = lease.pointer("/metadata/uid").and_then(Value::as_str);
    uid.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_change_of_the_spec_is_one() {
        let lease = |version: &str, holder: &str| {
            json!({
                "metadata": {"uid": "u", "resourceVersion": version},
                "spec": {"holderIdentity": holder},
            })
        };
        let mut watcher = Watcher::new(Duration::from_secs(1));
        watcher.look(&lease("1", "a"));
        watcher.look(&lease("2", "a"));
        assert_eq!(watcher.seen(&lease("2", "a")).unwrap().changed, None);
        watcher.look(&lease("3", "b"));
        assert!(watcher.seen(&lease("3", "b")).unwrap().changed.is_some());
        let mut once = Watcher::new(Duration::ZERO);
        once.look(&lease("1", "a"));
        assert_eq!(once.seen(&lease("1", "a")), None);
    }
}
