//! [`Server`]: an API server with one namespace and one lease, exact and without faults.

use kubelease_core::Timestamp;
use kubelease_core::lease::{
    Holder, LeaseRecord, Owners, RecordSpec, RecordTime, ResourceVersion, Uid, Version,
};
use kubelease_core::protocol::Reply;
use kubelease_core::text::Hash;

use super::clock::EPOCH_US;
use super::op::{Op, Said};

/// The server.
#[derive(Clone, Debug)]
pub struct Server {
    lease: Option<Stored>,
    namespace: Namespace,
    version: u64,
    objects: u64,
    /// How far its own civil clock is off.
    offset_us: i64,
    changes: Vec<Change>,
}

/// The lease as it is stored.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The record.
    pub spec: RecordSpec,
    /// Its version.
    pub version: u64,
    /// When that version was made, in true time.
    pub written_us: u64,
    uid: Uid,
    created: Option<Timestamp>,
    being_deleted: bool,
}

/// What a watch tells of.
#[derive(Clone, Debug)]
pub struct Change {
    /// The version that it made.
    pub version: u64,
    /// The lease since then, or before it was deleted.
    pub record: LeaseRecord,
    /// Whether it was deleted.
    pub is_deletion: bool,
}

/// Whether leases can be in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespace {
    /// They can.
    Active,
    /// Those that were are gone, and new ones are refused.
    Terminating,
    /// It does not exist.
    Gone,
}

/// What somebody outside the election does to the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Changes labels: another version, the same record.
    Labels,
    /// Writes another duration, or none.
    Duration(Option<i32>),
    /// Empties the holder.
    Clear,
    /// Writes this holder and duration.
    Steal(&'static str, i32),
    /// Makes the times unreadable.
    Times,
    /// Deletes the lease.
    Delete,
    /// Deletes it and makes it again with the same record.
    Remake,
    /// Marks it for deletion; a finalizer keeps it.
    Finalize,
}

impl Server {
    /// A server without a lease whose civil clock is off by `offset_us`.
    #[must_use]
    pub const fn new(offset_us: i64) -> Self {
        Self {
            lease: None,
            namespace: Namespace::Active,
            version: 1_000,
            objects: 0,
            offset_us,
            changes: Vec::new(),
        }
    }

    /// The lease.
    #[must_use]
    pub const fn lease(&self) -> Option<&Stored> {
        self.lease.as_ref()
    }

    /// The version of the last change of anything.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// The `Date` of an answer, in whole seconds.
    #[must_use]
    pub fn date(&self, at_us: u64) -> Option<Timestamp> {
        let us = EPOCH_US.saturating_add_unsigned(at_us) + self.offset_us;
        Timestamp::from_unix(us.div_euclid(1_000_000), 0)
    }

    /// Does what `op` asks for, if it may.
    pub fn apply(&mut self, op: &Op, at_us: u64) -> Said {
        match op {
            Op::Get => self.read(),
            // One that can't be opened ends at once.
            Op::Watch(_) => Said::Other(Reply::WatchEnded),
            Op::Create { spec, .. } => self.create(spec, at_us),
            Op::Update { spec, version, .. } => self.update(spec, version, at_us),
        }
    }

    /// Whether `op` would change the lease now.
    #[must_use]
    pub fn would_write(&self, op: &Op) -> bool {
        match (op, &self.lease) {
            (Op::Get | Op::Watch(_), _) => false,
            (Op::Create { .. }, lease) => lease.is_none() && self.namespace == Namespace::Active,
            (Op::Update { version, .. }, Some(stored)) => stored.is_at(version),
            (Op::Update { .. }, None) => false,
        }
    }

