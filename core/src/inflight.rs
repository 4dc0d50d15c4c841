//! [`InFlight`]: the one request that may wait for its answer.

use crate::protocol::{RequestId, StaleRequest};
use crate::time::Instant;

/// A request that was handed out, and what is needed to make it again and to judge its answer.
#[derive(Clone, Debug)]
pub(crate) struct Pending<K> {
    pub(crate) id: RequestId,
    /// When it was handed out: an acknowledged write counts from here.
    pub(crate) sent: Instant,
    /// At and past here an answer is dead.
    pub(crate) deadline: Instant,
    pub(crate) kind: K,
}

/// At most one pending request, and the last one that the caller has to cancel.
///
/// Ids rise by one and wrap after 2³²: an answer would have to be 4 billion requests late to be
/// taken for another's.
#[derive(Clone, Debug)]
pub(crate) struct InFlight<K> {
    last: u32,
    pending: Option<Pending<K>>,
    cancelled: Option<RequestId>,
}

impl<K> InFlight<K> {
    pub(crate) const fn new() -> Self {
        Self {
            last: 0,
            pending: None,
            cancelled: None,
        }
    }

    /// Hands a request out.
    pub(crate) fn start(&mut self, sent: Instant, deadline: Instant, kind: K) -> RequestId {
        self.last = self.last.wrapping_add(1);
        let id = RequestId::from_number(self.last);
        self.pending = Some(Pending {
            id,
            sent,
            deadline,
            kind,
        });
        id
    }

    pub(crate) const fn pending(&self) -> Option<&Pending<K>> {
        self.pending.as_ref()
    }

    /// Moves the deadline of the pending request, whose answer comes in parts.
    pub(crate) const fn move_deadline(&mut self, deadline: Instant) {
        if let Some(pending) = &mut self.pending {
            pending.deadline = deadline;
        }
    }

    /// Ends request `id`, which was answered or failed.
    pub(crate) fn finish(&mut self, id: RequestId) -> Result<Pending<K>, StaleRequest> {
        self.pending
            .take_if(|pending| pending.id == id)
            .ok_or(StaleRequest)
    }

    /// Ends the pending request if its deadline has come; the caller has to cancel it.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<Pending<K>> {
        let expired = self.pending.take_if(|pending| now >= pending.deadline)?;
        self.cancelled = Some(expired.id);
        Some(expired)
    }

    /// Ends the pending request whatever it is; the caller has to cancel it.
    pub(crate) fn cancel(&mut self) -> Option<Pending<K>> {
        let pending = self.pending.take()?;
        self.cancelled = Some(pending.id);
        Some(pending)
    }

    /// The id to cancel, once.
    pub(crate) const fn take_cancelled(&mut self) -> Option<RequestId> {
        self.cancelled.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn only_the_pending_id_can_finish_and_only_once() {
        let mut slot = InFlight::new();
        slot.start(at(1), at(5), 'a');
        let id = slot.pending().unwrap().id;
        let other = RequestId::from_number(id.number().wrapping_add(1));
        assert_eq!(
            slot.finish(other).map(|pending| pending.kind),
            Err(StaleRequest)
        );
        assert_eq!(slot.finish(id).map(|pending| pending.kind), Ok('a'));
        assert_eq!(
            slot.finish(id).map(|pending| pending.kind),
            Err(StaleRequest)
        );
        assert_eq!(slot.take_cancelled(), None);
    }

    #[test]
    fn a_request_expires_at_its_deadline_and_is_cancelled_once() {
        let mut slot = InFlight::new();
        slot.start(at(1), at(5), 'a');
        let id = slot.pending().unwrap().id;
        assert!(slot.expire(at(4)).is_none());
        assert_eq!(slot.expire(at(5)).unwrap().kind, 'a');
        assert!(slot.pending().is_none());
        assert_eq!(
            (slot.take_cancelled(), slot.take_cancelled()),
            (Some(id), None)
        );
    }

    #[test]
    fn no_id_comes_twice() {
        let mut slot = InFlight::new();
        slot.start(at(1), at(5), 'a');
        let first = slot.cancel().unwrap().id;
        slot.start(at(2), at(5), 'b');
        assert_ne!(slot.pending().unwrap().id, first);
    }
}
