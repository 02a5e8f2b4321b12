//! What becomes of the settings of indices that are renamed and copied while their users move?
//!
//! The settings of an index are a register, as its records are. In the end every partition of it has what was answered last.

use super::clients::{call, some_node};
use super::executor::NOBODY;
use super::seat::Seat;
use super::world::World;
use crate::disk::Purpose;
use crate::users::partitions;
use crate::write::env::{Env, seen};
use parking_lot::Mutex;
use quorate_model::{IndexName, Result};
use quorate_node::ops::{Incarnation, IndexCommand};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The setting that is changed.
const NAME: &str = "hitsPerPage";

#[derive(Clone, Copy, Debug, Default)]
struct Register {
    /// The last value that somebody began to set.
    begun: u64,
    /// The last one that was answered.
    answered: u64,
    /// What became of the last change is not known: it may come late, so that nobody changes it any more.
    is_over: bool,
    /// It was copied while it was changed: any value between the two is right.
    is_copied: bool,
}

/// The settings of all indices.
#[derive(Default)]
pub struct Configured {
    registers: Mutex<BTreeMap<Incarnation, Register>>,
}

impl Configured {
    /// What was answered of an index before something that copies it begins.
    pub fn answered(&self, life: Incarnation) -> u64 {
        self.registers.lock().get(&life).map_or(0, |register| register.answered)
    }
    /// Takes over what a copy may have: what was answered when it began, up to what is begun by now.
    pub fn copied(&self, from: Incarnation, to: Incarnation, answered: u64) {
        let mut registers = self.registers.lock();
        let begun = registers.get(&from).map_or(0, |register| register.begun);
        registers.insert(to, Register { begun, answered, is_over: false, is_copied: true });
    }
    fn begin(&self, life: Incarnation) -> Option<u64> {
        let mut registers = self.registers.lock();
        let register = registers.entry(life).or_default();
        register.begun += u64::from(!register.is_over);
        (!register.is_over).then_some(register.begun)
    }
    fn end(&self, life: Incarnation, is_answered: bool) {
        let mut registers = self.registers.lock();
        let register = registers.get_mut(&life).expect("it was begun");
        match is_answered {
            true => (register.answered, register.is_copied) = (register.begun, false),
            false => register.is_over = true,
        }
    }
    /// Every partition of every index has the same, which was answered.
    pub fn check_at_last(&self, world: &World) {
        for (name, life) in world.indices.all() {
            let found = shown(world, &name);
            let register = self.registers.lock().get(&life).copied().unwrap_or_default();
            let Register { begun, answered, is_over, is_copied } = register;
            let is_right = |value: &u64| match is_over || is_copied {
                true => (answered..=begun).contains(value),
                false => *value == answered,
            };
            assert!(
                found.iter().all(is_right),
                "at last: the settings of {name} are {found:?}, {register:?}"
            );
        }
    }
}

/// What the partitions of an index have, on every node.
fn shown(world: &World, name: &IndexName) -> Vec<u64> {
    let decided = world.state().decided.clone();
    let partitions = std::iter::once(name.clone()).chain(decided.other_partitions(name));
    let rows = partitions.filter_map(|partition| decided.catalogue.get(&partition).cloned());
    rows.flat_map(|row| world.settings(row.group, row.incarnation))
        .map(|document| document.get(NAME).and_then(Value::as_u64).unwrap_or_default())
        .collect()
}

/// Whether all partitions of every index are configured alike.
pub fn are_alike(world: &World) -> bool {
    let names = world.state().decided.catalogue.named();
    names.iter().all(|name| shown(world, name).windows(2).all(|pair| pair[0] == pair[1]))
}

/// Changes settings until the time is over; tells whether somebody is still at it.
pub fn configure_about(world: &Arc<World>, is_over: &Arc<AtomicBool>) -> Arc<AtomicUsize> {
    let left = Arc::new(AtomicUsize::new(1));
    let (world, is_over, still) = (world.clone(), is_over.clone(), left.clone());
    world.clone().clock.spawn(NOBODY, async move {
        while !is_over.load(Ordering::Relaxed) {
            world.clock.sleep(world.clock.between(20, 900)).await;
            let Some((name, life)) = world.indices.begin_write(&world.clock) else { continue };
            if let Some(value) = world.configured.begin(life) {
                let outcome = call(&world, some_node(&world), |seat| configure(seat, name, value)).await;
                if let Some(Err(error)) = &outcome {
                    assert!(!world.climate.is_calm(), "a change of settings is refused: {error}");
                }
                let is_answered = matches!(outcome, Some(Ok(())));
                world.configured.end(life, is_answered);
                world.count(|counts| counts.configured += u64::from(is_answered));
            }
            world.indices.end_write(life);
        }
        still.fetch_sub(1, Ordering::Relaxed);
    });
    left
}

/// Changes the settings of an index and gives them to its partitions, as a call does.
async fn configure(seat: Seat, name: IndexName, value: u64) -> Result<()> {
    if seat.hold().is_none() {
        // names as a node that is cut off knows them are given up (DECISIONS.md)
        seat.learn().await?;
    }
    let (row, deadline) = (seat.row(&name)?, seat.write_deadline());
    let changes = json!({NAME: value}).to_string().into_bytes();
    let change = IndexCommand::Settings { index: row.incarnation, changes, replace: false };
    let task = seat.propose(row.group, change, Purpose::Add, deadline).await?.task_id;
    for partition in seat.meta().other_partitions(&name) {
        if let Some(task) = partitions::configure(&seat, &name, &partition, deadline).await? {
            seen(&seat, task, deadline).await?;
        }
    }
    seen(&seat, task, deadline).await
}

/// Finds and mends what differs, as the leader of the meta group does.
pub async fn mend_all(seat: &Seat) -> Result<()> {
    let meta = seat.meta();
    for name in meta.catalogue.named() {
        for partition in meta.other_partitions(&name) {
            if !partitions::are_configured_alike(seat, &name, &partition, seat.write_deadline()).await? {
                partitions::configure(seat, &name, &partition, seat.write_deadline()).await?;
            }
        }
    }
    Ok(())
}

/// A document of settings after a change.
pub fn changed(document: &Map<String, Value>, changes: &[u8], replace: bool) -> Map<String, Value> {
    let changes: Map<String, Value> = serde_json::from_slice(changes).expect("own settings");
    let mut changed = if replace { Map::new() } else { document.clone() };
    changed.extend(changes);
    changed
}
