//! [`Server`]: one lease, changed only on condition of its version.

use kubelease_core::lease::{LeaseRecord, RecordSpec, RecordTime, ResourceVersion, Uid, Version};
use kubelease_core::protocol::Operation;
use kubelease_core::timestamp::Timestamp;

/// Who wrote something: an elector, and which of its lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Author {
    pub(crate) who: usize,
    pub(crate) life: u8,
}

/// A record as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Written {
    pub(crate) holder: &'static str,
    seconds: u32,
    acquired: Option<Timestamp>,
    renewed: Timestamp,
    transitions: Option<u32>,
}

/// A record as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Stored {
    pub(crate) record: Written,
    pub(crate) author: Author,
    pub(crate) version: u32,
    object: u32,
}

/// What a request asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Wish {
    Get,
    Create(Written),
    Update { record: Written, version: u32 },
}

/// What the server says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Answer {
    Lease(Stored),
    Missing,
    Conflict,
    GatewayTimeout,
}

/// No version: what a write means that has none. The shipped elector never sends it.
const UNCONDITIONAL: u32 = 0;

/// The store. Versions and objects are counted and never used twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Server {
    pub(crate) lease: Option<Stored>,
    version: u32,
    object: u32,
}

impl Server {
    /// Does what `wish` asks, if its condition holds.
    pub(crate) fn apply(&mut self, author: Author, wish: Wish) -> Answer {
        let record = match (wish, self.lease) {
            (Wish::Get, Some(stored)) => return Answer::Lease(stored),
            (Wish::Get | Wish::Update { .. }, None) => return Answer::Missing,
            (Wish::Create(_), Some(_)) => return Answer::Conflict,
            (Wish::Update { version, .. }, Some(stored))
                if version != UNCONDITIONAL && version != stored.version =>
            {
                return Answer::Conflict;
            }
            (Wish::Create(record), None) => {
                self.object += 1;
                record
            }
            (Wish::Update { record, .. }, Some(_)) => record,
        };
        self.version += 1;
        let stored = Stored {
            record,
            author,
            version: self.version,
            object: self.object,
        };
        self.lease = Some(stored);
        Answer::Lease(stored)
    }

    /// Somebody deletes the lease, which takes a version too.
    pub(crate) fn delete(&mut self) {
        self.lease = None;
        self.version += 1;
    }
}

impl Wish {
    /// The wish of `operation`; `name` is that of its sender.
    pub(crate) fn new(operation: &Operation<'_>, name: &'static str) -> Self {
        let written = |spec: &kubelease_core::lease::LeaseSpec<'_>| Written {
            holder: if spec.holder_identity.is_empty() {
                ""
            } else {
                name
            },
            seconds: spec.lease_duration_seconds,
            acquired: spec.acquire_time,
            renewed: spec.renew_time,
            transitions: spec.lease_transitions,
        };
        match operation {
            Operation::Get | Operation::Watch { .. } => Self::Get,
            Operation::GetNode { .. } | Operation::Delete { .. } => {
                unreachable!("no elector asks for that")
            }
            Operation::Create { spec, .. } => Self::Create(written(spec)),
            Operation::Update { spec, version, .. } => Self::Update {
                record: written(spec),
                version: version
                    .resource_version
                    .as_number()
                    .and_then(|number| u32::try_from(number).ok())
                    .unwrap_or(UNCONDITIONAL),
            },
        }
    }

    pub(crate) const fn is_write(&self) -> bool {
        !matches!(self, Self::Get)
    }

    /// Whether it takes the holder out.
    pub(crate) const fn is_release(&self) -> bool {
        match self {
            Self::Get | Self::Create(_) => false,
            Self::Update { record, .. } => record.holder.is_empty(),
        }
    }

    /// Whether it can still change what `server` has, now or after a deletion.
    pub(crate) fn is_live(&self, server: &Server, deletions: u8) -> bool {
        match self {
            Self::Get => false,
            Self::Create(_) => server.lease.is_none() || deletions > 0,
            Self::Update { version, .. } => server
                .lease
                .is_some_and(|stored| stored.version == *version),
        }
    }
}

impl From<Stored> for LeaseRecord {
    fn from(stored: Stored) -> Self {
        let short = "a number is short";
        let Written {
            holder,
            seconds,
            acquired,
            renewed,
            transitions,
        } = stored.record;
        let small = |number: u32| i32::try_from(number).ok();
        let number = stored.version.to_string();
        Self {
            version: Version {
                uid: Uid::try_from(stored.object.to_string().as_str()).expect(short),
                resource_version: ResourceVersion::try_from(number.as_str()).expect(short),
            },
            spec: Some(RecordSpec {
                holder: holder.into(),
                lease_duration_seconds: small(seconds),
                acquire_time: acquired.map_or(RecordTime::Absent, RecordTime::Canonical),
                renew_time: RecordTime::Canonical(renewed),
                lease_transitions: transitions.and_then(small),
            }),
            ..Self::default()
        }
    }
}
