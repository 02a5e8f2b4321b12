//! How are the bytes of a connection read and written?
//!
//! One kind for plain and encrypted ones, which ends when the node says so: by HTTP/2 a client may leave answers unread for ever and
//! still answer every sign of life.

use crate::connection::Connection;
use actix_rt::net::TcpStream;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

/// The bytes of a connection.
pub struct Stream {
    bytes: Bytes,
    connection: Connection,
    /// Bytes that were sent since others of the thread had a turn.
    sent: usize,
}
/// Bytes that a connection sends before others of its thread have a turn: whoever reads fast takes megabytes at once, for which all
/// others would wait. The runtime looks at what has come in after 61 such turns at the latest.
const TURN_BYTES: usize = 32 << 10;
/// Where they come from.
pub enum Bytes {
    /// As they are sent.
    Plain(TcpStream),
    /// Encrypted.
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Of a connection that was accepted.
    pub fn new(bytes: Bytes, connection: Connection) -> Stream {
        Stream { bytes, connection, sent: 0 }
    }
    /// What is known of the connection.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }
    /// Errors: the connection has to end.
    fn go_on(&self, cx: &mut Context<'_>) -> io::Result<()> {
        match self.connection.has_ended(cx) {
            false => Ok(()),
            true => Err(io::Error::new(io::ErrorKind::TimedOut, "an answer was not read in time")),
        }
    }
    /// Writes with `write`, unless it is the turn of others.
    fn take_turn(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(&mut Bytes, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        self.go_on(cx)?;
        if self.sent >= TURN_BYTES {
            self.sent = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let written = write(&mut self.bytes, cx);
        match &written {
            Poll::Ready(Ok(bytes)) => self.sent += bytes,
            Poll::Ready(Err(_)) | Poll::Pending => self.sent = 0,
        }
        written
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.go_on(cx)?;
        match &mut self.bytes {
            Bytes::Plain(plain) => Pin::new(plain).poll_read(cx, into),
            Bytes::Tls(tls) => Pin::new(tls).poll_read(cx, into),
        }
    }
}
impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        self.take_turn(cx, |bytes, cx| match bytes {
            Bytes::Plain(plain) => Pin::new(plain).poll_write(cx, from),
            Bytes::Tls(tls) => Pin::new(tls).poll_write(cx, from),
        })
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.take_turn(cx, |bytes, cx| match bytes {
            Bytes::Plain(plain) => Pin::new(plain).poll_write_vectored(cx, from),
            Bytes::Tls(tls) => Pin::new(tls).poll_write_vectored(cx, from),
        })
    }
    fn is_write_vectored(&self) -> bool {
        match &self.bytes {
            Bytes::Plain(plain) => plain.is_write_vectored(),
            Bytes::Tls(tls) => tls.is_write_vectored(),
        }
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.go_on(cx)?;
        match &mut self.bytes {
            Bytes::Plain(plain) => Pin::new(plain).poll_flush(cx),
            Bytes::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.go_on(cx)?;
        match &mut self.bytes {
            Bytes::Plain(plain) => Pin::new(plain).poll_shutdown(cx),
            Bytes::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::{Encryption, Protocol};
    use crate::doorman::Doorman;
    use crate::listener::Listener;
    use crate::network::Networks;
    use std::cell::Cell;
    use std::rc::Rc;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[actix_web::test]
    async fn whoever_reads_fast_takes_no_more_at_once_than_others_wait_for() {
        let listener = actix_rt::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut reader = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (socket, peer) = listener.accept().await.unwrap();
        let guest = Doorman::new(1, Networks::default()).look(peer.ip()).unwrap();
        let connection = Connection::new(Listener::Everything, Encryption::Plain, Protocol::Http1, guest);
        let mut stream = Stream::new(Bytes::Plain(socket), connection);
        let turns = Rc::new(Cell::new(0));
        let counted = turns.clone();
        let others = actix_rt::spawn(async move {
            loop {
                counted.set(counted.get() + 1);
                tokio::task::yield_now().await;
            }
        });
        let sent = vec![7; 64 * TURN_BYTES];
        let wanted = sent.len();
        let read = actix_rt::spawn(async move {
            let mut bytes = vec![];
            reader.read_to_end(&mut bytes).await.unwrap();
            bytes.len()
        });
        for piece in sent.chunks(TURN_BYTES / 2) {
            stream.write_all(piece).await.unwrap();
        }
        let had = turns.get();
        drop(stream);
        assert_eq!(read.await.unwrap(), wanted);
        others.abort();
        assert!(had >= 60, "others had {had} turns");
    }
}
