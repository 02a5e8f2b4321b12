//! A log in memory with the rules of the one on disk, and a state that it is applied to, for tests and simulations.

use crate::core::{LogReader, Stored};
use crate::effects::{CommittedEntry, Persist, Position, SnapshotChange, SnapshotImage};
use crate::error::RaftError;
use bytes::Bytes;
use parking_lot::Mutex;
use raft::eraftpb::Entry;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a log applied up to an index amounts to: every entry counts, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The last entry that was applied.
    pub index: u64,
    /// The content of all of them.
    pub digest: u64,
}

impl State {
    /// Applies the entry that comes next. Panics: it is another one.
    pub fn apply(&mut self, entry: &CommittedEntry) {
        assert_eq!(entry.index, self.index + 1, "entries come in order, each once");
        self.index = entry.index;
        self.take_in(entry);
    }
    /// What an entry does to the content.
    pub fn take_in(&mut self, entry: &CommittedEntry) {
        let mut digest = self.digest ^ entry.index.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ entry.term;
        for byte in entry.data.iter() {
            digest = (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.digest = digest;
    }
    /// What a snapshot of it says.
    pub fn image(&self) -> SnapshotImage {
        SnapshotImage { index: self.index, data: Bytes::copy_from_slice(&self.digest.to_le_bytes()) }
    }
    /// The state that such a snapshot brings.
    pub fn from_image(image: &SnapshotImage) -> State {
        let digest = image.data.as_ref().try_into().map(u64::from_le_bytes).expect("images hold a digest");
        State { index: image.index, digest }
    }
}

/// One group's log as it is on an imagined disk.
#[derive(Clone, Debug, Default)]
pub struct MemoryLog {
    state: Stored,
    entries: BTreeMap<u64, Entry>,
}

impl MemoryLog {
    /// Does what one write says.
    pub fn write(&mut self, persist: &Persist) {
        let Persist { group: _, seq: _, hard_state, entries, conf, truncated, snapshot, identity } = persist;
        match snapshot {
            SnapshotChange::Keep => {}
            SnapshotChange::Done => self.state.snapshot = None,
            SnapshotChange::Leave(left) => {
                self.entries.clear();
                let Stored { identity, hard_state, .. } = std::mem::take(&mut self.state);
                self.state = Stored { identity, hard_state, left: *left, ..Stored::default() };
            }
            SnapshotChange::Install(snapshot) => {
                let at = snapshot.get_metadata();
                self.entries.clear();
                self.state.truncated = Position { index: at.index, term: at.term };
                self.state.conf = Some((at.index, at.get_conf_state().clone()));
                self.state.snapshot = Some((**snapshot).clone());
            }
        }
        if let Some(identity) = identity {
            self.state.identity = Some(*identity);
        }
        if let Some(hard_state) = hard_state {
            self.state.hard_state = hard_state.clone();
        }
        if let Some(conf) = conf {
            self.state.conf = Some(conf.clone());
        }
        if let Some(first) = entries.first() {
            self.entries.split_off(&first.index);
            self.entries.extend(entries.iter().map(|e| (e.index, e.clone())));
        }
        if let Some(truncated) = truncated {
            self.entries = self.entries.split_off(&(truncated.index + 1));
            self.state.truncated = *truncated;
        }
    }

    /// What a start finds.
    pub fn stored(&self) -> Stored {
        let last = self.entries.keys().next_back().copied().unwrap_or(0);
        Stored { last: last.max(self.state.truncated.index), ..self.state.clone() }
    }

    /// Every entry, for checks.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }
}

/// A shared log in memory that a core can read.
#[derive(Clone, Debug, Default)]
pub struct SharedMemoryLog(pub Arc<Mutex<MemoryLog>>);

impl LogReader for SharedMemoryLog {
    fn entries(&self, low: u64, high: u64, bytes_max: u64) -> Result<Vec<Entry>, RaftError> {
        let log = self.0.lock();
        let mut out: Vec<Entry> = vec![];
        let mut bytes = 0;
        for (at, index) in (low..high).enumerate() {
            let Some(entry) = log.entries.get(&index) else { break };
            bytes += crate::group_log::entry_bytes(entry);
            if at > 0 && bytes > bytes_max {
                break;
            }
            out.push(entry.clone());
        }
        if out.is_empty() {
            return Err(RaftError::Log(format!("entry {low} is missing")));
        }
        Ok(out)
    }
}
