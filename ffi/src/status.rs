//! [`kl_status`]: what a call answers.

use kubelease_core::elector::{ConfigError, TimingError};
use kubelease_core::heartbeat::HeartbeatError;
use kubelease_core::protocol::StaleRequest;
use kubelease_core::session::RequestError;
use kubelease_core::wire::path::PathError;

/// What a call answers: KL_OK, or a negative code of kl_code. A call that answers a negative code
/// has changed nothing, neither the object nor any output.
pub type kl_status = i32;

/// The values of kl_status.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum kl_code {
    /// It was done.
    KL_OK = 0,
    /// A pointer is NULL or misaligned, a length is too large, or a number is none of its kind.
    KL_ERR_ARG = -1,
    /// The storage of the object is too small or misaligned.
    KL_ERR_STORAGE = -2,
    /// The object was not initialised, or its storage was written over.
    KL_ERR_NOT_INIT = -3,
    /// The call came from the log hook of the same object.
    KL_ERR_REENTRANT = -4,
    /// A structure says a size smaller than its first release had. Set its member size.
    KL_ERR_SIZE = -5,
    /// The request id is not in flight any more, or its answer has not begun. Late answers meet
    /// this, and it is harmless.
    KL_ERR_STALE = -6,
    /// The answer to the request has begun: the request cannot be read any more.
    KL_ERR_ANSWER_BEGUN = -7,
    /// This process does not lead.
    KL_ERR_NOT_LEADING = -8,
    /// config: the namespace is no DNS-1123 label of at most 63 bytes.
    KL_ERR_NAMESPACE = -9,
    /// config: the name is no DNS-1123 subdomain of at most 253 bytes.
    KL_ERR_NAME = -10,
    /// config: the identity or holder is not 1 to 253 bytes of UTF-8 without control characters,
    /// quotes and backslashes.
    KL_ERR_IDENTITY = -11,
    /// config: more than 4 labels, two with one key, one that kl_label_init has not filled, or one
    /// that Kubernetes refuses.
    KL_ERR_LABEL = -12,
    /// config: KL_WRITE_UPDATE without a keep buffer.
    KL_ERR_KEEP = -13,
    /// config: lease_duration_ms is zero, is no whole number of seconds, or, of an elector, is less
    /// than 100 ms longer than renew_deadline_ms.
    KL_ERR_LEASE_DURATION = -14,
    /// config: renew_deadline_ms is zero, or does not lie below lease_duration_ms.
    KL_ERR_RENEW_DEADLINE = -15,
    /// config: retry_period_ms is zero, or reaches renew_deadline_ms with its jitter.
    KL_ERR_RETRY_PERIOD = -16,
    /// config: retry_period_ms + 2 * request_timeout_ms is more than renew_deadline_ms. Of a
    /// heartbeat: its request timeout comes out as zero.
    KL_ERR_REQUEST_TIMEOUT = -17,
    /// config: jitter_percent is above 500, or above 100 for a heartbeat.
    KL_ERR_JITTER = -18,
    /// config: what this version of the library does not know. The library is older than the
    /// header.
    KL_ERR_UNSUPPORTED = -19,
    /// config: a beat that takes its whole request timeout would come after the Lease has run out:
    /// interval_ms, its jitter and request_timeout_ms are together more than lease_duration_ms.
    KL_ERR_INTERVAL = -20,
    /// config: the node is no DNS-1123 subdomain of at most 253 bytes; its uid is not 1 to 40
    /// visible characters without quotes and backslashes; or there is no node although node_uid,
    /// KL_HEARTBEAT_OWNER_REQUIRED or KL_HEARTBEAT_WATCH_NODE wants one.
    KL_ERR_NODE = -21,
}

/// Runs the body of an exported function.
pub(crate) fn answer(body: impl FnOnce() -> Result<(), kl_code>) -> kl_status {
    match body() {
        Ok(()) => kl_code::KL_OK as kl_status,
        Err(code) => code as kl_status,
    }
}

