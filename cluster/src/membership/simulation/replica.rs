//! One simulated replica: its disk, its state machine, a snapshot on its way, its core while it runs.

use crate::membership::report::{Local, ReplicaReport};
use quorate_model::{GroupId, NodeId};
use quorate_raft::core::{Core, CoreOptions};
use quorate_raft::effects::Persist;
use quorate_raft::memory::{SharedMemoryLog, State};
use quorate_raft::{CommittedEntry, Role};
use std::collections::VecDeque;
use std::sync::Arc;

/// A snapshot on its way.
#[derive(Clone, Copy, Debug)]
pub struct Fetch {
    /// What it must reflect at least.
    pub index: u64,
    /// Who gives it; `None` while nobody does.
    pub from: Option<NodeId>,
    /// What comes from there.
    pub coming: State,
    /// Pieces that are missing; 0: it has arrived and waits for the log.
    pub left: u64,
    /// Whether it takes the place of what is damaged: nobody named it.
    pub is_anew: bool,
}

pub struct Replica {
    pub group: GroupId,
    pub disk: SharedMemoryLog,
    pub unsynced: VecDeque<Persist>,
    pub state: State,
    pub durable: State,
    pub fetch: Option<Fetch>,
    /// Something of the state is damaged on its disk.
    pub is_damaged: bool,
    /// Whether the node goes by that.
    pub is_condemned: bool,
    /// When it was last tried in vain to take it anew.
    pub tried: Option<u64>,
    /// Entries that wait until the state has been taken anew.
    pub waiting: VecDeque<CommittedEntry>,
    pub core: Option<Core<SharedMemoryLog>>,
    pub founders: Vec<u64>,
    /// Somebody needs a snapshot of it.
    pub is_asked: bool,
    /// It is to tell the others what is committed.
    pub tells: bool,
}

impl Replica {
    pub fn new(group: GroupId, founders: Vec<u64>) -> Replica {
        let (disk, unsynced) = (SharedMemoryLog::default(), VecDeque::new());
        let (state, durable) = (State::default(), State::default());
        Replica {
            group,
            disk,
            unsynced,
            state,
            durable,
            fetch: None,
            is_damaged: false,
            is_condemned: false,
            tried: None,
            waiting: VecDeque::new(),
            core: None,
            founders,
            is_asked: false,
            tells: false,
        }
    }
    pub fn start(&mut self, self_id: NodeId, seed: u64) {
        let stored = self.disk.0.lock().stored();
        let options = CoreOptions {
            group: self.group,
            self_id: self_id.0,
            voters: self.founders.clone(),
            applied: self.state.index,
            seed,
            kept: Arc::default(),
        };
        let core = Core::new(options, stored, self.disk.clone());
        self.core = Some(core.unwrap_or_else(|e| panic!("node {self_id} cannot start {}: {e}", self.group)));
    }
    /// Ends at once; what was not synced is gone.
    pub fn crash(&mut self) {
        (self.core, self.fetch) = (None, None);
        self.waiting.clear();
        self.unsynced.clear();
        self.state = self.durable;
    }
    pub fn leads(&self) -> bool {
        self.core.as_ref().is_some_and(|core| core.status().role == Role::Leader)
    }
    /// Whether the disk holds the whole state, by itself: what it holds of the state, and the log from there on.
    pub fn is_full_on_disk(&self) -> bool {
        let stored = self.disk.0.lock().stored();
        let has_members = stored.conf.as_ref().is_some_and(|(_, conf)| !conf.voters.is_empty());
        let is_sound = has_members && !self.is_damaged;
        // one that is installed and not yet ticked off in the log is found installed by the next start
        let is_installed = stored.snapshot.is_none_or(|it| self.durable.index >= it.get_metadata().index);
        is_sound && is_installed && self.durable.index.max(1) >= stored.truncated.index
    }
    /// The last index on the disk.
    pub fn last_on_disk(&self) -> u64 {
        self.disk.0.lock().stored().last
    }
    /// What it says of itself while it runs.
    pub fn report(&self) -> Option<ReplicaReport> {
        let core = self.core.as_ref()?;
        let (status, members) = (core.status(), core.membership());
        let local = Local {
            applied: self.state.index,
            shown: self.state.index,
            has_lease: true,
            is_sound: !self.is_condemned,
            halted: None,
        };
        Some(ReplicaReport::of(self.group, &status, &members, local))
    }
}
