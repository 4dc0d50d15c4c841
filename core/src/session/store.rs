//! What a session remembers of the Lease, and how an update is written from it.

use super::{RequestError, UpdateMode};
use crate::lease::{NodeRef, Version};
use crate::protocol::{Changes, Operation, Reply};
use crate::wire::http::Method;
use crate::wire::path::LeasePath;
use crate::wire::{Answer, Body, Keep, LeaseBody, OwnerWriting};

/// The last answer, and what of its Lease a PUT puts back.
#[derive(Debug)]
pub(super) struct Store<'a> {
    pub(super) answer: Answer,
    pub(super) keep: Option<Keep<'a>>,
    patch_when_too_large: bool,
}

/// How an update is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UpdateForm {
    Patch,
    Put,
    /// Not at all: what a PUT has to put back is not at hand for that state of the Lease.
    Unkept,
    /// Not at all: it is more than fits.
    TooLarge,
}

impl<'a> Store<'a> {
    /// In line, whoever makes it: a store is large, and so is made in its place.
    #[inline(always)]
    pub(super) fn new(update: UpdateMode<'a>) -> Self {
        let (keep, patch_when_too_large) = match update {
            UpdateMode::MergePatch => (None, true),
            UpdateMode::Update {
                keep,
                patch_when_too_large,
            } => (Some(Keep::new(keep)), patch_when_too_large),
        };
        Self {
            answer: Answer::new(),
            keep,
            patch_when_too_large,
        }
    }

    fn update_form(&self, version: &Version) -> UpdateForm {
        let Some(keep) = &self.keep else {
            return UpdateForm::Patch;
        };
        // The answer's record stays until the next success, with which the keep begins anew: so
        // the two are always of one state.
        let kept_version = &self.answer.record().version.resource_version;
        if *kept_version != version.resource_version {
            UpdateForm::Unkept
        } else if keep.is_whole() {
            UpdateForm::Put
        } else if !keep.is_too_small() {
            UpdateForm::Unkept
        } else if self.patch_when_too_large {
            UpdateForm::Patch
        } else {
            UpdateForm::TooLarge
        }
    }

    /// What the session itself answers to `operation`, where it must not be sent.
    pub(super) fn refusal(&self, operation: &Operation<'_>) -> Option<Reply<'static>> {
        match operation {
            Operation::Get
            | Operation::Create { .. }
            | Operation::GetNode { .. }
            | Operation::Delete { .. }
            | Operation::Watch { .. } => None,
            Operation::Update { version, .. } => match self.update_form(version) {
                UpdateForm::Patch | UpdateForm::Put => None,
                UpdateForm::Unkept => Some(Reply::Conflict),
                UpdateForm::TooLarge => Some(Reply::TooLarge),
            },
        }
    }

    /// The method of `operation`.
    ///
    /// # Errors
    /// [`RequestError::AnswerBegun`] where what it puts back is gone.
    pub(super) fn method(&self, operation: &Operation<'_>) -> Result<Method, RequestError> {
        Ok(match operation {
            Operation::Get | Operation::GetNode { .. } | Operation::Watch { .. } => Method::Get,
            Operation::Delete { .. } => Method::Delete,
            Operation::Create { by_put: true, .. } => Method::Put,
            Operation::Create { by_put: false, .. } => Method::Post,
            Operation::Update { version, .. } => match self.update_form(version) {
                UpdateForm::Patch => Method::Patch,
                UpdateForm::Put => Method::Put,
                UpdateForm::Unkept | UpdateForm::TooLarge => return Err(RequestError::AnswerBegun),
            },
        })
    }

    /// The body of `operation`, for the method it has; `owner` makes the writer of the owner that
    /// it names. It does not fail, so that it is made in place.
    pub(super) fn body<'s>(
        &'s self,
        operation: &'s Operation<'s>,
        method: Method,
        path: &'s LeasePath<'s>,
        owner: impl FnOnce(NodeRef<'s>) -> Option<OwnerWriting<'s>>,
    ) -> Body<'s> {
        let (spec, labels, node, version, changes) = match *operation {
            Operation::Get | Operation::GetNode { .. } | Operation::Watch { .. } => {
                return Body::Nothing;
            }
            Operation::Delete { version } => return Body::Delete { version },
            Operation::Create {
                ref spec,
                labels,
                owner,
                by_put: _,
            } => (spec, labels, owner, None, Changes::Acquire),
            Operation::Update {
                ref spec,
                version,
                changes,
                labels,
                owner,
            } => {
                let node = owner.map(|change| change.node);
                (spec, labels, node, Some(version), changes)
            }
        };
        // What the machine does not write stays as it was read: the keep has no place for the
        // members that are known.
        let is_put_back = version.is_some() && method == Method::Put;
        let keep = self.keep.as_ref().filter(|_| is_put_back);
        Body::Lease(LeaseBody {
            path,
            spec,
            read: keep.and_then(|_| self.answer.record().spec.as_ref()),
            labels,
            owner: node.and_then(owner),
            version,
            changes,
            is_patch: method == Method::Patch,
            keep,
        })
    }
}
