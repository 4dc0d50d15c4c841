//! What a session remembers of the Lease, and how an update is written from it.

use super::{RequestError, UpdateMode};
use crate::lease::{LeaseSpec, NodeRef, Version};
use crate::protocol::{Operation, Reply};
use crate::wire::http::Method;
use crate::wire::path::LeasePath;
use crate::wire::{Answer, Body, Keep, OwnerWriting};

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
            | Operation::Delete { .. } => None,
            Operation::Update { version, .. } => match self.update_form(version) {
                UpdateForm::Patch | UpdateForm::Put => None,
                UpdateForm::Unkept => Some(Reply::Conflict),
                UpdateForm::TooLarge => Some(Reply::TooLarge),
            },
        }
    }

    /// Method and body of `operation`; `owner` makes the writer of the owner that it names.
    pub(super) fn compose<'s>(
        &'s self,
        operation: Operation<'s>,
        path: &'s LeasePath<'s>,
        owner: impl FnOnce(NodeRef<'s>) -> Option<OwnerWriting<'s>>,
    ) -> Result<(Method, Body<'s>), RequestError> {
        match operation {
            Operation::Get | Operation::GetNode { .. } => Ok((Method::Get, Body::Nothing)),
            Operation::Delete { version } => Ok((Method::Delete, Body::Delete { version })),
            Operation::Create {
                spec,
                labels,
                owner: node,
                by_put,
            } => {
                let method = if by_put { Method::Put } else { Method::Post };
                let owner = node.and_then(owner);
                let body = Body::Create {
                    path,
                    spec,
                    labels,
                    owner,
                };
                Ok((method, body))
            }
            Operation::Update {
                spec,
                version,
                changes,
                labels,
                owner: change,
            } => match (self.update_form(version), &self.keep) {
                (UpdateForm::Patch, _) => {
                    let body = Body::Patch {
                        spec,
                        version,
                        changes,
                        labels,
                        owner: change.map(|change| change.node).and_then(owner),
                    };
                    Ok((Method::Patch, body))
                }
                (UpdateForm::Put, Some(keep)) => {
                    // What the machine does not write stays as it was read: the keep has no place
                    // for the members that are known.
                    let read = self.answer.record().spec.as_ref();
                    let acquired = read.and_then(|read| read.acquire_time.timestamp());
                    let transitions = read.and_then(|read| read.lease_transitions);
                    let kept = transitions.and_then(|count| u32::try_from(count).ok());
                    let spec = LeaseSpec {
                        acquire_time: spec.acquire_time.or(acquired),
                        lease_transitions: spec.lease_transitions.or(kept),
                        ..spec
                    };
                    let body = Body::Replace {
                        path,
                        spec,
                        version,
                        labels,
                        owner: change.map(|change| change.node).and_then(owner),
                        keep,
                    };
                    Ok((Method::Put, body))
                }
                (UpdateForm::Put | UpdateForm::Unkept | UpdateForm::TooLarge, _) => {
                    Err(RequestError::AnswerBegun)
                }
            },
        }
    }
}
