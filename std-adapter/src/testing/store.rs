//! The objects, their versions, and the history that watches read.

use core::hash::BuildHasher;
use std::collections::BTreeMap;
use std::hash::RandomState;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::clock::Clock;
use super::route::Resource;

/// The version a new server begins with: versions below it are "too old", as on a server that has
/// compacted its storage.
const FIRST_VERSION: u64 = 100;
/// How many changes are remembered for watches; older versions are answered by 410.
const MAX_HISTORY: usize = 10_000;

/// Where an object is kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) resource: &'static str,
    pub(super) namespace: String,
    pub(super) name: String,
}

/// One change of one object.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) version: u64,
    pub(super) key: Key,
    pub(super) before: Option<Value>,
    /// The state after the change; `None` when it was deleted.
    pub(super) after: Option<Value>,
}

/// All objects of a server.
#[derive(Debug)]
pub(super) struct Store {
    version: u64,
    oldest: u64,
    objects: BTreeMap<Key, Value>,
    history: Vec<Change>,
    changed: watch::Sender<u64>,
    random: RandomState,
    drawn: u64,
}

impl Store {
    pub(super) fn new(clock: &Clock) -> Self {
        let mut store = Self {
            version: FIRST_VERSION,
            oldest: FIRST_VERSION,
            objects: BTreeMap::new(),
            history: Vec::new(),
            changed: watch::Sender::new(FIRST_VERSION),
            random: RandomState::new(),
            drawn: 0,
        };
        for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
            store.create_namespace(name, clock);
        }
        store.oldest = store.version;
        store
    }

    /// The version of the last change.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// The oldest version a watch may begin at.
    pub(super) fn oldest(&self) -> u64 {
        self.oldest
    }

    /// Tells of each change.
    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Value> {
        self.objects.get(key)
    }

    /// The objects of a resource in one namespace, or in all when it is empty.
    pub(super) fn list(&self, resource: &str, namespace: &str) -> Vec<(&Key, &Value)> {
        let is_meant = |key: &Key| {
            key.resource == resource && (namespace.is_empty() || key.namespace == namespace)
        };
        self.objects
            .iter()
            .filter(|(key, _)| is_meant(key))
            .collect()
    }

    /// The changes after a version.
    pub(super) fn changes_after(&self, version: u64) -> &[Change] {
        let first = self
            .history
            .partition_point(|change| change.version <= version);
        self.history.get(first..).unwrap_or_default()
    }

    /// Stores an object under a new version, and answers it with that version.
    pub(super) fn put(&mut self, key: Key, mut object: Value) -> Value {
        self.version += 1;
        set_version(&mut object, self.version);
        let before = self.objects.insert(key.clone(), object.clone());
        self.remember(Change {
            version: self.version,
            key,
            before,
            after: Some(object.clone()),
        });
        object
    }

    /// Takes an object away; answers its last state.
    pub(super) fn remove(&mut self, key: &Key) -> Option<Value> {
        let before = self.objects.remove(key)?;
        self.version += 1;
        let mut last = before.clone();
        set_version(&mut last, self.version);
        let change = Change {
            version: self.version,
            key: key.clone(),
            before: Some(last),
            after: None,
        };
        self.remember(change);
        Some(before)
    }

    /// Forgets the history, so that watches from older versions are answered by 410.
    pub(super) fn compact(&mut self) {
        self.version += 1;
        self.oldest = self.version;
        self.history.clear();
        self.wake();
    }

    /// Wakes all watches although nothing has changed.
    pub(super) fn wake(&self) {
        self.changed.send_replace(self.version);
    }

    fn remember(&mut self, change: Change) {
        self.history.push(change);
        if self.history.len() > MAX_HISTORY {
            let forgotten = self.history.drain(..MAX_HISTORY / 2).next_back();
            self.oldest = forgotten.map_or(self.oldest, |change| change.version);
        }
        self.changed.send_replace(self.version);
    }

    pub(super) fn namespace(&self, name: &str) -> Option<&Value> {
        self.objects.get(&Key::of("namespaces", "", name))
    }

    pub(super) fn create_namespace(&mut self, name: &str, clock: &Clock) {
        let object = json!({
            "kind": "Namespace", "apiVersion": "v1",
            "metadata": {
                "name": name, "uid": self.uid(), "resourceVersion": "",
                "creationTimestamp": clock.time(),
                "labels": {"kubernetes.io/metadata.name": name},
            },
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        });
        self.put(Key::of("namespaces", "", name), object);
    }

    /// Takes away a namespace and all that is in it.
    pub(super) fn remove_namespace(&mut self, name: &str) -> bool {
        let inside: Vec<_> = self
            .objects
            .keys()
            .filter(|key| key.namespace == name)
            .cloned()
            .collect();
        for key in inside {
            self.remove(&key);
        }
        self.remove(&Key::of("namespaces", "", name)).is_some()
    }

    /// A new random identifier in the form of a version 4 UUID.
    pub(super) fn uid(&mut self) -> String {
        let (high, low) = (self.draw(), self.draw());
        let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0xfff);
        let (d, e) = (low >> 48 & 0x3fff | 0x8000, low & 0xffff_ffff_ffff);
        // A first group of zeros would look like nobody's identifier.
        let a = a.max(1);
        format!("{a:08x}-{b:04x}-4{c:03x}-{d:04x}-{e:012x}")
    }

    /// Five letters for a generated name, of the alphabet that Kubernetes uses.
    pub(super) fn suffix(&mut self) -> String {
        const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut number = self.draw();
        let mut letters = String::new();
        for _ in 0..5 {
            let index = usize::try_from(number % 27).unwrap_or(0);
            letters.push(ALPHABET.get(index).copied().map_or('b', char::from));
            number /= 27;
        }
        letters
    }

    fn draw(&mut self) -> u64 {
        self.drawn += 1;
        self.random.hash_one(self.drawn)
    }
}

impl Key {
    pub(super) fn of(resource: &'static str, namespace: &str, name: &str) -> Self {
        Self {
            resource,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    pub(super) fn in_resource(resource: &Resource, namespace: &str, name: &str) -> Self {
        let namespace = if resource.namespaced { namespace } else { "" };
        Self::of(resource.plural, namespace, name)
    }
}

/// The version of an object as a number; 0 when it has none.
pub(super) fn version_of(object: &Value) -> u64 {
    let text = object
        .pointer("/metadata/resourceVersion")
        .and_then(Value::as_str);
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn set_version(object: &mut Value, version: u64) {
    if let Some(Value::Object(meta)) = object.get_mut("metadata") {
        meta.insert("resourceVersion".to_owned(), version.to_string().into());
    }
}
