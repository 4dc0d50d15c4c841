//! Messages under way. They have no order.

use kubelease_core::protocol::RequestId;

use super::server::{Answer, Author, Wish};

/// A request or its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Message {
    /// Whose request it is.
    pub(crate) author: Author,
    pub(crate) id: RequestId,
    /// Whether it has missed its instant, and may now come at any time or never.
    pub(crate) slow: bool,
    pub(crate) body: Body,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Body {
    Ask(Wish),
    Tell(Answer),
}
