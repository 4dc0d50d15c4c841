//! What is known of a Lease at a moment, and how it is told.

use serde_json::{Value, json};

use super::super::row::Row;

/// What a look found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Missing,
    /// There was no answer, or not this one.
    Unknown(String),
    There {
        holder: String,
        transitions: String,
        uid: String,
        renewed: String,
        version: String,
    },
}

impl State {
    pub(super) fn of(lease: Option<Value>) -> Self {
        let Some(lease) = lease else {
            return Self::Missing;
        };
        let row = Row::new(lease, None);
        Self::There {
            transitions: row.transitions(),
            uid: row.text("/metadata/uid").to_owned(),
            renewed: row.text("/spec/renewTime").to_owned(),
            version: row.text("/metadata/resourceVersion").to_owned(),
            holder: row.holder,
        }
    }

    /// Whether it is more than a renewal of `last`.
    pub(super) fn differs(&self, last: &Self) -> bool {
        match (self, last) {
            (
                Self::There {
                    holder,
                    transitions,
                    uid,
                    ..
                },
                Self::There {
                    holder: last_holder,
                    transitions: last_transitions,
                    uid: last_uid,
                    ..
                },
            ) => (holder, transitions, uid) != (last_holder, last_transitions, last_uid),
            (Self::Missing | Self::Unknown(_) | Self::There { .. }, _) => self != last,
        }
    }

    /// For people.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Missing => "there is no lease".to_owned(),
            Self::Unknown(reason) => format!("unknown: {reason}"),
            Self::There {
                holder,
                transitions,
                version,
                ..
            } => {
                let holder = if holder.is_empty() { "nobody" } else { holder };
                format!("held by {holder}, transitions {transitions}, version {version}")
            }
        }
    }

    /// For programs, as seen at `now`.
    pub(super) fn members(&self, now: &str) -> Value {
        match self {
            Self::Missing => json!({"seenAt": now, "lease": null}),
            Self::Unknown(reason) => json!({"seenAt": now, "error": reason}),
            Self::There {
                holder,
                transitions,
                uid,
                renewed,
                version,
            } => json!({
                "seenAt": now,
                "lease": {
                    "holderIdentity": holder,
                    "leaseTransitions": transitions.parse::<i64>().ok(),
                    "renewTime": renewed,
                    "resourceVersion": version,
                    "uid": uid,
                },
            }),
        }
    }
}
