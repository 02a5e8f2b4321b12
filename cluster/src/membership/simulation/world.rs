//! How time passes in a simulated installation, and how nodes carry out what was decided.

use super::mutant::Mutant;
use super::news::News;
use super::replica::{Fetch, Replica};
use crate::command::Joining;
use crate::command::MetaCommand;
use crate::controllers::reconciler::{Led, Step, next_step};
use crate::membership::ReplicaReport;
use crate::membership::leaving;
use crate::membership::placement;
use crate::meta::{At, MetaState};
use bytes::Bytes;
use quorate_model::chance::Chance;
use quorate_model::{GroupId, NodeId};
use quorate_raft::effects::{Delivery, Effect, Input};
use quorate_raft::memory::State;
use quorate_raft::{CommittedEntry, MemberChange, Membership, PeerMessage, SnapshotImage, StateCopy};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Virtual milliseconds of one round.
pub const ROUND_MS: u64 = 50;
/// Rounds between two looks of a reconciler.
const LOOK_ROUNDS: u64 = 5;
/// The groups that are simulated; the plan knows of the others of the cluster. What the meta group decides is known at once and
/// not read from its log, but it takes nothing without a leader and a majority, and its members come and go as those of others.
pub const GROUPS: [GroupId; 3] = [GroupId::META, GroupId(1), GroupId(2)];
/// Pieces of the slowest snapshot, one a round at the most.
pub const PIECES_MAX: u64 = 200;
/// Messages of a thousand that come once more later, and how late: what members say of their copies is among them.
const LATE_PER_MILLE: u64 = 20;
const LATE_MS: u64 = 3_000;
/// Seconds of silence after which a place may be taken.
pub const TAKE_OVER_S: u64 = 15;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub answers: u64,
    pub installed: u64,
    pub failed: u64,
    pub left: u64,
    pub taken: u64,
    pub removed: u64,
    pub damaged: u64,
    pub damaged_leaders: u64,
    pub vain: u64,
    pub named: u64,
    pub late: u64,
}
impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.answers += other.answers;
        self.installed += other.installed;
        self.failed += other.failed;
        self.left += other.left;
        self.taken += other.taken;
        self.removed += other.removed;
        self.damaged += other.damaged;
        self.damaged_leaders += other.damaged_leaders;
        self.vain += other.vain;
        self.named += other.named;
        self.late += other.late;
    }
}

/// A node with its folder. A folder whose disk is not mounted is a node that is down.
pub struct Node {
    pub name: String,
    pub is_up: bool,
    /// When it may start again; `None`: not by itself.
    pub starts_at: Option<u64>,
    /// Whether its disk is not mounted: another node may run in its place.
    pub is_unmounted: bool,
    /// Whether that disk is lost for good.
    pub is_lost: bool,
    /// What it knows of the installation.
    pub meta: MetaState,
    pub replicas: BTreeMap<GroupId, Replica>,
    /// When it was last up.
    pub heard: u64,
    /// Since when it runs.
    pub up_since: u64,
    /// It waits for the place of the node with its name.
    pub claims: bool,
}

pub struct World {
    pub chance: Chance,
    pub mutant: Option<Mutant>,
    pub now: u64,
    pub meta: MetaState,
    meta_index: u64,
    /// What operators have decided and the nodes they asked have not proposed yet.
    pub proposals: VecDeque<MetaCommand>,
    /// When the last of that was proposed.
    pub proposed_at: u64,
    /// When a disk was lost for good last.
    pub lost_at: Option<u64>,
    /// What nodes said of themselves lately.
    pub news: VecDeque<News>,
    pub nodes: BTreeMap<NodeId, Node>,
    /// Messages on their way, with the round they arrive at.
    network: Vec<(u64, NodeId, GroupId, PeerMessage)>,
    pub next_node: u64,
    next_request: u64,
    /// The truth, as the first replica applied it.
    pub history: BTreeMap<GroupId, Vec<(CommittedEntry, State)>>,
    pub answered: BTreeMap<GroupId, BTreeMap<u64, Bytes>>,
    proposed: BTreeMap<u64, (GroupId, Bytes)>,
    /// The voters that have had full copies since they have been voters.
    pub full_voters: BTreeSet<(GroupId, NodeId)>,
    pub is_rough: bool,
    pub counts: Counts,
    pub trace: u64,
}

pub fn joining(name: &str) -> Joining {
    Joining {
        name: name.into(),
        cluster: "main".into(),
        peer: format!("{name}:1"),
        http: String::new(),
        level: 4,
    }
}

