//! The `Status` of an error answer, and what follows from it.
//!
//! By code first, then by `reason` and `details`, never by the message: a Status may lack any of
//! its members, some errors come as plain text, and proxies send pages of HTML.

use super::json_reader::Want;
use super::scratch::Scratch;
use crate::protocol::Reply;

/// A known member of a Status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatusField {
    Reason,
    Details,
    DetailsName,
    DetailsKind,
    RetryAfterSeconds,
    Causes,
    CauseReason,
    CauseField,
}

impl StatusField {
    /// The members of the Status itself.
    pub(super) const STATUS: &[u8] = b"\
        \x00\x06reason\
        \x01\x07details";

    /// The members of `details`.
    pub(super) const DETAILS: &[u8] = b"\
        \x02\x04name\
        \x03\x04kind\
        \x04\x11retryAfterSeconds\
        \x05\x06causes";

    /// The members of one of the causes.
    pub(super) const CAUSE: &[u8] = b"\
        \x06\x06reason\
        \x07\x05field";

    /// The field of a code in the tables.
    pub(super) const fn of(code: u8) -> Self {
        match code {
            1 => Self::Details,
            2 => Self::DetailsName,
            3 => Self::DetailsKind,
            4 => Self::RetryAfterSeconds,
            5 => Self::Causes,
            6 => Self::CauseReason,
            7 => Self::CauseField,
            _ => Self::Reason,
        }
    }

    /// How its value is read.
    pub(super) const fn want(self) -> Want {
        match self {
            Self::Details => Want::Object,
            Self::Causes => Want::Array,
            Self::RetryAfterSeconds => Want::Number,
            Self::Reason
            | Self::DetailsName
            | Self::DetailsKind
            | Self::CauseReason
            | Self::CauseField => Want::Text,
        }
    }
}

/// What was read of a Status so far: no text, only what follows from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StatusReading {
    is_not_found: bool,
    has_name: bool,
    is_of_namespaces: bool,
    is_namespace_terminating: bool,
    is_version_missing: bool,
    /// `details.retryAfterSeconds`, where it is above zero.
    pub(super) retry_after_s: Option<u32>,
}

impl StatusReading {
    pub(super) const NONE: Self = Self {
        is_not_found: false,
        has_name: false,
        is_of_namespaces: false,
        is_namespace_terminating: false,
        is_version_missing: false,
        retry_after_s: None,
    };

    /// A string or number has ended.
    pub(super) fn end(&mut self, field: StatusField, scratch: &Scratch) {
        match field {
            StatusField::Reason => self.is_not_found = scratch.is(b"NotFound"),
            StatusField::DetailsName => self.has_name = !scratch.is_empty(),
            StatusField::DetailsKind => self.is_of_namespaces = scratch.is(b"namespaces"),
            StatusField::RetryAfterSeconds => {
                let seconds = scratch
                    .int32()
                    .and_then(|seconds| u32::try_from(seconds).ok());
                self.retry_after_s = seconds.filter(|seconds| *seconds > 0);
            }
            StatusField::CauseReason => {
                self.is_namespace_terminating |= scratch.is(b"NamespaceTerminating");
            }
            StatusField::CauseField => {
                self.is_version_missing |= scratch.is(b"metadata.resourceVersion");
            }
            StatusField::Details | StatusField::Causes => {}
        }
    }

    /// What an answer says that has this Status and the code `status`, which is no success. With a
    /// body that could not be read, the default stands for the Status: the code decides alone.
    pub(super) const fn reply(&self, status: u16) -> Reply<'static> {
        match status {
            400 => Reply::BadRequest,
            401 => Reply::Unauthorized,
            403 if self.is_namespace_terminating => Reply::NamespaceTerminating,
            403 => Reply::Forbidden,
            404 if self.is_not_found && self.is_of_namespaces => Reply::NamespaceMissing,
            404 if self.is_not_found && self.has_name => Reply::LeaseMissing,
            // A Status of a path that is not served has empty `details`; an unknown API group gets
            // plain text.
            404 => Reply::ApiUnavailable,
            409 => Reply::Conflict,
            // Only a creating PUT leaves the version out, and it meets this where somebody else
            // was first.
            422 if self.is_version_missing => Reply::Conflict,
            422 => Reply::Invalid,
            429 => Reply::Throttled,
            500..=599 => Reply::ServerError(status),
            _ => Reply::Refused(status),
        }
    }
}
