//! Outputs and requests as values that outlive the next call.

use kubelease_core::Timestamp;
use kubelease_core::lease::{Label, LeaseSpec, NodeRef, ResourceVersion, Version};
use kubelease_core::protocol::{Changes, Event, Operation, Output, Request, RequestId};
use kubelease_core::time::Instant;

/// One output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// An event.
    Event(Event),
    /// A request that is no longer wanted.
    Cancel(RequestId),
    /// A request to send.
    Request(Sent),
    /// Nothing to do until then.
    Wait(Instant),
    /// The end.
    Done,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its name.
    pub id: RequestId,
    /// From when on an answer is refused.
    pub deadline: Instant,
    /// What it writes; `None` where it writes nothing.
    pub write: Option<Write>,
    /// The Node that it reads; `None` where it is about the lease.
    pub node: Option<String>,
    /// The condition of a deletion.
    pub deletes: Option<Box<Version>>,
    /// The version that a watch begins at.
    pub watch: Option<Box<ResourceVersion>>,
}

/// What a request writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// `holderIdentity`.
    pub holder: String,
    /// `leaseDurationSeconds`.
    pub duration: u32,
    /// `acquireTime`.
    pub acquire_time: Option<Timestamp>,
    /// `renewTime`.
    pub renew_time: Timestamp,
    /// `leaseTransitions`.
    pub transitions: Option<u32>,
    /// Labels to set.
    pub labels: Vec<(String, String)>,
    /// The owner to set.
    pub owner: Option<Box<Owner>>,
    /// What kind of write it is.
    pub kind: WriteKind,
}

/// The Node that a write names as owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Whether there are others, as far as the machine knows.
    pub has_others: bool,
}

/// The kinds of writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// POST, or PUT without a version.
    Create {
        /// By PUT.
        by_put: bool,
    },
    /// PUT or PATCH on condition of a version.
    Update {
        /// The condition.
        version: Version,
        /// What differs.
        changes: Changes,
    },
}

impl Seen {
    /// The place of this output in the order of law L4.
    #[must_use]
    pub fn rank(&self) -> u8 {
        match self {
            Self::Event(Event::StoppedLeading { .. }) => 0,
            Self::Event(_) => 1,
            Self::Cancel(_) => 2,
            Self::Request(_) => 3,
            Self::Wait(_) | Self::Done => 4,
        }
    }

    /// Whether polling again at once would say the same.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        matches!(self, Self::Wait(_) | Self::Done)
    }
}

impl From<Output<'_>> for Seen {
    fn from(output: Output<'_>) -> Self {
        match output {
            Output::Event(event) => Self::Event(event),
            Output::Cancel(id) => Self::Cancel(id),
            Output::Request(request) => Self::Request(Sent::from(request)),
            Output::WaitUntil(at) => Self::Wait(at),
            Output::Done => Self::Done,
        }
    }
}

impl Sent {
    /// Whether it gives the lease up.
    #[must_use]
    pub fn is_release(&self) -> bool {
        self.write.as_ref().is_some_and(Write::is_release)
    }
}

impl From<Request<'_>> for Sent {
    fn from(request: Request<'_>) -> Self {
        let mut sent = Self {
            id: request.id,
            deadline: request.deadline,
            write: None,
            node: None,
            deletes: None,
            watch: None,
        };
        match request.operation {
            Operation::Get => {}
            Operation::Watch { version, .. } => sent.watch = Some(Box::new(version.clone())),
            Operation::GetNode { name } => sent.node = Some(name.to_owned()),
            Operation::Delete { version } => sent.deletes = Some(Box::new(version.clone())),
            Operation::Create {
                spec,
                labels,
                owner,
                by_put,
            } => {
                let owner = owner.map(|node| Box::new(Owner::new(node, false)));
                let kind = WriteKind::Create { by_put };
                sent.write = Some(Write::new(spec, labels, owner, kind));
            }
            Operation::Update {
                spec,
                version,
                changes,
                labels,
                owner,
            } => {
                let owner = owner.map(|it| Box::new(Owner::new(it.node, it.has_others)));
                let version = version.clone();
                let kind = WriteKind::Update { version, changes };
                sent.write = Some(Write::new(spec, labels, owner, kind));
            }
        }
        sent
    }
}

impl Owner {
    fn new(node: NodeRef<'_>, has_others: bool) -> Self {
        Self {
            name: node.name.to_owned(),
            uid: String::from_utf8_lossy(node.uid).into_owned(),
            has_others,
        }
    }
}

impl Write {
    fn new(
        spec: LeaseSpec<'_>,
        labels: &[Label<'_>],
        owner: Option<Box<Owner>>,
        kind: WriteKind,
    ) -> Self {
        let label = |label: &Label<'_>| (label.key.to_owned(), label.value.to_owned());
        Self {
            holder: spec.holder_identity.to_owned(),
            duration: spec.lease_duration_seconds,
            acquire_time: spec.acquire_time,
            renew_time: spec.renew_time,
            transitions: spec.lease_transitions,
            labels: labels.iter().map(label).collect(),
            owner,
            kind,
        }
    }

    /// Whether it gives the lease up.
    #[must_use]
    pub fn is_release(&self) -> bool {
        self.changes() == Some(Changes::Release)
    }

    /// What an update changes; `None` for a create.
    #[must_use]
    pub const fn changes(&self) -> Option<Changes> {
        match &self.kind {
            WriteKind::Create { .. } => None,
            WriteKind::Update { changes, .. } => Some(*changes),
        }
    }

    /// The condition; `None` for a create.
    #[must_use]
    pub const fn version(&self) -> Option<&Version> {
        match &self.kind {
            WriteKind::Create { .. } => None,
            WriteKind::Update { version, .. } => Some(version),
        }
    }
}
