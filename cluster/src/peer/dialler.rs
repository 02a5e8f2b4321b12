//! How a connection to a peer is made, and kept while there is something to send.

use super::complaints::About;
use super::connection::{self, Connection, End, Side, Stream};
use super::frame::{Frame, PART_FRAME_BYTES_MAX, SHORT_FRAME_BYTES_MAX};
use super::hello::{ITSELF, PREAMBLE, Purpose};
use super::link::{Link, LinkError};
use super::node::Local;
use super::registry::Peer;
use super::tls;
use super::traffic::{Metered, Traffic};
use super::types::Lane;
use crate::clock;
use crate::ids;
use futures_util::stream::{FuturesUnordered, StreamExt};
use quorate_model::NodeId;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// How long after a failure the next attempt begins: doubled with each up to the second one. A node that was cut off is to hear of
/// what happened meanwhile well within a second.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(250)];
/// The longest pause when the other side answers and does not want to talk: an attempt costs it a handshake.
const PAUSE_REFUSED: Duration = Duration::from_secs(1);
/// How long a connection has to last that counts as a success.
const LASTS: Duration = Duration::from_secs(1);
/// How long an address may be silent before it is called once more beside that. What a system does by itself with a call that was
/// lost, it does after one second, and three, and seven.
const CALL_AGAIN: Duration = Duration::from_millis(250);
/// How long what consensus sends may stay without a sign that it has arrived. It says something every fifth of a second, and what is
/// lost there is sent again; after some losses the system tries so rarely that a new connection is sooner there.
const UNCONFIRMED: Duration = Duration::from_secs(1);
/// How long the other side may take to read why it is refused.
const DRAIN: Duration = Duration::from_millis(200);
/// Bytes that are passed over meanwhile: more than any handshake has.
const DRAIN_BYTES_MAX: u64 = 64 << 10;
/// A clock that is so far off is worth a warning; nothing depends on clocks for safety.
pub const CLOCK_AHEAD_MS: u64 = 2_000;

/// Keeps the connection of a link: dials when something waits, again after failures, until the transport stops.
pub async fn keep<L: Link>(local: Arc<Local>, peer: Arc<Peer>, link: impl Fn(&Peer) -> &L + Send) {
    let link = link(&peer);
    let stops = async {
        let mut pauses = Pauses::default();
        loop {
            link.ready().await;
            attend(&local, &peer, link, &mut pauses).await;
        }
    };
    tokio::select! {
        () = local.stopped.cancelled() => {}
        () = stops => {}
    }
    link.failed(&LinkError::Stopped);
}

/// One attempt to connect, and the connection while it lasts.
async fn attend<L: Link>(local: &Local, peer: &Peer, link: &L, pauses: &mut Pauses) {
    let mut address = peer.address.subscribe();
    let to = address.borrow_and_update().clone();
    let dialled = match &to {
        None => Err(LinkError::NoAddress),
        Some(to) => dial(local, to, Some(peer.node), Purpose::Lane(link.lane())).await,
    };
    let error = match dialled {
        Ok(connection) => {
            meet(local, peer, &connection);
            let traffic = connection.traffic.clone();
            link.connected(&connection.version);
            let mut sink = link.sink();
            let end = tokio::select! {
                end = connection::run(local, &peer.known, Side::Dialled, connection, link, &mut sink) => end,
                _ = address.wait_for(Option::is_none) => End::Replaced,
            };
            link.lost();
            complain(local, &peer.node.to_string(), &end);
            if traffic.age() > LASTS {
                *pauses = Pauses::default();
                return;
            }
            LinkError::Unreachable(end.to_string())
        }
        Err(error) => {
            peer.known.counters.failed.inc();
            peer.known.reached(Some(error.to_string()));
            if let LinkError::Refused(_) = &error {
                local.complaints.warn(&peer.node.to_string(), About::Refusal, &error.to_string());
            }
            error
        }
    };
    link.failed(&error);
    let longest = match error {
        LinkError::Unreachable(_) => PAUSES[1],
        LinkError::NoAddress | LinkError::Refused(_) | LinkError::Itself | LinkError::Stopped => {
            PAUSE_REFUSED
        }
    };
    tokio::select! {
        () = tokio::time::sleep(pauses.next(longest)) => {}
        _ = address.changed() => *pauses = Pauses::default(),
    }
    link.opened();
}

