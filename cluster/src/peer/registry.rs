//! Which peers there are, each with its queues and the tasks that keep its connections.

use super::consensus_link::ConsensusLink;
use super::dialler;
use super::link::Link;
use super::node::{Known, Local};
use super::request_link::RequestLink;
use super::types::{Lane, PeerStatus};
use crate::panics;
use parking_lot::RwLock;
use quorate_model::NodeId;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;

/// Nodes that are kept in mind.
const PEERS_MAX: usize = 1_024;
/// How often at most a peer is reported as unreachable.
const REPORT: Duration = Duration::from_millis(250);

/// Another node.
pub struct Peer {
    /// Which.
    pub node: NodeId,
    /// Where to dial it.
    pub address: watch::Sender<Option<String>>,
    /// What is known of it.
    pub known: Known,
    /// What goes to it.
    pub consensus: ConsensusLink,
    /// What it is asked.
    pub requests: RequestLink,
    /// What is fetched from it.
    pub bulk: RequestLink,
}

/// All other nodes.
pub struct Registry {
    local: Arc<Local>,
    peers: RwLock<FxHashMap<NodeId, Arc<Peer>>>,
    threads: Threads,
}

/// Where tasks run.
#[derive(Clone)]
pub struct Threads {
    /// Consensus: a thread that does nothing else.
    pub consensus: Handle,
    /// Everything else.
    pub requests: Handle,
}

impl Registry {
    /// Without peers.
    pub fn new(local: Arc<Local>, threads: Threads) -> Self {
        Registry { local, peers: RwLock::default(), threads }
    }

    /// The peer with this number, if it is known.
    pub fn known(&self, node: NodeId) -> Option<Arc<Peer>> {
        self.peers.read().get(&node).cloned()
    }

    /// The peer with this number, known from now on. `None`: there are too many, or it is this node.
    pub fn peer(&self, node: NodeId) -> Option<Arc<Peer>> {
        if let Some(peer) = self.known(node) {
            return Some(peer);
        }
        if node == self.local.node {
            return None;
        }
        let mut peers = self.peers.write();
        if let Some(peer) = peers.get(&node) {
            return Some(peer.clone());
        }
        if peers.len() >= PEERS_MAX {
            return None;
        }
        let peer = Arc::new(self.start(node));
        peers.insert(node, peer.clone());
        drop(peers);
        self.keep(&peer);
        Some(peer)
    }

    fn start(&self, node: NodeId) -> Peer {
        let known = Known::new(node);
        let limits = self.local.limits;
        let link = |lane| RequestLink::new(lane, limits, known.counters.clone());
        Peer {
            node,
            address: watch::Sender::new(None),
            consensus: ConsensusLink::new(limits, known.counters.clone()),
            requests: link(Lane::Requests),
            bulk: link(Lane::Bulk),
            known,
        }
    }

    /// Starts the tasks of a peer; they end when the transport stops.
    fn keep(&self, peer: &Arc<Peer>) {
        let Threads { consensus, requests } = &self.threads;
        let local = || self.local.clone();
        let (to, of) = (peer.clone(), local());
        let dial = move || dialler::keep(of.clone(), to.clone(), |peer: &Peer| &peer.consensus);
        consensus.spawn(panics::again("consensus link", dial));
        let (to, of) = (peer.clone(), local());
        let dial = move || dialler::keep(of.clone(), to.clone(), |peer: &Peer| &peer.requests);
        requests.spawn(panics::again("request link", dial));
        let (to, of) = (peer.clone(), local());
        let dial = move || dialler::keep(of.clone(), to.clone(), |peer: &Peer| &peer.bulk);
        requests.spawn(panics::again("bulk link", dial));
        requests.spawn(report(local(), peer.clone()));
    }

    /// Replaces all addresses.
    pub fn set_addresses(&self, mut addresses: BTreeMap<NodeId, String>) {
        for (node, peer) in self.peers.read().iter() {
            set_address(peer, addresses.remove(node));
        }
        for (node, address) in addresses {
            if let Some(peer) = self.peer(node) {
                set_address(&peer, Some(address));
            }
        }
    }

    /// What is known of each peer, by number.
    pub fn status(&self) -> Vec<PeerStatus> {
        let mut all: Vec<PeerStatus> = self.peers.read().values().map(|peer| peer.status()).collect();
        all.sort_by_key(|peer| peer.node);
        all
    }
}

fn set_address(peer: &Peer, address: Option<String>) {
    peer.address.send_if_modified(|current| {
        let is_new = *current != address;
        *current = address;
        is_new
    });
}

async fn report(local: Arc<Local>, peer: Arc<Peer>) {
    let reports = async {
        loop {
            let groups = peer.consensus.unreachable().await;
            local.handler.unreachable(peer.node, groups);
            tokio::time::sleep(REPORT).await;
        }
    };
    tokio::select! {
        () = local.stopped.cancelled() => {}
        () = reports => {}
    }
}

impl Peer {
    fn status(&self) -> PeerStatus {
        let facts = self.known.facts();
        PeerStatus {
            node: self.node,
            address: self.address.borrow().clone(),
            lanes: vec![self.consensus.status(), self.requests.status(), self.bulk.status()],
            last_heard: facts.heard.map(|at| at.elapsed()),
            round_trip: facts.round_trip,
            clock_ahead_ms: facts.clock_ahead_ms,
            version: facts.version,
            dropped: self.consensus.dropped(),
            failure: facts.failure,
        }
    }
}
