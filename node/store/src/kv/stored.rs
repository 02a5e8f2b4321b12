//! How rows stand in a tree of the working store: their keys, and values of any length in pieces of at most 16 KiB.

use crate::codec::{decode, encode};
use crate::session::row_digest;
use quorate_model::limits::KV_VALUE_BYTES_MAX;

/// Letters before the keys in a tree.
pub(super) const ROW: u8 = b'r';
pub(super) const CHUNK: u8 = b'c';
/// The row that says what the others must be.
pub(super) const SEAL_KEY: &[u8] = b"seal";
/// First byte of a stored value.
const INLINE: u8 = 0;
const CHUNKED: u8 = 1;

/// A value as it stands in its row.
pub(super) enum Stored<'b> {
    Inline(&'b [u8]),
    Chunked { chunks: u32, bytes: u64, digest: u64 },
}

impl<'b> Stored<'b> {
    pub(super) fn parse(stored: &'b [u8]) -> Option<Self> {
        let (kind, rest) = stored.split_first()?;
        match *kind {
            INLINE => Some(Stored::Inline(rest)),
            CHUNKED => {
                let (chunks, bytes, digest) = decode(rest, 64).ok()?;
                Some(Stored::Chunked { chunks, bytes, digest })
            }
            _ => None,
        }
    }
    pub(super) fn chunks(&self) -> u32 {
        match self {
            Stored::Inline(_) => 0,
            Stored::Chunked { chunks, .. } => *chunks,
        }
    }
    pub(super) fn digest(&self, key: &[u8]) -> u64 {
        match self {
            Stored::Inline(value) => row_digest(key, value),
            Stored::Chunked { digest, .. } => *digest,
        }
    }
}

/// A value as it is put into its row, and the chunks beside it when it is long.
pub(super) fn pieces<'v>(key: &[u8], value: &'v [u8]) -> (Vec<u8>, std::slice::Chunks<'v, u8>) {
    if value.len() < KV_VALUE_BYTES_MAX {
        let stored = [&[INLINE], value].concat();
        return (stored, [].chunks(KV_VALUE_BYTES_MAX));
    }
    let chunks = value.chunks(KV_VALUE_BYTES_MAX);
    let mut stored = vec![CHUNKED];
    stored.extend(encode(&(chunks.len() as u32, value.len() as u64, row_digest(key, value))));
    (stored, chunks)
}

/// The key of a row in its tree.
pub(super) fn row_key(key: &[u8]) -> Vec<u8> {
    [&[ROW], key].concat()
}

/// The key of a chunk of a row's value.
pub(super) fn chunk_key(key: &[u8], number: u32) -> Vec<u8> {
    [&[CHUNK], key, &number.to_be_bytes()].concat()
}
