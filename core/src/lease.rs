//! The Lease as the machines see it: what is read, what is written, and what orders terms.

use core::cmp::Ordering;

use crate::text::{Clipped, Hash, Text, TextTooLong};
use crate::timestamp::Timestamp;

/// How much of somebody else's identity is kept. On a 64-bit processor that is all of client-go's
/// own form, a host name of at most 63 bytes, `_` and a UUID of 36; on smaller ones a host name.
pub const HOLDER_PREFIX_MAX: usize = if cfg!(target_pointer_width = "64") {
    100
} else {
    63
};

/// Longest `metadata.uid` that can be kept: the server makes UUIDs of 36 bytes.
pub const UID_MAX: usize = 40;

/// Longest `metadata.resourceVersion` that can be kept: etcd's are at most 20 digits.
pub const RESOURCE_VERSION_MAX: usize = 32;

/// The identity that a record names, clipped where it is very long.
pub type Holder = Clipped<HOLDER_PREFIX_MAX>;

/// `metadata.uid`.
pub type Uid = Text<UID_MAX>;

/// What a write says in `spec`. A field that is `None` stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseSpec<'a> {
    /// `holderIdentity`; empty in a release. It is always written: a lease without the field can
    /// end a server that runs coordinated election.
    pub holder_identity: &'a str,
    /// `leaseDurationSeconds`, at least 1.
    pub lease_duration_seconds: u32,
    /// `acquireTime`.
    pub acquire_time: Option<Timestamp>,
    /// `renewTime`.
    pub renew_time: Timestamp,
    /// `leaseTransitions`, at most `i32::MAX`.
    pub lease_transitions: Option<u32>,
}

/// One label that the elector asserts when it acquires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label<'a> {
    /// Qualified name, such as `example.com/zone`.
    pub key: &'a str,
    /// At most 63 bytes.
    pub value: &'a str,
}

/// The Node that a Lease belongs to: the server's garbage collector deletes the lease once no Node
/// has this name and uid any more.
#[expect(
    clippy::exhaustive_structs,
    reason = "the other members of a reference are the same for every Node"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRef<'a> {
    /// `metadata.name` of the Node.
    pub name: &'a str,
    /// `metadata.uid` of the Node; empty where it is not known, and then nothing is written.
    pub uid: &'a [u8],
}

/// The Node that a write puts among the owners of a Lease; all others stay.
#[expect(
    clippy::exhaustive_structs,
    reason = "plain data that drivers and tests take apart"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerChange<'a> {
    /// The Node. A reference to one of its name with another uid goes.
    pub node: NodeRef<'a>,
    /// Whether the Lease has other owners, by the record that the write rests on.
    pub has_others: bool,
}

/// What a Lease says of its owners, to a machine that named the Node that it looks for.
#[expect(
    clippy::exhaustive_structs,
    reason = "plain data that drivers and tests put together"
)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owners {
    /// Whether the Node is among them.
    pub node: OwnerState,
    /// Whether there are others.
    pub has_others: bool,
}

impl Owners {
    pub(crate) const NONE: Self = Self {
        node: OwnerState::Absent,
        has_others: false,
    };
}

/// Whether a Node is among the owners of a Lease.
#[expect(clippy::exhaustive_enums, reason = "there is no fourth case")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OwnerState {
    /// It is not, or nobody looked for it.
    #[default]
    Absent,
    /// One of its name is, with another uid or where its uid is not known.
    Stale,
    /// It is, by name and uid.
    Current,
}

/// What a Node says of itself.
#[expect(
    clippy::exhaustive_structs,
    reason = "plain data that drivers and tests put together"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRecord<'a> {
    /// `metadata.uid`, never empty.
    pub uid: &'a Uid,
    /// The status of its condition `Ready`.
    pub readiness: Readiness,
}

/// The status of a Node's condition `Ready`.
#[expect(clippy::exhaustive_enums, reason = "the API has three words, or none")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Readiness {
    /// The Node has no such condition, or it says something else.
    #[default]
    Unsaid,
    /// `True`.
    Ready,
    /// `False`: the Node's agent said so.
    NotReady,
    /// `Unknown`: the node controller missed the heartbeats.
    Unknown,
}

/// A time in a record, with all that its text says.
///
/// A change of the text is a change of the record, so two texts of one instant are unequal, and a
/// text that is no time at all is kept as its hash and is no error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RecordTime {
    /// The field is not there.
    #[default]
    Absent,
    /// The field is `null`: the server's way to write the zero time.
    Null,
    /// The canonical form with six digits and `Z`.
    Canonical(Timestamp),
    /// Any other text.
    Other {
        /// The instant, where the text can be read as one.
        instant: Option<Timestamp>,
        /// Hash of the text.
        hash: Hash,
    },
}

