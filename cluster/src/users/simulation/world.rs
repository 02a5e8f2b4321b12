//! Which nodes are there, what does each of them know, and what becomes of messages? Everything by one seed.

use super::drive;
use super::executor::{Clock, Life, NOBODY};
use super::groups::{Records, Replica};
use super::indices::Indices;
use super::mutant::Mutant;
use super::settings::Configured;
use crate::command::MetaCommand;
use crate::context::user_writes::UserWrites;
use crate::meta::{At, MetaState, Reserved};
use parking_lot::Mutex;
use quorate_model::{GroupId, IndexName, TaskId, level};
use quorate_node::ops::{Incarnation, IndexCommand};
use quorate_raft::lease::{LeaseGranter, LeaseHolder};
use quorate_raft::{Confirmed, Membership};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// Each node with the number of its cluster.
pub const NODES: [(u64, u16); 6] = [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (6, 2)];
/// Those that are there from the beginning; the cluster of the others joins later.
pub const FIRST_NODES: usize = 4;
/// Lives of a node, for numbers that differ.
const LIVES: u64 = 1 << 20;

/// How rough it is, in so many of a thousand unless said otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Climate {
    /// Messages that are lost.
    pub lost: u64,
    /// Messages that come late, by seconds.
    pub late: u64,
    /// Commands of moves that come a second time, perhaps much later.
    pub again: u64,
    /// Steps of moves after which the node that drives them dies.
    pub kill_at_step: u64,
    /// Milliseconds between two accidents, about; 0 = there are none.
    pub calm_ms: u64,
    /// Milliseconds that a replica is behind at most.
    pub lag_ms: u64,
    /// Milliseconds that the copy of one partition of an index takes longer than that of another at most.
    pub copy_ms: u64,
}

impl Climate {
    pub const CALM: Climate =
        Climate { lost: 0, late: 0, again: 0, kill_at_step: 0, calm_ms: 0, lag_ms: 30, copy_ms: 300 };
    /// Whether nothing goes wrong.
    pub fn is_calm(&self) -> bool {
        self.lost + self.late + self.again + self.kill_at_step + self.calm_ms == 0
    }
    /// A climate of the seed's own.
    pub fn of(seed: u64) -> Climate {
        let of = |all: &[u64], part: u64| all[(seed / part) as usize % all.len()];
        Climate {
            lost: of(&[0, 5, 20, 40], 1),
            late: of(&[0, 10, 40, 5], 2),
            again: of(&[0, 100, 300], 3),
            kill_at_step: of(&[0, 100, 300, 0, 150], 1),
            calm_ms: of(&[2_000, 500, 5_000, 0], 3),
            lag_ms: of(&[20, 200, 1_500], 5),
            copy_ms: of(&[2_500, 300], 7),
        }
    }
}

/// How often what happened, to see that a run was about anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub moves: u64,
    pub given_up: u64,
    pub kills: u64,
    pub cuts: u64,
    pub writes: u64,
    pub deletions: u64,
    /// Deletions of many records at once.
    pub wiped: u64,
    pub reads: u64,
    pub unknown: u64,
    pub repeated: u64,
    /// Writes that were done again where the user had come to.
    pub done_again: u64,
    /// Reads of a node that could not ask the others.
    pub cut_off: u64,
    pub removals: u64,
    /// Indices that got another name.
    pub renames: u64,
    /// Of those, some that were followed by others.
    pub led_renames: u64,
    /// Writes that were answered while their index got another name or ended.
    pub hasty: u64,
    /// Of those, some that went to a new index of the name.
    pub hasty_anew: u64,
    pub copies: u64,
    /// Changes of settings.
    pub configured: u64,
    /// Indices that were deleted or replaced.
    pub ended: u64,
    /// Indices that followed another one for a while.
    pub unlinked: u64,
}
impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, more: Counts) {
        self.moves += more.moves;
        self.given_up += more.given_up;
        self.kills += more.kills;
        self.cuts += more.cuts;
        self.writes += more.writes;
        self.deletions += more.deletions;
        self.wiped += more.wiped;
        self.reads += more.reads;
        self.unknown += more.unknown;
        self.repeated += more.repeated;
        self.done_again += more.done_again;
        self.cut_off += more.cut_off;
        self.removals += more.removals;
        self.renames += more.renames;
        self.led_renames += more.led_renames;
        self.hasty += more.hasty;
        self.hasty_anew += more.hasty_anew;
        self.copies += more.copies;
        self.configured += more.configured;
        self.ended += more.ended;
        self.unlinked += more.unlinked;
    }
}

