//! One simulated member: its disk, its state machine, its clock and leases, its core while it runs.

use crate::clock::Clock;
use crate::world::Event;
use crate::world::leases::Poll;
use quorate_model::GroupId;
use quorate_model::chance::Chance;
use quorate_raft::core::{Core, CoreOptions, KeptLog};
use quorate_raft::effects::Persist;
use quorate_raft::lease::{LeaseGranter, LeaseHolder};
use quorate_raft::memory::{MemoryLog, SharedMemoryLog, State};
use quorate_raft::{Confirmed, MemberChange};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

pub const GROUP: GroupId = GroupId(7);

/// What a leader wants to do about its members, as soon as nobody who is removed reads any more.
pub struct Removing {
    pub changes: Vec<MemberChange>,
    pub give_up_at: u64,
}

pub struct Machine {
    pub id: u64,
    pub voters: Vec<u64>,
    /// What the disk holds.
    pub disk: SharedMemoryLog,
    /// What of it survives a crash, when the disk lies about that.
    pub truly_synced: Option<MemoryLog>,
    /// Written, not synced.
    pub unsynced: VecDeque<Persist>,
    pub disk_is_full: bool,
    /// How much longer than usual a sync takes.
    pub slowness: u64,
    /// The state machine: as it runs, and as it was last made durable.
    pub state: State,
    pub durable_state: State,
    /// Up to where reads see it.
    pub shown: u64,
    /// What it had applied when it crashed, as its metadata store knows, which is ahead of what reads see.
    pub known: u64,
    pub core: Option<Core<SharedMemoryLog>>,
    /// Counts starts, so that events of an earlier life are dropped.
    pub life: u64,
    /// The largest term this member ever told anyone.
    pub told_term: u64,

    pub clock: Clock,
    /// Milliseconds of the world that it was stopped for.
    pub stopped_ms: u64,
    /// What happens to it while it is stopped waits until it goes on.
    pub stopped: Option<VecDeque<Event>>,
    pub holder: LeaseHolder,
    pub granter: LeaseGranter,
    pub members_since: u64,
    pub removing: Option<Removing>,
    pub polls: BTreeMap<u64, Poll>,
    pub last_confirmed: Option<Confirmed>,
    /// The largest index that any read here has shown, in all lives.
    pub served: u64,
}

impl Machine {
    pub fn new(id: u64, voters: Vec<u64>, chance: &mut Chance) -> Self {
        Machine {
            id,
            voters,
            disk: SharedMemoryLog::default(),
            truly_synced: None,
            unsynced: VecDeque::new(),
            disk_is_full: false,
            slowness: 1,
            state: State::default(),
            durable_state: State::default(),
            shown: 0,
            known: 0,
            core: None,
            life: 0,
            told_term: 0,
            clock: Clock::new(chance),
            stopped_ms: 0,
            stopped: None,
            holder: LeaseHolder::new(0),
            granter: LeaseGranter::new(id),
            members_since: 0,
            removing: None,
            polls: BTreeMap::new(),
            last_confirmed: None,
            served: 0,
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
        if let Some(truly_synced) = &self.truly_synced {
            *self.disk.0.lock() = truly_synced.clone();
        }
        self.known = self.known.max(self.state.index);
        self.state = self.durable_state;
        self.shown = self.state.index;
        self.stopped = None;
        self.granter = LeaseGranter::new(self.id);
        self.removing = None;
        self.polls.clear();
        self.last_confirmed = None;
        self.members_since = 0;
    }

    pub fn start(&mut self, seed: u64) {
        let stored = self.disk.0.lock().stored();
        assert!(stored.hard_state.term >= self.told_term, "member {} forgot a term", self.id);
        self.holder = LeaseHolder::new(self.life);
        let options = CoreOptions {
            group: GROUP,
            self_id: self.id,
            voters: self.voters.clone(),
            applied: self.state.index,
            seed,
            // half of the members keep next to nothing for those that lag, which then need snapshots
            kept: Arc::new(KeptLog::with_most(if seed.is_multiple_of(2) { 100 } else { 1 << 30 })),
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

    /// Runs and is not stopped.
    pub fn is_up(&self) -> bool {
        self.core.is_some() && self.stopped.is_none()
    }

    pub fn core(&self) -> &Core<SharedMemoryLog> {
        self.core.as_ref().expect("this member runs")
    }
}
