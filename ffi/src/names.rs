//! Names of the numbers. A program that asks for none has none of the texts.

use core::ffi::c_char;

use crate::action::kl_action_kind;
use crate::event::{kl_event, kl_finish, kl_readiness, kl_stop_reason, kl_trouble_kind};
use crate::log::kl_log_code;
use crate::status::{kl_code, kl_status};

/// The name of `$number` among the variants of `$kind`, as C takes it.
macro_rules! name_of {
    ($number:ident: $of:ty, $kind:ident: $($variant:ident)*) => {{
        $(const $variant: $of = $kind::$variant as $of;)*
        let name = match $number {
            $($variant => concat!(stringify!($variant), "\0"),)*
            _ => "KL_UNKNOWN\0",
        };
        name.as_ptr().cast::<c_char>()
    }};
}

/// The name of a status, such as KL_OK. NUL-terminated, static, never NULL; KL_UNKNOWN for
/// any other number.
#[unsafe(no_mangle)]
pub extern "C" fn kl_status_name(number: kl_status) -> *const c_char {
    name_of!(number: kl_status, kl_code:
        KL_OK
        KL_ERR_ARG
        KL_ERR_STORAGE
        KL_ERR_NOT_INIT
        KL_ERR_REENTRANT
        KL_ERR_SIZE
        KL_ERR_STALE
        KL_ERR_ANSWER_BEGUN
        KL_ERR_NOT_LEADING
        KL_ERR_NAMESPACE
        KL_ERR_NAME
        KL_ERR_IDENTITY
        KL_ERR_LABEL
        KL_ERR_KEEP
        KL_ERR_LEASE_DURATION
        KL_ERR_RENEW_DEADLINE
        KL_ERR_RETRY_PERIOD
        KL_ERR_REQUEST_TIMEOUT
        KL_ERR_JITTER
        KL_ERR_UNSUPPORTED
        KL_ERR_INTERVAL
        KL_ERR_NODE
    )
}

/// The name of a kl_action_kind. NUL-terminated, static, never NULL; KL_UNKNOWN for
/// any other number.
#[unsafe(no_mangle)]
pub extern "C" fn kl_action_name(number: u32) -> *const c_char {
    name_of!(number: u32, kl_action_kind:
        KL_ACTION_WAIT
        KL_ACTION_SEND
        KL_ACTION_CANCEL
        KL_ACTION_EVENT
        KL_ACTION_STOPPED
    )
}

/// The name of a kl_event. NUL-terminated, static, never NULL; KL_UNKNOWN for
/// any other number.
#[unsafe(no_mangle)]
pub extern "C" fn kl_event_name(number: u32) -> *const c_char {
    name_of!(number: u32, kl_event:
        KL_EVENT_STARTED_LEADING
        KL_EVENT_STOPPED_LEADING
        KL_EVENT_LEADER_CHANGED
        KL_EVENT_LEASE_RECREATED
        KL_EVENT_LEASE_BEING_DELETED
        KL_EVENT_IDENTITY_COLLISION
        KL_EVENT_CREDENTIALS_REJECTED
        KL_EVENT_RECONNECT_ADVISED
        KL_EVENT_VERSION_WENT_BACK
        KL_EVENT_TROUBLE
        KL_EVENT_FINISHED
        KL_EVENT_NODE_NOT_READY
        KL_EVENT_OTHER
    )
}

/// The name of a kl_stop_reason. NUL-terminated, static, never NULL; KL_UNKNOWN for
/// any other number.
#[unsafe(no_mangle)]
pub extern "C" fn kl_stop_reason_name(number: u32) -> *const c_char {
    name_of!(number: u32, kl_stop_reason:
        KL_STOP_DEADLINE
        KL_STOP_LOST
        KL_STOP_STEPPED_DOWN
        KL_STOP_STOPPED
        KL_STOP_CLOCK_RESET
        KL_STOP_OTHER
    )
}

/// The name of a kl_trouble_kind. NUL-terminated, static, never NULL; KL_UNKNOWN for
/// any other number.
#[unsafe(no_mangle)]
pub extern "C" fn kl_trouble_name(number: u32) -> *const c_char {
    name_of!(number: u32, kl_trouble_kind:
        KL_TROUBLE_FORBIDDEN
        KL_TROUBLE_BAD_REQUEST
        KL_TROUBLE_INVALID
        KL_TROUBLE_NAMESPACE_MISSING
        KL_TROUBLE_NAMESPACE_TERMINATING
        KL_TROUBLE_API_UNAVAILABLE
        KL_TROUBLE_REFUSED
        KL_TROUBLE_TOO_LARGE
        KL_TROUBLE_LEASE_MISSING
        KL_TROUBLE_NODE_MISSING
        KL_TROUBLE_HELD_BY_ANOTHER
        KL_TROUBLE_NOT_ALIVE
        KL_TROUBLE_TIME_USED_UP
        KL_TROUBLE_BODY_EMPTY
        KL_TROUBLE_BODY_NOT_JSON
        KL_TROUBLE_BODY_TRUNCATED
        KL_TROUBLE_BODY_MALFORMED
        KL_TROUBLE_BODY_TOO_DEEP
        KL_TROUBLE_BODY_NOT_A_LEASE
        KL_TROUBLE_BODY_NO_VERSION
        KL_TROUBLE_BODY_VERSION_TOO_LONG
        KL_TROUBLE_BODY_TOO_LONG
        KL_TROUBLE_BODY_UNEXPECTED_STATUS
        KL_TROUBLE_BODY_NOT_MY_WRITE
        KL_TROUBLE_OTHER
    )
}

/// The name of a kl_finish. NUL-terminated, static, never NULL; KL_UNKNOWN for
/// any other number.
#[unsafe(no_mangle)]
pub extern "C" fn kl_finish_name(number: u32) -> *const c_char {
    name_of!(number: u32, kl_finish:
        KL_FINISH_RELEASED
        KL_FINISH_NOT_HOLDER
        KL_FINISH_UNKNOWN
        KL_FINISH_FAILED
        KL_FINISH_KEPT
        KL_FINISH_DELETED
        KL_FINISH_OTHER
    )
}

/// The name of a kl_readiness. NUL-terminated, static, never NULL; KL_UNKNOWN for
/// any other number.
#[unsafe(no_mangle)]
pub extern "C" fn kl_readiness_name(number: u32) -> *const c_char {
    name_of!(number: u32, kl_readiness:
        KL_READINESS_UNSAID
        KL_READINESS_READY
        KL_READINESS_NOT_READY
        KL_READINESS_UNKNOWN
    )
}

/// The name of a kl_log_code. NUL-terminated, static, never NULL; KL_UNKNOWN for
/// any other number.
#[unsafe(no_mangle)]
pub extern "C" fn kl_log_name(number: u32) -> *const c_char {
    name_of!(number: u32, kl_log_code:
        KL_LOG_EVENT
        KL_LOG_SEND
        KL_LOG_CANCEL
        KL_LOG_ANSWER
        KL_LOG_NO_ANSWER
        KL_LOG_STOPPED
    )
}