/// Notes a greeting that was exchanged.
pub fn meet(local: &Local, peer: &Peer, connection: &Connection) {
    peer.known.counters.connected.inc();
    peer.known.reached(None);
    peer.known.met(&connection.version, connection.clock_ahead_ms);
    if connection.clock_ahead_ms.unsigned_abs() > CLOCK_AHEAD_MS {
        let who = peer.node.to_string();
        local.complaints.warn(&who, About::Clock, "its clock and the one of this node are seconds apart");
    }
    local.handler.met(peer.node, &connection.version);
}

/// Logs an end that somebody should know of.
pub fn complain(local: &Local, who: &str, end: &End) {
    let about = match end {
        End::ProtocolError(_) => About::ProtocolError,
        End::Refused(_) | End::Itself => About::Refusal,
        End::Stalled => About::Stall,
        End::Closed(_) | End::Silent | End::Replaced => {
            return tracing::debug!(node = who, %end, "a connection ended");
        }
    };
    local.complaints.warn(who, about, &end.to_string());
}

/// Dials and greets. `expected` is who must be there. Errors: [`LinkError`], within
/// [`PeerLimits::connect_within`](super::types::PeerLimits::connect_within).
pub async fn dial(
    local: &Local,
    address: &str,
    expected: Option<NodeId>,
    purpose: Purpose,
) -> Result<Connection, LinkError> {
    let within = local.limits.connect_within;
    let greeted = async {
        let stream = connect(address, within / 2).await.map_err(|error| unreachable(address, error))?;
        let at = stream.peer_addr();
        let (stream, traffic) =
            encrypt(local, stream, purpose).await.map_err(|error| match tls::is_wrong_secret(&error) {
                true => LinkError::Refused(format!("the node at {address} has another join token")),
                false => unreachable(address, error),
            })?;
        let greeted = greet(local, stream, traffic, expected, purpose).await;
        if let (Ok(_), Ok(at)) = (&greeted, at) {
            local.greetings.know(at.ip());
        }
        greeted.map_err(|end| match end {
            End::Refused(text) => LinkError::Refused(text),
            End::Itself => LinkError::Itself,
            End::Closed(_) | End::ProtocolError(_) | End::Silent | End::Stalled | End::Replaced => {
                unreachable(address, end)
            }
        })
    };
    match tokio::time::timeout(within, greeted).await {
        Ok(greeted) => greeted,
        Err(_) => Err(unreachable(address, format!("no answer within {} ms", within.as_millis()))),
    }
}

fn unreachable(address: &str, why: impl std::fmt::Display) -> LinkError {
    LinkError::Unreachable(format!("cannot connect to {address}: {why}"))
}

/// Tries the addresses of a name in turn, each for `within_one` at most.
async fn connect(address: &str, within_one: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for to in tokio::net::lookup_host(address).await? {
        match tokio::time::timeout(within_one, call(to)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = error,
            Err(_) => last = io::Error::new(io::ErrorKind::TimedOut, "no answer"),
        }
    }
    Err(last)
}

/// Calls an address again and again; the first call that is answered counts, and far ones have time for it.
async fn call(to: SocketAddr) -> io::Result<TcpStream> {
    let mut calls = FuturesUnordered::new();
    loop {
        calls.push(TcpStream::connect(to));
        tokio::select! {
            Some(answered) = calls.next() => return answered,
            () = tokio::time::sleep(CALL_AGAIN) => {}
        }
    }
}

async fn encrypt(
    local: &Local,
    mut stream: TcpStream,
    purpose: Purpose,
) -> io::Result<(Stream, Arc<Traffic>)> {
    prepare(&stream)?;
    if matches!(purpose, Purpose::Lane(Lane::Consensus)) {
        give_up_early(&stream)?;
    }
    stream.write_all(&PREAMBLE).await?;
    stream.write_u8(purpose.number()).await?;
    let traffic = Arc::new(Traffic::new());
    let metered = Metered::new(stream, traffic.clone());
    let connector = TlsConnector::from(local.identity.client.clone());
    match connector.connect(tls::any_name(), metered).into_fallible().await {
        Ok(encrypted) => Ok((Stream::Client(encrypted), traffic)),
        Err((error, mut metered)) => {
            // closed at once, what the other side has sent would turn the alert that tells it why into a reset
            let drained = async {
                metered.shutdown().await?;
                tokio::io::copy(&mut metered.take(DRAIN_BYTES_MAX), &mut tokio::io::sink()).await
            };
            drop(tokio::time::timeout(DRAIN, drained).await);
            Err(error)
        }
    }
}

/// Sets what all connections between nodes have in common.
pub fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive =
        socket2::TcpKeepalive::new().with_time(Duration::from_secs(10)).with_interval(Duration::from_secs(5));
    socket2::SockRef::from(stream).set_tcp_keepalive(&keepalive)
}