impl RecordTime {
    /// The instant, where there is one.
    #[must_use]
    pub const fn timestamp(self) -> Option<Timestamp> {
        match self {
            Self::Canonical(instant) => Some(instant),
            Self::Other { instant, .. } => instant,
            Self::Absent | Self::Null => None,
        }
    }

    /// Takes all that the text says into a hash.
    fn hash_into(&self, hash: &mut Hash) {
        let (kind, number) = match self {
            Self::Absent => (0, 0),
            Self::Null => (1, 0),
            Self::Canonical(instant) => (2, instant.as_unix_micros().cast_unsigned()),
            Self::Other { hash, .. } => (3, hash.number()),
        };
        hash.push_byte(kind);
        hash.push_number(number);
    }
}

/// `spec` as it was read. Equal values mean equal raw text of all five fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RecordSpec {
    /// `holderIdentity`; empty where it is absent, `null` or empty.
    pub holder: Holder,
    /// `leaseDurationSeconds`.
    pub lease_duration_seconds: Option<i32>,
    /// `acquireTime`.
    pub acquire_time: RecordTime,
    /// `renewTime`.
    pub renew_time: RecordTime,
    /// `leaseTransitions`.
    pub lease_transitions: Option<i32>,
}

impl RecordSpec {
    /// What a record without `spec` says.
    pub(crate) const EMPTY: Self = Self {
        holder: Holder::new(),
        lease_duration_seconds: None,
        acquire_time: RecordTime::Absent,
        renew_time: RecordTime::Absent,
        lease_transitions: None,
    };

    /// A hash of all five fields: another one shows that the spec has changed.
    pub(crate) fn digest(&self) -> Hash {
        let mut hash = Hash::new();
        self.hash_into(&mut hash);
        hash
    }

    /// Takes all five fields into a hash.
    pub(crate) fn hash_into(&self, hash: &mut Hash) {
        self.holder.hash_into(hash);
        for number in [self.lease_duration_seconds, self.lease_transitions] {
            // One that is not there is none that an `i32` can be.
            let number = number.map_or(i64::MAX, i64::from);
            hash.push_number(number.cast_unsigned());
        }
        for time in [&self.acquire_time, &self.renew_time] {
            time.hash_into(hash);
        }
    }
}

impl From<LeaseSpec<'_>> for RecordSpec {
    /// What a server stores for this write.
    fn from(spec: LeaseSpec<'_>) -> Self {
        let small = |number: u32| i32::try_from(number).ok();
        Self {
            holder: Holder::from(spec.holder_identity),
            lease_duration_seconds: small(spec.lease_duration_seconds),
            acquire_time: spec
                .acquire_time
                .map_or(RecordTime::Absent, RecordTime::Canonical),
            renew_time: RecordTime::Canonical(spec.renew_time),
            lease_transitions: spec.lease_transitions.and_then(small),
        }
    }
}

/// A Lease as an answer describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseRecord {
    /// Which object, and which state of it.
    pub version: Version,
    /// `metadata.creationTimestamp`.
    pub creation_timestamp: Option<Timestamp>,
    /// Whether `metadata.deletionTimestamp` is set: the lease goes when its finalizers are gone.
    pub being_deleted: bool,
    /// Its owners, where the machine names the Node that it looks for.
    pub owners: Owners,
    /// `spec`; `None` where the answer has none, or `null`.
    pub spec: Option<RecordSpec>,
}

/// One state of one object: the condition under which a write is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// `metadata.uid`; empty where the server sent none.
    pub uid: Uid,
    /// `metadata.resourceVersion`; never empty in an answer that decodes.
    pub resource_version: ResourceVersion,
}

impl Version {
    /// The version of nothing.
    pub(crate) const EMPTY: Self = Self {
        uid: Uid::new(),
        resource_version: ResourceVersion(Text::new()),
    };

    /// Takes over another in place.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.uid.copy_from(&other.uid);
        self.resource_version.copy_from(&other.resource_version);
    }
}

/// `metadata.resourceVersion`: compared for equality always, for order where it is a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceVersion(Text<RESOURCE_VERSION_MAX>);

