//! How a command gets into the log of its group: here, or with one hop to its leader.

use crate::clock::within;
use crate::command::{self, Command, MetaCommand};
use crate::disk::{DiskGuard, Purpose};
use crate::groups::{Group, Groups};
use crate::ids::IdSource;
use crate::meta::{IndexLimits, MetaState, SharedMeta};
use crate::metrics;
use crate::rpc::peer_client::{PeerClient, Unasked, unexpected};
use crate::rpc::requests::{PeerAnswer, PeerRequest};
use bytes::Bytes;
use parking_lot::Mutex;
use quorate_model::level::Needs;
use quorate_model::{Error, ErrorKind, GroupId, NodeId, Result, TaskId, limits};
use quorate_node::ops::IndexCommand;
use quorate_raft::ProposeError;
use rustc_hash::FxHashMap;
use serde_bytes::ByteBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a write waits for its group to have a leader: longer than an election takes, shorter than clients wait.
const LEADER_WAIT: Duration = Duration::from_secs(8);
/// Between two looks for a leader.
const LEADER_LOOK: Duration = Duration::from_millis(25);
/// How long a write waits for a leader without room on its disk to get some, or to hand its group to a node that has some. With
/// no other node it waits only while the shortage is younger than this.
const ROOM_WAIT: Duration = Duration::from_secs(2);

/// Puts commands into logs, and knows who leads the groups of other nodes.
pub struct Proposer {
    self_id: NodeId,
    groups: Arc<Groups>,
    meta: SharedMeta,
    ids: Arc<IdSource>,
    disk: Arc<DiskGuard>,
    peers: Arc<PeerClient>,
    index_limits: IndexLimits,
    /// Who led a group of other nodes when it was last asked for.
    led_by: Mutex<FxHashMap<GroupId, NodeId>>,
}

/// What a proposer works with.
pub struct ProposerParts {
    /// This node.
    pub self_id: NodeId,
    /// The groups of this node.
    pub groups: Arc<Groups>,
    /// The meta state as requests read it.
    pub meta: SharedMeta,
    /// The times of entries.
    pub ids: Arc<IdSource>,
    /// The disk of the data folder.
    pub disk: Arc<DiskGuard>,
    /// The way to the other nodes.
    pub peers: Arc<PeerClient>,
    /// How many indices there may be.
    pub index_limits: IndexLimits,
}

/// A command that is on disk on a majority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Its task id.
    pub task_id: TaskId,
    /// The time that it was given, Unix milliseconds.
    pub time_ms: u64,
}

/// Why an attempt to propose did not succeed.
#[derive(Debug)]
pub enum Attempt {
    /// Nothing was appended; this node may lead the group.
    NotLeader(Option<NodeId>),
    /// Nothing was appended: the leader has no room on its disk, and another node may lead the group soon.
    NoRoom(Error),
    /// The caller hears this.
    Failed(Error),
}

impl Proposer {
    /// A proposer that knows no leader yet.
    pub fn new(parts: ProposerParts) -> Proposer {
        let ProposerParts { self_id, groups, meta, ids, disk, peers, index_limits } = parts;
        Proposer { self_id, groups, meta, ids, disk, peers, index_limits, led_by: Mutex::default() }
    }

