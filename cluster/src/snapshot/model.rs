//! How does the file of a model get onto this node? In pieces from a node that has it, going on where an earlier attempt ended.

use super::CHUNK_BYTES;
use super::room::SnapshotRoom;
use quorate_model::{Error, ErrorKind, GroupId, Result};
use quorate_node::{Installed, Making, ModelKey};
use quorate_store::StoreError;
use quorate_store::files::FileWriter;
use quorate_store::space;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long nothing is done about a stop, at most.
const STOP_LOOK: Duration = Duration::from_millis(50);

/// A piece of the file of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPiece {
    /// The group.
    pub group: GroupId,
    /// The model.
    pub key: ModelKey,
    /// Its number.
    pub seq: u64,
    /// Where the piece begins.
    pub offset: u64,
    /// How long it may be; at most [`CHUNK_BYTES`].
    pub bytes: u32,
}

/// A file that is being fetched.
struct ModelFetch<'w> {
    group: GroupId,
    key: &'w ModelKey,
    model: Installed,
    place: &'w Making,
    stop: &'w AtomicBool,
}

impl SnapshotRoom {
    /// Fetches the file of a model that is in force, from whoever has it, into the place that was taken for it.
    ///
    /// Returns when it is there, whole and durable. Errors: nobody has it whole; the disk; what came is kept for the next attempt.
    /// To be called on a thread that may wait.
    pub fn fetch_model(
        &self,
        group: GroupId,
        key: &ModelKey,
        model: Installed,
        place: &Making,
        stop: &AtomicBool,
    ) -> Result<()> {
        let wanted = ModelFetch { group, key, model, place, stop };
        let free = space::of(self.options().data.root())?.free_bytes;
        if model.length.saturating_add(self.options().fetch.reserve_bytes) > free {
            return Err(Error::unavailable(format!("{} MB are free, a model needs more", free / 1_000_000)));
        }
        let mut reason = Error::unavailable("no other node has the model");
        for node in self.source().holders(group) {
            match self.fetch_model_from(node, &wanted) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind == ErrorKind::NotFound => {}
                Err(error) => reason = error,
            }
        }
        Err(reason)
    }
    fn fetch_model_from(&self, node: u64, wanted: &ModelFetch<'_>) -> Result<()> {
        let length = wanted.model.length;
        let path = wanted.place.temporary();
        let mut have = std::fs::metadata(&path).map_or(0, |found| found.len());
        let mut out: Option<Box<dyn FileWriter>> = None;
        if have > length {
            (have, out) = (0, Some(wanted.place.create()?));
        }
        while have < length {
            let bytes = (length - have).min(CHUNK_BYTES as u64) as u32;
            self.wait_for_rate(bytes, wanted.stop)?;
            let (group, key, seq) = (wanted.group, wanted.key.clone(), wanted.model.seq);
            let piece = ModelPiece { group, key, seq, offset: have, bytes };
            let arrived = self.source().model(node, &piece)?;
            if arrived.is_empty() || arrived.len() > bytes as usize {
                return Err(Error::not_found(format!(
                    "the model is not as long as it should be at node {node}"
                )));
            }
            if out.is_none() {
                out = Some(if have == 0 { wanted.place.create()? } else { wanted.place.append()? });
            }
            if let Some(out) = &mut out {
                out.write_all(&arrived).map_err(|error| StoreError::io("write", &path, error))?;
            }
            have += arrived.len() as u64;
        }
        if let Some(mut out) = out {
            out.sync().map_err(|error| StoreError::io("sync", &path, error))?;
        }
        if checksum(&path, wanted.stop)? != wanted.model.crc {
            wanted.place.discard();
            return Err(Error::not_found(format!("the model arrives damaged from node {node}")));
        }
        Ok(wanted.place.finish()?)
    }
    fn wait_for_rate(&self, bytes: u32, stop: &AtomicBool) -> Result<()> {
        let mut wait = self.throttle().take(bytes.into());
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::unavailable("the node is stopping"));
            }
            if wait.is_zero() {
                return Ok(());
            }
            let some = wait.min(STOP_LOOK);
            std::thread::sleep(some);
            wait -= some;
        }
    }
}

/// The piece of a file that another node asked for. Errors: `NotFound` when there is no such file.
pub(super) fn piece_of(path: &Path, piece: &ModelPiece) -> Result<bytes::Bytes> {
    use std::os::unix::fs::FileExt;
    let read = || -> io::Result<Vec<u8>> {
        let file = File::open(path)?;
        let rest = file.metadata()?.len().saturating_sub(piece.offset);
        let mut bytes = vec![0; rest.min(u64::from(piece.bytes)).min(CHUNK_BYTES as u64) as usize];
        file.read_exact_at(&mut bytes, piece.offset)?;
        Ok(bytes)
    };
    match read() {
        Ok(bytes) => Ok(bytes.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Error::not_found("there is no such model here"))
        }
        Err(error) => Err(StoreError::io("read", path, error).into()),
    }
}

fn checksum(path: &Path, stop: &AtomicBool) -> Result<u32> {
    let error = |error| Error::from(StoreError::io("read", path, error));
    let mut file = File::open(path).map_err(error)?;
    let (mut crc, mut piece) = (crc32fast::Hasher::new(), vec![0; 256 << 10]);
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::unavailable("the node is stopping"));
        }
        match file.read(&mut piece).map_err(error)? {
            0 => return Ok(crc.finalize()),
            read => crc.update(&piece[..read]),
        }
    }
}
