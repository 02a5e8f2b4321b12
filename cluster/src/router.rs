//! Which group a command belongs to, and how it gets into that group's log: here, or with one hop to its leader.

use crate::abreast::Abreast;
use crate::command::{self, Command, MetaCommand};
use crate::disk::{DiskGuard, Purpose};
use crate::groups::{Group, Groups};
use crate::ids::IdSource;
use crate::integrity::Integrity;
use crate::membership::Claims;
use crate::meta::SharedMeta;
use crate::meta::{IndexLimits, MetaState};
use crate::metrics;
use crate::options::TAKE_OVER_S;
use crate::peer::{Lane, Peers};
use crate::requests::{PeerAnswer, PeerRequest, decode, encode};
use crate::seen::Seen;
use crate::traffic::Traffic;
use crate::user_mapping::place::UserWrites;
use bytes::Bytes;
use parking_lot::Mutex;
use quorate_model::level::Needs;
use quorate_model::{Error, ErrorKind, GroupId, IndexName, NodeId, Result, TaskId, limits};
use quorate_node::ops::IndexCommand;
use quorate_raft::ProposeError;
use rustc_hash::FxHashMap;
use serde_bytes::ByteBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How long a write waits for its group to have a leader: longer than an election takes, shorter than clients wait.
const LEADER_WAIT: Duration = Duration::from_secs(8);
/// Between two looks for a leader.
const LEADER_LOOK: Duration = Duration::from_millis(25);
/// How long a write waits for a leader without room on its disk to get some, or to hand its group to a node that has some. With
/// no other node it waits only while the shortage is younger than this.
const ROOM_WAIT: Duration = Duration::from_secs(2);

/// The groups of this node, the way to the others, and what a proposal needs.
pub struct Router {
    self_id: NodeId,
    groups: Arc<Groups>,
    meta: SharedMeta,
    id_source: IdSource,
    disk: DiskGuard,
    peers: OnceLock<Peers>,
    /// Who led a group of other nodes when it was last asked for.
    led_by: Mutex<FxHashMap<GroupId, NodeId>>,
    /// What others served that this node could not serve.
    seen: Seen,
    /// When it was made, which is when the node started.
    started: Instant,
    /// Whether this node has had leave to serve everything it should have.
    caught_up: AtomicBool,
    traffic: Traffic,
    user_writes: UserWrites,
    abreast: Abreast,
    integrity: Arc<Integrity>,
    claims: Claims,
    take_over_s: u64,
    index_limits: IndexLimits,
}

/// A command that is on disk on a majority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Its task id.
    pub task_id: TaskId,
    /// The time it was minted with, Unix milliseconds.
    pub time_ms: u64,
}

/// When a write that starts now gives up.
pub fn write_deadline() -> Instant {
    Instant::now() + Duration::from_secs(limits::WRITE_S)
}

