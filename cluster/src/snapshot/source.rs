//! Where the files of snapshots come from.

use super::store::SnapshotStore;
use super::{ManifestId, ModelPiece, PIECES_MAX, PieceName, SnapshotRequest, WantedManifest};
use bytes::Bytes;
use parking_lot::Mutex;
use quorate_model::{Error, GroupId, Result};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Asks other nodes for the files of snapshots. Calls wait for the answer, with a deadline of their own: they are made on
/// threads that do nothing else.
pub trait SnapshotSource: Send + Sync {
    /// A manifest of node `from`, or its head, encoded: see [`ManifestAnswer`](super::manifest::ManifestAnswer).
    ///
    /// Errors: `NotFound` when it has none such and will not have one; anything else is tried again after a while.
    fn manifest(&self, from: u64, wanted: &WantedManifest) -> Result<Bytes>;
    /// At most `bytes` bytes of a file from `offset` on; none at its end. Errors: as [`Self::manifest`].
    fn chunk(&self, from: u64, id: &ManifestId, file: &str, offset: u64, bytes: u32) -> Result<Bytes>;
    /// Pieces of several files, one after another. Errors: as [`Self::manifest`].
    fn pieces(&self, from: u64, id: &ManifestId, pieces: &[PieceName]) -> Result<Bytes>;
    /// A piece of the file of a model; none at its end. Errors: as [`Self::manifest`].
    fn model(&self, from: u64, piece: &ModelPiece) -> Result<Bytes>;
    /// How many pieces a question may name; not all of the nodes may answer more than one.
    fn pieces_at_once(&self) -> usize;
    /// The nodes that have a replica of the group, the best ones to ask first.
    fn holders(&self, group: GroupId) -> Vec<u64>;
}

/// The source of a node without peers.
#[derive(Clone, Copy, Debug)]
pub struct NoPeers;
impl SnapshotSource for NoPeers {
    fn manifest(&self, _: u64, _: &WantedManifest) -> Result<Bytes> {
        Err(Error::unavailable("this node is not connected to any other"))
    }
    fn chunk(&self, _: u64, _: &ManifestId, _: &str, _: u64, _: u32) -> Result<Bytes> {
        Err(Error::unavailable("this node is not connected to any other"))
    }
    fn pieces(&self, _: u64, _: &ManifestId, _: &[PieceName]) -> Result<Bytes> {
        Err(Error::unavailable("this node is not connected to any other"))
    }
    fn model(&self, _: u64, _: &ModelPiece) -> Result<Bytes> {
        Err(Error::unavailable("this node is not connected to any other"))
    }
    fn pieces_at_once(&self) -> usize {
        1
    }
    fn holders(&self, _: GroupId) -> Vec<u64> {
        vec![]
    }
}

/// Nodes of one process that ask each other directly. For tests.
#[derive(Default)]
pub struct InProcess {
    stores: Mutex<BTreeMap<u64, Arc<SnapshotStore>>>,
}

impl InProcess {
    /// Makes a node's snapshots available, or those of a new life of it.
    pub fn join(&self, node: u64, store: Arc<SnapshotStore>) {
        self.stores.lock().insert(node, store);
    }
    /// Cuts a node off.
    pub fn leave(&self, node: u64) {
        self.stores.lock().remove(&node);
    }
    fn ask(&self, from: u64, request: &SnapshotRequest) -> Result<Bytes> {
        let store = self.stores.lock().get(&from).cloned();
        store.ok_or_else(|| Error::unavailable(format!("node {from} cannot be reached")))?.answer(request)
    }
}

impl SnapshotSource for InProcess {
    fn manifest(&self, from: u64, wanted: &WantedManifest) -> Result<Bytes> {
        self.ask(from, &SnapshotRequest::Manifest(*wanted))
    }
    fn chunk(&self, from: u64, id: &ManifestId, file: &str, offset: u64, bytes: u32) -> Result<Bytes> {
        self.ask(from, &SnapshotRequest::Chunk { id: *id, file: file.into(), offset, bytes })
    }
    fn pieces(&self, from: u64, id: &ManifestId, pieces: &[PieceName]) -> Result<Bytes> {
        self.ask(from, &SnapshotRequest::Pieces { id: *id, pieces: pieces.to_vec() })
    }
    fn model(&self, from: u64, piece: &ModelPiece) -> Result<Bytes> {
        self.ask(from, &SnapshotRequest::Model(piece.clone()))
    }
    fn pieces_at_once(&self) -> usize {
        PIECES_MAX
    }
    fn holders(&self, _: GroupId) -> Vec<u64> {
        self.stores.lock().keys().copied().collect()
    }
}
