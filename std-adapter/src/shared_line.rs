//! A line that several transports share: one set of credentials, one pool of connections.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use kubelease_core::drive::Clock as _;
use kubelease_core::time::{Duration, Instant};
use tokio::sync::Mutex;

use crate::clock::SharedClock;
use crate::connection::ConnectionError;
use crate::line::{Line, Outgoing, Prepared, Unanswered};

/// How old a pool of connections has to be before it is worth dropping: what is younger was dialled
/// after whatever went wrong. It keeps an outage that many transports notice from making a new
/// client for each of them.
const POOL_AGE_MIN: Duration = Duration::from_secs(1);

/// Shares a [`Line`]. What one transport learns holds for all, from the next request on.
#[derive(Clone, Debug)]
pub(crate) struct SharedLine(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    line: Mutex<Pooled>,
    clock: SharedClock,
    must_reconnect: AtomicBool,
    is_rejected: AtomicBool,
}

#[derive(Debug)]
struct Pooled {
    line: Line,
    dialled: Option<Instant>,
}

impl SharedLine {
    pub(crate) fn new(line: Line, clock: SharedClock) -> Self {
        let dialled = None;
        Self(Arc::new(Inner {
            line: Mutex::new(Pooled { line, dialled }),
            clock,
            must_reconnect: AtomicBool::new(false),
            is_rejected: AtomicBool::new(false),
        }))
    }

    /// A request with credentials that are fresh. Others wait meanwhile, so that a token is fetched
    /// once for all.
    pub(crate) async fn prepare(
        &self,
        outgoing: Outgoing<'_>,
    ) -> Result<Prepared, ConnectionError> {
        let mut pooled = self.0.line.lock().await;
        if self.0.is_rejected.swap(false, Ordering::Relaxed) {
            pooled.line.reject();
        }
        if self.0.must_reconnect.swap(false, Ordering::Relaxed) {
            pooled.reconnect(self.0.clock.now().instant);
        }
        pooled.line.renew().await?;
        Ok(pooled.line.prepare(outgoing))
    }

    /// The words for a request that got no answer. Where another transport is at the credentials
    /// just now, these are without what may be wrong with them.
    pub(crate) fn explain(&self, error: Unanswered) -> String {
        match self.0.line.try_lock() {
            Ok(mut pooled) => pooled.line.explain(error),
            Err(_) => error.into_text(),
        }
    }

    /// The server answered 401: the next request has to carry what there is then.
    pub(crate) fn reject(&self) {
        self.0.is_rejected.store(true, Ordering::Relaxed);
    }

    /// Drops every connection before the next request.
    pub(crate) fn reconnect(&self) {
        self.0.must_reconnect.store(true, Ordering::Relaxed);
    }
}

impl Pooled {
    fn reconnect(&mut self, now: Instant) {
        let is_old = self
            .dialled
            .is_none_or(|at| now < at || now.saturating_since(at) >= POOL_AGE_MIN);
        if is_old {
            self.line.reconnect();
            self.dialled = Some(now);
        }
    }
}