impl ResourceVersion {
    /// Takes over another in place.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.0.copy_from(&other.0);
    }

    /// Appends one byte.
    ///
    /// # Errors
    /// [`TextTooLong`] past [`RESOURCE_VERSION_MAX`] bytes.
    pub fn push_byte(&mut self, byte: u8) -> Result<(), TextTooLong> {
        self.0.push_byte(byte)
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// [`TextTooLong`] past [`RESOURCE_VERSION_MAX`] bytes; the version is then as before.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Result<(), TextTooLong> {
        self.0.push_bytes(bytes)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Whether there is no version.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number, where the text is a decimal `u64` above zero without a leading zero: the form
    /// that has an order since Kubernetes 1.35 (KEP-5504).
    #[must_use]
    pub fn as_number(&self) -> Option<u64> {
        let bytes = self.0.as_bytes();
        if bytes
            .first()
            .is_none_or(|first| !(b'1'..=b'9').contains(first))
        {
            return None;
        }
        bytes.iter().try_fold(0_u64, |number, byte| {
            let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
            number.checked_mul(10)?.checked_add(u64::from(digit))
        })
    }

    /// Which of two versions of one resource type is later; `None` where they have no order.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        Some(self.as_number()?.cmp(&other.as_number()?))
    }
}

impl TryFrom<&str> for ResourceVersion {
    type Error = TextTooLong;

    fn try_from(text: &str) -> Result<Self, TextTooLong> {
        Text::try_from(text).map(Self)
    }
}

/// What a guarded store can compare, so that a leader of the past is refused.
///
/// `acquired_version` orders all terms of a lease on one API server, across deletion and
/// re-creation of the lease too. It does not order them across a restored backup, nor on a server
/// whose versions are no numbers; [`compare`](Self::compare) and [`token`](Self::token) say so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fence {
    /// The lease object that was acquired.
    pub lease_uid: Uid,
    /// `leaseTransitions` that the acquiring write set. A deleted lease starts at 0 again.
    pub transitions: u32,
    /// The version that the acquiring write produced.
    pub acquired_version: ResourceVersion,
}

impl Fence {
    pub(crate) const NONE: Self = Self {
        lease_uid: Uid::new(),
        transitions: 0,
        acquired_version: ResourceVersion(Text::new()),
    };

    /// Which of two terms is later; `None` where a version is not a well-formed number.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        self.acquired_version.compare(&other.acquired_version)
    }

    /// The one number that a database or a file can compare: larger means later.
    #[must_use]
    pub fn token(&self) -> Option<u64> {
        self.acquired_version.as_number()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> ResourceVersion {
        ResourceVersion::try_from(text).unwrap()
    }

    #[test]
    fn only_well_formed_numbers_have_an_order() {
        let numbers = [
            ("1", Some(1)),
            ("18446744073709551615", Some(u64::MAX)),
            ("907", Some(907)),
        ];
        for (text, number) in numbers {
            assert_eq!(version(text).as_number(), number, "{text}");
        }
        for text in [
            "",
            "0",
            "01",
            "-1",
            "abc",
            "1a",
            "+1",
            " 1",
            "18446744073709551616",
        ] {
            assert_eq!(version(text).as_number(), None, "{text}");
        }
        assert_eq!(version("9").compare(&version("10")), Some(Ordering::Less));
        assert_eq!(version("9").compare(&version("x")), None);
        assert_eq!(version("x").compare(&version("x")), None);
    }

    #[test]
    fn fences_compare_by_version_whatever_the_uid() {
        let fence = |uid: &str, transitions, at: &str| Fence {
            lease_uid: Uid::try_from(uid).unwrap(),
            transitions,
            acquired_version: version(at),
        };
        let (old, new) = (fence("a", 7, "99"), fence("b", 0, "100"));
        assert_eq!(new.compare(&old), Some(Ordering::Greater));
        assert_eq!(new.token(), Some(100));
        assert_eq!(fence("a", 7, "v1").compare(&new), None);
        assert_eq!(fence("a", 7, "v1").token(), None);
    }

    #[test]
    fn two_texts_of_one_instant_are_two_record_times() {
        let instant = Timestamp::UNIX_EPOCH;
        let other = RecordTime::Other {
            instant: Some(instant),
            hash: Hash::of(b"x"),
        };
        assert_ne!(RecordTime::Canonical(instant), other);
        assert_eq!(other.timestamp(), Some(instant));
        assert_eq!(RecordTime::Null.timestamp(), None);
        assert_ne!(RecordTime::Null, RecordTime::Absent);
    }
}
