//! How does the real code of moves and of placing reach the simulated world?

use super::executor::{Life, NOBODY};
use super::mutant::Mutant;
use super::world::{NODES, World, cluster_of};
use crate::command::Copied;
use crate::command::MetaCommand;
use crate::context::proposer::Accepted;
use crate::context::user_writes::UserWrites;
use crate::disk::Purpose;
use crate::groups::leases::Hold;
use crate::meta::{IndexRow, MetaState, Reserved, UserState};
use crate::read::index_config::IndexConfig;
use crate::types::OwnedDigest;
use crate::types::Whose;
use crate::write::copies::Filling;
use crate::write::env::{ASK, Env, seen};
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use quorate_model::user::owner_of;
use quorate_model::{Error, GroupId, IndexName, NodeId, RecordOp, Result, Settings, TaskId};
use quorate_node::ops::{Incarnation, IndexCommand};
use quorate_raft::lease::{Published, Shows};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long a command waits for a leader.
const LEADER_WAIT_MS: u64 = 8_000;

/// How long somebody waits for the answer to a message that was lost: a connection that says nothing is given up.
const LOST_MS: u64 = 10_000;

/// How much later a command comes a second time, at most.
pub const AGAIN_MS: u64 = 4_000;

/// Who does something on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Somebody's call.
    Call,
    /// The node that drives moves.
    Driver,
}

/// A node in the world, for one life.
#[derive(Clone)]
pub struct Seat {
    pub world: Arc<World>,
    pub node: u64,
    pub life: Life,
    writes: Arc<UserWrites>,
    role: Role,
    is_cut_off: Arc<AtomicBool>,
    proposals: Arc<AtomicU64>,
    /// What a planted bug takes for the catalogue.
    old: Option<Arc<MetaState>>,
    /// What was written to last, by the name that it had then: for a planted bug.
    written: Arc<Mutex<Option<(IndexName, Incarnation)>>>,
}

