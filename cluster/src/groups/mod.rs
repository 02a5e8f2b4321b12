//! Which groups this node is a member of: each is started once and looked up without a lock.

pub mod damage;
pub mod kept;
pub mod leases;
pub mod reach;
pub mod reopen;
pub mod start;

use crate::apply::Halt;
use crate::apply::actor::{Anew, Close, Count, Incarnations, Leave, LetGo};
use crate::apply::inbox::Inbox;
use crate::groups::leases::GroupLeases;
use actix::{ArbiterHandle, Recipient};
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use quorate_model::{Error, GroupId, NodeId, Result};
use quorate_node::Node;
use quorate_raft::{GroupHandle, Role, Status};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::watch;

/// One group of this node, as writes and tasks see it.
pub struct Group {
    /// Its number.
    pub id: GroupId,
    /// Its consensus.
    pub raft: GroupHandle,
    /// The last log index that was applied here.
    pub applied: watch::Receiver<u64>,
    /// Whether this node leads the group, for those who want to hear of it; it ends when the group is opened anew.
    pub led: watch::Receiver<bool>,
    /// Whether this replica stands still.
    pub halt: Halt,
    /// Leave to serve reads of it.
    pub leases: Arc<GroupLeases>,
    /// What waits for its actor, and how that is.
    pub inbox: Arc<Inbox>,
    /// The thread that applies what is committed.
    pub thread: ArbiterHandle,
    /// Asks its actor for what it holds.
    pub incarnations: Recipient<Incarnations>,
    /// Tells its actor to take the state anew from another member.
    pub anew: Recipient<Anew>,
    /// Tells its actor whether what is here counts.
    pub count: Recipient<Count>,
    /// Tells its actor to stop.
    pub close: Recipient<Close>,
    /// Tells its actor to end as a crash would.
    pub let_go: Recipient<LetGo>,
    /// Tells its actor that this node has left the group.
    pub leave: Recipient<Leave>,
}

impl Group {
    /// The group's positions.
    pub fn status(&self) -> Status {
        self.raft.status()
    }
    /// Whether this node leads it.
    pub fn is_led_here(&self) -> bool {
        self.status().role == Role::Leader
    }
    /// The node that leads it, as far as this one knows.
    pub fn leader(&self) -> Option<NodeId> {
        self.status().leader.map(NodeId)
    }
    /// Through where reads of this replica see everything.
    pub fn visible_through(&self, node: &Node) -> u64 {
        match self.id {
            GroupId::META => *self.applied.borrow(),
            id => node.visible_through(id),
        }
    }
    /// Waits until this node has applied the group's log through `log_index`. Errors: `Unavailable` at the deadline.
    pub async fn wait_applied(&self, log_index: u64, deadline: Instant) -> Result<()> {
        let mut applied = self.applied.clone();
        let reached = applied.wait_for(|&applied| applied >= log_index);
        match tokio::time::timeout_at(deadline.into(), reached).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) => Err(Error::unavailable("the node is stopping")),
            Err(_) => Err(Error::unavailable(format!("group {} is behind with its log", self.id))),
        }
    }
}

/// The groups this node is a member of. Reads take one atomic load.
#[derive(Default)]
pub struct Groups {
    local: ArcSwap<BTreeMap<GroupId, Arc<Group>>>,
    /// Groups that failed and are being opened anew, with the reason.
    failed: Mutex<BTreeMap<GroupId, String>>,
}

impl Groups {
    /// The group with this number, if this node is a member.
    pub fn get(&self, id: GroupId) -> Option<Arc<Group>> {
        self.local.load().get(&id).cloned()
    }
    /// The same for a look at it. Cost: an atomic load.
    pub fn with<T>(&self, id: GroupId, look: impl FnOnce(&Group) -> T) -> Option<T> {
        self.local.load().get(&id).map(|group| look(group))
    }
    /// The meta group, of which every node is a member.
    pub fn meta(&self) -> Result<Arc<Group>> {
        self.get(GroupId::META).ok_or_else(|| Error::unavailable("the node is starting"))
    }
    /// All of them, the meta group first.
    pub fn all(&self) -> Vec<Arc<Group>> {
        self.local.load().values().cloned().collect()
    }
    /// Groups that failed and are being opened anew, with the reason: they are among no others meanwhile.
    pub fn failed(&self) -> BTreeMap<GroupId, String> {
        self.failed.lock().clone()
    }
    /// Notes that a group has failed, and why.
    pub fn note_failed(&self, id: GroupId, reason: String) {
        self.failed.lock().insert(id, reason);
    }
    /// All but the meta group.
    pub fn placement(&self) -> Vec<Arc<Group>> {
        self.all().into_iter().filter(|group| group.id != GroupId::META).collect()
    }
    /// Adds a group that was started.
    pub fn put(&self, group: Group) {
        let group = Arc::new(group);
        self.failed.lock().remove(&group.id);
        self.local.rcu(|groups| {
            let mut groups = BTreeMap::clone(groups);
            groups.insert(group.id, group.clone());
            groups
        });
    }
    /// Takes a group out that this node has left.
    pub fn take(&self, id: GroupId) -> Option<Arc<Group>> {
        let before = self.local.rcu(|groups| {
            let mut groups = BTreeMap::clone(groups);
            groups.remove(&id);
            groups
        });
        before.get(&id).cloned()
    }
}
