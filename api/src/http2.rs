//! How are the calls of a connection by HTTP/2 taken (RFC 9113)?
//!
//! The frames are those of `h2`. What actix-http has around them bounds neither the streams of a connection nor the heads of its
//! calls, of which one may unpack to 16 MiB, and goes on working for callers who are gone.

use crate::connection::Connection;
use crate::stream::Stream;
use actix_http::body::{BodySize, MessageBody};
use actix_http::header::{self, HttpDate, TryIntoHeaderValue as _};
use actix_http::{HttpMessage as _, Payload, Request, Response};
use actix_server::GracefulShutdownSignal;
use actix_service::Service;
use actix_web::dev::ServiceResponse;
use actix_web::http::{Method, StatusCode, Version};
use actix_web::web::Bytes;
use h2::server::{Builder, SendResponse};
use h2::{Reason, RecvStream};
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Calls that may be under way on one connection: a call is, until the last byte of its answer is sent.
pub const CALLS_MAX: u32 = 128;
/// Bytes of the head of a call, unpacked, with 32 for each header. Beyond it `h2` answers 431 and refuses the stream, of which some clients
/// tell the second alone; it ends a connection with a head that goes on for many more frames.
const HEAD_BYTES_MAX: u32 = 64 << 10;
/// Bytes of bodies that come before anybody reads them: of a call, and of all of a connection.
const UNREAD_BYTES_MAX: u32 = 256 << 10;
/// Bytes of an answer that wait for the network.
const UNSENT_BYTES_MAX: usize = 64 << 10;
/// How long a client that is told to go has for it.
const GOODBYE: Duration = Duration::from_secs(5);

/// How long a connection is waited for.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For its first words.
    pub greeting: Duration,
    /// While no call is under way.
    pub idle: Duration,
}

/// Takes the calls of a connection until it ends. Those that are under way then, or are called off by their caller, end as well.
pub async fn serve<S, B>(
    stream: Stream,
    peer: SocketAddr,
    calls: Rc<S>,
    patience: Patience,
    stopping: GracefulShutdownSignal,
) where
    S: Service<Request, Response = ServiceResponse<B>> + 'static,
    B: MessageBody + 'static,
{
    let connection = stream.connection().clone();
    let mut greeting = Builder::new();
    greeting
        .max_concurrent_streams(CALLS_MAX)
        .max_header_list_size(HEAD_BYTES_MAX)
        .max_send_buffer_size(UNSENT_BYTES_MAX)
        .initial_window_size(UNREAD_BYTES_MAX)
        .initial_connection_window_size(UNREAD_BYTES_MAX);
    let greeting = greeting.handshake::<_, Bytes>(stream);
    let Ok(Ok(mut frames)) = timeout(patience.greeting, greeting).await else { return };
    let mut under_way = JoinSet::new();
    let mut is_ending = false;
    loop {
        let idle = if is_ending { GOODBYE } else { patience.idle };
        let ends = tokio::select! {
            accepted = frames.accept() => {
                let Some(Ok((request, answer))) = accepted else { return };
                under_way.spawn_local(take(request, answer, peer, connection.clone(), calls.clone()));
                false
            }
            Some(_ended) = under_way.join_next() => false,
            () = stopping.notified(), if !is_ending => true,
            () = sleep(idle), if under_way.is_empty() => {
                if is_ending {
                    return;
                }
                true
            }
        };
        if ends {
            is_ending = true;
            frames.graceful_shutdown();
        }
    }
}

/// Answers a call, unless its caller calls it off before.
async fn take<S, B>(
    request: http02::Request<RecvStream>,
    mut answer: SendResponse<Bytes>,
    peer: SocketAddr,
    connection: Connection,
    calls: Rc<S>,
) where
    S: Service<Request, Response = ServiceResponse<B>>,
    B: MessageBody,
{
    let is_head = request.method() == Method::HEAD;
    let called = calls.call(read(request, peer, connection));
    let answered = tokio::select! {
        answered = called => answered,
        _ = poll_fn(|cx| answer.poll_reset(cx)) => return,
    };
    match answered {
        // nobody is there any more to be told
        Ok(response) => drop(send(response.into(), answer, is_head).await),
        Err(_) => answer.send_reset(Reason::INTERNAL_ERROR),
    }
}

fn read(request: http02::Request<RecvStream>, peer: SocketAddr, connection: Connection) -> Request {
    let (parts, body) = request.into_parts();
    let mut request = Request::with_payload(Payload::from(body));
    let head = request.head_mut();
    head.uri = parts.uri;
    head.method = parts.method;
    head.version = parts.version;
    head.headers = parts.headers.into();
    head.peer_addr = Some(peer);
    request.extensions_mut().insert(connection);
    request
}

