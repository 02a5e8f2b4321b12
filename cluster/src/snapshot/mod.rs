//! How a group's state gets from one node to another when the log is not enough.
//!
//! The message of the consensus carries only a [`Description`]. The receiver has the log behind it from that moment on; what
//! its state machine lacks are the files, which it pulls: the [`manifest`] first, then [`pieces`] of files: of a large one one
//! after another, of small ones many in one answer. [`store`]
//! keeps what this node offers and answers for it, [`fetch`] pulls, [`room`] is what the actors of the groups talk to.
//!
//! A snapshot that is gone needs no help of the consensus. The receiver asks any node that has the group for a newer one and
//! continues from there, once its own log holds everything up to it.

mod ahead;
mod bin;
pub mod fetch;
pub mod manifest;
pub mod model;
mod pieces;
pub mod room;
pub mod source;
pub mod store;
mod throttle;

use bytes::Bytes;
use quorate_model::{Error, GroupId, Result};
use quorate_store::codec::{self, Mark};
use serde::{Deserialize, Serialize};

pub use fetch::FetchOptions;
pub use model::ModelPiece;
pub use room::{RoomOptions, SnapshotRoom};
pub use source::{InProcess, SnapshotSource};
pub use store::{Making, OfferOptions, SnapshotStore};

/// Bytes of one piece of a file, and of all pieces in one answer.
pub const CHUNK_BYTES: usize = 1 << 20;
/// Pieces that one question names at most: the one who is asked opens as many files.
pub const PIECES_MAX: usize = 1_024;

const MARK: Mark = Mark { magic: *b"QSNP", version: 1 };
const DESCRIPTION_BYTES_MAX: usize = 256;

/// Names one snapshot of one life of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ManifestId {
    /// The group.
    pub group: GroupId,
    /// The log index that it reflects.
    pub index: u64,
    /// Tells snapshots of earlier starts of the node apart.
    pub life: u64,
}

/// Which manifest is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WantedManifest {
    /// This one.
    This(ManifestId),
    /// Any of the group that reflects at least this log index. The node makes one when it has none.
    AtLeast {
        /// The group.
        group: GroupId,
        /// The log index.
        index: u64,
    },
}

/// What one node asks another for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SnapshotRequest {
    /// A manifest.
    Manifest(WantedManifest),
    /// A piece of a file.
    Chunk {
        /// The snapshot.
        id: ManifestId,
        /// The file's path, as the manifest has it.
        file: String,
        /// Where the piece begins.
        offset: u64,
        /// How long it may be; at most [`CHUNK_BYTES`].
        bytes: u32,
    },
    /// Pieces of several files, which come one after another in one answer.
    Pieces {
        /// The snapshot.
        id: ManifestId,
        /// At most [`PIECES_MAX`], of at most [`CHUNK_BYTES`] together.
        pieces: Vec<PieceName>,
    },
    /// A piece of the file of a model, which belongs to no snapshot.
    Model(ModelPiece),
}

/// A piece of a file of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PieceName {
    /// The place of the file in the manifest.
    pub file: u32,
    /// Where the piece begins.
    pub offset: u64,
    /// How long it is; the file has so many bytes from there on.
    pub bytes: u32,
}

/// What travels through the consensus in the place of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// The snapshot.
    pub id: ManifestId,
    /// The node that has it.
    pub node: u64,
    /// Feature level of the commands it may depend on.
    pub level: u16,
}

impl Description {
    /// The bytes.
    pub fn encode(&self) -> Bytes {
        codec::frame(MARK, &codec::encode(self)).into()
    }
    /// Reads what [`Self::encode`] made. Errors: `Internal` when it is no description, or one of a newer format.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let framed = codec::unframe(MARK, bytes);
        let read = framed.and_then(|framed| codec::decode(framed.payload, DESCRIPTION_BYTES_MAX));
        read.map_err(|e| Error::internal(format!("the description of a snapshot: {e}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_model::{IndexName, RecommendModel};
    use quorate_node::ModelKey;

    #[test]
    fn golden_bytes_do_not_change() {
        let id = ManifestId { group: GroupId(3), index: 7, life: 9 };
        let description = Description { id, node: 5, level: 1 };
        let bytes = description.encode();
        assert_eq!(bytes[..8], *b"QSNP\x01\0\0\0");
        assert_eq!(bytes[20..], [3, 7, 9, 5, 1]);
        assert_eq!(Description::decode(&bytes), Ok(description));
        let newer = codec::frame(Mark { version: 2, ..MARK }, &[0]);
        for (bytes, part) in
            [(&bytes[..24], "4 of 5 bytes"), (&newer[..], "version 2"), (&b"x"[..], "1 bytes")]
        {
            let error = Description::decode(bytes).expect_err("no description");
            assert!(error.message.contains(part), "{error}");
        }
        for (request, golden) in [
            (SnapshotRequest::Manifest(WantedManifest::This(id)), &[0, 0, 3, 7, 9][..]),
            (
                SnapshotRequest::Manifest(WantedManifest::AtLeast { group: GroupId(3), index: 7 }),
                &[0, 1, 3, 7],
            ),
            (
                SnapshotRequest::Chunk { id, file: "a".into(), offset: 4, bytes: 6 },
                &[1, 3, 7, 9, 1, b'a', 4, 6],
            ),
            (
                SnapshotRequest::Pieces { id, pieces: vec![PieceName { file: 8, offset: 4, bytes: 6 }] },
                &[2, 3, 7, 9, 1, 8, 4, 6],
            ),
            (
                SnapshotRequest::Model(ModelPiece {
                    group: GroupId(3),
                    key: ModelKey {
                        index: IndexName::new("i").expect("valid"),
                        model: RecommendModel::BoughtTogether,
                    },
                    seq: 7,
                    offset: 4,
                    bytes: 6,
                }),
                &[3, 3, 1, b'i', 1, 7, 4, 6],
            ),
        ] {
            assert_eq!(codec::encode(&request), golden, "{request:?}");
        }
    }
}