impl From<StaleRequest> for kl_code {
    fn from(_: StaleRequest) -> Self {
        Self::KL_ERR_STALE
    }
}

impl From<RequestError> for kl_code {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::StaleRequest => Self::KL_ERR_STALE,
            RequestError::AnswerBegun => Self::KL_ERR_ANSWER_BEGUN,
            RequestError::BufferTooSmall { .. } | _ => Self::KL_ERR_ARG,
        }
    }
}

impl From<PathError> for kl_code {
    fn from(error: PathError) -> Self {
        match error {
            PathError::NamespaceEmpty
            | PathError::NamespaceTooLong
            | PathError::NamespaceMalformed => Self::KL_ERR_NAMESPACE,
            PathError::NameEmpty | PathError::NameTooLong | PathError::NameMalformed | _ => {
                Self::KL_ERR_NAME
            }
        }
    }
}

impl From<ConfigError> for kl_code {
    fn from(error: ConfigError) -> Self {
        match error {
            ConfigError::IdentityEmpty
            | ConfigError::IdentityTooLong
            | ConfigError::IdentityCharacter => Self::KL_ERR_IDENTITY,
            ConfigError::Timing(error) => Self::from(error),
            ConfigError::TooManyLabels | ConfigError::LabelInvalid | ConfigError::LabelTwice => {
                Self::KL_ERR_LABEL
            }
            _ => Self::KL_ERR_ARG,
        }
    }
}

impl From<TimingError> for kl_code {
    fn from(error: TimingError) -> Self {
        match error {
            TimingError::LeaseDurationZero
            | TimingError::LeaseDurationNotWholeSeconds
            | TimingError::LeaseDurationTooLong
            | TimingError::MarginTooSmall => Self::KL_ERR_LEASE_DURATION,
            TimingError::RenewDeadlineZero | TimingError::RenewDeadlineNotBelowLeaseDuration => {
                Self::KL_ERR_RENEW_DEADLINE
            }
            TimingError::RetryPeriodZero
            | TimingError::RetryPeriodNotBelowRenewDeadline
            | TimingError::JitteredRetryPeriodNotBelowRenewDeadline => Self::KL_ERR_RETRY_PERIOD,
            TimingError::RequestTimeoutZero | TimingError::RequestTimeoutLeavesNoRetry => {
                Self::KL_ERR_REQUEST_TIMEOUT
            }
            TimingError::JitterTooLarge => Self::KL_ERR_JITTER,
            _ => Self::KL_ERR_ARG,
        }
    }
}

impl From<HeartbeatError> for kl_code {
    fn from(error: HeartbeatError) -> Self {
        match error {
            HeartbeatError::LeaseDurationZero
            | HeartbeatError::LeaseDurationNotWholeSeconds
            | HeartbeatError::LeaseDurationTooLong => Self::KL_ERR_LEASE_DURATION,
            HeartbeatError::IntervalZero | HeartbeatError::BeatTooLate => Self::KL_ERR_INTERVAL,
            HeartbeatError::RequestTimeoutZero => Self::KL_ERR_REQUEST_TIMEOUT,
            HeartbeatError::JitterTooLarge => Self::KL_ERR_JITTER,
            HeartbeatError::HolderEmpty
            | HeartbeatError::HolderTooLong
            | HeartbeatError::HolderCharacter => Self::KL_ERR_IDENTITY,
            HeartbeatError::NodeNameMalformed
            | HeartbeatError::NodeUidMalformed
            | HeartbeatError::NodeUidWithoutNode
            | HeartbeatError::OwnerRequiredWithoutNode
            | HeartbeatError::WatchWithoutNode => Self::KL_ERR_NODE,
            HeartbeatError::LivenessTtlZero | _ => Self::KL_ERR_ARG,
        }
    }
}