impl Seat {
    pub fn new(world: &Arc<World>, node: u64, role: Role) -> Seat {
        let (life, writes) = world.with(node, |machine| (machine.life, machine.writes.clone()));
        Seat {
            world: world.clone(),
            node,
            life,
            writes,
            role,
            is_cut_off: Arc::default(),
            proposals: Arc::default(),
            old: None,
            written: Arc::default(),
        }
    }
    /// The same with a planted bug: what is known of the indices does not change any more.
    pub fn with_old_catalogue(&self) -> Seat {
        Seat { old: Some(self.meta()), ..self.clone() }
    }
    /// Whether the others could not be asked when they had to be: what the node knows may be old.
    pub fn is_cut_off(&self) -> bool {
        self.is_cut_off.load(Ordering::Relaxed)
    }
    fn is(&self, mutant: Mutant) -> bool {
        self.world.mutant == Some(mutant)
    }
    /// Commands that it wanted in the log of a group of records.
    pub fn proposals(&self) -> u64 {
        self.proposals.load(Ordering::Relaxed)
    }
    /// Sends a command away; the answer says where it is. It may be carried out although nobody waits any more.
    async fn send(
        &self,
        deadline: Instant,
        work: impl Fn(&Arc<World>) -> Option<u64> + Send + 'static,
        is_repeatable: bool,
    ) -> Result<Option<u64>> {
        let (tell, told) = oneshot::channel();
        let world = self.world.clone();
        let (there, back) = (world.delay(), world.delay());
        world.clone().clock.spawn(NOBODY, async move {
            let Some(there) = there else { return };
            world.clock.sleep(there).await;
            let outcome = work(&world);
            if is_repeatable && world.clock.per_mille(world.climate.again) {
                let (world, after) = (world.clone(), world.clock.below(AGAIN_MS));
                world.count(|counts| counts.repeated += 1);
                world.clone().clock.spawn(NOBODY, async move {
                    world.clock.sleep(after).await;
                    work(&world);
                });
            }
            let Some(back) = back else { return };
            world.clock.sleep(back).await;
            // nobody waits for it any more, perhaps
            let _is_heard = tell.send(outcome);
        });
        let given_up = self.world.ms_of(deadline).min(self.world.clock.now_ms() + LOST_MS);
        let until = self.world.clock.until(given_up);
        match select(told, until).await {
            Either::Left((Ok(outcome), _)) => Ok(outcome),
            Either::Left((Err(_), _)) | Either::Right(_) => {
                Err(Error::unavailable("a message was lost; the outcome is not known"))
            }
        }
    }
    /// A replica of a group that can be asked: that of this node, otherwise another one's.
    pub fn replica_of(&self, group: GroupId) -> Option<u64> {
        let holders = NODES.into_iter().filter(|(_, cluster)| *cluster == cluster_of(group));
        let up: Vec<u64> = {
            let state = self.world.state();
            holders.map(|(node, _)| node).filter(|node| state.machines[node].is_up).collect()
        };
        match up.contains(&self.node) {
            true => Some(self.node),
            false => up.get(self.world.clock.below(up.len() as u64) as usize).copied(),
        }
    }
    /// Asks a replica once it shows everything that was written before.
    async fn ask_replica<T>(
        &self,
        row: &IndexRow,
        deadline: Instant,
        ask: impl Fn(&super::groups::Replica) -> T,
    ) -> Result<T> {
        let lost = || Error::unavailable("no replica answers");
        let (there, back) = (self.world.delay().ok_or_else(lost)?, self.world.delay().ok_or_else(lost)?);
        self.world.clock.sleep(there).await;
        let written = match self.is(Mutant::CopiesOldRecords) {
            true => 0,
            false => self.world.state().log_end(row.group),
        };
        let answer = loop {
            let Some(holder) = self.replica_of(row.group) else { return Err(lost()) };
            let now_ms = self.world.clock.now_ms();
            let mutant = self.world.mutant;
            {
                let mut state = self.world.state();
                let replica = state.replica(holder, row.group, now_ms, mutant);
                if replica.applied >= written {
                    break ask(replica);
                }
            }
            if self.now() >= deadline {
                return Err(lost());
            }
            self.world.clock.sleep(5).await;
        };
        self.world.clock.sleep(back).await;
        Ok(answer)
    }
    /// Waits until this node knows what the leader of the meta group knows now.
    async fn ask_the_leader(&self) -> Result<()> {
        let deadline = self.now() + ASK;
        let node = self.node;
        let asked = self.send(
            deadline,
            move |world| {
                let state = world.state();
                state.leader_for(node).map(|_| state.log_end(GroupId::META))
            },
            false,
        );
        let known = asked.await?.ok_or_else(|| Error::unavailable("the meta group has no leader"))?;
        while self.known_through()? < known {
            if self.now() >= deadline {
                return Err(Error::unavailable("not known in time"));
            }
            self.world.clock.sleep(2).await;
        }
        Ok(())
    }
    async fn is_known_to_all(&self, log_index: u64) -> bool {
        let world = &self.world;
        let Some(there) = world.delay() else { return false };
        world.clock.sleep(there).await;
        let now_ms = world.clock.now_ms();
        let (leader, term, holders) = {
            let mut state = world.state();
            let term = state.term;
            let Some(leader) = state.leader_for(self.node) else { return false };
            (leader, term, state.machine(leader, now_ms).granter.holders(now_ms))
        };
        let mut shown = BTreeMap::new();
        for holder in holders {
            world.clock.sleep(world.clock.below(4)).await;
            let late_writes_count = !self.is(Mutant::ForgetsLateWrites);
            let shows = world.with(holder, |machine| match machine.hears() {
                false => Shows::Unknown,
                true if machine.applied < log_index => Shows::No,
                true if late_writes_count && machine.writes.hold_up(&machine.meta) => Shows::No,
                true => Shows::Yes,
            });
            shown.insert(holder, shows);
        }
        if self.is(Mutant::HearsNobody) {
            return true;
        }
        let now_ms = world.clock.now_ms();
        let mut state = world.state();
        let leads = (state.leader == Some(leader)).then_some(state.term).filter(|now| *now == term);
        let shows = |holder: u64| shown.get(&holder).copied().unwrap_or(Shows::Unknown);
        state.machine(leader, now_ms).granter.published(now_ms, leads, log_index, shows) == Published::Yes
    }
}