/// How long it is until `deadline`.
pub fn within(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
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

impl Router {
    /// A router over the groups of this node.
    pub fn new(
        self_id: NodeId,
        groups: Arc<Groups>,
        meta: SharedMeta,
        id_source: IdSource,
        disk: DiskGuard,
    ) -> Self {
        Router {
            self_id,
            groups,
            meta,
            id_source,
            disk,
            peers: OnceLock::new(),
            led_by: Mutex::default(),
            seen: Seen::default(),
            started: Instant::now(),
            caught_up: AtomicBool::new(false),
            traffic: Traffic::default(),
            user_writes: UserWrites::default(),
            abreast: Abreast::default(),
            integrity: Arc::default(),
            claims: Claims::default(),
            take_over_s: TAKE_OVER_S,
            index_limits: IndexLimits::default(),
        }
    }
    /// The same with another time after which the place of a silent node may be taken.
    pub fn taking_over_after(self, take_over_s: u64) -> Self {
        Router { take_over_s, ..self }
    }
    /// The same with other numbers of indices.
    pub fn with_at_most(self, index_limits: IndexLimits) -> Self {
        Router { index_limits, ..self }
    }
    /// Who waits for the place of another node.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }
    /// Seconds of silence after which the place of a node may be taken.
    pub fn take_over_s(&self) -> u64 {
        self.take_over_s
    }
    /// Names the way to the other nodes, once.
    pub fn set_peers(&self, peers: Peers) {
        let named = self.peers.set(peers);
        assert!(named.is_ok(), "a node has one way to its peers");
    }
    /// The way to the other nodes, if there are any.
    pub fn peers(&self) -> Option<&Peers> {
        self.peers.get()
    }
    /// What the checks of files and replicas found.
    pub fn integrity(&self) -> &Integrity {
        &self.integrity
    }
    /// Whether the meta group answers this node.
    pub fn abreast(&self) -> &Abreast {
        &self.abreast
    }
    /// This node.
    pub fn self_id(&self) -> NodeId {
        self.self_id
    }
    /// The groups of this node.
    pub fn groups(&self) -> &Groups {
        &self.groups
    }
    /// The group with this number, if this node is a member. Errors: `Unavailable`.
    pub fn group(&self, id: GroupId) -> Result<Arc<Group>> {
        self.groups
            .get(id)
            .ok_or_else(|| Error::unavailable(format!("this node has no replica of group {id}")))
    }
    /// The group for a new index: one of this node's cluster.
    pub fn group_for(&self, name: &IndexName) -> Result<GroupId> {
        let meta = self.meta.load();
        let cluster = meta.nodes.get(&self.self_id).and_then(|row| meta.clusters.get(&row.cluster));
        let group = cluster.map(|cluster| meta.group_in(cluster.number, name));
        group.ok_or_else(|| Error::unavailable("this node has not joined its cluster yet"))
    }
    /// The catalogue and the keys as of now.
    pub fn meta(&self) -> Arc<MetaState> {
        self.meta.load_full()
    }
    /// What requests read of the catalogue and the keys.
    pub fn shared_meta(&self) -> &SharedMeta {
        &self.meta
    }
    /// Ids and times.
    pub fn id_source(&self) -> &IdSource {
        &self.id_source
    }
    /// Since when the node runs.
    pub fn started(&self) -> Instant {
        self.started
    }
    /// The searches this node was asked for.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }
    /// The writes of users that are under way on this node.
    pub fn user_writes(&self) -> &UserWrites {
        &self.user_writes
    }
    /// Whether this node has been able to serve everything it should have at some time since its start.
    pub fn has_caught_up(&self) -> bool {
        self.caught_up.load(Ordering::Acquire)
    }
    /// Notes that it is able to now.
    pub fn note_caught_up(&self) {
        self.caught_up.store(true, Ordering::Release);
    }
    /// The disk of the data folder.
    pub fn disk(&self) -> &DiskGuard {
        &self.disk
    }

    /// Changes what the installation knows; returns when this node knows it too.
    pub async fn propose_meta(
        &self,
        command: MetaCommand,
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<Accepted> {
        self.index_limits.check(&self.meta.load(), &command)?;
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
        let time_ms = self.id_source.time_ms();
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
                    if Instant::now() >= room_by || self.is_alone() && !self.is_short_for_a_moment() =>
                {
                    return Err(error);
                }
                Err(Attempt::NoRoom(_)) => {
                    self.forget_leader(group);
                    tokio::time::sleep(LEADER_LOOK).await;
                }
                Err(Attempt::NotLeader(_)) if Instant::now() >= leader_by => break,
                Err(Attempt::NotLeader(next)) => {
                    let is_new = next.is_some_and(|next| self.note_leader(group, next));
                    if !is_new {
                        tokio::time::sleep(LEADER_LOOK).await;
                    }
                }
            }
        }
        metrics::refused("no_leader");
        Err(Error::unavailable(format!("the write was not accepted: group {group} has no leader at present")))
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
    /// Nodes other than this one that may have a replica of a group, the best ones to ask for a read first: whoever served
    /// the last one, since another one may not show yet what that showed, then the leader.
    pub fn holders(&self, group: GroupId) -> Vec<NodeId> {
        let leader = match self.groups.get(group) {
            Some(local) if self.is_member(&local) => local.leader(),
            Some(_) | None => self.led_by.lock().get(&group).copied(),
        };
        let last = self.seen.served_by(group);
        let mut holders: Vec<NodeId> = last.into_iter().chain(leader.filter(|_| leader != last)).collect();
        let wanted = self.meta.load().wanted(group);
        holders.extend(wanted.into_iter().filter(|node| Some(*node) != leader && Some(*node) != last));
        holders.retain(|node| *node != self.self_id);
        holders
    }
    /// What others served that this node could not serve.
    pub fn seen(&self) -> &Seen {
        &self.seen
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
        self.disk.admit(purpose).map_err(Attempt::NoRoom)?;
        let Some(local) = self.groups.get(group) else { return Err(Attempt::NotLeader(None)) };
        if let Some(reason) = local.halt.reason() {
            metrics::refused("halted");
            let error = format!("group {group} stands still on this node: {reason}");
            return Err(Attempt::NoRoom(Error::unavailable(error)));
        }
        self.disk.admit_at(&local.raft.membership().voters, purpose).map_err(Attempt::Failed)?;
        self.disk.note_accepted(entries.iter().map(|entry| entry.len() as u64).sum());
        match local.raft.propose(entries, within(deadline)).await {
            Ok(committed) => Ok(committed.last),
            Err(ProposeError::NotLeader { leader }) => Err(Attempt::NotLeader(leader.map(NodeId))),
            // not committed and never will be: leadership is on its way to another node
            Err(ProposeError::Dropped) => Err(Attempt::NotLeader(None)),
            Err(error) => Err(Attempt::Failed(refusal(error))),
        }
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
        match self.ask(leader, &request, deadline).await {
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

    /// Asks another node.
    pub async fn ask(
        &self,
        node: NodeId,
        request: &PeerRequest,
        deadline: Instant,
    ) -> Result<PeerAnswer, Unasked> {
        let Some(peers) = self.peers.get() else { return Err(Unasked::Never) };
        let bytes = Bytes::from(encode(request));
        match peers.ask(node, Lane::Requests, bytes, deadline).await {
            Ok(answer) => decode(&answer).ok_or_else(|| {
                Unasked::Perhaps(Error::unavailable(format!(
                    "node {node} answered in a way this one does not know"
                )))
            }),
            Err(error) if error.outcome_is_unknown() => Err(Unasked::Perhaps(Error::unavailable(format!(
                "node {node}: {error}; the outcome is not known"
            )))),
            Err(_) => Err(Unasked::Never),
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

/// Why another node gave no answer.
#[derive(Debug)]
pub enum Unasked {
    /// It has not got the question.
    Never,
    /// It may have done what it was asked to.
    Perhaps(Error),
}

impl From<Unasked> for Error {
    fn from(unasked: Unasked) -> Error {
        match unasked {
            Unasked::Never => Error::unavailable("the node that has this index cannot be reached"),
            Unasked::Perhaps(error) => error,
        }
    }
}

/// An answer to another question than the one that was asked.
pub fn unexpected(node: NodeId, answer: &PeerAnswer) -> Error {
    tracing::warn!(%node, ?answer, "an answer of another kind");
    Error::unavailable(format!("node {node} answered in a way this one does not know"))
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
