//! How connections that others dial are let in, and which of them are kept.

use super::complaints::About;
use super::connection::{self, Connection, End, Side, Stream};
use super::dialler::{self, clock_ahead_ms};
use super::frame::{CONSENSUS_FRAME_BYTES_MAX, Frame, PART_FRAME_BYTES_MAX};
use super::greetings::Greeting;
use super::hello::{self, PREAMBLE, PREAMBLE_BYTES, Purpose};
use super::node::Local;
use super::registry::{Peer, Registry, Threads};
use super::serving::{Answers, ConsensusIn, Quiet, RequestsIn};
use super::tls;
use super::traffic::{Metered, Traffic};
use super::types::Lane;
use parking_lot::Mutex;
use quorate_model::NodeId;
use rustc_hash::FxHashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// Introductions at once; further ones are closed at once.
const INTRODUCTIONS_MAX: usize = 64;
/// How long accepting rests after it failed, mostly because there are too many open files.
const REST: Duration = Duration::from_millis(100);

/// The accepting side of the transport.
pub struct Server {
    local: Arc<Local>,
    registry: Arc<Registry>,
    threads: Threads,
    introductions: Arc<Semaphore>,
    /// The connection of each node and lane, by what ends it.
    kept: Mutex<FxHashMap<(NodeId, Lane), CancellationToken>>,
}

impl Server {
    /// Nothing is accepted yet.
    pub fn new(local: Arc<Local>, registry: Arc<Registry>, threads: Threads) -> Self {
        Server {
            local,
            registry,
            threads,
            introductions: Arc::new(Semaphore::new(INTRODUCTIONS_MAX)),
            kept: Mutex::default(),
        }
    }

