//! What do clients write, move and read? What they must see of it is in [`super::truth`].

use super::executor::NOBODY;
use super::seat::{Role, Seat};
use super::truth::{PLACE, RECORDS, Truth, is_absent, shown};
use super::world::World;
use crate::command::MetaCommand;
use crate::context::proposer::Accepted;
use crate::disk::Purpose;
use crate::users::records::deletion_of;
use crate::users::{routing, write};
use crate::write::env::Env;
use quorate_model::user::owned_id;
use quorate_model::{IndexName, NodeId, RecordOp, Result, UserId};
use quorate_node::ops::Incarnation;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::sync::oneshot;

/// Somebody's call on a node; `None` when the node dies.
pub async fn call<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    world: &Arc<World>,
    node: u64,
    work: impl FnOnce(Seat) -> F,
) -> Option<T> {
    let seat = Seat::new(world, node, Role::Call);
    let (tell, told) = oneshot::channel();
    let (life, work) = (seat.life, work(seat));
    world.clock.spawn(life, async move {
        let answer = work.await;
        // the caller may have gone away
        let _is_heard = tell.send(answer);
    });
    told.await.ok()
}

/// A node that is up and has joined.
pub fn some_node(world: &World) -> u64 {
    let state = world.state();
    let is_there = |node: u64| state.machines[&node].is_up && state.decided.nodes.contains_key(&NodeId(node));
    let up: Vec<u64> = state.machines.keys().copied().filter(|node| is_there(*node)).collect();
    up[world.clock.below(up.len() as u64) as usize]
}

/// Writes one record after another until the user's time is over.
pub async fn write(world: Arc<World>, truth: Arc<Truth>) {
    loop {
        world.clock.sleep(world.clock.between(1, 100)).await;
        if truth.is_over() {
            break;
        }
        let Some((name, life)) = world.indices.begin_write(&world.clock) else { continue };
        if !truth.has_given_up(life) {
            truth.writes_under_way.store(true, Ordering::Relaxed);
            write_one(&world, &truth, (name, life)).await;
            truth.writes_under_way.store(false, Ordering::Relaxed);
        }
        world.indices.end_write(life);
    }
}

async fn write_one(world: &Arc<World>, truth: &Arc<Truth>, (name, life): (IndexName, Incarnation)) {
    let is_deletion = world.clock.below(12) == 0;
    let (op, states) = match is_deletion {
        true => {
            // as `clear` and `deleteBy` do
            let place = [None, Some(world.clock.below(RECORDS))][world.clock.below(2) as usize];
            let params = place.map_or(json!({}), |place| json!({PLACE: place})).to_string();
            let params = deletion_of(&truth.user, params.as_bytes()).expect("own parameters");
            (RecordOp::DeleteBy { params }, truth.begin_deletion(life, place))
        }
        false => {
            let key = (life, truth.number(life, world.clock.below(RECORDS)));
            let state = truth.begin_write(key);
            let object_id = owned_id(&truth.user, &key.1.to_string());
            let op = match is_absent(state) {
                true => RecordOp::Delete { object_id },
                false => RecordOp::Put { object_id, record: state.to_string().into_bytes() },
            };
            (op, BTreeMap::from([(key, state)]))
        }
    };
    let (accepted, is_stray) = written(world, truth, name, op).await;
    states.keys().for_each(|key| truth.register(*key, |register| register.has_strays |= is_stray));
    world.count(|counts| counts.done_again += u64::from(is_stray));
    let Some(accepted) = accepted else {
        states.keys().for_each(|key| truth.register(*key, |register| register.is_over = true));
        if is_deletion {
            truth.give_up(life);
        }
        world.count(|counts| counts.unknown += 1);
        return;
    };
    truth.answered(&states, is_deletion);
    world.count(|counts| match is_deletion {
        true => counts.wiped += 1,
        false if states.values().all(|state| is_absent(*state)) => counts.deletions += 1,
        false => counts.writes += 1,
    });
    let task = accepted.task_id;
    while !world.is_shown(task.group(), task.log_index()) {
        world.clock.sleep(3).await;
    }
    truth.published(&states, is_deletion);
}

/// One write by any node: what was answered, and whether it was done again.
pub async fn written(
    world: &Arc<World>,
    truth: &Arc<Truth>,
    name: IndexName,
    op: RecordOp,
) -> (Option<Accepted>, bool) {
    let (node, user) = (some_node(world), truth.user.clone());
    let answer = call(world, node, |seat| async move {
        let answer = write::with_user(&seat, &user, &name, vec![op]).await;
        (answer, seat.proposals() > 1)
    });
    let (answer, is_stray) = answer.await.map_or((None, false), |(answer, again)| (Some(answer), again));
    if let Some(Err(error)) = &answer {
        assert!(!world.climate.is_calm(), "a write of {} is refused: {error}", truth.user);
    }
    (answer.and_then(Result::ok), is_stray)
}

