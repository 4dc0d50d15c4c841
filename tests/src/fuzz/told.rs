//! What a machine was told, as a value that outlives the answer.

use kubelease_core::Timestamp;
use kubelease_core::lease::LeaseRecord;
use kubelease_core::protocol::{Reply, Response};
use kubelease_core::time::Duration;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) server_time: Option<Timestamp>,
    pub(super) retry_after: Option<Duration>,
    pub(super) reply: Result<Box<LeaseRecord>, Reply<'static>>,
}

impl Told {
    /// As the machine got it.
    pub(super) fn reply(&self) -> Reply<'_> {
        match &self.reply {
            Ok(record) => Reply::Lease(record),
            Err(other) => *other,
        }
    }
}

impl From<Response<'_>> for Told {
    fn from(response: Response<'_>) -> Self {
        let reply = match response.reply {
            Reply::Lease(record) => Ok(Box::new(record.clone())),
            Reply::LeaseMissing => Err(Reply::LeaseMissing),
            Reply::NamespaceMissing => Err(Reply::NamespaceMissing),
            Reply::ApiUnavailable => Err(Reply::ApiUnavailable),
            Reply::Conflict => Err(Reply::Conflict),
            Reply::BadRequest => Err(Reply::BadRequest),
            Reply::Unauthorized => Err(Reply::Unauthorized),
            Reply::Forbidden => Err(Reply::Forbidden),
            Reply::NamespaceTerminating => Err(Reply::NamespaceTerminating),
            Reply::Invalid => Err(Reply::Invalid),
            Reply::Throttled => Err(Reply::Throttled),
            Reply::ServerError(status) => Err(Reply::ServerError(status)),
            Reply::Refused(status) => Err(Reply::Refused(status)),
            Reply::BadAnswer(why) => Err(Reply::BadAnswer(why)),
            Reply::TooLarge => Err(Reply::TooLarge),
            Reply::WatchEnded => Err(Reply::WatchEnded),
            Reply::Node(_) | Reply::Deleted => panic!("nobody asked for that"),
        };
        Self {
            server_time: response.server_time,
            retry_after: response.retry_after,
            reply,
        }
    }
}
