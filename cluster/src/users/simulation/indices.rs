//! Which indices are there, and what is done to them while their users move?
//!
//! An index is known by its incarnation: a rename changes what it is called, a copy is a new one whose records are those of
//! its source at some moment of the copy. Most clients wait with what they do in an index while it is renamed or ends, but not
//! those of [`super::hasty`]; nobody waits for copies and links.

use super::clients::{call, some_node};
use super::drive::announce;
use super::executor::{Clock, NOBODY};
use super::hasty::Hasty;
use super::seat::Seat;
use super::truth::{Mark, Truth};
use super::world::{FIRST_NODES, NODES, World};
use super::{index, joining};
use crate::command::WantedReplica;
use crate::command::{MetaCommand, Subject};
use crate::disk::Purpose;
use crate::meta::{MetaState, Role};
use crate::write::copies;
use crate::write::env::{Env, seen};
use parking_lot::Mutex;
use quorate_model::{IndexName, NodeId, Result};
use quorate_node::ops::{Incarnation, ReplicaKind};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Names that indices get.
const NAMES: [&str; 13] = ["e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q"];
/// Those that copies get which are made without a break.
const NAMES_OF_COPIES: [&str; 9] = ["r", "s", "t", "u", "v", "w", "x", "y", "z"];
/// Indices that are there at a time: between these.
const FEW: usize = 2;
const MANY: usize = 4;
/// Copies at a time, where these go on without a break.
const COPIERS: usize = 3;
/// Longer than any message is under way.
const ARRIVED_MS: u64 = 7_000;
/// How long a copy may take.
const COPY: Duration = Duration::from_secs(8);

struct Live {
    name: IndexName,
    writes: usize,
    /// Nobody writes or reads it for now.
    is_closed: bool,
    /// Somebody changes it, or copies it.
    is_claimed: bool,
}

#[derive(Default)]
pub struct Indices {
    lives: Mutex<BTreeMap<Incarnation, Live>>,
    /// Names of indices that are being made.
    taken: Mutex<BTreeSet<IndexName>>,
    /// Somebody links or lets a cluster join: one of the two at a time.
    is_linking: AtomicBool,
}

impl Indices {
    pub fn add(&self, name: IndexName, life: Incarnation) {
        let live = Live { name, writes: 0, is_closed: false, is_claimed: false };
        self.lives.lock().insert(life, live);
    }
    pub fn all(&self) -> Vec<(IndexName, Incarnation)> {
        self.lives.lock().iter().map(|(life, live)| (live.name.clone(), *life)).collect()
    }
    /// An index that is open.
    pub fn some(&self, clock: &Clock) -> Option<(IndexName, Incarnation)> {
        let lives = self.lives.lock();
        let open: Vec<_> = lives.iter().filter(|(_, live)| !live.is_closed).collect();
        let (life, live) = open.get(clock.below(open.len() as u64) as usize)?;
        Some((live.name.clone(), **life))
    }
    pub fn begin_write(&self, clock: &Clock) -> Option<(IndexName, Incarnation)> {
        let found = self.some(clock)?;
        self.with(found.1, |live| live.writes += 1);
        Some(found)
    }
    pub fn end_write(&self, life: Incarnation) {
        self.with(life, |live| live.writes -= 1);
    }
    /// Whether an index is open under a name.
    pub fn is_still(&self, name: &IndexName, life: Incarnation) -> bool {
        self.lives.lock().get(&life).is_some_and(|live| !live.is_closed && live.name == *name)
    }
    fn with(&self, life: Incarnation, change: impl FnOnce(&mut Live)) {
        change(self.lives.lock().get_mut(&life).expect("an index that is there"));
    }
    /// An index that nobody else changes.
    fn claim(&self, clock: &Clock) -> Option<(IndexName, Incarnation)> {
        let mut lives = self.lives.lock();
        let free: Vec<Incarnation> =
            lives.iter().filter(|(_, live)| !live.is_claimed).map(|(life, _)| *life).collect();
        let life = *free.get(clock.below(free.len() as u64) as usize)?;
        let live = lives.get_mut(&life)?;
        live.is_claimed = true;
        Some((live.name.clone(), life))
    }
    fn free_name(&self, clock: &Clock, names: &[&str]) -> Option<IndexName> {
        let (lives, mut taken) = (self.lives.lock(), self.taken.lock());
        let is_free =
            |name: &IndexName| !taken.contains(name) && lives.values().all(|live| live.name != *name);
        let free: Vec<IndexName> =
            names.iter().map(|name| IndexName::new(name).expect("valid")).filter(is_free).collect();
        let name = free.get(clock.below(free.len() as u64) as usize)?.clone();
        taken.insert(name.clone());
        Some(name)
    }
    /// Lets nobody begin to write or read it, and returns when no write is under way.
    async fn close(&self, clock: &Clock, life: Incarnation) {
        self.with(life, |live| live.is_closed = true);
        while self.lives.lock()[&life].writes > 0 {
            clock.sleep(3).await;
        }
    }
    /// Opens what is still there, under the name that it has now.
    fn let_go(&self, world: &World, life: Incarnation) {
        let _is_there = self.release(world, life);
    }
    /// The same; returns whether it is there.
    fn release(&self, world: &World, life: Incarnation) -> bool {
        let name = name_of(&world.state().decided, life);
        let mut lives = self.lives.lock();
        let Some(name) = name else {
            lives.remove(&life);
            world.count(|counts| counts.ended += 1);
            return false;
        };
        let live = lives.get_mut(&life).expect("it was claimed");
        (live.name, live.is_closed, live.is_claimed) = (name, false, false);
        true
    }
}

