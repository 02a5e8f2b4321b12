//! One simulated member: its disk, its state machine, its core while it runs.

use bytes::Bytes;
use quorate_model::GroupId;
use quorate_raft::core::{Core, CoreOptions};
use quorate_raft::effects::Persist;
use quorate_raft::memory::SharedMemoryLog;
use quorate_raft::{CommittedEntry, SnapshotImage};
use std::collections::VecDeque;

pub const GROUP: GroupId = GroupId(7);

/// What a log applied up to an index amounts to: every entry counts, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub index: u64,
    pub digest: u64,
}

impl State {
    pub fn apply(&mut self, entry: &CommittedEntry) {
        assert_eq!(entry.index, self.index + 1, "entries come in order, each once");
        self.index = entry.index;
        let mut digest = self.digest ^ entry.index.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ entry.term;
        for byte in entry.data.iter() {
            digest = (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.digest = digest;
    }
    pub fn image(&self) -> SnapshotImage {
        SnapshotImage { index: self.index, data: Bytes::copy_from_slice(&self.digest.to_le_bytes()) }
    }
    pub fn from_image(image: &SnapshotImage) -> State {
        let digest = image.data.as_ref().try_into().map(u64::from_le_bytes).expect("images hold a digest");
        State { index: image.index, digest }
    }
}

pub struct Machine {
    pub id: u64,
    pub voters: Vec<u64>,
    /// What the disk holds for sure.
    pub disk: SharedMemoryLog,
    /// Written, not synced.
    pub unsynced: VecDeque<Persist>,
    pub disk_is_full: bool,
    /// The state machine: as it runs, and as it was last made durable.
    pub state: State,
    pub durable_state: State,
    pub core: Option<Core<SharedMemoryLog>>,
    /// Counts starts, so that events of an earlier life are dropped.
    pub life: u64,
    /// The largest term this member ever told anyone.
    pub told_term: u64,
}

impl Machine {
    pub fn new(id: u64, voters: Vec<u64>) -> Self {
        Machine {
            id,
            voters,
            disk: SharedMemoryLog::default(),
            unsynced: VecDeque::new(),
            disk_is_full: false,
            state: State::default(),
            durable_state: State::default(),
            core: None,
            life: 0,
            told_term: 0,
        }
    }

    /// Stops at once. The first `kept` of the unsynced writes happen to have reached the disk, the next one is torn.
    pub fn crash(&mut self, kept: u64) {
        self.core = None;
        self.life += 1;
        for persist in self.unsynced.drain(..).take(kept as usize) {
            self.disk.0.lock().write(&persist);
        }
        self.unsynced.clear();
        self.state = self.durable_state;
    }

    pub fn start(&mut self, seed: u64) {
        let stored = self.disk.0.lock().stored();
        assert!(stored.hard_state.term >= self.told_term, "member {} forgot a term", self.id);
        let options = CoreOptions {
            group: GROUP,
            self_id: self.id,
            voters: self.voters.clone(),
            applied: self.state.index,
            seed,
        };
        let core = Core::new(options, stored, self.disk.clone());
        self.core = Some(core.unwrap_or_else(|e| panic!("member {} cannot start: {e}", self.id)));
    }

    /// Makes the oldest unsynced writes durable, all up to `seq`.
    pub fn sync(&mut self, seq: u64) {
        while let Some(persist) = self.unsynced.pop_front_if(|persist| persist.seq <= seq) {
            self.disk.0.lock().write(&persist);
        }
    }
}