pub struct Machine {
    pub life: Life,
    pub is_up: bool,
    /// Whether it hears nothing of the meta group, and the others nothing of it there.
    pub is_cut: bool,
    pub meta: Arc<MetaState>,
    pub applied: u64,
    due: VecDeque<u64>,
    pub writes: Arc<UserWrites>,
    pub holder: LeaseHolder,
    pub granter: LeaseGranter,
    pub replicas: BTreeMap<GroupId, Replica>,
    mutant: Option<Mutant>,
}

/// What the real code makes of a command, or a planted bug.
fn apply(meta: &mut MetaState, at: At, command: MetaCommand, mutant: Option<Mutant>) {
    let (frozen, reserved) = (meta.users.frozen, meta.reserved.clone());
    match (mutant, &command) {
        (Some(Mutant::CopiesFrozenUsers), MetaCommand::BeginCopies { .. }) => {
            meta.users.frozen = 0;
            meta.apply(at, command);
            meta.users.frozen = frozen;
        }
        (
            Some(Mutant::ForgetsCopies),
            MetaCommand::StepUser { .. } | MetaCommand::StepUserAfterLook { .. },
        )
        | (Some(Mutant::CopiesFrozenUsers), MetaCommand::StepUser { .. }) => {
            meta.reserved = Reserved::default();
            meta.apply(at, command);
            meta.reserved = reserved;
        }
        _ => drop(meta.apply(at, command)),
    }
}

impl Machine {
    pub fn hears(&self) -> bool {
        self.is_up && !self.is_cut
    }
    /// Applies what is due.
    fn go_on(&mut self, log: &[MetaCommand], now_ms: u64) {
        while self.hears() && self.due.front().is_some_and(|due| *due <= now_ms) {
            self.due.pop_front();
            let mut meta = (*self.meta).clone();
            let at = At { log_index: self.applied + 1, time_ms: now_ms };
            apply(&mut meta, at, log[self.applied as usize].clone(), self.mutant);
            self.applied += 1;
            self.meta = Arc::new(meta);
        }
    }
    /// What could not be heard comes now.
    fn hear_again(&mut self, clock: &Clock) {
        let mut earliest = clock.now_ms();
        for due in &mut self.due {
            earliest += clock.below(20);
            *due = earliest.max(*due);
        }
    }
}

pub struct State {
    pub machines: BTreeMap<u64, Machine>,
    meta_log: Vec<MetaCommand>,
    /// What is decided, whoever knows it.
    pub decided: MetaState,
    pub leader: Option<u64>,
    pub term: u64,
    logs: BTreeMap<GroupId, Vec<IndexCommand>>,
    pub counts: Counts,
}

impl State {
    fn membership() -> Membership {
        Membership { voters: NODES.map(|(node, _)| node).to_vec(), ..Membership::default() }
    }
    /// The machine as it is now.
    pub fn machine(&mut self, node: u64, now_ms: u64) -> &mut Machine {
        let machine = self.machines.get_mut(&node).expect("a node");
        machine.go_on(&self.meta_log, now_ms);
        machine
    }
    /// A replica as it is now.
    pub fn replica(
        &mut self,
        node: u64,
        group: GroupId,
        now_ms: u64,
        mutant: Option<Mutant>,
    ) -> &mut Replica {
        let machine = self.machines.get_mut(&node).expect("a node");
        let replica = machine.replicas.entry(group).or_default();
        if machine.is_up {
            replica.go_on(self.logs.entry(group).or_default(), now_ms, mutant);
        }
        replica
    }
    pub fn log_end(&self, group: GroupId) -> u64 {
        match group {
            GroupId::META => self.meta_log.len() as u64,
            _ => self.logs.get(&group).map_or(0, Vec::len) as u64,
        }
    }
    /// The leader of the meta group, if `node` can talk to it.
    pub fn leader_for(&self, node: u64) -> Option<u64> {
        let leader = self.leader.filter(|leader| self.machines[leader].hears())?;
        self.machines[&node].hears().then_some(leader)
    }
}