fn name_of(meta: &MetaState, life: Incarnation) -> Option<IndexName> {
    let is_it = |(name, row): &(&IndexName, &crate::meta::IndexRow)| {
        row.incarnation == life && name.partition().1.is_none()
    };
    meta.catalogue.iter().find(is_it).map(|(name, _)| name.clone())
}

/// The life of a name as it is decided; `None` when there is none or it follows another one.
fn life_of(world: &World, name: &IndexName) -> Option<Incarnation> {
    let state = world.state();
    state.decided.catalogue.get(name).filter(|row| row.primary().is_none()).map(|row| row.incarnation)
}

/// Has something done by any node, and returns when it is done or will not be any more, and every node that may serve knows.
async fn perform<F: Future<Output = Result<()>> + Send + 'static>(
    world: &Arc<World>,
    work: impl FnOnce(Seat) -> F,
) {
    let outcome = call(world, some_node(world), work).await;
    if let Some(Err(error)) = &outcome {
        assert!(!world.climate.is_calm(), "a change of an index is refused: {error}");
    }
    if !matches!(outcome, Some(Ok(()))) {
        world.clock.sleep(ARRIVED_MS).await;
        // what is shown by all who may serve is shown after everything before it
        let told = |seat: Seat| async move { decide(&seat, MetaCommand::StartNode).await };
        while !matches!(call(world, some_node(world), told).await, Some(Ok(()))) {
            world.clock.sleep(100).await;
        }
    }
}

async fn decide(seat: &Seat, command: MetaCommand) -> Result<()> {
    let deadline = seat.write_deadline();
    let task = seat.decide(command, Purpose::Add, deadline).await?.task_id;
    seen(seat, task, deadline).await
}

/// Changes indices until the time is over; tells how many are still at it.
pub fn change_about(
    world: &Arc<World>,
    truths: &[Arc<Truth>],
    is_over: &Arc<AtomicBool>,
) -> Arc<AtomicUsize> {
    let left = Arc::new(AtomicUsize::new(2));
    for _ in 0..2 {
        let (world, truths, is_over) = (world.clone(), truths.to_vec(), is_over.clone());
        let left = left.clone();
        world.clone().clock.spawn(NOBODY, async move {
            while !is_over.load(Ordering::Relaxed) {
                world.clock.sleep(world.clock.between(20, 900)).await;
                change(&world, &truths).await;
            }
            left.fetch_sub(1, Ordering::Relaxed);
        });
    }
    left
}

/// Copies indices without a break until the time is over, several at a time; tells how many are still at it.
pub fn copy_about(world: &Arc<World>, truths: &[Arc<Truth>], is_over: &Arc<AtomicBool>) -> Arc<AtomicUsize> {
    let left = Arc::new(AtomicUsize::new(COPIERS));
    for _ in 0..COPIERS {
        let (world, truths, is_over) = (world.clone(), truths.to_vec(), is_over.clone());
        let left = left.clone();
        world.clone().clock.spawn(NOBODY, async move {
            while !is_over.load(Ordering::Relaxed) {
                world.clock.sleep(1).await;
                let indices = &world.indices;
                let Some(it) = indices.claim(&world.clock) else { continue };
                let count = indices.lives.lock().len();
                match count < 2 * COPIERS {
                    true => copy(&world, &truths, &it, &NAMES_OF_COPIES).await,
                    false => copy_over(&world, &truths, &it).await,
                }
            }
            left.fetch_sub(1, Ordering::Relaxed);
        });
    }
    left
}

