//! Events as a stream, for any number of listeners.

use core::pin::Pin;
use core::task::{Context, Poll};

use futures_core::Stream;
use kubelease_core::protocol::Event;
use tokio::sync::broadcast::Receiver;
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::wrappers::errors::BroadcastStreamRecvError;

/// The events of one elector, from [`Handle::changes`](crate::Handle::changes); those of a fleet
/// come with the lease they are about.
///
/// An elector's begins with [`Event::StartedLeading`] where this process led when the stream was
/// made, and ends when the elector has ended, for whatever reason. The end of the stream is the end
/// of leadership, also where no [`Event::StoppedLeading`] came before it.
///
/// A listener that falls behind never holds up renewals: it loses the oldest events, and
/// [`missed`](Self::missed) counts them. The truth about leadership is
/// [`is_leading`](crate::Handle::is_leading), which no listener can miss.
#[derive(Debug)]
pub struct Changes<E = Event> {
    first: Option<E>,
    rest: Option<BroadcastStream<E>>,
    missed: u64,
}

impl<E: Clone + Send + 'static> Changes<E> {
    /// A stream that begins with `first`; over after it where there is no `rest`.
    pub(crate) fn new(first: Option<E>, rest: Option<Receiver<E>>) -> Self {
        Self {
            first,
            rest: rest.map(BroadcastStream::new),
            missed: 0,
        }
    }

    /// How many events this listener has lost by falling behind.
    #[must_use]
    pub const fn missed(&self) -> u64 {
        self.missed
    }
}

impl<E: Clone + Send + Unpin + 'static> Stream for Changes<E> {
    type Item = E;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<E>> {
        let changes = self.get_mut();
        if let Some(first) = changes.first.take() {
            return Poll::Ready(Some(first));
        }
        let Some(rest) = &mut changes.rest else {
            return Poll::Ready(None);
        };
        loop {
            match Pin::new(&mut *rest).poll_next(context) {
                Poll::Ready(Some(Ok(event))) => return Poll::Ready(Some(event)),
                Poll::Ready(Some(Err(BroadcastStreamRecvError::Lagged(missed)))) => {
                    changes.missed = changes.missed.saturating_add(missed);
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use core::task::Waker;

    use tokio::sync::broadcast;

    use super::*;

    fn poll(changes: &mut Changes) -> Poll<Option<Event>> {
        Pin::new(changes).poll_next(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_reader_that_falls_behind_loses_the_oldest_and_knows_how_many() {
        let sender = broadcast::Sender::new(4);
        let mut changes = Changes::new(None, Some(sender.subscribe()));
        assert_eq!(poll(&mut changes), Poll::Pending);
        for term in 1..=10 {
            sender.send(Event::StartedLeading { term }).unwrap();
        }
        drop(sender);
        for term in 7..=10 {
            assert_eq!(
                poll(&mut changes),
                Poll::Ready(Some(Event::StartedLeading { term }))
            );
        }
        assert_eq!(poll(&mut changes), Poll::Ready(None));
        assert_eq!(changes.missed(), 6);
    }

    #[test]
    fn what_holds_already_comes_first_and_the_end_at_last() {
        let mut changes = Changes::new(Some(Event::VersionWentBack), None);
        assert_eq!(
            poll(&mut changes),
            Poll::Ready(Some(Event::VersionWentBack))
        );
        assert_eq!(poll(&mut changes), Poll::Ready(None));
        assert_eq!(poll(&mut changes), Poll::Ready(None));
    }
}
