//! The known members of a Lease, and what becomes of each.

use super::json_reader::Want;
use super::scratch::Scratch;
use crate::lease::{LeaseRecord, Owners, RecordSpec, RecordTime, Version};
use crate::protocol::BadAnswer;

/// A known member of a Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeaseField {
    /// One that is neither read nor put back: the server's own, or written anew.
    Passed,
    Kind,
    Metadata,
    Spec,
    Uid,
    ResourceVersion,
    CreationTimestamp,
    DeletionTimestamp,
    Labels,
    HolderIdentity,
    LeaseDurationSeconds,
    AcquireTime,
    RenewTime,
    LeaseTransitions,
}

impl LeaseField {
    /// The members of the Lease itself.
    pub(super) const LEASE: &[u8] = b"\
        \x01\x04kind\
        \x00\x0aapiVersion\
        \x02\x08metadata\
        \x03\x04spec";

    /// The members of `metadata`.
    pub(super) const METADATA: &[u8] = b"\
        \x00\x04name\
        \x00\x09namespace\
        \x04\x03uid\
        \x05\x0fresourceVersion\
        \x00\x0ageneration\
        \x06\x11creationTimestamp\
        \x07\x11deletionTimestamp\
        \x08\x06labels\
        \x00\x0dmanagedFields\
        \x00\x08selfLink";

    /// The members of `spec`.
    pub(super) const SPEC: &[u8] = b"\
        \x09\x0eholderIdentity\
        \x0a\x14leaseDurationSeconds\
        \x0b\x0bacquireTime\
        \x0c\x09renewTime\
        \x0d\x10leaseTransitions";

    /// The field of a code in the tables.
    pub(super) const fn of(code: u8) -> Self {
        match code {
            1 => Self::Kind,
            2 => Self::Metadata,
            3 => Self::Spec,
            4 => Self::Uid,
            5 => Self::ResourceVersion,
            6 => Self::CreationTimestamp,
            7 => Self::DeletionTimestamp,
            8 => Self::Labels,
            9 => Self::HolderIdentity,
            10 => Self::LeaseDurationSeconds,
            11 => Self::AcquireTime,
            12 => Self::RenewTime,
            13 => Self::LeaseTransitions,
            _ => Self::Passed,
        }
    }

    /// How its value is read.
    pub(super) const fn want(self) -> Want {
        match self {
            Self::Passed => Want::Skip,
            Self::Metadata | Self::Spec | Self::Labels => Want::Object,
            Self::LeaseDurationSeconds | Self::LeaseTransitions => Want::Number,
            Self::Kind
            | Self::Uid
            | Self::ResourceVersion
            | Self::CreationTimestamp
            | Self::DeletionTimestamp
            | Self::HolderIdentity
            | Self::AcquireTime
            | Self::RenewTime => Want::Text,
        }
    }
}

/// What was read of a Lease so far.
#[derive(Debug, Default)]
pub(super) struct LeaseReading {
    pub(super) record: LeaseRecord,
    /// One bit for each field: a second member of one name is an error.
    seen: u16,
    is_other_kind: bool,
}

impl LeaseReading {
    /// Zeros alone: nothing was read, but a spec with nothing in it.
    pub(super) const BLANK: Self = Self {
        record: LeaseRecord {
            version: Version::EMPTY,
            creation_timestamp: None,
            being_deleted: false,
            owners: Owners::NONE,
            spec: Some(RecordSpec::EMPTY),
        },
        seen: 0,
        is_other_kind: false,
    };

    /// Notes that a member begins.
    pub(super) fn key(&mut self, field: LeaseField) -> Result<Want, BadAnswer> {
        let bit = 1_u16.wrapping_shl(field as u32);
        if self.seen & bit != 0 && field != LeaseField::Passed {
            return Err(BadAnswer::Malformed);
        }
        self.seen |= bit;
        Ok(field.want())
    }

    /// The object `spec` begins.
    pub(super) fn open_spec(&mut self) {
        self.record.spec = Some(RecordSpec::default());
    }