async fn change(world: &Arc<World>, truths: &[Arc<Truth>]) {
    let indices = &world.indices;
    if world.clock.below(12) == 0 {
        join(world).await;
        return;
    }
    let Some(it) = indices.claim(&world.clock) else { return };
    let count = indices.lives.lock().len();
    match world.clock.below(9) {
        0..=2 => rename(world, truths, &it).await,
        3 if count > FEW => rename_over(world, truths, &it).await,
        4 | 5 if count < MANY => copy(world, truths, &it, &NAMES).await,
        6 if count > FEW => copy_over(world, truths, &it).await,
        7 if count > FEW => delete(world, truths, &it).await,
        8 if count < MANY => link(world, truths, &it).await,
        _ => indices.let_go(world, it.1),
    }
}

/// Renames an index that somebody has claimed and closed, while others write to it; it stays closed. What they made under the
/// name that it had has to be adopted.
async fn rename_while_written(
    world: &Arc<World>,
    truths: &[Arc<Truth>],
    (from, life): (&IndexName, Incarnation),
    to: &IndexName,
) -> Arc<Hasty> {
    // one more index comes of it
    let writers = if world.indices.lives.lock().len() < MANY { truths } else { &[] };
    let hasty = Hasty::begin(world, writers, from, &[life]);
    let command = MetaCommand::MoveIndex { from: from.clone(), to: to.clone(), replicas: vec![] };
    perform(world, |seat| async move { decide(&seat, command).await }).await;
    hasty.end(world).await;
    hasty.settle(world, life).await;
    world.indices.taken.lock().insert(from.clone());
    hasty
}

/// Opens an index that was made by writes to a name which another one had until then, if there is one.
async fn adopt(world: &Arc<World>, hasty: &Hasty, (name, before): (&IndexName, Incarnation)) {
    if hasty.has_unknown() {
        world.clock.sleep(ARRIVED_MS).await;
    }
    let anew = life_of(world, name).filter(|life| *life != before);
    hasty.check_kept([Some(before), anew]);
    if let Some(anew) = anew {
        hasty.settle(world, anew).await;
        world.indices.add(name.clone(), anew);
        world.count(|counts| counts.hasty_anew += hasty.count_in(anew));
    }
    world.indices.taken.lock().remove(name);
}

async fn rename(world: &Arc<World>, truths: &[Arc<Truth>], (from, life): &(IndexName, Incarnation)) {
    let to = world.indices.free_name(&world.clock, &NAMES).expect("more names than indices");
    world.indices.close(&world.clock, *life).await;
    let hasty = rename_while_written(world, truths, (from, *life), &to).await;
    assert!(world.indices.release(world, *life), "{from} is lost on its way to {to}");
    world.indices.taken.lock().remove(&to);
    world.count(|counts| counts.renames += 1);
    adopt(world, &hasty, (from, *life)).await;
}

/// Renames an index with what follows it; somebody has claimed it. Returns its name.
async fn rename_led(
    world: &Arc<World>,
    truths: &[Arc<Truth>],
    (from, life): (&IndexName, Incarnation),
) -> IndexName {
    let indices = &world.indices;
    let to = indices.free_name(&world.clock, &NAMES).expect("more names than indices");
    indices.close(&world.clock, life).await;
    let hasty = rename_while_written(world, truths, (from, life), &to).await;
    let name = name_of(&world.state().decided, life);
    let name = name.unwrap_or_else(|| panic!("{from} is lost on its way to {to}"));
    indices.with(life, |live| (live.name, live.is_closed) = (name.clone(), false));
    indices.taken.lock().remove(&to);
    world.count(|counts| counts.led_renames += 1);
    adopt(world, &hasty, (from, life)).await;
    name
}

