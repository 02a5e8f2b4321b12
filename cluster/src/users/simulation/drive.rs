//! What does a node do by itself: ask for leases, and drive moves while it leads the meta group?

use super::mutant::Mutant;
use super::seat::{Role, Seat};
use super::settings::mend_all;
use super::world::World;
use crate::command::{MetaCommand, Subject};
use crate::disk::Purpose;
use crate::users::core::{Core, What, Work};
use crate::users::records::{Clusters, Deleting, Mirroring};
use crate::users::saga::carry_out;
use crate::write::announcements::announcement;
use crate::write::env::{Env, seen};
use parking_lot::Mutex;
use quorate_model::{GroupId, Result};
use quorate_node::ops::{Incarnation, IndexCommand};
use quorate_raft::lease::ASK_EVERY_MS;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// After so long whoever began something is gone.
const CALLER_GONE_MS: u64 = 15_000;

/// Starts what a node does in the life that begins now.
pub fn start(world: &Arc<World>, node: u64) {
    let seat = Seat::new(world, node, Role::Driver);
    let (asker, life) = (world.clone(), seat.life);
    world.clock.spawn(life, async move {
        loop {
            asker.clock.spawn(life, asker.clone().ask_lease(node, life));
            asker.clock.sleep(ASK_EVERY_MS).await;
        }
    });
    world.clock.spawn(life, drive(seat.clone()));
    world.clock.spawn(life, keep_alike(seat.clone()));
    world.clock.spawn(life, janitor(seat));
}

/// While it leads: tells groups what follows what, gives up copies whose caller is gone and drops what no name stands for.
async fn janitor(seat: Seat) {
    let world = seat.world.clone();
    let mut seen = BTreeMap::<(Incarnation, u64), u64>::new();
    loop {
        world.clock.sleep(world.clock.between(500, 1_500)).await;
        if world.state().leader != Some(seat.node) {
            seen.clear();
            continue;
        }
        let (meta, now_ms) = (seat.meta(), world.clock.now_ms());
        let reserved = meta.reserved.keys().map(|it| (*it, 0));
        let keys: Vec<_> =
            reserved.chain(meta.unannounced.iter().map(|(it, at)| (u64::from(*it), *at))).collect();
        seen.retain(|key, _| keys.contains(key));
        for key in keys {
            seen.entry(key).or_insert(now_ms);
        }
        let old: Vec<_> =
            seen.iter().filter(|(_, at)| now_ms - **at >= CALLER_GONE_MS).map(|(key, _)| *key).collect();
        // what fails is tried again
        for (incarnation, revision) in old {
            drop(match revision {
                0 => {
                    let abandon = MetaCommand::AbandonCopy { incarnation };
                    seat.decide(abandon, Purpose::Remove, seat.write_deadline()).await.map(drop)
                }
                _ => announce(&seat, incarnation.into(), revision).await,
            });
        }
        for (&index, &group) in meta.tombstoned.iter() {
            drop(drop_index(&seat, group, index).await);
        }
    }
}
/// While it leads: gives all partitions of an index its settings.
async fn keep_alike(seat: Seat) {
    let world = seat.world.clone();
    loop {
        world.clock.sleep(world.clock.between(2_000, 5_000)).await;
        if world.state().leader == Some(seat.node) && world.mutant != Some(Mutant::LeavesSettings) {
            // what fails is tried again
            drop(mend_all(&seat).await);
        }
    }
}
async fn drop_index(seat: &Seat, group: GroupId, index: Incarnation) -> Result<()> {
    let deadline = seat.write_deadline();
    seat.propose(group, IndexCommand::Drop { index }, Purpose::Remove, deadline).await?;
    let dropped = MetaCommand::Dropped { incarnation: index };
    seat.decide(dropped, Purpose::Remove, deadline).await.map(drop)
}
/// Tells the group of a primary what follows it, and returns when readers see that.
pub async fn announce(seat: &Seat, subject: Subject, revision: u64) -> Result<()> {
    let deadline = seat.write_deadline();
    if let Some(told) = announcement(&seat.meta(), subject, revision) {
        let task = seat.propose(told.group, told.command, Purpose::Add, deadline).await?.task_id;
        seen(seat, task, deadline).await?;
    }
    let announced = MetaCommand::Announced { subject, revision };
    seat.decide(announced, Purpose::Remove, deadline).await.map(drop)
}

async fn drive(seat: Seat) {
    let world = seat.world.clone();
    let (mut core, ended) = (Core::default(), Arc::new(Mutex::new(Vec::<(Work, Result<()>)>::new())));
    loop {
        let now = Duration::from_millis(world.clock.now_ms());
        for (work, outcome) in std::mem::take(&mut *ended.lock()) {
            core.ended(&work, outcome.map_err(|error| error.to_string()), now);
        }
        core.lead(world.state().leader == Some(seat.node));
        for work in core.next(&seat.meta(), now) {
            let (seat, ended) = (seat.clone(), ended.clone());
            world.clock.spawn(seat.life, async move {
                let outcome = carried_out(&seat, &work).await;
                seat.world.count(|counts| match (work.what, &outcome) {
                    (What::Clean { .. }, Ok(())) => counts.moves += 1,
                    (What::Delete, Ok(())) => counts.removals += 1,
                    (What::Step(_), Ok(())) => counts.given_up += 1,
                    _ => {}
                });
                ended.lock().push((work, outcome));
            });
        }
        world.clock.sleep(world.clock.between(20, 250)).await;
    }
}

/// As it is, or with a planted bug in it.
async fn carried_out(seat: &Seat, work: &Work) -> Result<()> {
    let whom = (&work.user, work.epoch);
    let deadline = seat.now() + Duration::from_secs(60);
    if seat.world.mutant == Some(Mutant::ReadsTheCatalogueOnce) {
        return carry_out(&seat.with_old_catalogue(), work).await;
    }
    match (seat.world.mutant, work.what) {
        (Some(Mutant::FlipsBeforeTheRest), What::CopyRest { .. })
        | (Some(Mutant::LandsAtOnce), What::Land { .. }) => {}
        (Some(Mutant::CleansBeforeFlip), What::CopyRest { from, to }) => {
            Mirroring::new(seat, whom, (from, to), deadline).look().await?;
            let mut deleting = Deleting::new(seat, whom, Clusters::Only(from), deadline);
            deleting.begin().await?;
            deleting.look().await?;
        }
        _ => return carry_out(seat, work).await,
    }
    let step = work.what.leads_to();
    let command = MetaCommand::StepUser { user: work.user.clone(), epoch: work.epoch, step };
    seat.decide(command, Purpose::Remove, seat.write_deadline()).await.map(drop)
}
