//! What goes back to the caller, before it becomes an HTTP response?

use crate::away::away_if_long;
use crate::connection::Connection;
use crate::error;
use crate::room::Taken;
use actix_rt::task::JoinHandle;
use actix_web::HttpResponse;
use actix_web::body::{BodySize, MessageBody};
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::web::Bytes;
use flate2::{Compress, Compression, FlushCompress, Status};
use quorate_cluster::rate_limit::Quota;
use quorate_model::{Error, ErrorKind};
use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// Bodies below this are not worth compressing.
const COMPRESSED_BYTES_MIN: usize = 1_024;
/// Level 1: some three times less CPU than the default for a tenth more bytes.
const COMPRESSION_LEVEL: u32 = 1;
/// The largest window of the format.
const WINDOW_BITS: u8 = 15;

/// What the body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// JSON, as almost everything.
    Json,
    /// A JSON value in each line.
    JsonLines,
    /// The text format of Prometheus.
    Metrics,
}

/// A finished answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// Status.
    pub status: StatusCode,
    /// Body.
    pub body: Vec<u8>,
    /// Kind of body.
    pub content: Content,
    /// Whether the caller should come back soon (`Retry-After: 1`).
    pub retry: Retry,
    /// What is left of a limit of such calls (`X-Ratelimit-Limit` and its kin).
    pub quota: Option<Quota>,
}
/// Whether the same call may succeed in a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Retry {
    Pointless,
    Soon,
}

impl Reply {
    /// 200 with a JSON body.
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self::json(StatusCode::OK, body)
    }
    /// 201 with a JSON body.
    pub fn created(body: impl Into<Vec<u8>>) -> Self {
        Self::json(StatusCode::CREATED, body)
    }
    /// 204, without a body.
    pub fn nothing() -> Self {
        Self::json(StatusCode::NO_CONTENT, vec![])
    }
    /// A JSON body with any status.
    pub fn json(status: StatusCode, body: impl Into<Vec<u8>>) -> Self {
        Reply { status, body: body.into(), content: Content::Json, retry: Retry::Pointless, quota: None }
    }
    /// The same, which says what is left of a limit.
    pub fn with_quota(self, quota: Quota) -> Self {
        Reply { quota: Some(quota), ..self }
    }
    /// The answer to a failed call.
    pub fn error(error: &Error) -> Self {
        let status = error::status(error.kind);
        let mut reply = Self::json(status, quorate_wire::error_body(error, status.as_u16()));
        if error.kind == ErrorKind::Unavailable {
            reply.retry = Retry::Soon;
        }
        reply
    }

    /// Makes the response: compressed if the caller takes it, readable from any origin (C§1.3, C§1.5).
    ///
    /// What it holds of the memory for answers is given back when it is sent.
    pub async fn into_response(self, request_headers: &HeaderMap, delivery: Delivery) -> HttpResponse {
        let Reply { status, body, content, retry, quota } = self;
        let compresses = body.len() >= COMPRESSED_BYTES_MIN && accepts_gzip(request_headers);
        let mut response = HttpResponse::build(status);
        if status != StatusCode::NO_CONTENT {
            response.insert_header((header::CONTENT_TYPE, content.header()));
        }
        if delivery.readers == Readers::AnyOrigin {
            response.insert_header((header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")));
        }
        response.insert_header((CORRELATION_ID.clone(), delivery.id));
        if retry == Retry::Soon {
            response.insert_header((header::RETRY_AFTER, HeaderValue::from_static("1")));
        }
        if let Some(Quota { limit, remaining, reset_s }) = quota {
            response.insert_header(("x-ratelimit-limit", limit.to_string()));
            response.insert_header(("x-ratelimit-remaining", remaining.to_string()));
            response.insert_header(("x-ratelimit-reset", reset_s.to_string()));
        }
        if body.len() >= COMPRESSED_BYTES_MIN {
            response.insert_header((header::VARY, HeaderValue::from_static("accept-encoding")));
        }
        let mut body = Bytes::from(body);
        if compresses && let Some(compressed) = compressed(&body).await {
            response.insert_header((header::CONTENT_ENCODING, HeaderValue::from_static("gzip")));
            body = compressed.into();
        }
        response.body(Sent::new(body, delivery.held, delivery.connection))
    }
}

/// How an answer goes out.
pub struct Delivery {
    /// What it holds of the memory for answers.
    pub held: Taken,
    /// The connection that it goes out by; none in tests without a network.
    pub connection: Option<Connection>,
    /// What tells it from every other.
    pub id: HeaderValue,
    /// Which pages may read it.
    pub readers: Readers,
}
/// Whose scripts a browser lets read an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Those of any page.
    AnyOrigin,
    /// Those of none but this node's own: what is for operators.
    SameOrigin,
}