/// Ends a connection when nothing of what was sent arrives, or there is no room for it any more. That is the system's to say: a
/// process that stands still is no reason to end one before its buffers are full.
fn give_up_early(stream: &TcpStream) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    socket2::SockRef::from(stream).set_tcp_user_timeout(Some(UNCONFIRMED))?;
    // elsewhere pings tell, some seconds later
    #[cfg(not(target_os = "linux"))]
    let _ = (stream, UNCONFIRMED);
    Ok(())
}

async fn greet(
    local: &Local,
    stream: Stream,
    traffic: Arc<Traffic>,
    expected: Option<NodeId>,
    purpose: Purpose,
) -> Result<Connection, End> {
    let chain = stream.get_ref().1.peer_certificates().map(<[_]>::to_vec);
    let (mut reader, mut writer) = connection::framed(stream);
    let own = local.hello(purpose);
    let asked = traffic.age();
    connection::write_frame(&mut writer, &Frame::Hello(own.clone())).await?;
    let theirs = match connection::next_frame(&mut reader).await? {
        Frame::Hello(hello) => hello,
        Frame::Refusal(text) if text == ITSELF => return Err(End::Itself),
        Frame::Refusal(text) => return Err(End::Refused(format!("the node there says: {text}"))),
        Frame::Ping(_)
        | Frame::Pong(_)
        | Frame::Consensus(_)
        | Frame::Request { .. }
        | Frame::RequestPart { .. }
        | Frame::Answer { .. }
        | Frame::AnswerPart { .. }
        | Frame::Failure { .. }
        | Frame::GivenUp(_) => return Err(End::ProtocolError("it did not answer the greeting".into())),
    };
    let half_way = (traffic.age() - asked) / 2;
    if !tls::is_of(chain.as_deref(), theirs.node) {
        return Err(End::Refused(format!(
            "it says that it is node {}; its certificate does not",
            theirs.node
        )));
    }
    if let Some(expected) = expected.filter(|&expected| expected != theirs.node) {
        return Err(End::Refused(format!("node {} is there, not node {expected}", theirs.node)));
    }
    if let Some(objection) = own.objection(&theirs) {
        return Err(End::Refused(objection));
    }
    reader.decoder_mut().set_max_frame_length(match purpose {
        Purpose::Lane(Lane::Consensus) => SHORT_FRAME_BYTES_MAX,
        Purpose::Lane(Lane::Requests | Lane::Bulk) | Purpose::Introduction => PART_FRAME_BYTES_MAX,
    });
    let clock_ahead_ms = clock_ahead_ms(theirs.unix_ms, half_way);
    Ok(Connection { reader, writer, traffic, peer: theirs.node, version: theirs.version(), clock_ahead_ms })
}

/// How far the clock of a greeting that took `on_the_way` is ahead of this node's.
pub fn clock_ahead_ms(theirs: u64, on_the_way: Duration) -> i64 {
    let now = i128::from(clock::unix_ms());
    let ahead = i128::from(theirs) + on_the_way.as_millis() as i128 - now;
    ahead.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

/// The times between attempts.
#[derive(Default)]
struct Pauses {
    failures: u32,
}

impl Pauses {
    /// The next one, up to a quarter longer, so that nodes do not meet in step.
    fn next(&mut self, longest: Duration) -> Duration {
        let pause = PAUSES[0].saturating_mul(1 << self.failures.min(8)).min(longest);
        self.failures += 1;
        let [chance] = ids::random();
        pause + pause.mul_f32(f32::from(chance) / 1_024.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest() {
        for (longest, expected) in [
            (PAUSES[1], [50, 100, 200, 250, 250, 250, 250]),
            (PAUSE_REFUSED, [50, 100, 200, 400, 800, 1_000, 1_000]),
        ] {
            let mut pauses = Pauses::default();
            for expected_ms in expected {
                let ms = pauses.next(longest).as_millis() as u64;
                assert!((expected_ms..=expected_ms * 5 / 4).contains(&ms), "{ms} instead of {expected_ms}");
            }
        }
    }

    #[test]
    fn clocks_are_compared_with_the_time_on_the_way() {
        let now = clock::unix_ms();
        for (theirs, way_ms, expected) in [(now, 0, 0), (now + 5_000, 0, 5_000), (now - 5_000, 1_000, -4_000)]
        {
            let ahead = clock_ahead_ms(theirs, Duration::from_millis(way_ms));
            assert!((expected - 1_000..=expected).contains(&ahead), "{ahead} instead of {expected}");
        }
        for theirs in [0, u64::MAX] {
            clock_ahead_ms(theirs, Duration::MAX);
        }
    }
}
