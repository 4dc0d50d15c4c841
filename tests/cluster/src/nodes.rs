//! [`Nodes`]: what becomes of the Nodes, as a watch tells it.

use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::client::Client;
use crate::log::wall_us;
use crate::{node, until};

const LONG: Duration = Duration::from_secs(20);

/// A Node, as it was at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// When the watch told it: microseconds of the civil clock since 1970.
    pub at_us: i64,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Status of the condition `Ready`; empty without one.
    pub ready: String,
    /// Keys of its taints.
    pub taints: Vec<String>,
    /// Whether this is its end.
    pub is_deleted: bool,
}

impl Seen {
    /// Reads an event of a watch; `None` where it is none about a Node.
    fn parse(line: &str) -> Option<Self> {
        let event: Value = serde_json::from_str(line).ok()?;
        let text = |pointer| event.pointer(pointer)?.as_str().map(str::to_owned);
        let list = |pointer| event.pointer(pointer).and_then(Value::as_array);
        let conditions = list("/object/status/conditions");
        let mut conditions = conditions.into_iter().flatten();
        let ready = conditions.find(|condition| condition["type"] == "Ready");
        let ready = ready.and_then(|condition| condition["status"].as_str());
        let taints = list("/object/spec/taints").into_iter().flatten();
        let keys = taints.filter_map(|taint| taint["key"].as_str().map(str::to_owned));
        Some(Self {
            at_us: wall_us(),
            name: text("/object/metadata/name")?,
            uid: text("/object/metadata/uid")?,
            ready: ready.unwrap_or_default().to_owned(),
            taints: keys.collect(),
            is_deleted: text("/type")? == "DELETED",
        })
    }
}

/// The history of all Nodes, from the call on.
#[derive(Clone, Debug)]
pub struct Nodes {
    admin: Client,
    seen: Arc<Mutex<Vec<Seen>>>,
    tasks: Arc<Mutex<JoinSet<()>>>,
}

impl Nodes {
    /// Follows them as long as this or a clone of it lives.
    #[must_use]
    pub fn follow(admin: &Client) -> Self {
        let nodes = Self {
            admin: admin.clone(),
            seen: Arc::default(),
            tasks: Arc::default(),
        };
        let (admin, seen) = (admin.clone(), Arc::clone(&nodes.seen));
        let follow = async move {
            let target = "/api/v1/nodes?watch=true";
            let add = |line: &str| {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.extend(Seen::parse(line));
            };
            admin.lines(target, add).await;
        };
        let tasks = nodes.tasks.lock();
        tasks.unwrap_or_else(PoisonError::into_inner).spawn(follow);
        nodes
    }

    /// Makes one anew that has a name and nothing else.
    ///
    /// # Panics
    /// Where the server does not take it.
    pub async fn make(&self, name: &str) {
        let answer = self.admin.ask("DELETE", &node(name), "").await;
        assert!(matches!(answer.status, 200 | 404), "{answer:?}");
        let body = json!({"metadata": {"name": name}}).to_string();
        let answer = self.admin.ask("POST", "/api/v1/nodes", &body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
    }

    /// Deletes one, where it is there, and waits until the watch has told of that.
    pub async fn remove(&self, name: &str) {
        let answer = self.admin.ask("DELETE", &node(name), "").await;
        if answer.status == 200 {
            let is_gone = |seen: &Seen| seen.is_deleted;
            self.until(name, LONG, is_gone, "deleted").await;
        }
    }

    /// All that was seen of one.
    #[must_use]
    pub fn history(&self, name: &str) -> Vec<Seen> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let one = seen.iter().filter(|seen| seen.name == name);
        one.cloned().collect()
    }

    /// How it was last; nothing of one that was never seen.
    #[must_use]
    pub fn last(&self, name: &str) -> Seen {
        self.history(name).pop().unwrap_or_default()
    }

    /// Each state of the condition `Ready` that it went through since a moment, one after another.
    #[must_use]
    pub fn states(&self, name: &str, since_us: i64) -> Vec<String> {
        let history = self.history(name).into_iter();
        let history = history.filter(|seen| seen.at_us > since_us);
        let mut states: Vec<_> = history
            .map(|seen| match seen.is_deleted {
                true => "deleted".to_owned(),
                false => seen.ready,
            })
            .collect();
        states.dedup();
        states
    }

    /// Waits until it is so, and answers with how it is then.
    ///
    /// # Panics
    /// Where that takes longer than `patience`.
    pub async fn until(
        &self,
        name: &str,
        patience: Duration,
        is_so: impl Fn(&Seen) -> bool,
        what: &str,
    ) -> Seen {
        let mut found = Seen::default();
        until(&format!("{name}: {what}"), patience, async || {
            found = self.last(name);
            is_so(&found)
        })
        .await;
        found
    }
}

#[cfg(test)]
mod tests {
    use super::Seen;

    #[test]
    fn the_condition_and_the_taints_of_a_node_are_read() {
        let line = r#"{"type":"DELETED","object":{"metadata":{"name":"a","uid":"u"},
            "spec":{"taints":[{"key":"k"}]},"status":{"conditions":[
            {"type":"DiskPressure","status":"False"},{"type":"Ready","status":"Unknown"}]}}}"#;
        let seen = Seen::parse(line).unwrap_or_default();
        let expected = Seen {
            at_us: seen.at_us,
            name: "a".to_owned(),
            uid: "u".to_owned(),
            ready: "Unknown".to_owned(),
            taints: vec!["k".to_owned()],
            is_deleted: true,
        };
        assert_eq!(seen, expected);
        assert!(seen.at_us > 0);
    }
}
