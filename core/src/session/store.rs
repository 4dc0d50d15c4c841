//! What a session remembers of the Lease, and how an update is written from it.

use super::{RequestError, UpdateMode};
use crate::lease::Version;
use crate::protocol::{Operation, Reply};
use crate::wire::http::Method;
use crate::wire::{Answer, Keep};

/// The last answer, and what of its Lease a PUT puts back.
#[derive(Debug)]
// In this order, for small and busy members lie where short instructions reach them.
#[repr(C)]
pub(super) struct Store<'a> {
    pub(super) keep: Option<Keep<'a>>,
    /// What becomes of an update of which the keep holds not all.
    when_too_large: UpdateForm,
    pub(super) answer: Answer,
}

/// How an update is written.
///
/// As large as a word: a hole before the answer would have a new store made elsewhere and copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
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
        let (keep, when_too_large) = match update {
            UpdateMode::MergePatch => (None, UpdateForm::Patch),
            UpdateMode::Update {
                keep,
                patch_when_too_large: true,
            } => (Some(Keep::new(keep)), UpdateForm::Patch),
            UpdateMode::Update {
                keep,
                patch_when_too_large: false,
            } => (Some(Keep::new(keep)), UpdateForm::TooLarge),
        };
        Self {
            answer: const { Answer::new() },
            keep,
            when_too_large,
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
        } else {
            self.when_too_large
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
}
