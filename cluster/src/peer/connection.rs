//! How a connection lives: frames in, frames out, pings in between, and why it ends. The same for both sides.

use super::frame::{self, Frame, ProtocolError};
use super::node::{Known, Local};
use super::traffic::{Metered, Traffic};
use super::types::PeerVersion;
use bytes::BytesMut;
use futures_util::StreamExt;
use parking_lot::Mutex;
use quorate_model::NodeId;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_rustls::TlsStream;
use tokio_util::codec::{FramedRead, LengthDelimitedCodec};

/// Nothing arrives, or a write does not move, for so many times the time between pings: the connection ends.
const SILENT_PINGS_MAX: u32 = 4;
/// A buffer that grew over this for one large message is given back.
const BUFFER_BYTES: usize = 1 << 20;

/// An encrypted connection.
pub type Stream = TlsStream<Metered<TcpStream>>;
/// Its reading side.
pub type Reader = FramedRead<ReadHalf<Stream>, LengthDelimitedCodec>;

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub enum End {
    /// The other side closed it, or the network failed.
    #[error("it was closed: {0}")]
    Closed(String),
    /// The other side sent what it must not.
    #[error("it broke the protocol: {0}")]
    ProtocolError(String),
    /// Nothing was heard.
    #[error("nothing was heard of it for too long")]
    Silent,
    /// The other side takes nothing.
    #[error("it took nothing for too long")]
    Stalled,
    /// One of the two does not want to go on, for this reason.
    #[error("refused: {0}")]
    Refused(String),
    /// This node dialled an address of its own.
    #[error("{}", super::hello::ITSELF)]
    Itself,
    /// A newer connection took its place, or this transport stops.
    #[error("it is no longer needed")]
    Replaced,
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // an oversize frame, or bytes that are not TLS
            io::ErrorKind::InvalidData => End::ProtocolError(error.to_string()),
            // the system gave up: nothing that was sent was confirmed, or there was no room for it
            io::ErrorKind::TimedOut => End::Stalled,
            _ => End::Closed(error.to_string()),
        }
    }
}

impl From<ProtocolError> for End {
    fn from(ProtocolError(text): ProtocolError) -> Self {
        End::ProtocolError(text)
    }
}

/// A connection after both sides have greeted.
pub struct Connection {
    /// Reads frames, up to the bytes of its lane.
    pub reader: Reader,
    /// Writes frames.
    pub writer: WriteHalf<Stream>,
    /// What moved so far.
    pub traffic: Arc<Traffic>,
    /// Who is at the other end.
    pub peer: NodeId,
    /// What it announced.
    pub version: PeerVersion,
    /// How far its clock is ahead.
    pub clock_ahead_ms: i64,
}

/// Where the frames to send come from.
pub trait Source: Send + Sync {
    /// Waits until something should be sent. Nothing is lost when the future is dropped.
    fn ready(&self) -> impl Future<Output = ()> + Send;
    /// Appends what should be sent next: a bounded number of bytes, or one message.
    fn fill(&self, out: &mut BytesMut);
}

/// Where frames that are no pings go.
pub trait Sink: Send {
    /// Takes a frame; must not wait. An error ends the connection.
    fn take(&mut self, frame: Frame) -> Result<(), End>;
}

/// Which side of a connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It dialled, and sends pings.
    Dialled,
    /// It was dialled, and answers them.
    Accepted,
}

/// Reads the next frame. Errors: the connection's end.
pub async fn next_frame(reader: &mut Reader) -> Result<Frame, End> {
    match reader.next().await {
        None => Err(End::Closed("the other side ended it".into())),
        Some(Err(error)) => Err(error.into()),
        Some(Ok(bytes)) => Ok(Frame::read(bytes.freeze())?),
    }
}

/// Writes one frame.
pub async fn write_frame(writer: &mut WriteHalf<Stream>, frame: &Frame) -> Result<(), End> {
    let mut out = BytesMut::new();
    frame.put(&mut out);
    writer.write_all(&out).await?;
    writer.flush().await?;
    Ok(())
}