/// Reads all records of a user until its time is over.
pub async fn read(world: Arc<World>, truth: Arc<Truth>) {
    loop {
        world.clock.sleep(world.clock.between(1, 150)).await;
        if truth.is_over() {
            return;
        }
        let node = some_node(&world);
        if let Some(index) = world.indices.some(&world.clock) {
            read_once(&world, &truth, node, index).await;
        }
    }
}

/// Reads all records of a user in an index by one node, and checks them.
pub async fn read_once(
    world: &Arc<World>,
    truth: &Arc<Truth>,
    node: u64,
    (name, life): (IndexName, Incarnation),
) {
    let before = truth.registers(life);
    let (user, named) = (truth.user.clone(), name.clone());
    let answer = call(world, node, |seat| async move {
        let (asker, whose) = (seat.clone(), user.clone());
        let ask = move |cluster| {
            let (seat, user, name) = (asker.clone(), whose.clone(), named.clone());
            async move { seat.read_partition(cluster, &user, (&name, life)).await }
        };
        let found = routing::read(&seat, &user, ask).await;
        (found, seat.is_cut_off())
    });
    let answer = answer.await;
    if !world.indices.is_still(&name, life) {
        return;
    }
    match answer {
        Some((Ok(Some(found)), false)) => {
            world.count(|counts| counts.reads += 1);
            let what = format!("at {} ms by node {node} in {name}", world.clock.now_ms());
            truth.check(life, &before, &shown(&found), &what);
        }
        // the node knows another index of that name
        Some((Ok(None), false)) => {}
        Some((Err(error), false)) => panic!("a read of {} by node {node} is refused: {error}", truth.user),
        // what a node knows that is cut off from the others has to do
        Some((_, true)) => world.count(|counts| counts.cut_off += 1),
        None => {}
    }
}

impl Seat {
    /// What a replica of a cluster's partition shows of a user now.
    async fn read_partition(
        &self,
        cluster: u16,
        user: &UserId,
        (name, life): (&IndexName, Incarnation),
    ) -> Result<Option<BTreeMap<String, Vec<u8>>>> {
        self.look_again(name).await;
        let partition = routing::partition_for_read(self, name, cluster).await?;
        let meta = self.meta();
        if meta.catalogue.get(name).is_none_or(|row| row.incarnation != life) {
            return Ok(None);
        }
        if partition == *name && meta.partition_of(name, cluster)? != *name {
            // the cluster came after the index: its users see the public records of the home until something is written there
            return Ok(Some(BTreeMap::new()));
        }
        let Some(row) = meta.catalogue.get(&partition) else { return Ok(None) };
        self.world.clock.sleep(self.world.clock.below(4)).await;
        let holder = self.replica_of(row.group).expect("one node is down at a time");
        let now_ms = self.world.clock.now_ms();
        let mutant = self.world.mutant;
        let found = self.world.state().replica(holder, row.group, now_ms, mutant).of(row.incarnation, user);
        self.world.clock.sleep(self.world.clock.below(4)).await;
        Ok(Some(found))
    }
}

/// Has something decided by any node, again until one has done it.
pub async fn decide(world: &Arc<World>, command: MetaCommand) {
    loop {
        let (node, command) = (some_node(world), command.clone());
        let decided = call(world, node, |seat| async move {
            seat.decide(command, Purpose::Add, seat.write_deadline()).await.is_ok()
        });
        if decided.await == Some(true) {
            return;
        }
        world.clock.sleep(50).await;
    }
}

/// Moves users to and fro until the time is over; returns how many are still being moved about.
pub fn move_about(world: &Arc<World>, truths: &[Arc<Truth>], is_over: Arc<AtomicBool>) -> Arc<AtomicUsize> {
    let left = Arc::new(AtomicUsize::new(truths.len()));
    for truth in truths {
        let (world, user, is_over) = (world.clone(), truth.user.clone(), is_over.clone());
        let left = left.clone();
        world.clone().clock.spawn(NOBODY, async move {
            while !is_over.load(Ordering::Relaxed) {
                world.clock.sleep(world.clock.between(10, 1_500)).await;
                let to = world.clock.below(3) as u16;
                decide(&world, MetaCommand::MoveUser { user: user.clone(), to }).await;
            }
            left.fetch_sub(1, Ordering::Relaxed);
        });
    }
    left
}