impl Seat {
    /// The command that a planted bug makes of one.
    fn mutated(&self, command: MetaCommand) -> MetaCommand {
        match command {
            MetaCommand::StepUserAfterLook { user, epoch, step, .. }
                if self.is(Mutant::ReadsTheCatalogueOnce) =>
            {
                MetaCommand::StepUser { user, epoch, step }
            }
            command => command,
        }
    }
    /// The index that a caller's command writes to, by its name here.
    fn named(&self, command: &IndexCommand) -> Option<(IndexName, Incarnation)> {
        let IndexCommand::Records { index, .. } = command else { return None };
        let meta = self.world.with(self.node, |machine| machine.meta.clone());
        let (name, _) = meta.catalogue.iter().find(|(_, row)| row.incarnation == *index)?;
        (self.role == Role::Call).then(|| (name.clone(), *index))
    }
    /// Copies the second half of the records again, as they are a while later.
    async fn copy_the_rest(&self, Filling { group, from, to, .. }: &Filling) {
        self.world.clock.sleep(self.world.clock.below(300)).await;
        let records = self.world.records_written(*group);
        let is_of_it = |id: &str| owner_of(id).1.parse().is_ok_and(|number: u64| number % 2 == 1);
        let own = |of: Incarnation| {
            let own = records.iter().filter(move |((index, id), _)| *index == of && is_of_it(id));
            own.map(|((_, id), record)| (id, record)).collect::<BTreeMap<_, _>>()
        };
        let (source, copy) = (own(*from), own(*to));
        let put = source
            .iter()
            .map(|(id, record)| RecordOp::Put { object_id: (*id).clone(), record: (*record).clone() });
        let gone = copy.keys().filter(|id| !source.contains_key(*id));
        let ops = put.chain(gone.map(|id| RecordOp::Delete { object_id: (*id).clone() })).collect();
        self.world.append(*group, IndexCommand::Records { index: *to, ops });
    }
    async fn point_one_by_one(&self, copies: Vec<Copied>, deadline: Instant) -> Result<Accepted> {
        let mut last = None;
        for Copied { name, incarnation, group } in copies {
            let command = MetaCommand::PointIndex { name, incarnation, group };
            last = Some(self.put(command, deadline).await?);
        }
        Ok(last.expect("at least one copy"))
    }
    /// Puts a command into the meta log, whoever leads it.
    async fn put(&self, command: MetaCommand, deadline: Instant) -> Result<Accepted> {
        let until = self.world.clock.now_ms() + LEADER_WAIT_MS;
        let is_step = matches!(command, MetaCommand::StepUser { .. } | MetaCommand::StepUserAfterLook { .. });
        let log_index = loop {
            let (node, command) = (self.node, command.clone());
            let put = move |world: &Arc<World>| {
                let (leader, before) = {
                    let state = world.state();
                    (state.leader_for(node)?, state.decided.users.clone())
                };
                let at = world.append_meta(command.clone());
                let is_step = is_step && world.state().decided.users != before;
                if is_step && world.clock.per_mille(world.climate.kill_at_step) {
                    world.kill(leader, world.clock.between(100, 6_000));
                }
                Some(at)
            };
            if let Some(log_index) = self.send(deadline, put, is_step).await? {
                break log_index;
            }
            if self.world.clock.now_ms() >= until {
                return Err(Error::unavailable("no leader"));
            }
            self.world.clock.sleep(20).await;
        };
        while self.known_through()? < log_index {
            if self.now() >= deadline {
                return Err(Error::unavailable("not known in time"));
            }
            self.world.clock.sleep(2).await;
        }
        Ok(Accepted { task_id: TaskId::new(GroupId::META, log_index), time_ms: self.world.clock.now_ms() })
    }
}