    /// Changes what the installation knows; returns when this node knows it too.
    pub async fn propose_meta(
        &self,
        command: MetaCommand,
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<Accepted> {
        self.index_limits.check(&self.meta.load(), &command)?;
        if !self.groups.meta()?.is_led_here() {
            // what is decided could not reach the log of this node, which its caller would wait for in vain
            self.disk.admit(Purpose::Remove)?;
        }
        let accepted = self.propose(GroupId::META, Command::Meta(command), purpose, deadline).await?;
        self.groups.meta()?.wait_applied(accepted.task_id.log_index(), deadline).await?;
        Ok(accepted)
    }
    /// Puts a command on an index into its group's log; returns when it is on disk on a majority.
    pub async fn propose_index(
        &self,
        group: GroupId,
        command: IndexCommand,
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<Accepted> {
        self.propose(group, Command::Index(command), purpose, deadline).await
    }

    /// As [`Self::propose_index`], for any group.
    pub async fn propose(
        &self,
        group: GroupId,
        command: Command,
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<Accepted> {
        let needs = command.needs();
        self.check_level(&needs)?;
        let time_ms = self.ids.time_ms();
        let entries = command::entries_at(time_ms, command, needs.level);
        if let Some(large) = entries.iter().map(Vec::len).find(|&bytes| bytes > limits::ENTRY_BYTES_MAX) {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!("an operation takes {large} bytes, at most {} are allowed", limits::ENTRY_BYTES_MAX),
            ));
        }
        let entries: Vec<Bytes> = entries.into_iter().map(Bytes::from).collect();
        let leader_by = deadline.min(Instant::now() + LEADER_WAIT);
        let room_by = deadline.min(Instant::now() + ROOM_WAIT);
        for attempt in 0.. {
            let tried = match self.leader(group, attempt) {
                Some(leader) if leader == self.self_id => {
                    self.propose_here(group, entries.clone(), purpose, deadline).await
                }
                Some(leader) => self.propose_at(leader, group, &entries, purpose, deadline).await,
                None => Err(Attempt::NotLeader(None)),
            };
            match tried {
                Ok(log_index) => return Ok(Accepted { task_id: TaskId::new(group, log_index), time_ms }),
                Err(Attempt::Failed(error)) => return Err(error),
                Err(Attempt::NoRoom(error))
                    if Instant::now() >= room_by
                        || self.is_no_way_around(group, purpose) && !self.is_short_for_a_moment() =>
                {
                    metrics::refused("no_room");
                    return Err(error);
                }
                Err(Attempt::NoRoom(_)) => {
                    self.forget_leader(group);
                    tokio::time::sleep(LEADER_LOOK).await;
                }
                Err(Attempt::NotLeader(_)) if Instant::now() >= leader_by => break,
                // without room nobody is voted for
                Err(Attempt::NotLeader(None))
                    if Instant::now() >= room_by
                        && self.full_majority(&self.voters(group), purpose).is_some() =>
                {
                    break;
                }
                Err(Attempt::NotLeader(next)) => {
                    let is_new = next.is_some_and(|next| self.note_leader(group, next));
                    if !is_new {
                        tokio::time::sleep(LEADER_LOOK).await;
                    }
                }
            }
        }
        metrics::refused("no_leader");
        let text = format!("the write was not accepted: group {group} has no leader at present");
        Err(Error::unavailable(self.with_full_disks(text, &self.voters(group))))
    }

    /// Errors: `Unavailable` while not every node knows what is needed, naming it and the nodes to upgrade. What this node
    /// knows of that may be old, which only makes it more careful: the level never falls.
    pub fn check_level(&self, needs: &Needs) -> Result<()> {
        let meta = self.meta.load();
        if needs.level <= meta.level() {
            return Ok(());
        }
        metrics::refused("level");
        Err(Error::unavailable(too_new(needs, &meta)))
    }

    /// Whether the disk has lacked room for so short that it may have some again soon.
    fn is_short_for_a_moment(&self) -> bool {
        self.disk.short_for().is_some_and(|short_for| short_for < ROOM_WAIT)
    }
    /// Whether no other node can take the write either, whoever leads.
    fn is_no_way_around(&self, group: GroupId, purpose: Purpose) -> bool {
        self.is_alone() || self.full_majority(&self.voters(group), purpose).is_some()
    }
    /// Says which voters have no room, this node included, when those with room are no majority.
    fn full_majority(&self, voters: &[u64], purpose: Purpose) -> Option<String> {
        self.disk.full_majority((self.self_id, &self.own_name()), voters, purpose)
    }
    /// The voters of a group, as far as this node knows.
    fn voters(&self, group: GroupId) -> Vec<u64> {
        if let Some(local) = self.groups.get(group) {
            return local.raft.membership().voters.clone();
        }
        let meta = self.meta.load();
        let wanted = meta.wanted(group);
        wanted.into_iter().take(meta.wanted_voters(group)).map(|node| node.0).collect()
    }
    /// What a caller hears, with the nodes without room when that may be why.
    fn with_full_disks(&self, text: String, voters: &[u64]) -> String {
        match self.full_majority(voters, Purpose::Add) {
            Some(full) => format!("{text}; {full}"),
            None => text,
        }
    }
    /// Whether there is no other node.
    fn is_alone(&self) -> bool {
        self.meta.load().present_nodes().len() <= 1
    }

    /// Who to propose to: what consensus says where this node is a member, otherwise who led the group last, otherwise
    /// its nodes in turn.
    pub fn leader(&self, group: GroupId, attempt: usize) -> Option<NodeId> {
        match self.groups.get(group) {
            Some(local) if local.is_led_here() => return Some(self.self_id),
            Some(local) if self.is_member(&local) => return local.leader(),
            // a replica that is not a member yet, or not any more, hears nothing of its group
            Some(_) | None => {}
        }
        if let Some(known) = self.led_by.lock().get(&group) {
            return Some(*known);
        }
        let wanted = self.meta.load().wanted(group);
        wanted.get(attempt % wanted.len().max(1)).copied()
    }
    fn is_member(&self, local: &Group) -> bool {
        local.raft.membership().contains(self.self_id.0)
            && self.meta.load().wanted(local.id).contains(&self.self_id)
    }
    /// Who leads a group, as far as this node knows.
    pub fn known_leader(&self, group: GroupId) -> Option<NodeId> {
        match self.groups.get(group) {
            Some(local) if self.is_member(&local) => local.leader(),
            Some(_) | None => self.led_by.lock().get(&group).copied(),
        }
    }
    /// Notes who leads a group of others. Returns whether that is news.
    fn note_leader(&self, group: GroupId, leader: NodeId) -> bool {
        let is_own = self.groups.get(group).is_some_and(|local| self.is_member(&local));
        !is_own && self.led_by.lock().insert(group, leader) != Some(leader)
    }
    /// The node that was asked does not lead the group, or does not answer; `next` may lead it.
    pub fn led_by_another(&self, group: GroupId, next: Option<NodeId>) {
        self.forget_leader(group);
        if let Some(next) = next {
            self.note_leader(group, next);
        }
    }
    fn forget_leader(&self, group: GroupId) {
        self.led_by.lock().remove(&group);
    }

    /// Proposes to a group that this node leads; returns the place of the last entry.
    pub async fn propose_here(
        &self,
        group: GroupId,
        entries: Vec<Bytes>,
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<u64, Attempt> {
        let Some(local) = self.groups.get(group) else { return Err(Attempt::NotLeader(None)) };
        let voters = local.raft.membership().voters.clone();
        self.admit_here(&voters, purpose).map_err(Attempt::NoRoom)?;
        if let Some(reason) = local.halt.reason() {
            metrics::refused("halted");
            let error = format!("group {group} stands still on this node: {reason}");
            return Err(Attempt::NoRoom(Error::unavailable(error)));
        }
        self.disk
            .admit_at(&voters, purpose)
            .inspect_err(|_| metrics::refused("no_room"))
            .map_err(Attempt::Failed)?;
        self.disk.note_accepted(entries.iter().map(|entry| entry.len() as u64).sum());
        match local.raft.propose(entries, within(deadline)).await {
            Ok(committed) => Ok(committed.last),
            Err(ProposeError::NotLeader { leader }) => Err(Attempt::NotLeader(leader.map(NodeId))),
            // not committed and never will be: leadership is on its way to another node
            Err(ProposeError::Dropped) => Err(Attempt::NotLeader(None)),
            Err(error) => {
                let Error { message, .. } = refusal(error);
                Err(Attempt::Failed(Error::unavailable(self.with_full_disks(message, &voters))))
            }
        }
    }
    /// Refuses a write that the disk of this node has no room for, with the names of those without room when there are others.
    fn admit_here(&self, voters: &[u64], purpose: Purpose) -> Result<()> {
        match self.is_alone() {
            true => self.disk.admit(purpose),
            false => self.disk.admit_as(&self.own_name(), voters, purpose),
        }
    }
    fn own_name(&self) -> String {
        let row = |meta: &MetaState| meta.nodes.get(&self.self_id).map(|row| row.name.clone());
        row(&self.meta.load()).unwrap_or_else(|| self.self_id.to_string())
    }

    async fn propose_at(
        &self,
        leader: NodeId,
        group: GroupId,
        entries: &[Bytes],
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<u64, Attempt> {
        let request = PeerRequest::Propose {
            group,
            purpose,
            entries: entries.iter().map(|entry| ByteBuf::from(&entry[..])).collect(),
            within_ms: within(deadline).as_millis() as u64,
        };
        match self.peers.ask(leader, &request, deadline).await {
            Ok(PeerAnswer::Committed { log_index }) => Ok(log_index),
            Ok(PeerAnswer::NotLeader { leader }) => {
                self.forget_leader(group);
                Err(Attempt::NotLeader(leader))
            }
            Ok(PeerAnswer::Failed { kind: ErrorKind::Unavailable, message, outcome_is_unknown: false }) => {
                Err(Attempt::NoRoom(Error::unavailable(message)))
            }
            Ok(PeerAnswer::Failed { kind, message, .. }) => Err(Attempt::Failed(Error::new(kind, message))),
            Ok(other) => Err(Attempt::Failed(unexpected(leader, &other))),
            Err(Unasked::Never) => {
                self.forget_leader(group);
                Err(Attempt::NotLeader(None))
            }
            Err(Unasked::Perhaps(error)) => Err(Attempt::Failed(error)),
        }
    }
}

/// What a caller hears who asks for what only newer programs know.
fn too_new(needs: &Needs, meta: &MetaState) -> String {
    let nodes = meta.present_nodes();
    let older = nodes.iter().filter(|(_, row)| row.level < needs.level).map(|(_, row)| row.name.as_str());
    let older: Vec<&str> = older.collect();
    let what = needs.what.as_deref().unwrap_or("this");
    let who = if older.is_empty() { "the others".to_owned() } else { older.join(", ") };
    format!("{what} needs a newer version on every node; {who} must be upgraded first")
}

/// What a caller hears about a proposal that was not, or not surely, committed: all of it is 503 (C§1.4).
fn refusal(error: ProposeError) -> Error {
    let reason = match &error {
        ProposeError::NotLeader { .. } => "not_leader",
        ProposeError::Full => "full",
        ProposeError::Dropped => "dropped",
        ProposeError::Timeout => "timeout",
        ProposeError::Unavailable { .. } => "unavailable",
        ProposeError::Stopped => "stopped",
    };
    metrics::refused(reason);
    Error::unavailable(format!("the write was not accepted: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Joining;
    use crate::meta::At;

    #[test]
    fn what_needs_a_newer_version_is_named_with_the_nodes_to_upgrade() {
        let mut meta = MetaState::default();
        for (at, (node, level)) in [(1, 2), (2, 2), (3, 2), (1, 4), (3, 3)].into_iter().enumerate() {
            let text = format!("n{node}");
            let joining =
                Joining { peer: text.clone(), http: text.clone(), name: text, cluster: "main".into(), level };
            let add = MetaCommand::AddNode { node: NodeId(node), joining };
            meta.apply(At { log_index: at as u64, time_ms: 0 }, add);
        }
        let text =
            |level, what: Option<&str>| too_new(&Needs { level, what: what.map(str::to_owned) }, &meta);
        assert_eq!(
            text(4, Some("brandNew")),
            "brandNew needs a newer version on every node; n2, n3 must be upgraded first"
        );
        assert_eq!(text(3, None), "this needs a newer version on every node; n2 must be upgraded first");
        assert_eq!(
            text(1, None),
            "this needs a newer version on every node; the others must be upgraded first"
        );
    }
}
