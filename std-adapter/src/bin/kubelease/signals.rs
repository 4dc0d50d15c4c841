//! The signals that end a command, or are passed on to one.

use core::future::poll_fn;
use core::task::{Context, Poll};
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Those after which nothing is run any more.
const ENDING: [SignalKind; 4] = [
    SignalKind::hangup(),
    SignalKind::interrupt(),
    SignalKind::quit(),
    SignalKind::terminate(),
];

/// Those that only the command knows the meaning of.
const OTHER: [SignalKind; 3] = [
    SignalKind::user_defined1(),
    SignalKind::user_defined2(),
    SignalKind::window_change(),
];

/// All of them.
#[derive(Debug)]
pub(crate) struct Signals(Vec<(i32, Signal)>);

impl Signals {
    /// Takes the signals over from the system's defaults.
    pub(crate) fn new() -> io::Result<Self> {
        let kinds = ENDING.into_iter().chain(OTHER);
        let listen = |kind: SignalKind| Ok((kind.as_raw_value(), signal(kind)?));
        kinds.map(listen).collect::<io::Result<_>>().map(Self)
    }

    /// The number of the next signal. Dropping the future loses none.
    pub(crate) async fn next(&mut self) -> i32 {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The number of the next signal, where there is one.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<i32> {
        for (number, signal) in &mut self.0 {
            if signal.poll_recv(context).is_ready() {
                return Poll::Ready(*number);
            }
        }
        Poll::Pending
    }
}

/// Whether a signal asks for the end.
pub(crate) fn ends(number: i32) -> bool {
    ENDING.iter().any(|kind| kind.as_raw_value() == number)
}
