//! A Node, as far as a heartbeat needs it: its uid, and what its condition `Ready` says.

use super::super::json_reader::{Sink, Want};
use super::super::scratch::Scratch;
use super::find;
use crate::lease::{NodeRecord, Readiness, Uid};
use crate::protocol::BadAnswer;

/// The object whose members are being read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Outside,
    Node,
    Metadata,
    Status,
    Conditions,
    Condition,
}

/// The member whose value is being read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Field {
    #[default]
    Unknown,
    Kind,
    Metadata,
    Uid,
    Status,
    Conditions,
    ConditionType,
    ConditionStatus,
}

impl Field {
    const NODE: &[u8] = b"\
        \x01\x04kind\
        \x02\x08metadata\
        \x04\x06status";
    const METADATA: &[u8] = b"\
        \x03\x03uid";
    const STATUS: &[u8] = b"\
        \x05\x0aconditions";
    const CONDITION: &[u8] = b"\
        \x06\x04type\
        \x07\x06status";

    /// The field of a code in the tables.
    const fn of(code: u8) -> Self {
        match code {
            1 => Self::Kind,
            2 => Self::Metadata,
            3 => Self::Uid,
            4 => Self::Status,
            5 => Self::Conditions,
            6 => Self::ConditionType,
            7 => Self::ConditionStatus,
            _ => Self::Unknown,
        }
    }

    const fn want(self) -> Want {
        match self {
            Self::Unknown => Want::Skip,
            Self::Metadata | Self::Status => Want::Object,
            Self::Conditions => Want::Array,
            Self::Kind | Self::Uid | Self::ConditionType | Self::ConditionStatus => Want::Text,
        }
    }
}

impl Place {
    const fn outer(self) -> Self {
        match self {
            Self::Outside | Self::Node => Self::Outside,
            Self::Metadata | Self::Status => Self::Node,
            Self::Conditions => Self::Status,
            Self::Condition => Self::Conditions,
        }
    }

    const fn fields(self) -> &'static [u8] {
        match self {
            Self::Node => Field::NODE,
            Self::Metadata => Field::METADATA,
            Self::Status => Field::STATUS,
            Self::Condition => Field::CONDITION,
            Self::Outside | Self::Conditions => &[],
        }
    }
}

/// What was read of a Node so far. Its uid lies elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NodeReading {
    place: Place,
    field: Field,
    is_other_kind: bool,
    has_uid: bool,
    is_ready_condition: bool,
    condition: Readiness,
    readiness: Readiness,
}

impl NodeReading {
    /// The whole Node, with the uid that was read.
    pub(super) fn finish<'u>(&self, uid: &'u Uid) -> Result<NodeRecord<'u>, BadAnswer> {
        if self.is_other_kind || !self.has_uid || uid.is_empty() {
            return Err(BadAnswer::NotALease);
        }
        Ok(NodeRecord {
            uid,
            readiness: self.readiness,
        })
    }

    fn condition_end(&mut self) {
        if self.is_ready_condition {
            self.readiness = self.condition;
        }
        self.is_ready_condition = false;
        self.condition = Readiness::Unsaid;
    }
}

/// Takes what a reader finds in a Node.
pub(super) struct NodeSink<'s> {
    pub(super) reading: &'s mut NodeReading,
    pub(super) scratch: &'s mut Scratch,
    pub(super) uid: &'s mut Uid,
}

impl Sink for NodeSink<'_> {
    fn key_begin(&mut self) {}

    fn key_piece(&mut self, piece: &[u8]) {
        self.scratch.push(piece);
    }

    fn key_end(&mut self, whole: Option<&[u8]>) -> Result<Want, BadAnswer> {
        let key = whole.or_else(|| self.scratch.short());
        let known = key.and_then(|key| find(self.reading.place.fields(), key));
        self.reading.field = known.map_or(Field::Unknown, Field::of);
        self.scratch.clear();
        if self.reading.field == Field::Uid && core::mem::replace(&mut self.reading.has_uid, true) {
            return Err(BadAnswer::Malformed);
        }
        Ok(self.reading.field.want())
    }

    fn open(&mut self) {
        self.reading.place = match (self.reading.place, self.reading.field) {
            (Place::Outside, _) => Place::Node,
            (Place::Conditions, _) => Place::Condition,
            (_, Field::Metadata) => Place::Metadata,
            (_, Field::Status) => Place::Status,
            (_, Field::Conditions) => Place::Conditions,
            (place, _) => place,
        };
    }

    fn close(&mut self) {
        if self.reading.place == Place::Condition {
            self.reading.condition_end();
        }
        self.reading.place = self.reading.place.outer();
        self.reading.field = Field::Unknown;
    }

    fn piece(&mut self, piece: &[u8]) -> Result<(), BadAnswer> {
        if self.reading.field == Field::Uid {
            return self
                .uid
                .push_bytes(piece)
                .map_err(|_| BadAnswer::VersionTooLong);
        }
        self.scratch.push(piece);
        Ok(())
    }

    fn end(&mut self) -> Result<(), BadAnswer> {
        match self.reading.field {
            Field::Kind => self.reading.is_other_kind = !self.scratch.is(b"Node"),
            Field::ConditionType => self.reading.is_ready_condition = self.scratch.is(b"Ready"),
            Field::ConditionStatus => {
                let words = b"\x01\x04True\x02\x05False\x03\x07Unknown";
                self.reading.condition = match self.scratch.short().and_then(|it| find(words, it)) {
                    Some(1) => Readiness::Ready,
                    Some(2) => Readiness::NotReady,
                    Some(3) => Readiness::Unknown,
                    Some(_) | None => Readiness::Unsaid,
                };
            }
            Field::Unknown | Field::Metadata | Field::Uid | Field::Status | Field::Conditions => {}
        }
        self.scratch.clear();
        Ok(())
    }

    fn null(&mut self) {}

    fn raw(&mut self, _: &[u8]) {}

    fn raw_end(&mut self) {}
}