async fn rename_over(world: &Arc<World>, truths: &[Arc<Truth>], (from, life): &(IndexName, Incarnation)) {
    let indices = &world.indices;
    let Some((to, other)) = indices.claim(&world.clock) else { return indices.let_go(world, *life) };
    indices.close(&world.clock, *life).await;
    indices.close(&world.clock, other).await;
    // what goes to the index that is replaced is gone
    let replaced = Hasty::begin(world, truths, &to, &[*life, other]);
    let hasty = rename_while_written(world, truths, (from, *life), &to).await;
    replaced.end(world).await;
    for life in [*life, other] {
        replaced.settle(world, life).await;
    }
    indices.let_go(world, other);
    assert!(indices.release(world, *life), "{from} is lost on its way to {to}");
    world.count(|counts| counts.renames += 1);
    adopt(world, &hasty, (from, *life)).await;
}

async fn copy(world: &Arc<World>, truths: &[Arc<Truth>], it: &(IndexName, Incarnation), names: &[&str]) {
    let to = world.indices.free_name(&world.clock, names).expect("more names than indices");
    copy_to(world, truths, it, (&to, None), None).await;
    world.indices.taken.lock().remove(&to);
}
async fn copy_over(world: &Arc<World>, truths: &[Arc<Truth>], it: &(IndexName, Incarnation)) {
    let indices = &world.indices;
    let Some((to, other)) = indices.claim(&world.clock) else { return indices.let_go(world, it.1) };
    indices.close(&world.clock, other).await;
    let replaced = Hasty::begin(world, truths, &to, &[other]);
    copy_to(world, truths, it, (&to, Some(other)), Some(&replaced)).await;
    replaced.settle(world, other).await;
    indices.let_go(world, other);
}
/// What was there under the name before is released by the caller.
async fn copy_to(
    world: &Arc<World>,
    truths: &[Arc<Truth>],
    (from, life): &(IndexName, Incarnation),
    (to, before): (&IndexName, Option<Incarnation>),
    hasty: Option<&Hasty>,
) {
    let marks: Vec<_> = truths.iter().map(|truth| truth.mark(*life)).collect();
    let configured = world.configured.answered(*life);
    let (source, destination) = (from.clone(), to.clone());
    perform(world, |seat| async move {
        let deadline = seat.now() + COPY;
        let copied = copies::copy(&seat, (&source, &destination), |_| Ok(()), deadline).await?;
        seen(&seat, copied.task_id, seat.write_deadline()).await
    })
    .await;
    if let Some(hasty) = hasty {
        hasty.end(world).await;
    }
    if let Some(copied) = life_of(world, to).filter(|copied| Some(*copied) != before) {
        let of_others = |truth| hasty.map_or_else(BTreeSet::new, |hasty| hasty.numbers(truth));
        for (truth, mark) in truths.iter().zip(&marks) {
            check_copy(world, truth, (from, *life), (to, mark), &of_others(truth));
            truth.copied(*life, copied, mark);
        }
        if let Some(hasty) = hasty {
            hasty.settle(world, copied).await;
        }
        world.configured.copied(*life, copied, configured);
        world.indices.add(to.clone(), copied);
        world.count(|counts| counts.copies += 1);
    }
    world.indices.let_go(world, *life);
}

/// Checks what a copy of an index shows first; `of_others` are records that were written to the copy itself.
fn check_copy(
    world: &World,
    truth: &Truth,
    (from, life): (&IndexName, Incarnation),
    (to, mark): (&IndexName, &Mark),
    of_others: &BTreeSet<u64>,
) {
    if let Some(mut found) = truth.written(world, to) {
        found.retain(|number, _| !of_others.contains(number));
        let source = truth.written(world, from);
        let what = format!("at {} ms: {to}, a copy of {from} with {source:?}", world.clock.now_ms());
        truth.check_copy(life, mark, &found, &what);
    }
}

/// Deletes an index; another one gets its name at once.
async fn delete(world: &Arc<World>, truths: &[Arc<Truth>], (name, life): &(IndexName, Incarnation)) {
    world.indices.close(&world.clock, *life).await;
    let hasty = Hasty::begin(world, truths, name, &[*life]);
    let command = MetaCommand::DeleteIndex { name: name.clone(), incarnation: *life };
    perform(world, |seat| async move { decide(&seat, command).await }).await;
    hasty.end(world).await;
    hasty.settle(world, *life).await;
    if world.indices.release(world, *life) {
        return;
    }
    world.indices.taken.lock().insert(name.clone());
    while life_of(world, name).is_none() {
        let name = name.clone();
        perform(
            world,
            |seat| async move { seat.index_for_write(&name, seat.write_deadline()).await.map(drop) },
        )
        .await;
    }
    let anew = life_of(world, name).expect("made");
    hasty.settle(world, anew).await;
    world.indices.add(name.clone(), anew);
    world.indices.taken.lock().remove(name);
}