impl Env for Seat {
    fn meta(&self) -> Arc<MetaState> {
        let meta = self.world.with(self.node, |machine| machine.meta.clone());
        if let Some(old) = &self.old {
            let mut old = (**old).clone();
            (old.users, old.reserved) = (meta.users.clone(), Reserved::default());
            return Arc::new(old);
        }
        if let Some((name, index)) = &*self.written.lock()
            && meta.catalogue.get(name).is_none_or(|row| row.incarnation != *index)
        {
            return without(&meta, *index);
        }
        if self.is(Mutant::ForgetsCopies) && self.role == Role::Driver {
            let mut without = (*meta).clone();
            without.reserved = Reserved::default();
            return Arc::new(without);
        }
        if !(self.is(Mutant::DoesNotFreeze) && self.role == Role::Call) {
            return meta;
        }
        let mut seen = (*meta).clone();
        for user in meta.users.pending.keys() {
            if let Some(mut row) = meta.users.map.get(user).copied()
                && let UserState::Frozen { to } = row.state
            {
                row.state = UserState::Copying { to };
                seen.users.map.put(user.clone(), row);
            }
        }
        Arc::new(seen)
    }
    fn known_through(&self) -> Result<u64> {
        Ok(self.world.with(self.node, |machine| machine.applied))
    }
    fn writes(&self) -> &UserWrites {
        &self.writes
    }
    fn now(&self) -> Instant {
        self.world.instant()
    }
    async fn pause(&self, time: Duration) {
        self.world.clock.sleep(time.as_millis() as u64).await;
    }
    fn hold(&self) -> Option<Hold> {
        if self.is(Mutant::BelievesForever) {
            return Some(Hold::Alone);
        }
        let now_ms = self.world.clock.now_ms();
        self.world.with(self.node, |machine| machine.holder.lease(now_ms, machine.applied)).map(Hold::Lease)
    }
    fn is_unbroken(&self, hold: Option<Hold>) -> bool {
        let now_ms = self.world.clock.now_ms();
        match hold {
            _ if self.is(Mutant::BelievesForever) => true,
            Some(Hold::Lease(lease)) => {
                self.world.with(self.node, |machine| machine.holder.is_unbroken(now_ms, lease))
            }
            Some(Hold::Alone) | None => false,
        }
    }
    async fn learn(&self) -> Result<()> {
        let learned = self.ask_the_leader().await;
        self.is_cut_off.fetch_or(learned.is_err(), Ordering::Relaxed);
        learned
    }
    async fn look_again(&self, name: &IndexName) {
        if self.hold().is_some() && self.meta().catalogue.get(name).is_some() {
            return;
        }
        // what is known has to do when nobody answers
        let _ = self.learn().await;
    }
    async fn decide(&self, command: MetaCommand, _purpose: Purpose, deadline: Instant) -> Result<Accepted> {
        let command = match command {
            MetaCommand::PointCopy { copies, .. } if self.is(Mutant::PointsPartByPart) => {
                return self.point_one_by_one(copies, deadline).await;
            }
            command => self.mutated(command),
        };
        self.put(command, deadline).await
    }
    async fn propose(
        &self,
        group: GroupId,
        command: IndexCommand,
        _purpose: Purpose,
        deadline: Instant,
    ) -> Result<Accepted> {
        let command = match command {
            IndexCommand::ForUser { user, epoch, command } if self.is(Mutant::CopiesNoDeletions) => {
                IndexCommand::ForUser { user, epoch, command: Box::new(without_deletions(*command)) }
            }
            other => other,
        };
        self.proposals.fetch_add(1, Ordering::Relaxed);
        let is_of_a_move = matches!(command, IndexCommand::ForUser { .. });
        let named = self.named(&command);
        if self.is(Mutant::RepeatsRenamed) {
            self.written.lock().clone_from(&named);
        }
        let skips = self.is(Mutant::SkipsRenamed);
        let put = move |world: &Arc<World>| match &named {
            Some((name, index)) if skips && world.has_renamed(name, *index) => {
                Some(world.state().log_end(group))
            }
            _ => Some(world.append(group, command.clone())),
        };
        let log_index = self.send(deadline, put, is_of_a_move).await?;
        let log_index = log_index.expect("a group of records always takes it");
        Ok(Accepted { task_id: TaskId::new(group, log_index), time_ms: self.world.clock.now_ms() })
    }
    fn group_for(&self, name: &IndexName) -> Result<GroupId> {
        let meta = self.meta();
        let cluster = meta.nodes.get(&NodeId(self.node)).and_then(|row| meta.clusters.get(&row.cluster));
        let group = cluster.map(|cluster| meta.group_in(cluster.number, name));
        group.ok_or_else(|| Error::unavailable("this node has not joined its cluster yet"))
    }
    async fn index_for_write(&self, name: &IndexName, deadline: Instant) -> Result<IndexRow> {
        loop {
            if let Ok(row) = self.row(name) {
                return Ok(row);
            }
            let create = MetaCommand::CreateIndex { name: name.clone(), group: self.group_for(name)? };
            self.decide(create, Purpose::Add, deadline).await?;
        }
    }
    async fn make_partitions(&self, name: &IndexName, deadline: Instant) -> Result<()> {
        let command = MetaCommand::MakePartitions { name: name.clone() };
        self.decide(command, Purpose::Add, deadline).await.map(drop)
    }
    async fn fill(&self, filling: &Filling, deadline: Instant) -> Result<Option<TaskId>> {
        let Filling { group, from, to, .. } = *filling;
        let copy = IndexCommand::Copy { from, to };
        let task = self.propose(group, copy, Purpose::Add, deadline).await?.task_id;
        if self.is(Mutant::CopiesInTwo) {
            self.copy_the_rest(filling).await;
        }
        // a large partition takes its time until it is shown
        self.world.clock.sleep(self.world.slowness()).await;
        seen(self, task, deadline).await.map(|()| None)
    }
    async fn configuration(&self, row: &IndexRow, deadline: Instant) -> Result<IndexConfig> {
        let index = row.incarnation;
        let document = self.ask_replica(row, deadline, move |replica| {
            replica.settings.get(&index).cloned().unwrap_or_default()
        });
        let settings = Arc::new(Settings::from_document(&document.await?)?);
        Ok(IndexConfig { settings, resources: vec![] })
    }
    async fn is_published(&self, task: TaskId) -> bool {
        match task.group() {
            GroupId::META => self.is_known_to_all(task.log_index()).await,
            _ if self.is(Mutant::ShowsTooEarly) => true,
            group => {
                let (there, back) = (self.world.clock.below(4), self.world.clock.below(4));
                self.world.clock.sleep(there).await;
                let is_shown = self.world.is_shown(group, task.log_index());
                self.world.clock.sleep(back).await;
                is_shown
            }
        }
    }
    async fn digest(&self, row: &IndexRow, whose: &Whose, deadline: Instant) -> Result<OwnedDigest> {
        let index = row.incarnation;
        let digest = self.ask_replica(row, deadline, move |replica| {
            let number = |record: &Vec<u8>| {
                let mut hasher = DefaultHasher::new();
                record.hash(&mut hasher);
                hasher.finish()
            };
            let own = replica.of(index, &whose.owner);
            own.into_iter().map(|(id, record)| (id, number(&record))).collect()
        });
        digest.await
    }
    async fn records(
        &self,
        row: &IndexRow,
        ids: &[String],
        deadline: Instant,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        let index = row.incarnation;
        let found = self.ask_replica(row, deadline, move |replica| {
            ids.iter().map(|id| replica.records.get(&(index, id.clone())).cloned()).collect()
        });
        found.await
    }
}

/// What is known, without an index.
fn without(meta: &MetaState, index: Incarnation) -> Arc<MetaState> {
    let mut without = meta.clone();
    let found = meta.catalogue.iter().find(|(_, row)| row.incarnation == index);
    if let Some((name, _)) = found {
        without.catalogue.remove(name);
    }
    Arc::new(without)
}

fn without_deletions(command: IndexCommand) -> IndexCommand {
    match command {
        IndexCommand::Records { index, ops } => {
            let stays = |op: &RecordOp| !matches!(op, RecordOp::Delete { .. });
            IndexCommand::Records { index, ops: ops.into_iter().filter(stays).collect() }
        }
        other => other,
    }
}