/// Sends an answer as fast as the client takes it. Errors: the call or the connection has ended.
async fn send<B: MessageBody>(
    response: Response<B>,
    mut answer: SendResponse<Bytes>,
    is_head: bool,
) -> Result<(), h2::Error> {
    let (response, body) = response.into_parts();
    let is_whole = is_head || body.size().is_eof();
    let mut stream = answer.send_response(head(&response, body.size()), is_whole)?;
    if is_whole {
        return Ok(());
    }
    let mut body = pin!(body);
    while let Some(piece) = poll_fn(|cx| body.as_mut().poll_next(cx)).await {
        let Ok(mut piece) = piece else {
            stream.send_reset(Reason::CANCEL);
            return Ok(());
        };
        while !piece.is_empty() {
            stream.reserve_capacity(piece.len());
            let Some(capacity) = poll_fn(|cx| stream.poll_capacity(cx)).await else { return Ok(()) };
            let count = capacity?.min(piece.len());
            stream.send_data(piece.split_to(count), false)?;
        }
    }
    stream.send_data(Bytes::new(), true)
}

/// What goes before the body: without what HTTP/1 says of its connections.
fn head(response: &Response<()>, size: BodySize) -> http02::Response<()> {
    let mut head = http02::Response::new(());
    *head.status_mut() = response.status();
    *head.version_mut() = Version::HTTP_2;
    let of_connections = [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE];
    for (name, value) in response.headers().iter().filter(|(name, _)| !of_connections.contains(name)) {
        head.headers_mut().append(name, value.clone());
    }
    if let BodySize::Sized(bytes) = size
        && response.status() != StatusCode::NO_CONTENT
    {
        head.headers_mut().insert(header::CONTENT_LENGTH, bytes.into());
    }
    if let Ok(now) = HttpDate::from(SystemTime::now()).try_into_value() {
        head.headers_mut().insert(header::DATE, now);
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Encryption;
    use crate::doorman::Doorman;
    use crate::listener::Listener;
    use crate::network::Networks;
    use crate::stream;
    use actix_http::Protocol;
    use actix_rt::net::{TcpListener, TcpStream};
    use actix_server::Server;
    use actix_service::fn_service;
    use std::cell::Cell;
    use std::future::pending;

    /// Calls that have begun and never end by themselves, and those of them that were ended.
    #[derive(Clone, Default)]
    struct Counts {
        begun: Rc<Cell<usize>>,
        ended: Rc<Cell<usize>>,
    }
    impl Counts {
        async fn until(&self, begun: usize, ended: usize) {
            let arrives = async {
                while (self.begun.get(), self.ended.get()) != (begun, ended) {
                    sleep(Duration::from_millis(5)).await;
                }
            };
            let seen =
                || format!("{begun} begun and {ended} ended, not {:?}", (self.begun.get(), self.ended.get()));
            timeout(Duration::from_secs(10), arrives).await.unwrap_or_else(|_| panic!("{}", seen()));
        }
    }
    struct Call(Counts);
    impl Drop for Call {
        fn drop(&mut self) {
            self.0.ended.set(self.0.ended.get() + 1);
        }
    }

    #[actix_web::test]
    async fn work_ends_when_its_call_is_called_off_or_its_connection_has_ended() {
        let counts = Counts::default();
        let seen = counts.clone();
        let calls = fn_service(move |_: Request| {
            seen.begun.set(seen.begun.get() + 1);
            let call = Call(seen.clone());
            async move {
                let _ends = call;
                pending::<Result<ServiceResponse, actix_web::Error>>().await
            }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let caller = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (socket, peer) = listener.accept().await.unwrap();
        let guest = Doorman::new(1, Networks::default()).look(peer.ip()).unwrap();
        let connection = Connection::new(Listener::Everything, Encryption::Plain, Protocol::Http2, guest);
        let stream = Stream::new(stream::Bytes::Plain(socket), connection);
        let long = Duration::from_secs(60);
        let (patience, stopping) =
            (Patience { greeting: long, idle: long }, Server::build().graceful_shutdown_signal());
        let served = actix_rt::spawn(serve(stream, peer, Rc::new(calls), patience, stopping));
        let (mut client, frames) = h2::client::handshake(caller).await.unwrap();
        let frames = actix_rt::spawn(frames);
        let mut begin = || {
            let request = http02::Request::get("http://search.example/").body(()).unwrap();
            client.send_request(request, true).unwrap()
        };
        let (mut first, _second) = (begin(), begin());
        counts.until(2, 0).await;
        first.1.send_reset(Reason::CANCEL);
        counts.until(2, 1).await;
        frames.abort();
        counts.until(2, 2).await;
        timeout(Duration::from_secs(10), served).await.expect("the connection is over").unwrap();
    }
}