    /// Accepts connections until the transport stops.
    pub async fn serve(self: Arc<Self>, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                () = self.local.stopped.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, from)) => {
                    // otherwise there are too many that do not say who they are
                    if let Some(greeting) = self.local.greetings.enter(from.ip()) {
                        tokio::spawn(self.clone().sort(stream, from, greeting));
                    }
                }
                Err(error) => {
                    let text = format!("connections cannot be accepted: {error}");
                    self.local.complaints.warn("any", About::Accepting, &text);
                    tokio::time::sleep(REST).await;
                }
            }
        }
    }

    /// Reads what the connection is for and gives it to the threads of its lane.
    async fn sort(self: Arc<Self>, mut stream: TcpStream, from: SocketAddr, greeting: Greeting) {
        let mut preamble = [0; PREAMBLE_BYTES];
        let within = greeting.patience(self.local.limits.connect_within);
        let read = tokio::time::timeout(within, stream.read_exact(&mut preamble));
        if !matches!(read.await, Ok(Ok(_))) {
            // a check whether the port is open
            return;
        }
        let purpose = preamble.strip_prefix(&PREAMBLE).and_then(|rest| Purpose::from_number(*rest.first()?));
        let Some(purpose) = purpose else {
            let text =
                "something that is not a node, or one of another version, connected to the port for nodes";
            return self.local.complaints.warn(&from.ip().to_string(), About::Stranger, text);
        };
        match purpose {
            Purpose::Lane(Lane::Consensus) => {
                let Ok(stream) = stream.into_std() else { return };
                let consensus = self.threads.consensus.clone();
                consensus.spawn(async move {
                    if let Ok(stream) = TcpStream::from_std(stream) {
                        self.accept(stream, from, purpose, greeting).await;
                    }
                });
            }
            Purpose::Lane(Lane::Requests | Lane::Bulk) | Purpose::Introduction => {
                self.accept(stream, from, purpose, greeting).await;
            }
        }
    }

    /// Greets, and serves the connection until it ends.
    async fn accept(
        self: Arc<Self>,
        stream: TcpStream,
        from: SocketAddr,
        purpose: Purpose,
        greeting: Greeting,
    ) {
        let within = self.local.limits.connect_within;
        let greeted = tokio::select! {
            () = self.local.stopped.cancelled() => return,
            greeted = tokio::time::timeout(within, self.greet(stream, purpose)) => greeted,
        };
        if matches!(greeted, Ok(Ok(_))) {
            greeting.greeted();
        }
        drop(greeting);
        match greeted {
            Ok(Ok((connection, peer))) => {
                dialler::meet(&self.local, &peer, &connection);
                let end = self.keep(connection, &peer, purpose).await;
                dialler::complain(&self.local, &peer.node.to_string(), &end);
            }
            Ok(Err(end)) => dialler::complain(&self.local, &from.ip().to_string(), &end),
            Err(_) => tracing::debug!(%from, "a connection said nothing"),
        }
    }

    async fn greet(&self, stream: TcpStream, purpose: Purpose) -> Result<(Connection, Arc<Peer>), End> {
        dialler::prepare(&stream)?;
        let traffic = Arc::new(Traffic::new());
        let metered = Metered::new(stream, traffic.clone());
        let acceptor = TlsAcceptor::from(self.local.identity.server.clone());
        let encrypted = acceptor.accept(metered).await.map_err(refused_handshake)?;
        let stream = Stream::Server(encrypted);
        let chain = stream.get_ref().1.peer_certificates().map(<[_]>::to_vec);
        let (mut reader, mut writer) = connection::framed(stream);
        let Frame::Hello(theirs) = connection::next_frame(&mut reader).await? else {
            return Err(End::ProtocolError("it did not greet".into()));
        };
        let own = self.local.hello(purpose);
        let objection = if !tls::is_of(chain.as_deref(), theirs.node) {
            Some(format!("node {} does not have a certificate of that node", theirs.node))
        } else if theirs.purpose != purpose.number() {
            Some("the greeting names another lane than the connection".into())
        } else if !self.local.handler.may_speak(theirs.node) {
            Some(hello::removed(theirs.node))
        } else {
            own.objection(&theirs)
        };
        let peer = objection.is_none().then(|| self.registry.peer(theirs.node)).flatten();
        let Some(peer) = peer else {
            let text = objection.unwrap_or_else(|| "too many nodes are known".into());
            connection::write_frame(&mut writer, &Frame::Refusal(text.clone())).await?;
            return Err(End::Refused(text));
        };
        connection::write_frame(&mut writer, &Frame::Hello(own)).await?;
        reader.decoder_mut().set_max_frame_length(match purpose {
            Purpose::Lane(Lane::Consensus) => CONSENSUS_FRAME_BYTES_MAX,
            Purpose::Lane(Lane::Requests | Lane::Bulk) | Purpose::Introduction => PART_FRAME_BYTES_MAX,
        });
        let clock_ahead_ms = clock_ahead_ms(theirs.unix_ms, Duration::ZERO);
        let version = theirs.version();
        Ok((Connection { reader, writer, traffic, peer: peer.node, version, clock_ahead_ms }, peer))
    }

    async fn keep(&self, connection: Connection, peer: &Peer, purpose: Purpose) -> End {
        match purpose {
            Purpose::Introduction => match self.introductions.try_acquire() {
                Ok(_permit) => self.run(connection, peer, purpose.lane(), &CancellationToken::new()).await,
                Err(_) => End::Replaced,
            },
            Purpose::Lane(lane) => {
                let ends = CancellationToken::new();
                // two connections mean that the other side has given the older one up
                if let Some(older) = self.kept.lock().insert((peer.node, lane), ends.clone()) {
                    older.cancel();
                }
                let end = self.run(connection, peer, lane, &ends).await;
                let mut kept = self.kept.lock();
                if !ends.is_cancelled() {
                    kept.remove(&(peer.node, lane));
                }
                end
            }
        }
    }

    async fn run(&self, connection: Connection, peer: &Peer, lane: Lane, ends: &CancellationToken) -> End {
        let (local, known) = (&self.local, &peer.known);
        let runs = async {
            match lane {
                Lane::Consensus => {
                    let mut sink = ConsensusIn { local, from: peer.node };
                    connection::run(local, known, Side::Accepted, connection, &Quiet, &mut sink).await
                }
                Lane::Requests | Lane::Bulk => {
                    let answers = Arc::new(Answers::new(known.counters.clone()));
                    let mut sink = RequestsIn::new(local.clone(), peer.node, lane, answers.clone());
                    connection::run(local, known, Side::Accepted, connection, &*answers, &mut sink).await
                }
            }
        };
        tokio::select! {
            end = runs => end,
            () = ends.cancelled() => End::Replaced,
            () = self.local.stopped.cancelled() => End::Replaced,
        }
    }
}

fn refused_handshake(error: io::Error) -> End {
    match tls::is_wrong_secret(&error) {
        true => End::Refused("a node with another join token connected".into()),
        false => End::from(error),
    }
}
