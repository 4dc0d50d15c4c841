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

    /// Method and body of `operation`; `owner` makes the writer of the owner that it names.
    pub(super) fn compose<'s>(
        &'s self,
        operation: Operation<'s>,
        path: &'s LeasePath<'s>,
        owner: impl FnOnce(NodeRef<'s>) -> Option<OwnerWriting<'s>>,
    ) -> Result<(Method, Body<'s>), RequestError> {
        let (method, body) = match operation {
            Operation::Get | Operation::GetNode { .. } | Operation::Watch { .. } => {
                (Method::Get, Body::Nothing)
            }
            Operation::Delete { version } => (Method::Delete, Body::Delete { version }),
            Operation::Create {
                spec,
                labels,
                owner: node,
                by_put,
            } => {
                let method = if by_put { Method::Put } else { Method::Post };
                let body = LeaseBody {
                    path,
                    spec,
                    labels,
                    owner: node.and_then(owner),
                    version: None,
                    changes: Changes::Acquire,
                    is_patch: false,
                    keep: None,
                };
                (method, Body::Lease(body))
            }
            Operation::Update {
                spec,
                version,
                changes,
                labels,
                owner: change,
            } => {
                let mut body = LeaseBody {
                    path,
                    spec,
                    labels,
                    owner: change.map(|change| change.node).and_then(owner),
                    version: Some(version),
                    changes,
                    is_patch: true,
                    keep: None,
                };
                let method = match self.update_form(version) {
                    UpdateForm::Patch => Method::Patch,
                    UpdateForm::Put => {
                        self.put_back(&mut body);
                        Method::Put
                    }
                    UpdateForm::Unkept | UpdateForm::TooLarge => {
                        return Err(RequestError::AnswerBegun);
                    }
                };
                (method, Body::Lease(body))
            }
        };
        Ok((method, body))
    }

    /// Makes a whole Lease of a patch. What the machine does not write stays as it was read: the
    /// keep has no place for the members that are known.
    fn put_back<'s>(&'s self, body: &mut LeaseBody<'s>) {
        let read = self.answer.record().spec.as_ref();
        let acquired = read.and_then(|read| read.acquire_time.timestamp());
        let transitions = read.and_then(|read| read.lease_transitions);
        let kept = transitions.and_then(|count| u32::try_from(count).ok());
        body.spec.acquire_time = body.spec.acquire_time.or(acquired);
        body.spec.lease_transitions = body.spec.lease_transitions.or(kept);
        body.is_patch = false;
        body.keep = self.keep.as_ref();
    }
}
