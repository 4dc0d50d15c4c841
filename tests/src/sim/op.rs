//! [`Op`]: a request on its way, and [`Answer`], what comes back.

use core::fmt;

use kubelease_core::Timestamp;
use kubelease_core::lease::{LeaseRecord, RecordSpec, RecordTime, Version};
use kubelease_core::protocol::{Changes, Operation, Reply, Response};
use kubelease_core::time::Duration;

/// What a request asks the server to do.
#[derive(Clone, Debug)]
pub enum Op {
    /// Read.
    Get,
    /// Hear of all changes after this version.
    Watch(u64),
    /// Make the lease where there is none.
    Create {
        /// The record.
        spec: RecordSpec,
        /// By PUT, which answers 422 where there is one.
        by_put: bool,
    },
    /// Write on a condition.
    Update {
        /// The record.
        spec: RecordSpec,
        /// The condition.
        version: Version,
        /// What differs.
        changes: Changes,
    },
}

impl Op {
    /// The record it writes, if it is a write.
    #[must_use]
    pub const fn spec(&self) -> Option<&RecordSpec> {
        match self {
            Self::Get | Self::Watch(_) => None,
            Self::Create { spec, .. } | Self::Update { spec, .. } => Some(spec),
        }
    }

    /// Its name in the log.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Watch(_) => "watch",
            Self::Create { .. } => "create",
            Self::Update {
                changes: Changes::Acquire,
                ..
            } => "acquire",
            Self::Update {
                changes: Changes::Renew,
                ..
            } => "renew",
            Self::Update {
                changes: Changes::Release,
                ..
            } => "release",
        }
    }
}

impl From<Operation<'_>> for Op {
    fn from(operation: Operation<'_>) -> Self {
        match operation {
            Operation::GetNode { .. } | Operation::Delete { .. } => {
                panic!("no elector asks for that")
            }
            Operation::Get => Self::Get,
            Operation::Watch { version, .. } => Self::Watch(version.as_number().unwrap_or(0)),
            Operation::Create { spec, by_put, .. } => Self::Create {
                spec: RecordSpec::from(spec),
                by_put,
            },
            Operation::Update {
                spec,
                version,
                changes,
                ..
            } => Self::Update {
                spec: RecordSpec::from(spec),
                version: version.clone(),
                changes,
            },
        }
    }
}

/// An answer that outlives the server's state.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The `Date` header.
    pub date: Option<Timestamp>,
    /// The `Retry-After` header.
    pub retry_after: Option<Duration>,
    /// What was said.
    pub said: Said,
    /// Whether no storm had a hand in it.
    pub is_genuine: bool,
}

/// What an answer says.
#[derive(Clone, Debug)]
pub enum Said {
    /// A lease.
    Lease(Box<LeaseRecord>),
    /// Anything else.
    Other(Reply<'static>),
}

impl Answer {
    /// The answer as the machine takes it.
    #[must_use]
    pub fn response(&self) -> Response<'_> {
        Response {
            server_time: self.date,
            retry_after: self.retry_after,
            reply: match &self.said {
                Said::Lease(record) => Reply::Lease(record),
                Said::Other(reply) => *reply,
            },
        }
    }
}

impl Said {
    /// Whether a healthy server says so and it tells whose the lease is: to who never creates
    /// one, a missing lease does not.
    #[must_use]
    pub const fn is_healthy(&self, never_creates: bool) -> bool {
        match self {
            Self::Lease(_) | Self::Other(Reply::Conflict | Reply::Invalid) => true,
            Self::Other(Reply::LeaseMissing) => !never_creates,
            Self::Other(_) => false,
        }
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(reply) => write!(f, "{reply:?}"),
            Self::Lease(record) => {
                write!(f, "v{}", record.version.resource_version.as_str())?;
                match &record.spec {
                    Some(RecordSpec {
                        holder,
                        renew_time: RecordTime::Canonical(time),
                        ..
                    }) => write!(f, " {holder:?} {time}"),
                    Some(spec) => write!(f, " {:?} {:?}", spec.holder, spec.renew_time),
                    None => f.write_str(" without spec"),
                }
            }
        }
    }
}