    /// Lets `edit` happen; `None` where there is nothing to edit, or else the version it made.
    pub fn edit(&mut self, edit: Edit, at_us: u64) -> Option<u64> {
        self.lease.as_ref()?;
        let version = self.count_up();
        let uid = self.next_uid(edit == Edit::Remake);
        if edit == Edit::Delete {
            self.remove(version);
            return Some(version);
        }
        let now = EPOCH_US.saturating_add_unsigned(at_us);
        let lease = self.lease.as_mut()?;
        lease.version = version;
        lease.written_us = at_us;
        let spec = &mut lease.spec;
        match edit {
            Edit::Labels | Edit::Delete => {}
            Edit::Duration(seconds) => spec.lease_duration_seconds = seconds,
            Edit::Clear => spec.holder = Holder::default(),
            Edit::Steal(holder, seconds) => {
                let time = Timestamp::from_unix_micros(now).map(RecordTime::Canonical);
                *spec = RecordSpec {
                    holder: Holder::from(holder),
                    lease_duration_seconds: Some(seconds),
                    acquire_time: time.unwrap_or_default(),
                    renew_time: time.unwrap_or_default(),
                    lease_transitions: Some(spec.lease_transitions.unwrap_or(0) + 1),
                };
            }
            Edit::Times => {
                spec.acquire_time = RecordTime::Null;
                spec.renew_time = RecordTime::Other {
                    instant: None,
                    hash: Hash::of(b"10000-01-01T00:00:00.000000Z"),
                };
            }
            Edit::Remake => {
                lease.uid = uid;
                lease.being_deleted = false;
            }
            Edit::Finalize => lease.being_deleted = true,
        }
        self.changed();
        Some(version)
    }

    /// Ends or begins the namespace; the version that this made.
    pub fn set_namespace(&mut self, namespace: Namespace) -> u64 {
        self.namespace = namespace;
        let version = self.count_up();
        if namespace != Namespace::Active {
            self.remove(version);
        }
        version
    }

    /// What happened to the lease after `version`.
    #[must_use]
    pub fn changes_after(&self, version: u64) -> &[Change] {
        let first = self.changes.partition_point(|it| it.version <= version);
        &self.changes[first..]
    }

    /// The lease is gone since `version`.
    fn remove(&mut self, version: u64) {
        if let Some(mut lease) = self.lease.take() {
            lease.version = version;
            self.changes.push(Change {
                version,
                record: lease.record(),
                is_deletion: true,
            });
        }
    }

    /// The lease is in a new state.
    fn changed(&mut self) {
        if let Some(lease) = &self.lease {
            self.changes.push(Change {
                version: lease.version,
                record: lease.record(),
                is_deletion: false,
            });
        }
    }

    fn read(&self) -> Said {
        match &self.lease {
            Some(lease) => Said::Lease(Box::new(lease.record())),
            None => Said::Other(Reply::LeaseMissing),
        }
    }

    fn create(&mut self, spec: &RecordSpec, at_us: u64) -> Said {
        if self.lease.is_some() {
            return Said::Other(Reply::Conflict);
        }
        match self.namespace {
            Namespace::Active => {}
            Namespace::Terminating => return Said::Other(Reply::NamespaceTerminating),
            Namespace::Gone => return Said::Other(Reply::NamespaceMissing),
        }
        let version = self.count_up();
        self.lease = Some(Stored {
            spec: spec.clone(),
            version,
            written_us: at_us,
            uid: self.next_uid(true),
            created: self.date(at_us),
            being_deleted: false,
        });
        self.changed();
        self.read()
    }

    fn update(&mut self, spec: &RecordSpec, version: &Version, at_us: u64) -> Said {
        let next = self.version + 1;
        let Some(lease) = &mut self.lease else {
            return Said::Other(Reply::LeaseMissing);
        };
        if !lease.is_at(version) {
            return Said::Other(Reply::Conflict);
        }
        if lease.spec != *spec {
            // An update that changes nothing is not written and makes no version.
            lease.spec = spec.clone();
            lease.version = next;
            lease.written_us = at_us;
            self.version = next;
            self.changed();
        }
        self.read()
    }

