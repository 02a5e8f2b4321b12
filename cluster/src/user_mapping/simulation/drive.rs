//! What does a node do by itself: ask for leases, and drive moves while it leads the meta group?

use super::mutant::Mutant;
use super::seat::{Role, Seat};
use super::world::World;
use crate::command::MetaCommand;
use crate::disk::Purpose;
use crate::user_mapping::core::{Core, What, Work};
use crate::user_mapping::means::Means;
use crate::user_mapping::records::{copy_all, delete_in};
use crate::user_mapping::saga::carry_out;
use parking_lot::Mutex;
use quorate_model::Result;
use quorate_raft::lease::ASK_EVERY_MS;
use std::sync::Arc;
use std::time::Duration;

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
    world.clock.spawn(life, drive(seat));
}

async fn drive(seat: Seat) {
    let world = seat.world.clone();
    let (mut core, ended) = (Core::default(), Arc::new(Mutex::new(Vec::<(Work, Result<()>)>::new())));
    loop {
        let now = Duration::from_millis(world.clock.now_ms());
        for (work, outcome) in std::mem::take(&mut *ended.lock()) {
            core.ended(&work, outcome.map_err(drop), now);
        }
        let leads = world.state().leader == Some(seat.node);
        let begun = if leads { core.next(&seat.meta(), now) } else { vec![] };
        for work in begun {
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
    match (seat.world.mutant, work.what) {
        (Some(Mutant::FlipsBeforeTheRest), What::CopyRest { .. })
        | (Some(Mutant::LandsAtOnce), What::Land { .. }) => {}
        (Some(Mutant::CleansBeforeFlip), What::CopyRest { from, to }) => {
            copy_all(seat, whom, (from, to), deadline).await?;
            delete_in(seat, whom, from, deadline).await?;
        }
        _ => return carry_out(seat, work).await,
    }
    let step = work.what.leads_to();
    let command = MetaCommand::StepUser { user: work.user.clone(), epoch: work.epoch, step };
    seat.decide(command, Purpose::Remove, seat.write_deadline()).await.map(drop)
}
