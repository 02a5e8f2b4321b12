//! What moves over one connection, and when something last did.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Counts of one connection. Times are microseconds since the connection began.
#[derive(Debug)]
pub struct Traffic {
    began: Instant,
    received: AtomicU64,
    sent: AtomicU64,
    received_at: AtomicU64,
    /// When the write under way last moved; 0 while there is none.
    writing_at: AtomicU64,
}

impl Traffic {
    /// Of a connection that begins now.
    pub fn new() -> Self {
        Traffic {
            began: Instant::now(),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            received_at: AtomicU64::new(0),
            writing_at: AtomicU64::new(0),
        }
    }
    /// Bytes received and sent, encrypted.
    pub fn bytes(&self) -> (u64, u64) {
        (self.received.load(Ordering::Relaxed), self.sent.load(Ordering::Relaxed))
    }
    /// How long nothing has arrived.
    pub fn silence(&self) -> Duration {
        self.since(self.received_at.load(Ordering::Relaxed))
    }
    /// How long a write has been waiting without moving.
    pub fn write_wait(&self) -> Duration {
        match self.writing_at.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            at => self.since(at),
        }
    }
    /// Notes that a write begins.
    pub fn write_begins(&self) {
        self.writing_at.store(self.now(), Ordering::Relaxed);
    }
    /// Notes that it is over.
    pub fn write_ends(&self) {
        self.writing_at.store(0, Ordering::Relaxed);
    }
    /// How long the connection has lasted.
    pub fn age(&self) -> Duration {
        self.began.elapsed()
    }
    fn wrote(&self, polled: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(count)) = polled {
            self.sent.fetch_add(*count as u64, Ordering::Relaxed);
            if self.writing_at.load(Ordering::Relaxed) != 0 {
                self.write_begins();
            }
        }
    }
    fn now(&self) -> u64 {
        (self.began.elapsed().as_micros() as u64).max(1)
    }
    fn since(&self, at: u64) -> Duration {
        Duration::from_micros(self.now().saturating_sub(at))
    }
}

/// A stream whose bytes are counted.
#[derive(Debug)]
pub struct Metered<S> {
    inner: S,
    traffic: Arc<Traffic>,
}

impl<S> Metered<S> {
    /// Counts what goes through `inner`.
    pub fn new(inner: S, traffic: Arc<Traffic>) -> Self {
        Metered { inner, traffic }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buf);
        let count = buf.filled().len() - before;
        if count > 0 {
            self.traffic.received.fetch_add(count as u64, Ordering::Relaxed);
            self.traffic.received_at.store(self.traffic.now(), Ordering::Relaxed);
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.traffic.wrote(&polled);
        polled
    }
    // without it only the first of several records leaves in one call: an alert at the end of a handshake would be lost
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write_vectored(cx, slices);
        self.traffic.wrote(&polled);
        polled
    }
    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