impl World {
    pub fn new(seed: u64, mutant: Option<Mutant>) -> World {
        let mut world = World {
            chance: Chance::new(seed),
            mutant,
            now: 0,
            meta: MetaState::default(),
            meta_index: 0,
            proposals: VecDeque::new(),
            proposed_at: 0,
            lost_at: None,
            news: VecDeque::new(),
            nodes: BTreeMap::new(),
            network: vec![],
            next_node: 1,
            next_request: 0,
            history: BTreeMap::new(),
            answered: BTreeMap::new(),
            proposed: BTreeMap::new(),
            full_voters: BTreeSet::new(),
            is_rough: true,
            counts: Counts::default(),
            trace: 0,
        };
        let first = world.boot("n1");
        world.command(MetaCommand::AddNode { node: first, joining: joining("n1") });
        // who founds an installation has its groups before anybody can join or drain it
        world.nodes.get_mut(&first).expect("known").meta = world.meta.clone();
        world.look(first);
        world
    }
    pub fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }
    pub fn command(&mut self, command: MetaCommand) {
        self.meta_index += 1;
        self.meta.apply(At { log_index: self.meta_index, time_ms: 0 }, command);
    }
    /// A machine with an empty folder.
    pub fn boot(&mut self, name: &str) -> NodeId {
        let id = NodeId(self.next_node);
        self.next_node += 1;
        let node = Node {
            name: name.into(),
            is_up: true,
            starts_at: None,
            is_unmounted: false,
            is_lost: false,
            meta: MetaState::default(),
            replicas: BTreeMap::new(),
            heard: self.now,
            up_since: self.now,
            claims: false,
        };
        self.nodes.insert(id, node);
        id
    }
    pub fn run(&mut self, ms: u64) {
        let end = self.now + ms;
        while self.now < end {
            self.round();
        }
    }
    fn round(&mut self) {
        self.now += ROUND_MS;
        if self.is_rough {
            self.disturb();
        }
        self.start_again();
        self.deliver();
        let ids: Vec<NodeId> = self.nodes.keys().copied().collect();
        for id in ids {
            if !self.nodes[&id].is_up {
                continue;
            }
            self.nodes.get_mut(&id).expect("known").heard = self.now;
            if self.chance.per_mille(300) {
                self.nodes.get_mut(&id).expect("known").meta = self.meta.clone();
            }
            for group in GROUPS {
                self.live(id, group);
            }
            if (self.now / ROUND_MS + id.0).is_multiple_of(LOOK_ROUNDS) {
                self.look(id);
            }
        }
        self.take_news();
        if self.meta_lives() && self.chance.per_mille(500) {
            self.propose_next();
        }
        if self.meta_lives()
            && let Some((group, nodes)) = placement::next_change(&self.meta)
        {
            self.command(MetaCommand::Place { group, nodes });
        }
        self.check();
    }
    /// Whether the meta group takes commands.
    pub fn meta_lives(&self) -> bool {
        let runs = |id: &NodeId| self.nodes.get(id).is_some_and(|node| node.is_up);
        let leads =
            |id: &NodeId| runs(id) && self.nodes[id].replicas.get(&GroupId::META).is_some_and(Replica::leads);
        let has_majority =
            |voters: &Vec<NodeId>| voters.iter().filter(|id| runs(id)).count() > voters.len() / 2;
        self.nodes.keys().any(leads) && self.listed(GroupId::META).iter().all(has_majority)
    }
    pub fn is_present(&self, id: NodeId) -> bool {
        self.meta.nodes.get(&id).is_some_and(|row| row.is_present())
    }
    pub fn replica(&mut self, id: NodeId, group: GroupId) -> Option<&mut Replica> {
        self.nodes.get_mut(&id)?.replicas.get_mut(&group)
    }

    // What happens to a replica by itself.

    fn live(&mut self, id: NodeId, group: GroupId) {
        if self.replica(id, group).is_none() {
            return;
        }
        if (self.now / ROUND_MS).is_multiple_of(2) {
            self.input(id, group, Input::Tick);
        }
        let (syncs, keeps, cuts) =
            (self.chance.per_mille(800), self.chance.per_mille(100), self.chance.per_mille(60));
        let Some(replica) = self.replica(id, group) else { return };
        if keeps && replica.fetch.is_none() && !replica.is_damaged {
            replica.durable = replica.state;
        }
        let (durable, applied) = (replica.durable.index, replica.state.index);
        let known = replica.core.as_ref().map_or(0, |core| core.status().applied);
        let mut synced = None;
        while syncs && let Some(persist) = replica.unsynced.pop_front() {
            replica.disk.0.lock().write(&persist);
            synced = Some(persist.seq);
        }
        if let Some(seq) = synced {
            self.input(id, group, Input::Persisted(seq));
        }
        if applied > known {
            self.input(id, group, Input::Applied(applied));
        }
        if cuts {
            self.input(id, group, Input::Compact(durable));
        }
        self.mend(id, group);
        self.fetch(id, group);
        self.offer(id, group);
        if self.is_rough && self.chance.per_mille(150) && self.nodes[&id].replicas[&group].leads() {
            self.propose(id, group);
        }
    }
    /// Answers what consensus asked for since the last round.
    fn offer(&mut self, id: NodeId, group: GroupId) {
        let Some(replica) = self.replica(id, group) else { return };
        let (is_asked, tells) = (std::mem::take(&mut replica.is_asked), std::mem::take(&mut replica.tells));
        if is_asked && replica.fetch.is_none() && !replica.is_damaged {
            replica.durable = replica.state;
            let data = Bytes::copy_from_slice(&id.0.to_le_bytes());
            let image = SnapshotImage { index: replica.state.index, data };
            self.input(id, group, Input::OfferSnapshot(image));
        }
        if tells {
            self.input(id, group, Input::TellCommit);
        }
    }
    pub fn propose(&mut self, id: NodeId, group: GroupId) {
        self.next_request += 1;
        let (request, data) = (self.next_request, Bytes::from(self.next_request.to_le_bytes().to_vec()));
        self.proposed.insert(request, (group, data.clone()));
        self.input(id, group, Input::Propose { id: request, data: vec![data], within_ticks: 80 });
    }
    pub fn input(&mut self, id: NodeId, group: GroupId, input: Input) {
        let Some(core) = self.replica(id, group).and_then(|replica| replica.core.as_mut()) else { return };
        core.handle(input);
        self.carry_out(id, group);
    }
    pub fn carry_out(&mut self, id: NodeId, group: GroupId) {
        let Some(core) = self.replica(id, group).and_then(|replica| replica.core.as_mut()) else { return };
        for effect in core.take_effects() {
            match effect {
                Effect::Persist(persist) => {
                    self.replica(id, group).expect("it runs").unsynced.push_back(persist);
                }
                Effect::Send(messages) => {
                    for message in messages {
                        let lost = self.is_rough && self.chance.per_mille(20);
                        let at = self.now + ROUND_MS * self.chance.between(1, 2);
                        if self.is_rough
                            && message.snapshot.is_none()
                            && self.chance.per_mille(LATE_PER_MILLE)
                        {
                            // once more, and late
                            let at = self.now + self.chance.between(ROUND_MS, LATE_MS);
                            self.network.push((at, id, group, message.clone()));
                            self.counts.late += 1;
                        }
                        if !lost {
                            self.network.push((at, id, group, message));
                        }
                    }
                }
                Effect::Apply(entries) => self.apply(id, group, &entries),
                Effect::Restore(image) => self.begin_fetch(id, group, &image),
                Effect::SnapshotWanted => self.replica(id, group).expect("it runs").is_asked = true,
                Effect::TellLater => self.replica(id, group).expect("it runs").tells = true,
                Effect::Proposed(request, result) => {
                    let (of, data) = self.proposed.remove(&request).expect("asked once");
                    if let Ok(at) = result {
                        self.counts.answers += 1;
                        self.answered.entry(of).or_default().insert(at.last, data);
                    }
                }
                Effect::Leadership(leadership) => self.note(leadership.term << 8 | id.0),
                Effect::Barrier(..) | Effect::LeaderConfirmed(..) | Effect::MembersChanged(..) => {}
                Effect::Fatal(reason) => panic!("node {id}: {reason}"),
            }
        }
    }
    pub fn apply(&mut self, id: NodeId, group: GroupId, entries: &[CommittedEntry]) {
        let replica = self.replica(id, group).expect("it runs");
        if replica.is_damaged && replica.fetch.is_some() {
            return replica.waiting.extend(entries.iter().cloned());
        }
        for entry in entries {
            let replica = self.replica(id, group).expect("it runs");
            if entry.index <= replica.state.index {
                // it has continued from a later state than the snapshot's
                continue;
            }
            replica.state.apply(entry);
            let state = replica.state;
            self.check_applied(group, entry, state);
            self.note(state.digest);
        }
    }
    fn deliver(&mut self) {
        let (due, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.network).into_iter().partition(|(at, ..)| *at <= self.now);
        self.network = later;
        for (_, from, group, message) in due {
            let to = NodeId(message.to);
            let hears = self.nodes.get(&to).is_some_and(|node| {
                node.is_up && node.meta.nodes.get(&from).is_none_or(|row| row.is_present())
            });
            let is_snapshot = message.snapshot.is_some();
            if hears {
                let message = message.into_raft().expect("own messages are within limits");
                self.input(to, group, Input::Step(Box::new(message)));
            } else if is_snapshot {
                self.input(from, group, Input::SnapshotSent { to: to.0, outcome: Delivery::Failed });
            }
        }
    }

    // Snapshots on their way.

    fn begin_fetch(&mut self, id: NodeId, group: GroupId, image: &SnapshotImage) {
        let from = image.data.as_ref().try_into().map(u64::from_le_bytes).expect("images name their node");
        let left = self.chance.between(1, PIECES_MAX);
        let coming = self.offered(NodeId(from), group, image.index);
        let replica = self.replica(id, group).expect("it runs");
        let applied = replica.state.index;
        if applied >= image.index {
            return self.input(id, group, Input::Applied(applied));
        }
        replica.waiting.clear();
        let from = coming.map(|_| NodeId(from));
        let coming = coming.unwrap_or_default();
        replica.fetch = Some(Fetch { index: image.index, from, coming, left, is_anew: false });
    }
    /// What a node would give: its whole state, if that is new enough.
    pub fn offered(&mut self, from: NodeId, group: GroupId, index: u64) -> Option<State> {
        let (is_up, is_present) = (self.nodes.get(&from)?.is_up, self.is_present(from));
        let replica = self.replica(from, group)?;
        let is_whole = replica.fetch.is_none() && replica.core.is_some() && !replica.is_damaged;
        (is_up && is_present && is_whole && replica.state.index >= index).then_some(replica.state)
    }
    fn fetch(&mut self, id: NodeId, group: GroupId) {
        let Some(fetch) = self.replica(id, group).and_then(|replica| replica.fetch) else { return };
        if self.gives_up(id, group, fetch) {
            return;
        }
        if fetch.left == 0 {
            return self.install(id, group, fetch);
        }
        let next = match fetch.from {
            Some(from) if self.offered(from, group, fetch.index).is_some() => {
                Fetch { left: fetch.left - 1, ..fetch }
            }
            from => {
                self.counts.failed += u64::from(from.is_some());
                // wanted ones first, then all others, as the fetcher does
                let holders: Vec<NodeId> = self.nodes.keys().copied().filter(|other| *other != id).collect();
                let found =
                    holders.into_iter().find_map(|it| Some((it, self.offered(it, group, fetch.index)?)));
                match found {
                    Some((from, coming)) => {
                        let left = self.chance.between(1, PIECES_MAX);
                        Fetch { from: Some(from), coming, left, ..fetch }
                    }
                    None => Fetch { from: None, ..fetch },
                }
            }
        };
        self.replica(id, group).expect("it runs").fetch = Some(next);
    }
    /// Continues from what has arrived, once the log holds everything up to it.
    fn install(&mut self, id: NodeId, group: GroupId, fetch: Fetch) {
        let replica = self.replica(id, group).expect("it runs");
        let durable = replica.core.as_ref().map_or(0, |core| core.status().durable);
        if durable < fetch.coming.index {
            return;
        }
        (replica.state, replica.durable, replica.fetch) = (fetch.coming, fetch.coming, None);
        (replica.is_damaged, replica.is_condemned) = (false, false);
        let waiting = Vec::from(std::mem::take(&mut replica.waiting));
        self.counts.installed += 1;
        self.apply(id, group, &waiting);
        let applied = self.replica(id, group).expect("it runs").state.index;
        self.input(id, group, Input::Applied(applied));
        self.input(id, group, Input::Trust);
    }

    // What a node does about where replicas are wanted.

    fn look(&mut self, id: NodeId) {
        let meta = self.nodes[&id].meta.clone();
        for group in GROUPS {
            let is_wanted = meta.wanted(group).contains(&id);
            let is_first = group == GroupId::META
                && meta.cluster_of(GroupId(1)).is_some_and(|it| meta.clusters[it].founder == id);
            if is_wanted && !self.nodes[&id].replicas.contains_key(&group) {
                let founders = if is_first || meta.is_founder(id, group) { vec![id.0] } else { vec![] };
                let mut replica = Replica::new(group, founders);
                replica.start(id, self.trace);
                self.nodes.get_mut(&id).expect("known").replicas.insert(group, replica);
                self.carry_out(id, group);
            }
            let Some(replica) = self.nodes[&id].replicas.get(&group) else { continue };
            let Some(core) = &replica.core else {
                // it came back after it had left
                if is_wanted {
                    self.replica(id, group).expect("known").start(id, id.0);
                    self.carry_out(id, group);
                }
                continue;
            };
            if replica.leads() {
                let (members, status) = (core.membership(), core.status());
                self.look_after(id, group, &meta, members, status.copy, status.last_index);
            } else if group != GroupId::META && !is_wanted && !meta.wanted(group).is_empty() {
                self.leave(id, group, &meta);
            }
        }
    }
    fn look_after(
        &mut self,
        id: NodeId,
        group: GroupId,
        meta: &MetaState,
        mut members: Membership,
        mut copy: StateCopy,
        last_index: u64,
    ) {
        let counts_descriptions = match self.mutant {
            Some(Mutant::CountsDescriptions | Mutant::AsBefore) => true,
            Some(Mutant::MetaCountsDescriptions) => group == GroupId::META,
            _ => false,
        };
        if counts_descriptions {
            for follower in &mut members.followers {
                follower.copy = StateCopy::Whole { applied: follower.matched };
            }
            copy = StateCopy::Whole { applied: last_index };
        }
        if copy == StateCopy::Fetching || !self.may_lead(id, group) {
            return self.give_to_able(id, group);
        }
        let led = Led { self_id: id, copy, last_index, members: &members };
        match next_step(led, &meta.wanted(group), meta.wanted_voters(group)) {
            Step::Rest | Step::Wait(_) => {}
            Step::Change(changes) => self.change(id, group, changes),
            // the meta group is led by whoever was elected, as long as that is a voter
            Step::Transfer(_) if group == GroupId::META && leaving::heirs(meta, group).contains(&id) => {}
            Step::Transfer(next) if !self.may_lead(next, group) => {}
            Step::Transfer(next) => self.input(id, group, Input::TransferLeader(next.0)),
        }
    }
    fn change(&mut self, id: NodeId, group: GroupId, changes: Vec<MemberChange>) {
        self.next_request += 1;
        let input =
            Input::ChangeMembers { id: self.next_request, changes, context: Bytes::new(), within_ticks: 100 };
        self.input(id, group, input);
    }
    fn leave(&mut self, id: NodeId, group: GroupId, meta: &MetaState) {
        let heirs = leaving::heirs(meta, group);
        if !self.is_present(id) {
            return;
        }
        // it has asked since its start
        let since = self.nodes[&id].up_since;
        let said = self.said(since);
        let of = |heir: &NodeId| said.get(heir)?.as_ref().ok()?.replicas.iter().find(|it| it.group == group);
        let reports: BTreeMap<NodeId, &ReplicaReport> =
            heirs.iter().filter_map(|heir| Some((*heir, of(heir)?))).collect();
        let replica = &self.nodes[&id].replicas[&group];
        let known = replica.core.as_ref().map_or(0, |core| core.status().committed).max(replica.state.index);
        let may_go = match self.mutant {
            Some(Mutant::LeavesOnTheLeadersWord | Mutant::AsBefore) => reports.values().any(|it| {
                it.role == crate::membership::report::MemberRole::Leader
                    && !it.voters.contains(&id)
                    && !it.learners.contains(&id)
            }),
            Some(Mutant::LeavesOnOldNews) => self.was_dispensable(id, group, &heirs, since),
            _ => leaving::lacking(id, known, &heirs, |heir| reports.get(&heir).copied()).is_none(),
        };
        if !may_go {
            return;
        }
        self.counts.left += 1;
        let replica = self.replica(id, group).expect("known");
        replica.crash();
        let stored = replica.disk.0.lock().stored();
        let persist =
            quorate_raft::leaving::leave(group, &stored, &replica.disk).expect("the log can be read");
        replica.disk.0.lock().write(&persist);
        (replica.state, replica.durable) = (State::default(), State::default());
        replica.founders.clear();
        (replica.is_damaged, replica.is_condemned) = (false, false);
    }

    pub fn note(&mut self, value: u64) {
        self.trace = (self.trace ^ value ^ self.now).wrapping_mul(0x0100_0000_01b3);
    }
}
