//! [`Guard`]: one term, for the work that belongs to it.

use core::future::poll_fn;
use core::pin::Pin;
use std::sync::Arc;

use kubelease_core::lease::Fence;
use kubelease_core::time::Instant;
use tokio_stream::Stream as _;

use crate::state::{Closing, Shared};

/// One term of this process, from [`Handle::guard`](crate::Handle::guard).
///
/// It is valid while that term lasts and never again: work that has it can't go on unnoticed in a
/// later term of the same process. Clone it freely; it outlives the handle, and is invalid then.
#[derive(Clone, Debug)]
pub struct Guard {
    shared: Arc<Shared>,
    term: u64,
}

impl Guard {
    pub(crate) const fn new(shared: Arc<Shared>, term: u64) -> Self {
        Self { shared, term }
    }

    /// Whether the term still lasts, by the clock at the call.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.shared.leading_in(Some(self.term), |_| ()).is_some()
    }

    /// When the term ends unless it is renewed before; `None` where it has ended.
    #[must_use]
    pub fn valid_until(&self) -> Option<Instant> {
        self.shared
            .leading_in(Some(self.term), |leading| leading.until)
    }

    /// The token of the term; `None` where it has ended. It changes within a term only where the
    /// lease was deleted and made anew.
    #[must_use]
    pub fn fence(&self) -> Option<Fence> {
        self.shared
            .leading_in(Some(self.term), |leading| leading.fence.clone())
            .flatten()
    }

    /// Whether [`Handle::shutdown`](crate::Handle::shutdown) waits for this work to end.
    #[must_use]
    pub fn is_shutdown_asked(&self) -> bool {
        self.shared.closing() != Closing::No
    }

    /// Waits until the work had better end: a shutdown waits for it, or the term is over. Work
    /// that has something to finish does it then, and returns.
    pub async fn shutdown_asked(&self) {
        let mut news = self.shared.news();
        while !self.is_shutdown_asked() && self.is_valid() {
            poll_fn(|context| Pin::new(&mut news).poll_next(context)).await;
        }
    }

    /// The number of the term in this process, from 1.
    #[must_use]
    pub const fn term(&self) -> u64 {
        self.term
    }
}
