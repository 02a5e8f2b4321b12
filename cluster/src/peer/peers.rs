//! The peer transport of a node as the rest of the cluster holds it.

use super::complaints::Complaints;
use super::connection::{self, Side};
use super::dialler;
use super::greetings::Greetings;
use super::hello::Purpose;
use super::link::{Link, LinkError};
use super::node::{Known, Local};
use super::registry::{Registry, Threads};
use super::request_link::RequestLink;
use super::server::Server;
use super::tls::Identity;
use super::types::{Lane, PeerError, PeerHandler, PeerOptions, PeerStatus, StartError};
use crate::ids;
use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use quorate_model::{GroupId, NodeId};
use quorate_raft::{Outbox, PeerMessage};
use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How long a stop waits for tasks that do not let go.
const STOP: Duration = Duration::from_secs(1);
/// Threads for requests; consensus has another one to itself.
const REQUEST_THREADS: usize = 2;

/// The connections to all other nodes. Clones are the same transport; it stops with [`Peers::stop`] or the last clone.
#[derive(Clone)]
pub struct Peers {
    owner: Arc<Owner>,
}

struct Owner {
    local: Arc<Local>,
    registry: Arc<Registry>,
    threads: Threads,
    /// Says nothing; it is closed when all threads have ended.
    ended: Mutex<mpsc::Receiver<()>>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.local.stopped.cancel();
    }
}

