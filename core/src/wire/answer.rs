//! An answer: status, headers and body in, in any split; a [`Response`] out.

mod node;
mod owned;

use self::owned::Beside;
pub(crate) use self::owned::{Content, NODE_WIRE, NodeWire};
use super::http::Headers;
use super::json_reader::{JsonReader, Sink, Want};
use super::keep::{Keep, Part};
use super::lease::{LeaseField, LeaseReading};
use super::owner::OwnerScan;
use super::scratch::Scratch;
use super::status::{StatusField, StatusReading};
use crate::lease::LeaseRecord;
use crate::protocol::{BadAnswer, Reply, Response};

/// Longest body that is read, in bytes. No Lease in etcd is longer than its 1.5 MiB, and an error
/// may have two copies of one in it; anything past that is not from an API server.
pub const BODY_MAX: u32 = 4 * 1024 * 1024;

/// Whether the rest of a body can still matter.
#[expect(clippy::exhaustive_enums, reason = "there is no third case")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Go on.
    More,
    /// No byte that follows changes the answer: a transport may stop reading, and then has to
    /// close the connection.
    Enough,
}

/// One answer while it comes in. It can be read again and again.
#[derive(Debug)]
// In this order, for small and busy members lie where short instructions reach them.
#[repr(C)]
pub struct Answer {
    status: u16,
    failure: Option<BadAnswer>,
    length: u32,
    reader: JsonReader,
    beside: Beside,
    headers: Headers,
    fields: Fields,
}

impl Answer {
    /// An answer of which nothing has come.
    #[must_use]
    pub const fn new() -> Self {
        Self::BLANK
    }

    /// Zeros alone, which a device clears memory for and copies nothing: so there is a failure, and
    /// more that means nothing before an answer [begins](Self::begin).
    const BLANK: Self = Self {
        status: 0,
        headers: Headers::NONE,
        length: 0,
        failure: Some(BadAnswer::Empty),
        reader: JsonReader::BLANK,
        fields: Fields::BLANK,
        beside: Beside::Owners(OwnerScan::BLANK),
    };

    /// Begins an answer with the status code `status`. Only a success touches the record of the
    /// last one, and what is in `keep`.
    pub fn begin(&mut self, status: u16, keep: Option<&mut Keep<'_>>) {
        self.status = status;
        self.headers = Headers::NONE;
        self.length = 0;
        self.failure = None;
        self.reader = JsonReader::new();
        self.fields.begin(is_success(status));
        if is_success(status)
            && let Some(keep) = keep
        {
            keep.start();
        }
    }

    /// Begins one of the objects that a stream brings, the last member of another, as the body of
    /// an answer with the status code `status`.
    pub(crate) fn begin_member(&mut self, status: u16, keep: Option<&mut Keep<'_>>) {
        self.begin(status, keep);
        self.reader = JsonReader::of_member();
    }

    /// Ends such an object: it is a Lease, and then `keep` is whole.
    pub(crate) fn close_member(&mut self, keep: Option<&mut Keep<'_>>) -> Result<(), BadAnswer> {
        self.fields.lease.finish()?;
        if let Some(keep) = keep {
            keep.finish();
        }
        Ok(())
    }

    /// Whether the object, and the one that holds it, have been read to their end.
    pub(crate) fn is_whole(&self) -> bool {
        self.failure.is_none() && self.reader.finish().is_ok()
    }

    /// What is wrong with what has been read.
    pub(crate) const fn failure(&self) -> Option<BadAnswer> {
        self.failure
    }

    /// Nothing that follows can be read.
    pub(crate) const fn fail(&mut self, failure: BadAnswer) {
        self.failure = Some(failure);
    }

    /// Takes one header. All but `Date` and `Retry-After` may be left out.
    pub fn header(&mut self, name: &[u8], value: &[u8]) {
        self.headers.take(name, value);
    }

    /// Takes the next piece of the body, of any length.
    pub fn body(&mut self, piece: &[u8], keep: Option<&mut Keep<'_>>) -> Reading {
        if self.is_over(piece) {
            return Reading::Enough;
        }
        let mut sink = FieldSink {
            fields: &mut self.fields,
            keep: keep.filter(|_| is_success(self.status)),
        };
        let read = self.reader.feed(&mut sink, piece);
        self.took(read)
    }

