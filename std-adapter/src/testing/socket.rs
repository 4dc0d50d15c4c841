//! A client's connection: counted, and able to end with a reset.

use core::pin::Pin;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::task::{Context, Poll};
use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

/// What is known of a connection, shared by its socket and its requests.
#[derive(Debug)]
pub(super) struct Meter {
    /// Counts the connections of the server, from 1.
    pub(super) number: u64,
    pub(super) peer_port: u16,
    bytes_in: AtomicU64,
    /// Where the bytes written are counted: at the request that was read last.
    written: Mutex<Arc<AtomicU64>>,
    last_used: Mutex<Instant>,
    requests_open: AtomicU64,
    pub(super) is_black_hole: AtomicBool,
    is_reset: AtomicBool,
}

impl Meter {
    pub(super) fn new(number: u64, peer_port: u16) -> Self {
        Self {
            number,
            peer_port,
            bytes_in: AtomicU64::new(0),
            written: Mutex::default(),
            last_used: Mutex::new(Instant::now()),
            requests_open: AtomicU64::new(0),
            is_black_hole: AtomicBool::new(false),
            is_reset: AtomicBool::new(false),
        }
    }

    /// A new request: answers the bytes read for it, and where those written will be counted.
    pub(super) fn begin_request(&self) -> (u64, Arc<AtomicU64>) {
        let written = Arc::new(AtomicU64::new(0));
        *lock(&self.written) = Arc::clone(&written);
        (self.bytes_in.swap(0, Ordering::Relaxed), written)
    }

    /// The connection will end with a reset in place of an orderly close.
    pub(super) fn reset(&self) {
        self.is_reset.store(true, Ordering::Relaxed);
    }

    /// Returns once the connection was idle for so long.
    pub(super) async fn idle_for(&self, limit: Duration) {
        loop {
            let quiet = lock(&self.last_used).elapsed();
            let is_busy = self.requests_open.load(Ordering::Relaxed) > 0;
            if !is_busy && quiet >= limit {
                return;
            }
            sleep(if is_busy {
                limit
            } else {
                limit.saturating_sub(quiet)
            })
            .await;
        }
    }
}

/// Keeps a connection from being idle: a request that is not answered to its end.
#[derive(Debug)]
pub(super) struct Busy(Arc<Meter>);

impl Busy {
    pub(super) fn new(meter: &Arc<Meter>) -> Self {
        meter.requests_open.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(meter))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.requests_open.fetch_sub(1, Ordering::Relaxed);
        *lock(&self.0.last_used) = Instant::now();
    }
}

/// A lock is taken even if a thread panicked while it held it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A counted TCP stream.
pub(super) struct Socket {
    pub(super) stream: TcpStream,
    pub(super) meter: Arc<Meter>,
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.meter.is_reset.load(Ordering::Relaxed) {
            // A socket that cannot be set so closes in order, which is all that is left to do.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let result = Pin::new(&mut this.stream).poll_read(cx, buffer);
        let read = buffer.filled().len().saturating_sub(before);
        this.meter
            .bytes_in
            .fetch_add(read as u64, Ordering::Relaxed);
        result
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        // Counted first, so that who has read an answer finds it counted.
        let counter = Arc::clone(&lock(&this.meter.written));
        counter.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let result = Pin::new(&mut this.stream).poll_write(cx, bytes);
        let written = if let Poll::Ready(Ok(written)) = &result {
            *written
        } else {
            0
        };
        let unwritten = bytes.len().saturating_sub(written);
        counter.fetch_sub(unwritten as u64, Ordering::Relaxed);
        result
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.meter.is_reset.load(Ordering::Relaxed) {
            // A FIN first would let the client take the end for an orderly one.
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut this.stream).poll_shutdown(cx)
    }
}