    /// Takes a piece of a string or number.
    pub(super) fn piece(
        &mut self,
        field: LeaseField,
        scratch: &mut Scratch,
        piece: &[u8],
    ) -> Result<(), BadAnswer> {
        let version = &mut self.record.version;
        match field {
            LeaseField::Uid => version.uid.push_bytes(piece),
            LeaseField::ResourceVersion => version.resource_version.push_bytes(piece),
            LeaseField::HolderIdentity => {
                self.spec().holder.push_bytes(piece);
                Ok(())
            }
            LeaseField::Passed
            | LeaseField::Kind
            | LeaseField::Metadata
            | LeaseField::Spec
            | LeaseField::CreationTimestamp
            | LeaseField::DeletionTimestamp
            | LeaseField::Labels
            | LeaseField::LeaseDurationSeconds
            | LeaseField::AcquireTime
            | LeaseField::RenewTime
            | LeaseField::LeaseTransitions => {
                scratch.push(piece);
                Ok(())
            }
        }
        .map_err(|_| BadAnswer::VersionTooLong)
    }

    /// A string or number has ended, and lies in `scratch` if it is a short one.
    pub(super) fn end(&mut self, field: LeaseField, scratch: &Scratch) -> Result<(), BadAnswer> {
        match field {
            LeaseField::Kind => self.is_other_kind = !scratch.is(b"Lease"),
            LeaseField::CreationTimestamp => self.record.creation_timestamp = scratch.timestamp(),
            LeaseField::DeletionTimestamp => self.record.being_deleted = true,
            LeaseField::LeaseDurationSeconds => {
                let number = scratch.int32().ok_or(BadAnswer::Malformed)?;
                self.spec().lease_duration_seconds = Some(number);
            }
            LeaseField::LeaseTransitions => {
                let number = scratch.int32().ok_or(BadAnswer::Malformed)?;
                self.spec().lease_transitions = Some(number);
            }
            LeaseField::AcquireTime => self.spec().acquire_time = scratch.record_time(),
            LeaseField::RenewTime => self.spec().renew_time = scratch.record_time(),
            LeaseField::Passed
            | LeaseField::Metadata
            | LeaseField::Spec
            | LeaseField::Labels
            | LeaseField::Uid
            | LeaseField::ResourceVersion
            | LeaseField::HolderIdentity => {}
        }
        Ok(())
    }

    /// The member is `null`: for all but the times that is as if it were absent.
    pub(super) fn null(&mut self, field: LeaseField) {
        match field {
            LeaseField::AcquireTime => self.spec().acquire_time = RecordTime::Null,
            LeaseField::RenewTime => self.spec().renew_time = RecordTime::Null,
            LeaseField::Passed
            | LeaseField::Kind
            | LeaseField::Metadata
            | LeaseField::Spec
            | LeaseField::Uid
            | LeaseField::ResourceVersion
            | LeaseField::CreationTimestamp
            | LeaseField::DeletionTimestamp
            | LeaseField::Labels
            | LeaseField::HolderIdentity
            | LeaseField::LeaseDurationSeconds
            | LeaseField::LeaseTransitions => {}
        }
    }

    /// The whole record, where it is a Lease in a state that can be written over.
    pub(super) fn finish(&self) -> Result<&LeaseRecord, BadAnswer> {
        let anything = [LeaseField::Kind, LeaseField::Metadata, LeaseField::Spec]
            .iter()
            .any(|field| self.seen & 1_u16.wrapping_shl(*field as u32) != 0);
        if self.is_other_kind || !anything {
            return Err(BadAnswer::NotALease);
        }
        if self.record.version.resource_version.is_empty() {
            return Err(BadAnswer::NoVersion);
        }
        Ok(&self.record)
    }

    /// The spec; its members are only read inside it.
    fn spec(&mut self) -> &mut RecordSpec {
        self.record.spec.get_or_insert_default()
    }
}
