//! The simulated server: one Lease.

use kubelease::kubelease_core::lease::{LeaseRecord, RecordSpec, ResourceVersion, Uid};
use kubelease::kubelease_core::protocol::{Operation, Reply};

/// What a candidate asks, on its way to the server.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    Get,
    Create(RecordSpec),
    Update(RecordSpec, ResourceVersion),
}

impl Asked {
    /// Takes an operation along; `None` for what no elector asks here.
    pub(super) fn new(operation: &Operation<'_>) -> Option<Self> {
        match operation {
            Operation::Get => Some(Self::Get),
            Operation::Create { spec, .. } => Some(Self::Create((*spec).into())),
            Operation::Update { spec, version, .. } => Some(Self::Update(
                (*spec).into(),
                version.resource_version.clone(),
            )),
            Operation::GetNode { .. } | Operation::Delete { .. } | Operation::Watch { .. } => None,
        }
    }

    pub(super) const fn is_write(&self) -> bool {
        match self {
            Self::Get => false,
            Self::Create(_) | Self::Update(..) => true,
        }
    }
}

/// What the server says.
#[derive(Clone, Debug)]
pub(super) enum Said {
    Lease(Box<LeaseRecord>),
    Missing,
    Conflict,
}

impl Said {
    pub(super) const fn reply(&self) -> Reply<'_> {
        match self {
            Self::Lease(record) => Reply::Lease(record),
            Self::Missing => Reply::LeaseMissing,
            Self::Conflict => Reply::Conflict,
        }
    }
}

/// The server, which never loses anything.
#[derive(Debug)]
pub(super) struct Server {
    lease: Option<LeaseRecord>,
    version: u64,
}

impl Server {
    /// Versions count up from here, as on a cluster that is not new.
    const FIRST_VERSION: u64 = 100;

    pub(super) const fn new() -> Self {
        Self {
            lease: None,
            version: Self::FIRST_VERSION,
        }
    }

    /// Does what is asked; says whether something was written.
    pub(super) fn take(&mut self, asked: &Asked) -> (Said, bool) {
        let there = self.lease.as_ref();
        let spec = match (asked, there) {
            (Asked::Get, Some(lease)) => return (Said::Lease(Box::new(lease.clone())), false),
            (Asked::Get | Asked::Update(..), None) => return (Said::Missing, false),
            (Asked::Create(_), Some(_)) => return (Said::Conflict, false),
            (Asked::Update(_, version), Some(lease))
                if *version != lease.version.resource_version =>
            {
                return (Said::Conflict, false);
            }
            (Asked::Update(spec, _), Some(_)) | (Asked::Create(spec), None) => spec,
        };
        self.version += 1;
        let version = self.version.to_string();
        let lease = self.lease.get_or_insert_default();
        lease.spec = Some(spec.clone());
        // Both are short enough by far.
        lease.version.uid = Uid::try_from("simulated").unwrap_or_default();
        lease.version.resource_version =
            ResourceVersion::try_from(version.as_str()).unwrap_or_default();
        (Said::Lease(Box::new(lease.clone())), true)
    }
}
