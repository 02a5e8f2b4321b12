//! A question to another node, and what it means when no answer comes.

use crate::peer::{Lane, PeerStatus, Peers};
use crate::rpc::requests::{PeerAnswer, PeerRequest, decode, encode};
use bytes::Bytes;
use quorate_model::{Error, NodeId, Result};
use std::sync::OnceLock;
use std::time::Instant;

/// The way to the other nodes, which is there once the node has met them.
#[derive(Default)]
pub struct PeerClient {
    connections: OnceLock<Peers>,
}

impl PeerClient {
    /// Names the connections, once.
    pub fn connect(&self, peers: Peers) {
        let named = self.connections.set(peers);
        assert!(named.is_ok(), "a node has one way to its peers");
    }
    /// The connections, if there are any.
    pub fn connections(&self) -> Option<&Peers> {
        self.connections.get()
    }
    /// How the connections are; nothing on a node without others.
    pub fn status(&self) -> Vec<PeerStatus> {
        self.connections.get().map(Peers::status).unwrap_or_default()
    }
    /// Asks another node.
    pub async fn ask(
        &self,
        node: NodeId,
        request: &PeerRequest,
        deadline: Instant,
    ) -> Result<PeerAnswer, Unasked> {
        let Some(peers) = self.connections.get() else { return Err(Unasked::Never) };
        let bytes = Bytes::from(encode(request));
        match peers.ask(node, Lane::Requests, bytes, deadline).await {
            Ok(answer) => decode(&answer).ok_or_else(|| {
                Unasked::Perhaps(Error::unavailable(format!(
                    "node {node} answered in a way this one does not know"
                )))
            }),
            Err(error) if error.outcome_is_unknown() => Err(Unasked::Perhaps(Error::unavailable(format!(
                "node {node}: {error}; the outcome is not known"
            )))),
            Err(_) => Err(Unasked::Never),
        }
    }
}

/// Why another node gave no answer.
#[derive(Debug)]
pub enum Unasked {
    /// It has not got the question.
    Never,
    /// It may have done what it was asked to.
    Perhaps(Error),
}

impl From<Unasked> for Error {
    fn from(unasked: Unasked) -> Error {
        match unasked {
            Unasked::Never => Error::unavailable("the node that has this index cannot be reached"),
            Unasked::Perhaps(error) => error,
        }
    }
}

/// An answer to another question than the one that was asked.
pub fn unexpected(node: NodeId, answer: &PeerAnswer) -> Error {
    tracing::warn!(%node, ?answer, "an answer of another kind");
    Error::unavailable(format!("node {node} answered in a way this one does not know"))
}