pub struct World {
    pub clock: Clock,
    pub climate: Climate,
    pub mutant: Option<Mutant>,
    began: Instant,
    state: Mutex<State>,
    /// The indices that clients write, read and change.
    pub indices: Indices,
    /// What was set in them.
    pub configured: Configured,
}

/// The cluster of a group.
pub fn cluster_of(group: GroupId) -> u16 {
    (group.0 - 1) / quorate_model::limits::PLACEMENT_GROUPS
}

impl World {
    pub fn new(seed: u64, climate: Climate, mutant: Option<Mutant>, first: Vec<MetaCommand>) -> Arc<World> {
        let clock = Clock::new(seed);
        let machine = |(node, _): (u64, u16)| {
            let machine = Machine {
                life: node * LIVES,
                is_up: true,
                is_cut: false,
                meta: Arc::default(),
                applied: 0,
                due: VecDeque::new(),
                writes: Arc::default(),
                holder: LeaseHolder::new(node * LIVES),
                granter: LeaseGranter::new(node),
                replicas: BTreeMap::new(),
                mutant,
            };
            (node, machine)
        };
        let machines = NODES.into_iter().map(machine).collect();
        let (logs, counts) = (BTreeMap::new(), Counts::default());
        let (leader, term, decided) = (None, 0, MetaState::default());
        let state = State { machines, meta_log: vec![], decided, leader, term, logs, counts };
        let (began, state, indices) = (Instant::now(), Mutex::new(state), Indices::default());
        let world = Arc::new(World {
            clock,
            climate,
            mutant,
            began,
            state,
            indices,
            configured: Configured::default(),
        });
        for command in first {
            world.append_meta(command);
        }
        world.elect();
        NODES.into_iter().for_each(|(node, _)| drive::start(&world, node));
        world
    }
    pub fn state(&self) -> parking_lot::MutexGuard<'_, State> {
        self.state.lock()
    }
    /// The machine of a node as it is now.
    pub fn with<T>(&self, node: u64, look: impl FnOnce(&mut Machine) -> T) -> T {
        let now_ms = self.clock.now_ms();
        look(self.state.lock().machine(node, now_ms))
    }
    /// The level of every node.
    pub fn level(&self) -> u16 {
        match self.mutant {
            Some(Mutant::EarlierLevel) => level::LOOKED - 1,
            _ => level::NEWEST,
        }
    }
    pub fn instant(&self) -> Instant {
        self.began + std::time::Duration::from_millis(self.clock.now_ms())
    }
    pub fn ms_of(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.began).as_millis() as u64
    }
    pub fn count(&self, note: impl FnOnce(&mut Counts)) {
        note(&mut self.state.lock().counts);
    }

    /// How long a message takes; `None` when it is lost, as none is any more once the rough time is over.
    pub fn delay(&self) -> Option<u64> {
        if self.clock.per_mille(self.climate.lost) && self.clock.now_ms() < super::ROUGH_MS {
            return None;
        }
        match self.clock.per_mille(self.climate.late) {
            true => Some(self.clock.between(50, 6_000)),
            false => Some(self.clock.between(0, 3)),
        }
    }
    /// How much longer the copy of one partition takes than that of another.
    pub fn slowness(&self) -> u64 {
        // with slow partitions the bug of partitions that are pointed one by one shows as a move that takes for ever
        if self.mutant == Some(Mutant::PointsPartByPart) {
            return 0;
        }
        match self.clock.below(3) {
            0 => self.clock.below(self.climate.copy_ms),
            _ => 0,
        }
    }
    fn lag(&self) -> u64 {
        match self.clock.below(4) {
            0 => self.clock.below(self.climate.lag_ms),
            _ => self.clock.below(5),
        }
    }

    /// Puts a command into the meta log, which a majority has then.
    pub fn append_meta(&self, command: MetaCommand) -> u64 {
        let now_ms = self.clock.now_ms();
        let mut state = self.state.lock();
        let at = At { log_index: state.log_end(GroupId::META) + 1, time_ms: now_ms };
        state.meta_log.push(command.clone());
        apply(&mut state.decided, at, command, self.mutant);
        let leader = state.leader;
        for (node, machine) in &mut state.machines {
            let lag = if Some(*node) == leader { 0 } else { self.lag() };
            let due = machine.due.back().copied().unwrap_or(0).max(now_ms + lag);
            machine.due.push_back(due);
        }
        state.log_end(GroupId::META)
    }
    /// Puts a command into the log of a group.
    pub fn append(&self, group: GroupId, command: IndexCommand) -> u64 {
        let now_ms = self.clock.now_ms();
        let mut state = self.state.lock();
        state.logs.entry(group).or_default().push(command);
        for (node, _) in NODES.into_iter().filter(|(_, cluster)| *cluster == cluster_of(group)) {
            let machine = state.machines.get_mut(&node).expect("a node");
            let replica = machine.replicas.entry(group).or_default();
            let due = replica.due.back().copied().unwrap_or(0).max(now_ms + self.lag());
            replica.due.push_back(due);
        }
        state.log_end(group)
    }
    /// Whether every replica that somebody may read shows an entry.
    pub fn is_shown(&self, group: GroupId, log_index: u64) -> bool {
        let now_ms = self.clock.now_ms();
        let mut state = self.state.lock();
        let holders = NODES.into_iter().filter(|(_, cluster)| *cluster == cluster_of(group));
        let up: Vec<u64> = holders.map(|(node, _)| node).filter(|node| state.machines[node].is_up).collect();
        up.into_iter().all(|node| state.replica(node, group, now_ms, self.mutant).applied >= log_index)
    }
    /// The records of a replica once everything is applied, also on a node that is down.
    pub fn records_at_last(&self, node: u64, group: GroupId) -> Records {
        let state = &mut *self.state.lock();
        let machine = state.machines.get_mut(&node).expect("a node");
        let replica = machine.replicas.entry(group).or_default();
        replica.go_on(state.logs.entry(group).or_default(), u64::MAX, self.mutant);
        replica.records.clone()
    }

    /// The records of a group as its log has them, whoever has applied it.
    pub fn records_written(&self, group: GroupId) -> Records {
        let state = self.state.lock();
        let log = state.logs.get(&group).map_or(&[][..], |log| &log[..]);
        Replica::of_log(log, self.mutant).records
    }
    /// Whether an index is not decided to have a name.
    pub fn has_renamed(&self, name: &IndexName, index: Incarnation) -> bool {
        self.state.lock().decided.catalogue.get(name).is_none_or(|row| row.incarnation != index)
    }
    /// The index that a write went to, of all its partitions the first; `None` when it is gone.
    pub fn life_written(&self, task: TaskId) -> Option<Incarnation> {
        let state = self.state.lock();
        let command = state.logs.get(&task.group())?.get(task.log_index().checked_sub(1)? as usize)?;
        let IndexCommand::Records { index, .. } = command else { return None };
        let mut rows = state.decided.catalogue.iter();
        let (name, _) = rows.find(|(_, row)| row.incarnation == *index)?;
        let name = IndexName::new(name.partition().0).ok()?;
        state.decided.catalogue.get(&name).map(|row| row.incarnation)
    }

    /// The settings of an index on every node of a group.
    pub fn settings(&self, group: GroupId, index: Incarnation) -> Vec<Map<String, Value>> {
        let (now_ms, mut state) = (self.clock.now_ms(), self.state.lock());
        let holders = NODES.into_iter().filter(|(_, cluster)| *cluster == cluster_of(group));
        let settings = holders.map(|(node, _)| {
            let replica = state.replica(node, group, now_ms, self.mutant);
            replica.settings.get(&index).cloned().unwrap_or_default()
        });
        settings.collect()
    }

    /// Lets a leader of the meta group be chosen, if there is none.
    pub fn elect(&self) {
        let now_ms = self.clock.now_ms();
        let mut state = self.state.lock();
        if state.leader.is_some() {
            return;
        }
        let able: Vec<u64> =
            state.machines.iter().filter(|(_, machine)| machine.hears()).map(|(node, _)| *node).collect();
        let Some(&next) = able.get(self.clock.below(able.len() as u64) as usize) else { return };
        state.term += 1;
        state.leader = Some(next);
        let term = state.term;
        let machine = state.machine(next, now_ms);
        machine.granter.became_leader(now_ms, term, &State::membership());
        // a leader applies everything at once
        machine.hear_again(&self.clock);
    }
    /// The leader of the meta group leads no more; another one is chosen later.
    pub fn depose(self: &Arc<World>) {
        let mut state = self.state.lock();
        let Some(leader) = state.leader.take() else { return };
        state.machines.get_mut(&leader).expect("a node").granter.lost_leadership();
        drop(state);
        let (world, after) = (self.clone(), self.clock.between(200, 1_500));
        self.clock.spawn(NOBODY, async move {
            world.clock.sleep(after).await;
            world.elect();
        });
    }
    /// Ends a node as kill -9 does, and starts it again later. Only one is down at a time.
    pub fn kill(self: &Arc<World>, node: u64, for_ms: u64) {
        let mut state = self.state.lock();
        if state.machines.values().any(|machine| !machine.hears()) {
            return;
        }
        state.counts.kills += 1;
        let machine = state.machines.get_mut(&node).expect("a node");
        self.clock.end(machine.life);
        machine.is_up = false;
        machine.life += 1;
        machine.writes = Arc::default();
        machine.holder = LeaseHolder::new(machine.life);
        machine.granter = LeaseGranter::new(node);
        let led = state.leader == Some(node);
        drop(state);
        if led {
            self.depose();
        }
        let world = self.clone();
        self.clock.spawn(NOBODY, async move {
            world.clock.sleep(for_ms).await;
            world.start(node);
        });
    }
    fn start(self: &Arc<World>, node: u64) {
        let mut state = self.state.lock();
        let machine = state.machines.get_mut(&node).expect("a node");
        machine.is_up = true;
        machine.hear_again(&self.clock);
        let groups: Vec<GroupId> = machine.replicas.keys().copied().collect();
        // it serves no read before it shows everything
        for group in groups {
            state.replica(node, group, u64::MAX, self.mutant);
        }
        drop(state);
        drive::start(self, node);
    }
    /// Lets a node hear nothing of the meta group for a while.
    pub fn cut(self: &Arc<World>, node: u64, for_ms: u64) {
        let mut state = self.state.lock();
        if state.machines.values().any(|machine| !machine.hears()) {
            return;
        }
        state.counts.cuts += 1;
        state.machine(node, self.clock.now_ms()).is_cut = true;
        let led = state.leader == Some(node);
        drop(state);
        if led {
            self.depose();
        }
        let world = self.clone();
        self.clock.spawn(NOBODY, async move {
            world.clock.sleep(for_ms).await;
            let mut state = world.state.lock();
            let machine = state.machines.get_mut(&node).expect("a node");
            machine.is_cut = false;
            machine.hear_again(&world.clock);
        });
    }

    /// Asks the leader for a lease, for a node that goes on living for it.
    pub async fn ask_lease(self: Arc<World>, node: u64, life: Life) {
        let now_ms = self.clock.now_ms();
        let ask = self.with(node, |machine| machine.holder.ask(now_ms));
        let (Some(there), Some(back)) = (self.delay(), self.delay()) else { return };
        self.clock.sleep(there).await;
        let now_ms = self.clock.now_ms();
        let grant = {
            let mut state = self.state.lock();
            let Some(leader) = state.leader_for(node) else { return };
            let confirmed = Confirmed { term: state.term, log_index: state.log_end(GroupId::META) };
            let machine = state.machine(leader, now_ms);
            let applied = machine.applied;
            machine.granter.members_are(now_ms, &State::membership());
            machine.granter.grant(now_ms, node, confirmed, applied)
        };
        self.clock.sleep(back).await;
        let now_ms = self.clock.now_ms();
        if let Ok(grant) = grant {
            self.with(node, |machine| {
                if machine.life == life && machine.hears() {
                    machine.holder.granted(now_ms, ask, grant);
                }
            });
        }
    }
}
