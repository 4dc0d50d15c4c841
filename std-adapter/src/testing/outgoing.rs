//! Bodies on their way out, whole or in pieces, and the faults that befall them.

use core::convert::Infallible;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::listener::Shared;
use super::socket::{Busy, lock};
use super::watch::Plan;

/// From this size on a body is sent in chunks, as Go's HTTP server does.
const MAX_WITH_LENGTH: usize = 2048;
/// How long what was sent is given to leave before the connection is cut.
const TIME_TO_LEAVE: Duration = Duration::from_millis(20);
const PIECE: usize = 64 << 10;

/// A body as hyper asks for it. Its connection is busy as long as it is there.
pub(super) struct Outgoing {
    content: Source,
    busy: Option<Busy>,
}

enum Source {
    Whole(Option<Bytes>),
    Pieces(mpsc::Receiver<io::Result<Bytes>>),
}

impl Outgoing {
    /// A body that is known; none where there are no bytes.
    pub(super) fn whole(bytes: Bytes) -> Self {
        let bytes = (!bytes.is_empty()).then_some(bytes);
        Self {
            content: Source::Whole(bytes),
            busy: None,
        }
    }

    /// Keeps the connection busy until the body has left.
    pub(super) fn keep(&mut self, busy: Busy) {
        self.busy = Some(busy);
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut self.get_mut().content {
            Source::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Source::Pieces(pieces) => pieces
                .poll_recv(cx)
                .map(|piece| piece.map(|piece| piece.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.content, Source::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Source::Whole(None) => SizeHint::with_exact(0),
            Source::Whole(Some(bytes)) if bytes.len() <= MAX_WITH_LENGTH => {
                SizeHint::with_exact(bytes.len() as u64)
            }
            Source::Whole(Some(_)) | Source::Pieces(_) => SizeHint::default(),
        }
    }
}

/// The sending end of a body in pieces.
#[derive(Debug)]
pub(super) struct Outlet {
    pieces: mpsc::Sender<io::Result<Bytes>>,
    /// How many bytes may still leave before the connection is cut.
    left: Option<usize>,
    /// How long to wait after each byte.
    pause: Option<Duration>,
}

/// The reader of a body is gone, or the body was cut.
pub(super) struct Ended;

impl Outlet {
    pub(super) fn new(left: Option<usize>, pause: Option<Duration>) -> (Self, Outgoing) {
        let (pieces, receiver) = mpsc::channel(1);
        let content = Source::Pieces(receiver);
        (
            Self {
                pieces,
                left,
                pause,
            },
            Outgoing {
                content,
                busy: None,
            },
        )
    }

    pub(super) async fn write(&mut self, mut bytes: Bytes) -> Result<(), Ended> {
        let is_cut = self.left.is_some_and(|left| left <= bytes.len());
        if let Some(left) = &mut self.left {
            bytes.truncate(*left);
            *left -= bytes.len();
        }
        while !bytes.is_empty() {
            let length = if self.pause.is_some() {
                1
            } else {
                PIECE.min(bytes.len())
            };
            let piece = bytes.split_to(length);
            self.pieces.send(Ok(piece)).await.map_err(|_| Ended)?;
            if let Some(pause) = self.pause {
                sleep(pause).await;
            }
        }
        if is_cut {
            sleep(TIME_TO_LEAVE).await;
            let cut = io::Error::other("the connection was cut by order");
            let _ = self.pieces.send(Err(cut)).await;
            return Err(Ended);
        }
        Ok(())
    }

    async fn closed(&self) {
        self.pieces.closed().await;
    }
}

/// Sends a body that is known, behind so many blanks.
pub(super) async fn send(mut outlet: Outlet, blanks: usize, body: Bytes) {
    let mut left = blanks;
    while left > 0 {
        let length = left.min(PIECE);
        if outlet.write(Bytes::from(vec![b' '; length])).await.is_err() {
            return;
        }
        left -= length;
    }
    let _ = outlet.write(body).await;
}

/// Sends the events of a watch until it ends, or until nobody reads it.
pub(super) async fn send_watch(mut outlet: Outlet, mut plan: Plan, shared: Arc<Shared>) {
    let _ = watch(&mut outlet, &mut plan, &shared).await;
}

async fn watch(outlet: &mut Outlet, plan: &mut Plan, shared: &Shared) -> Result<(), Ended> {
    let started = Instant::now();
    sleep(plan.first_after).await;
    write(outlet, plan.first_lines()).await?;
    if plan.ends_at_once {
        return Ok(());
    }
    let mut changes = lock(&shared.api).store.subscribe();
    loop {
        let lines = plan.next_lines(&lock(&shared.api));
        write(outlet, lines).await?;
        let end = started + plan.length;
        let due = plan.bookmark_due.map_or(end, |due| started + due);
        tokio::select! {
            () = outlet.closed() => return Err(Ended),
            () = sleep_until(end) => return Ok(()),
            () = sleep_until(due), if plan.bookmark_due.is_some() => {
                let bookmark = plan.due_bookmark(&lock(&shared.api));
                write(outlet, bookmark).await?;
            }
            changed = changes.changed() => changed.map_err(|_| Ended)?,
        }
    }
}

async fn write(outlet: &mut Outlet, lines: String) -> Result<(), Ended> {
    if lines.is_empty() {
        Ok(())
    } else {
        outlet.write(lines.into()).await
    }
}

/// Waits for ever.
pub(super) async fn never() -> Infallible {
    core::future::pending().await
}
