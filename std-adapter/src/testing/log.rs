//! The log of requests.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;

/// A request that the server has read, and what became of it.
///
/// The log keeps every request, with its body, until it is cleared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoggedRequest {
    /// Counts all requests since the server started, from 1.
    pub sequence: u64,
    /// When the request had been read, counted from the start of the server.
    pub at: Duration,
    /// `GET`, `PUT` and so on.
    pub method: String,
    /// The path as sent, without the query.
    pub path: String,
    /// The query as sent, without the question mark.
    pub query: String,
    /// The header `User-Agent`; empty when there was none.
    pub user_agent: String,
    /// The header `Content-Type`; empty when there was none.
    pub content_type: String,
    /// The user of the token; `system:anonymous` without one, `None` for a token that nobody has.
    pub user: Option<String>,
    /// The body as sent.
    pub body: Vec<u8>,
    /// Counts all connections since the server started, from 1.
    pub connection: u64,
    /// The port of the client.
    pub peer_port: u16,
    /// The status that was answered; `None` until then, and for good when there was no answer.
    pub status: Option<u16>,
    /// Whether the request changed anything that is stored.
    pub is_applied: bool,
    /// The bytes read for this request, head and body.
    pub bytes_in: u64,
    /// The bytes written for this request, head and body, so far.
    pub bytes_out: u64,
}

/// The log while it is written: the bytes written are still counted.
#[derive(Debug, Default)]
pub(super) struct Log {
    entries: Vec<(LoggedRequest, Arc<AtomicU64>)>,
    sequence: u64,
}

impl Log {
    /// Adds a request under the next number, which is answered.
    pub(super) fn add(&mut self, mut request: LoggedRequest, written: Arc<AtomicU64>) -> u64 {
        self.sequence += 1;
        request.sequence = self.sequence;
        self.entries.push((request, written));
        self.sequence
    }

    /// The request of this number, unless the log was cleared since.
    pub(super) fn entry(&mut self, sequence: u64) -> Option<&mut LoggedRequest> {
        let found = self
            .entries
            .iter_mut()
            .rev()
            .find(|(entry, _)| entry.sequence == sequence);
        found.map(|(entry, _)| entry)
    }

    pub(super) fn snapshot(&self) -> Vec<LoggedRequest> {
        let entries = self.entries.iter().map(|(entry, written)| {
            let bytes_out = written.load(Ordering::Relaxed);
            LoggedRequest {
                bytes_out,
                ..entry.clone()
            }
        });
        entries.collect()
    }

    pub(super) fn count(&self, is_meant: impl Fn(&LoggedRequest) -> bool) -> usize {
        self.entries
            .iter()
            .filter(|(entry, _)| is_meant(entry))
            .count()
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }
}
