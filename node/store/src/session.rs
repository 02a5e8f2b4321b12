//! Whether the working store may be trusted: how the last process that used it ended.

use crate::codec::{self, Mark};
use crate::error::{Result, StoreError};
use crate::files::Files;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const MARK: Mark = Mark { magic: *b"QSES", version: 1 };
const BYTES_MAX: usize = 16 << 20;

/// The file `session` beside the working store. It is durable before the store depends on what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    /// How the store was left.
    pub ended: Ended,
    /// Trees that were made and made durable: one of them missing means loss.
    pub trees: BTreeMap<String, Seal>,
}

/// How the store was left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Ended {
    /// A process has it open, or died; trusted while the machine has not been started anew.
    Open {
        /// Identifies this start of the machine; `None` where the system does not tell.
        boot_id: Option<String>,
    },
    /// Closed and synced; [`Session::trees`] has the exact seals.
    Clean,
    /// It failed in use: never trusted again.
    Failed,
}

/// What a tree holds, in a few numbers: differs with certainty beyond 2^-64 when any row differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seal {
    /// The log index the rows reflect.
    pub applied: u64,
    /// How many rows.
    pub rows: u64,
    /// Sum of the digests of all rows.
    pub digest: u64,
}

impl Session {
    /// Reads the file. `Ok(None)` when there is none; `Err` when it is damaged.
    pub fn read(path: &Path) -> Result<Option<Session>> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(StoreError::io("read", path, e)),
        };
        Ok(Some(codec::decode(codec::unframe(MARK, &bytes)?.payload, BYTES_MAX)?))
    }
    /// Replaces the file durably.
    pub fn write(&self, files: &dyn Files, path: &Path) -> Result<()> {
        let bytes = codec::frame(MARK, &codec::encode(self));
        files.write_atomic(path, &bytes).map_err(|e| StoreError::io("write", path, e))
    }
    /// Why the store must not be used, if it must not.
    pub fn distrust(&self) -> Option<String> {
        match &self.ended {
            Ended::Clean => None,
            Ended::Failed => Some("it failed while it was in use".into()),
            Ended::Open { boot_id } => match (boot_id, boot_id_now()) {
                (Some(then), Some(now)) if *then == now => None,
                (Some(_), Some(_)) => Some("the machine stopped before it was closed".into()),
                (None, _) | (_, None) => Some(
                    "it was not closed, and this system does not tell whether the machine was restarted"
                        .into(),
                ),
            },
        }
    }
}

/// Identifies this start of the machine, where the system tells (Linux).
pub(crate) fn boot_id_now() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_string()).filter(|id| !id.is_empty())
}

/// Digest of one row, 64 bits, the same on every machine. Guards against damage, not against an adversary.
pub(crate) fn row_digest(key: &[u8], value: &[u8]) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut hash = 0xcbf2_9ce4_8422_2325u64 ^ (key.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for part in [key, value] {
        let (words, tail) = part.as_chunks::<8>();
        for word in words {
            hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(PRIME).rotate_left(29);
        }
        for byte in tail {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
        hash = hash.wrapping_add(part.len() as u64);
    }
    // Finalizer of splitmix64: every input bit reaches every output bit.
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// The path of the session file in the folder of the working store.
pub(crate) fn path(folder: &Path) -> PathBuf {
    folder.join("session")
}