impl Peers {
    /// Starts to listen. The transport runs on threads of its own: consensus has one to itself, requests share two.
    ///
    /// Errors: a thread, the listener or the certificate.
    pub fn start(options: PeerOptions, handler: Arc<dyn PeerHandler>) -> Result<Peers, StartError> {
        let PeerOptions { node, secret, also, listener, version, installation, limits } = options;
        listener.set_nonblocking(true)?;
        let local = Arc::new(Local {
            life: ids::chance(),
            node,
            identity: Identity::new(&secret, also.as_ref(), node)?,
            version,
            installation: RwLock::new(installation),
            limits,
            handler,
            complaints: Complaints::default(),
            greetings: Greetings::default(),
            stopped: CancellationToken::new(),
        });
        let (threads, ended) = start_threads(local.stopped.clone())?;
        let registry = Arc::new(Registry::new(local.clone(), threads.clone()));
        let server = Arc::new(Server::new(local.clone(), registry.clone(), threads.clone()));
        let listener = {
            let _inside = threads.requests.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        threads.requests.spawn(server.serve(listener));
        Ok(Peers { owner: Arc::new(Owner { local, registry, threads, ended: Mutex::new(ended) }) })
    }

    /// Replaces what is known of where nodes are: "host:port", looked up at every connect. Connections to nodes that are
    /// no longer named end; this node may be among them.
    pub fn set_addresses(&self, addresses: BTreeMap<NodeId, String>) {
        self.owner.registry.set_addresses(addresses);
    }

    /// Whether a node is known to be at an address.
    #[cfg(test)]
    pub fn knows(&self, address: std::net::IpAddr) -> bool {
        self.owner.local.greetings.knows(address)
    }

    /// Sets the application id when it has become known. Holds for connections made from now on.
    pub fn set_installation(&self, app_id: &str) {
        *self.owner.local.installation.write() = Some(app_id.to_string());
    }

    /// Asks a node and waits for its answer, until `deadline` at most.
    ///
    /// Errors: those of [`PeerError`]; [`PeerError::outcome_is_unknown`] says after which the node may have acted.
    /// `Refused` on [`Lane::Consensus`], which has no answers.
    pub async fn ask(
        &self,
        to: NodeId,
        lane: Lane,
        request: Bytes,
        deadline: Instant,
    ) -> Result<Bytes, PeerError> {
        let stopped = &self.owner.local.stopped;
        if stopped.is_cancelled() {
            return Err(PeerError::Stopped);
        }
        let peer = self.owner.registry.known(to).filter(|peer| peer.address.borrow().is_some());
        let Some(peer) = peer else { return Err(PeerError::Unknown) };
        match lane {
            Lane::Consensus => Err(PeerError::Refused("consensus has no answers".into())),
            Lane::Requests => peer.requests.ask(request, deadline, stopped).await,
            Lane::Bulk => peer.bulk.ask(request, deadline, stopped).await,
        }
    }

    /// Asks whoever listens at an address, over a connection for this one request. Returns who answered.
    ///
    /// Errors: those of [`Peers::ask`]; `Refused` when the node there does not have the same join token; `Itself`.
    pub async fn ask_address(
        &self,
        address: &str,
        request: Bytes,
        deadline: Instant,
    ) -> Result<(NodeId, Bytes), PeerError> {
        let local = self.owner.local.clone();
        let address = address.to_string();
        let stopped = local.stopped.clone();
        // the transport's own thread has the clock and the network that this needs, whoever calls
        let asking = self.owner.threads.requests.spawn(async move {
            tokio::select! {
                asked = introduce(&local, &address, request, deadline) => asked,
                () = local.stopped.cancelled() => Err(PeerError::Stopped),
            }
        });
        let ends = AbortOnDrop(asking.abort_handle());
        let asked = asking.await;
        drop(ends);
        match asked {
            Ok(answered) => answered,
            Err(_) if stopped.is_cancelled() => Err(PeerError::Stopped),
            Err(_) => Err(PeerError::Lost),
        }
    }

    /// What is known of each peer that has an address or has been met.
    pub fn status(&self) -> Vec<PeerStatus> {
        self.owner.registry.status()
    }

    /// Closes all connections and the listener. Requests that wait are answered with `Stopped` or `Lost`. Returns when
    /// the port is free again, after a second or two at most. Not for the handler, whose threads it ends.
    pub fn stop(&self) {
        self.owner.local.stopped.cancel();
        // an error is the end of the thread, as it should be
        let _ = self.owner.ended.lock().recv_timeout(3 * STOP);
    }
}

#[cfg(test)]
impl Peers {
    /// What it has complained about.
    pub fn complaints(&self) -> Vec<String> {
        self.owner.local.complaints.all()
    }
    /// Frames of consensus sent to a peer.
    pub fn consensus_frames(&self, to: NodeId) -> u64 {
        self.owner.registry.known(to).map_or(0, |peer| peer.known.counters.consensus_frames.get())
    }
}

struct AbortOnDrop(tokio::task::AbortHandle);
impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn introduce(
    local: &Local,
    address: &str,
    request: Bytes,
    deadline: Instant,
) -> Result<(NodeId, Bytes), PeerError> {
    let dialled =
        tokio::time::timeout_at(deadline.into(), dialler::dial(local, address, None, Purpose::Introduction));
    let connection = dialled
        .await
        .unwrap_or_else(|_| Err(LinkError::Unreachable("the deadline has passed".into())))
        .map_err(|error| PeerError::from(&error))?;
    let node = connection.peer;
    local.handler.met(node, &connection.version);
    let known = Known::new(node);
    let link = RequestLink::new(Lane::Requests, local.limits, known.counters.clone());
    let runs = async {
        let mut sink = link.sink();
        let end = connection::run(local, &known, Side::Dialled, connection, &link, &mut sink).await;
        tracing::debug!(%node, %end, "an introduction ended");
        link.lost();
        link.failed(&LinkError::Unreachable(end.to_string()));
        std::future::pending::<()>().await
    };
    tokio::select! {
        answered = link.ask(request, deadline, &local.stopped) => Ok((node, answered?)),
        () = runs => Err(PeerError::Lost),
    }
}

/// Starts the threads; they end after `stopped`.
fn start_threads(stopped: CancellationToken) -> Result<(Threads, mpsc::Receiver<()>), StartError> {
    let (started, when_started) = mpsc::channel();
    let (end, ended) = mpsc::channel();
    std::thread::Builder::new().name("peer-consensus".into()).spawn(move || {
        let runtimes = || -> std::io::Result<_> {
            let consensus = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let requests = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(REQUEST_THREADS)
                .thread_name("peer-requests")
                .enable_all()
                .build()?;
            Ok((consensus, requests))
        };
        let (consensus, requests) = match runtimes() {
            Ok(runtimes) => runtimes,
            Err(error) => return drop(started.send(Err(error))),
        };
        let threads = Threads { consensus: consensus.handle().clone(), requests: requests.handle().clone() };
        if started.send(Ok(threads)).is_ok() {
            consensus.block_on(stopped.cancelled());
        }
        requests.shutdown_timeout(STOP);
        consensus.shutdown_timeout(STOP);
        drop(end);
    })?;
    let threads = when_started.recv().map_err(std::io::Error::other)??;
    Ok((threads, ended))
}

impl Outbox for Peers {
    /// Queues the messages; those for which there is no connection or no room are dropped and reported.
    fn send(&self, group: GroupId, messages: Vec<PeerMessage>) {
        for message in messages {
            if let Some(peer) = self.owner.registry.peer(NodeId(message.to)) {
                peer.consensus.send(group, message);
            }
        }
    }
}