/// Splits a stream into frames of at most `SHORT_FRAME_BYTES_MAX`; after the greeting more may be allowed.
pub fn framed(stream: Stream) -> (Reader, WriteHalf<Stream>) {
    let (read, write) = tokio::io::split(stream);
    (FramedRead::new(read, frame::decoder(frame::SHORT_FRAME_BYTES_MAX)), write)
}

/// Runs a connection until it ends, and says why.
pub async fn run(
    local: &Local,
    known: &Known,
    side: Side,
    connection: Connection,
    source: &impl Source,
    sink: &mut impl Sink,
) -> End {
    let Connection { mut reader, mut writer, traffic, peer, .. } = connection;
    let pings = Pings::default();
    let read = async {
        loop {
            let taken = match next_frame(&mut reader).await {
                Ok(Frame::Ping(number)) if side == Side::Accepted => pings.answer(number),
                Ok(Frame::Pong(number)) if side == Side::Dialled => pings.answered(known, &traffic, number),
                Ok(frame) => sink.take(frame),
                Err(end) => Err(end),
            };
            if let Err(end) = taken {
                return end;
            }
        }
    };
    let write = async {
        let mut out = BytesMut::new();
        loop {
            tokio::select! {
                () = pings.wake.notified() => {}
                () = source.ready() => {}
            }
            pings.put(&mut out);
            source.fill(&mut out);
            traffic.write_begins();
            let written = async {
                writer.write_all(&out).await?;
                writer.flush().await
            };
            if let Err(error) = written.await {
                return End::from(error);
            }
            traffic.write_ends();
            out.clear();
            if out.capacity() > BUFFER_BYTES {
                out = BytesMut::new();
            }
        }
    };
    let look = async {
        let every = local.limits.ping_every;
        let mut counted = (0, 0);
        loop {
            if side == Side::Dialled {
                pings.ask(&traffic);
            }
            tokio::time::sleep(every).await;
            counted = known.count(&traffic, counted);
            if traffic.silence() > SILENT_PINGS_MAX * every {
                return End::Silent;
            }
            if traffic.write_wait() > SILENT_PINGS_MAX * every {
                return End::Stalled;
            }
            if !local.handler.may_speak(peer) {
                return End::Refused("the node was removed from the installation".into());
            }
        }
    };
    tokio::select! {
        end = read => end,
        end = write => end,
        end = look => end,
    }
}

/// The ping and the pong that wait to be sent: one of each, whatever arrives.
#[derive(Default)]
struct Pings {
    waiting: Mutex<(Option<u64>, Option<u64>)>,
    /// The highest number a ping was sent with.
    asked: AtomicU64,
    wake: Notify,
}

impl Pings {
    /// A ping's number is the time it is made, in microseconds since the connection began.
    fn ask(&self, traffic: &Traffic) {
        let number = traffic.age().as_micros() as u64;
        self.asked.store(number, Ordering::Relaxed);
        self.waiting.lock().0 = Some(number);
        self.wake.notify_one();
    }
    fn answer(&self, number: u64) -> Result<(), End> {
        self.waiting.lock().1 = Some(number);
        self.wake.notify_one();
        Ok(())
    }
    fn answered(&self, known: &Known, traffic: &Traffic, number: u64) -> Result<(), End> {
        if number > self.asked.load(Ordering::Relaxed) {
            return Err(End::ProtocolError("it answered a ping that was not sent".into()));
        }
        known.round_trip(traffic.age().saturating_sub(Duration::from_micros(number)));
        Ok(())
    }
    fn put(&self, out: &mut BytesMut) {
        let (ping, pong) = std::mem::take(&mut *self.waiting.lock());
        if let Some(number) = ping {
            Frame::Ping(number).put(out);
        }
        if let Some(number) = pong {
            Frame::Pong(number).put(out);
        }
    }
}