    /// Ends the answer: what it says. Only a good one makes `keep` whole.
    pub fn end(&mut self, keep: Option<&mut Keep<'_>>) -> Response<'_> {
        let read = self.failure.map_or_else(|| self.reader.finish(), Err);
        let mut status = StatusReading::default();
        let reply = match (self.status, read) {
            (200 | 201, Err(failure)) => Reply::BadAnswer(failure),
            (200 | 201, Ok(())) => match self.fields.lease.finish() {
                Ok(record) => {
                    if let Some(keep) = keep {
                        keep.finish();
                    }
                    Reply::Lease(record)
                }
                Err(failure) => Reply::BadAnswer(failure),
            },
            (200..=299, _) => Reply::BadAnswer(BadAnswer::UnexpectedStatus),
            (code, read) => {
                if read.is_ok() {
                    status = self.fields.status;
                }
                status.reply(code)
            }
        };
        Response {
            server_time: self.headers.server_time,
            retry_after: self.headers.retry_after(status.retry_after_s),
            reply,
        }
    }

    /// Counts the piece, and says whether it is of no use.
    fn is_over(&mut self, piece: &[u8]) -> bool {
        let piece_length = u32::try_from(piece.len()).unwrap_or(u32::MAX);
        self.length = self.length.saturating_add(piece_length);
        if self.failure.is_none() && self.length > BODY_MAX {
            self.failure = Some(BadAnswer::TooLong);
        }
        self.failure.is_some()
    }

    /// Notes how far the reading went.
    const fn took(&mut self, read: Result<(), BadAnswer>) -> Reading {
        match read {
            Ok(()) => Reading::More,
            Err(failure) => {
                self.failure = Some(failure);
                Reading::Enough
            }
        }
    }

    /// The record of the last success, whole or not.
    pub(crate) const fn record(&self) -> &LeaseRecord {
        &self.fields.lease.record
    }
}

impl Default for Answer {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether a body with this status code is read as a Lease.
const fn is_success(status: u16) -> bool {
    matches!(status, 200..=299)
}

/// The object whose members are being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Outside of all: a Lease comes.
    BeforeLease,
    Lease,
    Metadata,
    Labels,
    Spec,
    /// Outside of all: a Status comes.
    BeforeStatus,
    Status,
    Details,
    Causes,
    Cause,
}

impl Place {
    /// The object around it.
    const fn outer(self) -> Self {
        match self {
            Self::BeforeLease | Self::Lease => Self::BeforeLease,
            Self::Metadata | Self::Spec => Self::Lease,
            Self::Labels => Self::Metadata,
            Self::BeforeStatus | Self::Status => Self::BeforeStatus,
            Self::Details => Self::Status,
            Self::Causes => Self::Details,
            Self::Cause => Self::Causes,
        }
    }

    /// The part of a Lease to which its members are kept.
    const fn part(self) -> Option<Part> {
        match self {
            Self::Lease => Some(Part::Lease),
            Self::Metadata => Some(Part::Metadata),
            Self::Labels => Some(Part::Labels),
            Self::Spec => Some(Part::Spec),
            Self::BeforeLease
            | Self::BeforeStatus
            | Self::Status
            | Self::Details
            | Self::Causes
            | Self::Cause => None,
        }
    }

    /// The known member of that name.
    fn field(self, key: &[u8]) -> Option<Field> {
        let lease = |table| find(table, key).map(|code| Field::Lease(LeaseField::of(code)));
        let status = |table| find(table, key).map(|code| Field::Status(StatusField::of(code)));
        match self {
            Self::Lease => lease(LeaseField::LEASE),
            Self::Metadata => lease(LeaseField::METADATA),
            Self::Spec => lease(LeaseField::SPEC),
            Self::Status => status(StatusField::STATUS),
            Self::Details => status(StatusField::DETAILS),
            Self::Cause => status(StatusField::CAUSE),
            Self::BeforeLease | Self::Labels | Self::BeforeStatus | Self::Causes => None,
        }
    }
}

/// The code of `key` in a table, where each key has its code and its length before it: a tenth of
/// the memory that a slice of slices takes.
pub(super) fn find(table: &[u8], key: &[u8]) -> Option<u8> {
    let mut rest = table;
    while let [code, length, after @ ..] = rest {
        let (name, next) = after.split_at_checked(usize::from(*length))?;
        if name == key {
            return Some(*code);
        }
        rest = next;
    }
    None
}

/// The member whose value is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Unknown,
    Lease(LeaseField),
    Status(StatusField),
}

