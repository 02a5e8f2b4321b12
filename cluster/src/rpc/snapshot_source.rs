//! The files of snapshots from other nodes, over the connections for bulk.

use crate::meta::SharedMeta;
use crate::peer::{Lane, Peers};
use crate::rpc::peer_client::unexpected;
use crate::rpc::requests::{PeerAnswer, PeerRequest, decode, encode};
use crate::snapshot::source::SnapshotSource;
use crate::snapshot::{ManifestId, ModelPiece, PIECES_MAX, PieceName, SnapshotRequest, WantedManifest};
use bytes::Bytes;
use quorate_model::{Error, GroupId, NodeId, Result, level};
use std::time::{Duration, Instant};

/// How long a node may take for one piece, or for making a snapshot.
const ANSWER: Duration = Duration::from_secs(30);

/// Asks the other nodes of the installation.
pub struct PeerSource {
    peers: Peers,
    meta: SharedMeta,
    self_id: NodeId,
}

impl PeerSource {
    /// A source over the connections of a node.
    pub fn new(peers: Peers, meta: SharedMeta, self_id: NodeId) -> Self {
        PeerSource { peers, meta, self_id }
    }

    /// Asks and waits; the calling thread does nothing else.
    fn ask(&self, from: u64, request: SnapshotRequest) -> Result<Bytes> {
        let bytes = Bytes::from(encode(&PeerRequest::Snapshot(request)));
        let node = NodeId(from);
        let waiter = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let waiter = waiter.map_err(|e| Error::internal(format!("cannot wait for an answer: {e}")))?;
        let answer = waiter.block_on(self.peers.ask(node, Lane::Bulk, bytes, Instant::now() + ANSWER));
        let answer = answer.map_err(|e| Error::unavailable(format!("node {node}: {e}")))?;
        match decode(&answer) {
            Some(PeerAnswer::Bytes(bytes)) => Ok(bytes.into()),
            Some(PeerAnswer::Failed { kind, message, .. }) => Err(Error::new(kind, message)),
            Some(other) => Err(unexpected(node, &other)),
            None => Err(Error::unavailable(format!("node {node} answered in a way this one does not know"))),
        }
    }
}

impl SnapshotSource for PeerSource {
    fn manifest(&self, from: u64, wanted: &WantedManifest) -> Result<Bytes> {
        self.ask(from, SnapshotRequest::Manifest(*wanted))
    }
    fn chunk(&self, from: u64, id: &ManifestId, file: &str, offset: u64, bytes: u32) -> Result<Bytes> {
        self.ask(from, SnapshotRequest::Chunk { id: *id, file: file.into(), offset, bytes })
    }
    fn pieces(&self, from: u64, id: &ManifestId, pieces: &[PieceName]) -> Result<Bytes> {
        self.ask(from, SnapshotRequest::Pieces { id: *id, pieces: pieces.to_vec() })
    }
    fn model(&self, from: u64, piece: &ModelPiece) -> Result<Bytes> {
        self.ask(from, SnapshotRequest::Model(piece.clone()))
    }
    fn pieces_at_once(&self) -> usize {
        match self.meta.load().level() >= level::PIECES {
            true => PIECES_MAX,
            false => 1,
        }
    }
    fn holders(&self, group: GroupId) -> Vec<u64> {
        let meta = self.meta.load();
        let mut nodes = meta.wanted(group);
        // one that is leaving may be the only one that has all of it: it stays until the others do
        let present = meta.present_nodes().into_iter();
        let others = present.filter(|(_, row)| meta.cluster_of(group).is_none_or(|name| name == row.cluster));
        let others: Vec<NodeId> = others.map(|(id, _)| id).filter(|id| !nodes.contains(id)).collect();
        nodes.extend(others);
        nodes.into_iter().filter(|node| *node != self.self_id).map(|node| node.0).collect()
    }
}
