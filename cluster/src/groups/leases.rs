//! How this node gets leases to serve reads, and grants them to others for the groups it leads.
//!
//! The rules are those of [`quorate_raft::lease`]; here are the clock, the questions and the answers. A group whose only
//! member is this node needs no lease.

use crate::apply::Halt;
use crate::clock::steady_ms;
use parking_lot::Mutex;
use quorate_model::NodeId;
use quorate_raft::lease::{AskId, Grant, LeaseGranter, LeaseHolder, LeaseId, Removal};
use quorate_raft::{GroupHandle, Leadership, MemberChange, MembersError, Membership, Role, StateCopy};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Why a replica may serve reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The group has no other member.
    Alone,
    /// It was granted a lease.
    Lease(LeaseId),
}

/// What is asked for by who asks how far a replica shows what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visible {
    /// All of it.
    Everything,
    /// All but settings that wait for a rebuild: nobody was told yet that they are in force.
    Records,
}

/// Both sides of the read leases of one group.
pub struct GroupLeases {
    self_id: u64,
    halt: Halt,
    /// What reads were shown before this start, at most; 0 once they are again.
    was_visible_through: AtomicU64,
    raft: OnceLock<GroupHandle>,
    holder: Mutex<LeaseHolder>,
    granter: Mutex<LeaseGranter>,
}

impl GroupLeases {
    /// Of a group that does not run yet. `life` differs between any two starts of it. While it stands still it serves nothing.
    pub fn new(self_id: NodeId, life: u64, halt: Halt) -> Self {
        GroupLeases {
            self_id: self_id.0,
            halt,
            was_visible_through: AtomicU64::new(0),
            raft: OnceLock::new(),
            holder: Mutex::new(LeaseHolder::new(life)),
            granter: Mutex::new(LeaseGranter::new(self_id.0)),
        }
    }
    /// Names the group, once, when it has been started.
    pub fn set_raft(&self, raft: GroupHandle) {
        let named = self.raft.set(raft);
        assert!(named.is_ok(), "leases are of one group");
    }
    /// Role, term or leader have changed.
    pub fn lead(&self, leadership: Leadership) {
        let mut granter = self.granter.lock();
        match leadership.role {
            Role::Leader => granter.became_leader(steady_ms(), leadership.term, &self.membership()),
            Role::Follower | Role::Candidate => granter.lost_leadership(),
        }
    }
    /// Takes over who the members are; before entries that may have changed them are applied.
    pub fn look_at_members(&self) {
        self.granter.lock().members_are(steady_ms(), &self.membership());
    }
    fn membership(&self) -> Arc<Membership> {
        // before the group has started it knows nobody but this node, which always counts
        self.raft.get().map_or_else(Arc::default, GroupHandle::membership)
    }
    /// Whether no other replica can know more than this one, which has the whole state.
    fn is_alone(&self) -> bool {
        self.raft
            .get()
            .is_some_and(|raft| raft.has_only(self.self_id) && raft.status().copy != StateCopy::Fetching)
    }
    /// Whether this replica may serve a read that begins now; `shows` says through where it does.
    pub fn may_read(&self, shows: impl FnOnce(Visible) -> u64) -> bool {
        self.may_read_if(|_| true, shows)
    }
    /// The same, among others only when `also` holds at the time of the read, by [`steady_ms`].
    pub fn may_read_if(&self, also: impl FnOnce(u64) -> bool, shows: impl FnOnce(Visible) -> u64) -> bool {
        if self.halt.is_set() {
            return false;
        }
        match self.is_alone() {
            true => self.is_whole(|| shows(Visible::Records)),
            false => {
                let holder = self.holder.lock();
                let now = steady_ms();
                also(now) && holder.may_read(now, shows(Visible::Everything))
            }
        }
    }
    /// Whether a replica without others shows what it may have shown before this start. Cost: an atomic load once it does.
    fn is_whole(&self, shows: impl FnOnce() -> u64) -> bool {
        let through = self.was_visible_through.load(Ordering::Acquire);
        if through > 0 && shows() >= through {
            self.was_visible_through.store(0, Ordering::Release);
            return true;
        }
        through == 0
    }
    /// Without others this replica serves nothing before it shows everything through `log_index`: earlier lives of it may have
    /// shown that.
    pub fn was_visible_through(&self, log_index: u64) {
        self.was_visible_through.store(log_index, Ordering::Release);
    }
    /// Whether this replica, which shows everything up to `shows`, goes on reading when others come: alone it needs no lease,
    /// among others it does.
    pub fn has_lease(&self, shows: u64) -> bool {
        self.holder.lock().may_read(steady_ms(), shows)
    }
    /// The lease by which this replica serves reads now, if it has one.
    pub fn hold(&self, shows: u64) -> Option<Hold> {
        if self.halt.is_set() {
            return None;
        }
        match self.is_alone() {
            true => self.is_whole(|| shows).then_some(Hold::Alone),
            false => self.holder.lock().lease(steady_ms(), shows).map(Hold::Lease),
        }
    }
    /// Whether this replica has had that lease ever since: nobody has gone on without its knowing.
    pub fn is_unbroken(&self, hold: Hold) -> bool {
        let is_held = match hold {
            Hold::Alone => self.is_alone(),
            Hold::Lease(lease) => self.holder.lock().is_unbroken(steady_ms(), lease),
        };
        is_held && !self.halt.is_set()
    }
    /// Whether a change of members may be proposed: nobody it removes may be reading. From this call on they get no leases.
    pub fn may_change(&self, changes: &[MemberChange]) -> bool {
        let mut granter = self.granter.lock();
        let now = steady_ms();
        let may: Vec<_> = removed(changes).map(|member| granter.may_remove(now, member)).collect();
        if may.iter().any(|may| *may != Removal::Now) {
            return false;
        }
        removed(changes).for_each(|member| granter.removal_proposed(member));
        true
    }
    /// How a change ended that was proposed.
    pub fn changed(&self, changes: &[MemberChange], result: &Result<u64, MembersError>) {
        match result {
            Err(MembersError::NotLeader { .. } | MembersError::Busy | MembersError::Refused(_)) => {
                let mut granter = self.granter.lock();
                removed(changes).for_each(|member| granter.removal_refused(member));
            }
            // in force, or perhaps in the log
            Ok(_) | Err(MembersError::Timeout | MembersError::Stopped) => {}
        }
    }
    /// These members are to stay: they get leases.
    pub fn keep(&self, members: &[NodeId]) {
        let mut granter = self.granter.lock();
        members.iter().for_each(|member| granter.keep(member.0));
    }
    /// What a leader knows of who may be reading.
    pub fn granter(&self) -> &Mutex<LeaseGranter> {
        &self.granter
    }
    /// This node has left the group: it serves no read of it any more.
    pub fn give_up(&self) {
        self.holder.lock().give_up();
    }
    /// A question to the leader for the next lease.
    pub fn ask(&self) -> AskId {
        self.holder.lock().ask(steady_ms())
    }
    /// The leader has answered a question with a lease.
    pub fn granted(&self, ask: AskId, grant: Grant) {
        self.holder.lock().granted(steady_ms(), ask, grant);
    }
}

fn removed(changes: &[MemberChange]) -> impl Iterator<Item = u64> {
    changes.iter().filter_map(|change| match change {
        MemberChange::Remove(member) => Some(*member),
        MemberChange::AddVoter(_) | MemberChange::AddLearner(_) => None,
    })
}