/// A body that is given to the connection as fast as that sends it: what nobody reads is held once, charged for as long, and
/// let go with its connection when its time is over, whatever that waits for.
struct Sent {
    bytes: usize,
    /// What is not given to the connection yet; none when its time is over.
    rest: Rc<RefCell<Option<Bytes>>>,
    /// Lets go; none for what a connection takes at once.
    end: Option<JoinHandle<()>>,
}
/// The bytes of an answer with what they are charged to: both stay until the connection has sent the last of them.
struct Charged {
    body: Bytes,
    _held: Taken,
}
impl AsRef<[u8]> for Charged {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}
/// Bytes given at a time. By HTTP/1 as many are taken at once: a connection holds no more beside the answer.
const PIECE_BYTES: usize = 64 << 10;
/// Seconds that every caller has to read an answer.
const READ_S: u64 = 20;
/// Bytes for which it has another second.
const READ_BYTES_PER_S_MIN: u64 = 64 << 10;

/// How long the caller has to read so many bytes.
fn patience(bytes: usize) -> Duration {
    Duration::from_secs(READ_S + bytes as u64 / READ_BYTES_PER_S_MIN)
}

impl Sent {
    fn new(body: Bytes, held: Taken, connection: Option<Connection>) -> Sent {
        let patience = patience(body.len());
        Sent::within(body, held, connection, patience)
    }
    fn within(body: Bytes, held: Taken, connection: Option<Connection>, patience: Duration) -> Sent {
        let bytes = body.len();
        // by HTTP/2 a client says how much it takes, which may be nothing at all
        let may_wait = bytes > PIECE_BYTES || connection.as_ref().is_some_and(Connection::has_many_calls);
        let rest = Bytes::from_owner(Charged { body, _held: held });
        let rest = Rc::new(RefCell::new(Some(rest)));
        let end = (may_wait && bytes > 0).then(|| {
            let rest = rest.clone();
            actix_rt::spawn(async move {
                actix_rt::time::sleep(patience).await;
                rest.take();
                if let Some(connection) = connection {
                    connection.end();
                }
            })
        });
        Sent { bytes, rest, end }
    }
}
impl Drop for Sent {
    fn drop(&mut self) {
        if let Some(end) = &self.end {
            end.abort();
        }
        self.rest.take();
    }
}

impl MessageBody for Sent {
    type Error = io::Error;

    fn size(&self) -> BodySize {
        BodySize::Sized(self.bytes as u64)
    }
    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let mut rest = self.rest.borrow_mut();
        let unread = || io::Error::new(io::ErrorKind::TimedOut, "the answer was not read in time");
        let Some(rest) = rest.as_mut() else { return Poll::Ready(Some(Err(unread()))) };
        let count = rest.len().min(PIECE_BYTES);
        Poll::Ready((count > 0).then(|| Ok(rest.split_to(count))))
    }
    fn try_into_bytes(self) -> Result<Bytes, Self> {
        match self.end {
            None => Ok(self.rest.take().unwrap_or_default()),
            Some(_) => Err(self),
        }
    }
}

/// The format of lines of JSON.
pub const JSON_LINES: &str = "application/x-ndjson; charset=UTF-8";

impl Content {
    fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Content::Json => "application/json; charset=UTF-8",
            Content::JsonLines => JSON_LINES,
            Content::Metrics => "text/plain; version=0.0.4; charset=utf-8",
        })
    }
}

/// The header of [`correlation_id`] (C§1.5).
pub static CORRELATION_ID: HeaderName = HeaderName::from_static("correlation-id");

/// An id that tells this answer from every other of the process, and very likely of the installation.
pub fn correlation_id() -> HeaderValue {
    static START: std::sync::LazyLock<u64> =
        std::sync::LazyLock::new(|| uuid::Uuid::new_v4().as_u64_pair().0);
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // An odd factor permutes the numbers, so neighbours look different and none repeats.
    let number = START.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut text = [0u8; 16];
    for (at, digit) in text.iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(number >> (60 - at * 4)) as usize & 15];
    }
    HeaderValue::from_bytes(&text).expect("hexadecimal digits are a valid header value")
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let Some(text) = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()) else {
        return false;
    };
    text.split(',').any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let named = ["gzip", "x-gzip", "*"].iter().any(|known| name.eq_ignore_ascii_case(known));
        named && !parts.any(|part| part.strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0)))
    })
}