/// Tells all groups what follows the partitions of an index.
async fn announce_all(seat: &Seat, name: &IndexName) -> Result<()> {
    let meta = seat.meta();
    for partition in std::iter::once(name.clone()).chain(meta.other_partitions(name)) {
        let Some(row) = meta.catalogue.get(&partition) else { continue };
        let subject = Subject::Replicas(row.incarnation);
        if let Some(revision) = meta.unannounced.get(&subject) {
            announce(seat, subject, *revision).await?;
        }
    }
    Ok(())
}

/// Lets a new name follow an index for a while. What it has then stays as it is.
async fn link(world: &Arc<World>, truths: &[Arc<Truth>], (name, life): &(IndexName, Incarnation)) {
    let indices = &world.indices;
    if indices.is_linking.swap(true, Ordering::Relaxed) {
        return indices.let_go(world, *life);
    }
    let replica = indices.free_name(&world.clock, &NAMES).expect("more names than indices");
    let mut name = name.clone();
    let set = |name: &IndexName, replicas: Vec<WantedReplica>| {
        let (name, incarnation) = (name.clone(), *life);
        perform(world, move |seat| async move {
            decide(&seat, MetaCommand::SetReplicas { name: name.clone(), incarnation, replicas }).await?;
            announce_all(&seat, &name).await
        })
    };
    // it gets the settings when it begins to follow
    let configured = world.configured.answered(*life);
    let all_told = || world.state().decided.unannounced.is_empty();
    set(&name, vec![WantedReplica { name: replica.clone(), kind: ReplicaKind::Standard, prepared: None }])
        .await;
    while !all_told() {
        world.clock.sleep(20).await;
    }
    for _ in 0..2 {
        world.clock.sleep(world.clock.below(750)).await;
        if world.clock.below(2) == 0 {
            name = rename_led(world, truths, (&name, *life)).await;
        }
    }
    let marks: Vec<_> = truths.iter().map(|truth| truth.mark(*life)).collect();
    let is_linked = |name: &IndexName| {
        world.state().decided.catalogue.get(name).is_some_and(|row| row.role != Role::Alone)
    };
    while is_linked(&name) {
        set(&name, vec![]).await;
    }
    while !all_told() {
        world.clock.sleep(20).await;
    }
    if let Some(unlinked) = life_of(world, &replica) {
        // what was written before every replica of the groups has heard
        world.clock.sleep(world.climate.lag_ms).await;
        for (truth, mark) in truths.iter().zip(&marks) {
            // of no one moment: its partitions stop to follow one after another, and the user may go from one to another meanwhile
            truth.copied(*life, unlinked, mark);
        }
        world.configured.copied(*life, unlinked, configured);
        indices.add(replica.clone(), unlinked);
        world.count(|counts| counts.unlinked += 1);
    }
    indices.taken.lock().remove(&replica);
    indices.is_linking.store(false, Ordering::Relaxed);
    indices.let_go(world, *life);
}

/// Lets the nodes of a third cluster join, and gives the cluster its partitions.
async fn join(world: &Arc<World>) {
    let is_there = world.state().decided.nodes.contains_key(&NodeId(NODES[FIRST_NODES].0));
    if is_there || world.indices.is_linking.swap(true, Ordering::Relaxed) {
        return;
    }
    for node in &NODES[FIRST_NODES..] {
        let command = joining(*node, world.level());
        perform(world, |seat| async move { decide(&seat, command).await }).await;
    }
    // under the names that they have then: some are being renamed
    let lacking = || {
        let state = world.state();
        state.decided.catalogue.named().into_iter().find(|name| state.decided.lacks_partitions(name))
    };
    while let Some(name) = lacking() {
        perform(world, |seat| async move { decide(&seat, MetaCommand::MakePartitions { name }).await }).await;
    }
    world.indices.is_linking.store(false, Ordering::Relaxed);
}

/// The indices at the beginning.
pub fn first(world: &World) {
    let life = life_of(world, &index()).expect("made at the beginning");
    world.indices.add(index(), life);
}