/// What was read so far.
#[derive(Debug)]
#[repr(C)]
struct Fields {
    place: Place,
    field: Field,
    scratch: Scratch,
    lease: LeaseReading,
    status: StatusReading,
}

impl Fields {
    const BLANK: Self = Self {
        place: Place::BeforeLease,
        field: Field::Unknown,
        scratch: Scratch::new(),
        lease: LeaseReading::BLANK,
        status: StatusReading::NONE,
    };

    fn begin(&mut self, is_success: bool) {
        self.field = Field::Unknown;
        self.scratch.clear();
        if is_success {
            self.place = Place::BeforeLease;
            self.lease = LeaseReading::default();
        } else {
            self.place = Place::BeforeStatus;
            self.status = StatusReading::NONE;
        }
    }
}

struct FieldSink<'s, 'k> {
    fields: &'s mut Fields,
    keep: Option<&'s mut Keep<'k>>,
}

impl Sink for FieldSink<'_, '_> {
    fn key_begin(&mut self) {
        if let Some(keep) = &mut self.keep
            && let Some(part) = self.fields.place.part()
        {
            keep.member_begin(part);
        }
    }

    fn key_piece(&mut self, piece: &[u8]) {
        self.fields.scratch.push(piece);
    }

    fn key_end(&mut self, whole: Option<&[u8]>) -> Result<Want, BadAnswer> {
        let key = whole.or_else(|| self.fields.scratch.short());
        let known = key.and_then(|key| self.fields.place.field(key));
        if whole.is_none() {
            self.fields.scratch.clear();
        }
        self.fields.field = known.unwrap_or(Field::Unknown);
        let want = match self.fields.field {
            Field::Lease(field) => self.fields.lease.key(field)?,
            Field::Status(field) => field.want(),
            Field::Unknown => Want::Skip,
        };
        let Some(keep) = &mut self.keep else {
            return Ok(want);
        };
        if self.fields.field == Field::Unknown {
            keep.push(b":");
            return Ok(Want::Raw);
        }
        keep.member_drop();
        Ok(want)
    }

    fn open(&mut self) {
        let fields = &mut *self.fields;
        fields.place = match (fields.place, fields.field) {
            (Place::BeforeLease, _) => Place::Lease,
            (Place::BeforeStatus, _) => Place::Status,
            (Place::Causes, _) => Place::Cause,
            (_, Field::Lease(LeaseField::Metadata)) => Place::Metadata,
            (_, Field::Lease(LeaseField::Labels)) => Place::Labels,
            (_, Field::Lease(LeaseField::Spec)) => {
                fields.lease.open_spec();
                Place::Spec
            }
            (_, Field::Status(StatusField::Details)) => Place::Details,
            (_, Field::Status(StatusField::Causes)) => Place::Causes,
            (place, _) => place,
        };
    }

    fn close(&mut self) {
        self.fields.place = self.fields.place.outer();
        self.fields.field = Field::Unknown;
    }

    fn piece(&mut self, piece: &[u8]) -> Result<(), BadAnswer> {
        let fields = &mut *self.fields;
        match fields.field {
            Field::Lease(field) => fields.lease.piece(field, &mut fields.scratch, piece),
            Field::Status(_) | Field::Unknown => {
                fields.scratch.push(piece);
                Ok(())
            }
        }
    }

    fn end(&mut self) -> Result<(), BadAnswer> {
        let fields = &mut *self.fields;
        match fields.field {
            Field::Lease(field) => fields.lease.end(field, &fields.scratch)?,
            Field::Status(field) => fields.status.end(field, &fields.scratch),
            Field::Unknown => {}
        }
        fields.scratch.clear();
        Ok(())
    }

    fn null(&mut self) {
        match self.fields.field {
            Field::Lease(field) => self.fields.lease.null(field),
            Field::Status(_) | Field::Unknown => {}
        }
    }

    fn raw(&mut self, piece: &[u8]) {
        if let Some(keep) = &mut self.keep {
            keep.push(piece);
        }
    }

    fn raw_end(&mut self) {
        if let Some(keep) = &mut self.keep {
            keep.member_end();
        }
    }
}