async fn compressed(body: &Bytes) -> Option<Vec<u8>> {
    let (length, body) = (body.len(), body.clone());
    away_if_long(length, move || Ok(compress(&body))).await.ok().flatten()
}
fn compress(body: &[u8]) -> Option<Vec<u8>> {
    // its tables take 0.3 MB: they are kept for the next answer of the thread
    thread_local! {
        static GZIP: RefCell<Compress> =
            RefCell::new(Compress::new_gzip(Compression::new(COMPRESSION_LEVEL), WINDOW_BITS));
    }
    GZIP.with_borrow_mut(|gzip| {
        gzip.reset();
        let mut out = Vec::with_capacity(body.len() / 3 + 1_024);
        loop {
            let rest = &body[gzip.total_in() as usize..];
            match gzip.compress_vec(rest, &mut out, FlushCompress::Finish).ok()? {
                Status::StreamEnd => return Some(out),
                Status::Ok | Status::BufError => out.reserve(out.capacity()),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::Room;
    use quorate_cluster::Payer;
    use std::future::poll_fn;

    #[test]
    fn gzip_is_used_only_when_asked_for() {
        for (text, expected) in [
            ("gzip", true),
            ("GZip", true),
            ("br, gzip;q=0.5", true),
            ("*", true),
            ("gzip;q=0", false),
            ("gzip; q=0.0", false),
            ("br", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_str(text).unwrap());
            assert_eq!(accepts_gzip(&headers), expected, "{text}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn compressed_bodies_come_back_whole_one_after_another() {
        use std::io::Read;
        for length in [0, 1, 5_000, 70_000, 300_000, 10] {
            // half of it repeats, half does not
            let mut state = 1u32;
            let body: Vec<u8> = (0..length as u32)
                .map(|i| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    if i % 512 < 256 { b'a' } else { (state >> 24) as u8 }
                })
                .collect();
            let mut back = vec![];
            let gzip = compress(&body).unwrap();
            flate2::read::GzDecoder::new(&gzip[..]).read_to_end(&mut back).unwrap();
            assert!(back == body, "{length}");
        }
    }

    fn delivery(readers: Readers) -> Delivery {
        let held = Room::new("answers", 100, 0).enter(Payer::default());
        Delivery { held, connection: None, id: correlation_id(), readers }
    }

    #[actix_web::test]
    async fn a_large_answer_is_charged_until_it_is_sent() {
        let room = Room::new("answers", 400_000, 0);
        let mut held = room.enter(Payer::default());
        held.grow(200_000).unwrap();
        let reply = Reply::ok(vec![b'x'; 200_000]);
        let delivery = Delivery { held, ..delivery(Readers::SameOrigin) };
        let response = reply.into_response(&HeaderMap::new(), delivery).await;
        assert!(response.headers().get("access-control-allow-origin").is_none());
        assert_eq!(room.bytes(), 200_000);
        let sent = actix_web::body::to_bytes(response.into_body()).await.unwrap();
        assert_eq!((sent.len(), room.bytes()), (200_000, 0));
    }

    #[actix_web::test]
    async fn what_is_not_read_in_time_is_let_go_whatever_the_connection_waits_for() {
        assert_eq!((patience(0), patience(32 << 20)), (Duration::from_secs(20), Duration::from_secs(532)));
        let room = Room::new("answers", 1 << 20, 0);
        let sent = |patience_ms| {
            let mut held = room.enter(Payer::default());
            held.grow(100_000).unwrap();
            let body = vec![b'x'; 100_000].into();
            Sent::within(body, held, None, Duration::from_millis(patience_ms))
        };
        let (mut slow, read) = (sent(30), sent(60_000));
        let piece = poll_fn(|cx| Pin::new(&mut slow).poll_next(cx)).await.unwrap().unwrap();
        assert_eq!(piece.len(), PIECE_BYTES);
        assert_eq!(actix_web::body::to_bytes(read).await.unwrap().len(), 100_000);
        assert_eq!(room.bytes(), 100_000, "what was read is given back, the other is waited for");
        actix_rt::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(room.bytes(), 100_000, "the connection has a piece, which holds the whole");
        drop(piece);
        assert_eq!(room.bytes(), 0, "nothing asked for the rest");
        assert!(poll_fn(|cx| Pin::new(&mut slow).poll_next(cx)).await.unwrap().is_err());
    }

    #[actix_web::test]
    async fn every_answer_is_readable_from_other_origins() {
        let reply = Reply::error(&Error::unavailable("busy"));
        assert_eq!(reply.body, br#"{"message":"busy","status":503}"#);
        let response = reply.into_response(&HeaderMap::new(), delivery(Readers::AnyOrigin)).await;
        let header = |name: &str| response.headers().get(name).unwrap().to_str().unwrap();
        assert_eq!(response.status(), 503);
        assert_eq!(header("access-control-allow-origin"), "*");
        assert_eq!(header("content-type"), "application/json; charset=UTF-8");
        assert_eq!(header("retry-after"), "1");
        assert_eq!(header("correlation-id").len(), 16);
    }
}