    const fn count_up(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    fn next_uid(&mut self, new: bool) -> Uid {
        self.objects += u64::from(new);
        short(self.objects)
    }
}

impl Stored {
    /// The lease as an answer describes it.
    #[must_use]
    pub fn record(&self) -> LeaseRecord {
        let resource_version: ResourceVersion = short_version(self.version);
        LeaseRecord {
            version: Version {
                uid: self.uid.clone(),
                resource_version,
            },
            creation_timestamp: self.created,
            being_deleted: self.being_deleted,
            owners: Owners::default(),
            spec: Some(self.spec.clone()),
        }
    }

    fn is_at(&self, version: &Version) -> bool {
        version.uid == self.uid && version.resource_version.as_number() == Some(self.version)
    }
}

/// `number` as a version.
fn short_version(number: u64) -> ResourceVersion {
    let mut version = ResourceVersion::default();
    push_digits(number, &mut |digit| version.push_byte(digit).is_ok());
    version
}

/// `number` as a uid.
fn short(number: u64) -> Uid {
    let mut uid = Uid::new();
    push_digits(number, &mut |digit| uid.push_byte(digit).is_ok());
    uid
}

/// The decimal digits of `number`: at most 20, which fits into both texts.
fn push_digits(number: u64, push: &mut dyn FnMut(u8) -> bool) {
    let mut digits = [0_u8; 20];
    let (mut rest, mut first) = (number, digits.len());
    while first > 0 {
        first -= 1;
        digits[first] = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let all = digits[first..].iter().all(|digit| push(*digit));
    debug_assert!(all, "a version of 20 digits fits");
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubelease_core::protocol::Changes;

    fn spec(holder: &str) -> RecordSpec {
        RecordSpec {
            holder: Holder::from(holder),
            ..RecordSpec::default()
        }
    }

    fn update(server: &mut Server, holder: &str, version: &Version) -> Said {
        let op = Op::Update {
            spec: spec(holder),
            version: version.clone(),
            changes: Changes::Acquire,
        };
        let would_write = server.would_write(&op);
        let before = server.version();
        let said = server.apply(&op, 0);
        assert_eq!(would_write, server.version() > before);
        said
    }

    fn version(said: &Said) -> Version {
        match said {
            Said::Lease(record) => record.version.clone(),
            Said::Other(reply) => panic!("expected a lease, found {reply:?}"),
        }
    }

    fn with_a_lease() -> (Server, Version) {
        let mut server = Server::new(0);
        let create = Op::Create {
            spec: spec("ada"),
            by_put: false,
        };
        let first = version(&server.apply(&create, 0));
        let again = server.apply(&create, 0);
        assert!(matches!(again, Said::Other(Reply::Conflict)), "{again}");
        (server, first)
    }

    #[test]
    fn a_write_needs_the_version_it_was_made_for() {
        let (mut server, first) = with_a_lease();
        let second = version(&update(&mut server, "bob", &first));
        assert!(second.resource_version.as_number() > first.resource_version.as_number());
        let late = update(&mut server, "cyd", &first);
        assert!(matches!(late, Said::Other(Reply::Conflict)), "{late}");
        assert_eq!(version(&server.apply(&Op::Get, 0)), second);
    }

    #[test]
    fn a_lease_made_again_refuses_the_versions_of_the_one_before() {
        let (mut server, first) = with_a_lease();
        assert!(server.edit(Edit::Remake, 0).is_some());
        let record = version(&server.apply(&Op::Get, 0));
        assert_ne!(record.uid, first.uid);
        let mixed = Version {
            uid: first.uid,
            ..record
        };
        let said = update(&mut server, "bob", &mixed);
        assert!(matches!(said, Said::Other(Reply::Conflict)), "{said}");
    }

    #[test]
    fn no_lease_outlives_its_namespace() {
        let (mut server, first) = with_a_lease();
        server.set_namespace(Namespace::Gone);
        let said = update(&mut server, "bob", &first);
        assert!(matches!(said, Said::Other(Reply::LeaseMissing)), "{said}");
        assert_eq!(server.edit(Edit::Clear, 0), None);
    }
}
