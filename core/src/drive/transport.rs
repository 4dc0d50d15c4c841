//! What a runtime has to bring: a way to send requests, and a clock with a timer.

use core::future::Future;

use crate::protocol::Failure;
use crate::time::{Instant, Now};
use crate::wire::http::HttpRequest;

/// Sends one request at a time and hands out its answer in pieces.
///
/// The loop calls [`send`](Self::send) once, then [`next`](Self::next) until it has given
/// [`Piece::End`] or an error. It drops either future only when the exchange is over for it, and
/// calls [`abort`](Self::abort) then, so neither has to survive being dropped half-way. Whoever
/// drops [`run`](super::run) itself drops the transport's future with it, without that call.
pub trait Transport {
    /// Sends `request`, up to the point from which the answer can be read.
    ///
    /// The loop gives up at `deadline` by itself; a transport may use it for timers of its own, but
    /// where the answer is a [stream](HttpRequest::is_watch): each line puts that deadline off.
    /// Credentials are the transport's to add.
    ///
    /// # Errors
    /// [`Failure::NotSent`] only where no byte of the request can have reached the server.
    fn send(
        &mut self,
        request: HttpRequest<'_>,
        deadline: Instant,
    ) -> impl Future<Output = Result<(), Failure>>;

    /// The next piece of the answer: [`Piece::Status`], then any number of [`Piece::Header`],
    /// then any number of [`Piece::Body`], then [`Piece::End`].
    ///
    /// # Errors
    /// [`Failure::Unknown`] where the answer broke off, since the request has been sent by then.
    fn next(&mut self) -> impl Future<Output = Result<Piece<'_>, Failure>>;

    /// Ends the exchange and its connection: the rest of the answer must never be read as the
    /// answer to another request.
    fn abort(&mut self);

    /// Drops every connection; the next request dials anew.
    fn reconnect(&mut self);

    /// Marks the credentials as refused: the next request has to carry them freshly read.
    fn refresh_credentials(&mut self);
}

/// A part of an answer.
#[expect(
    clippy::exhaustive_enums,
    reason = "a transport has to know every piece"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The status code.
    Status(u16),
    /// One header. Those other than `Date` and `Retry-After` may be left out.
    Header {
        /// The name, in any case.
        name: &'a [u8],
        /// The value, without blanks around it.
        value: &'a [u8],
    },
    /// Some bytes of the body, with chunking and compression undone.
    Body(&'a [u8]),
    /// The whole answer has been given.
    End,
}

/// Reads the clocks and waits for instants of the monotonic one.
pub trait Clock {
    /// Both clocks, now. The monotonic one must count the time in suspend.
    fn now(&self) -> Now;

    /// Waits until the monotonic clock has reached `at`; at once if it has.
    ///
    /// It should end where the clock goes back, as a counter does that deep sleep resets: the
    /// machine wants to know. Otherwise it may end too soon, at the price of a turn of the loop,
    /// but a timer that keeps doing so keeps the processor busy. One that ends late, in suspend
    /// above all, makes the loop late; what [`Now`] says decides about leadership all the same.
    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()>;
}
