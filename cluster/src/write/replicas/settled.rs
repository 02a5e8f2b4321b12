//! Is a change of the configuration of an index kept when its name stands for another index a moment later?
//!
//! What a name will stand for as a replica is made ready beforehand, with the configuration that the name has then (`prepared.rs`).
//! That this is going on is known on every node before the configuration is read. So whoever wants to change it waits for the end of
//! that, makes the change and looks again: nothing is made ready, then what will be finds the change; else the end is waited for, and
//! when the name stands for what was made, the change is made again there. The caller is answered after that, so who dies
//! between leaves nobody with an answer that does not hold. What a dead node was making ready is given up by who waits for it.

use super::told::until_told;
use crate::command::MetaCommand;
use crate::context::NodeContext;
use crate::context::abreast;
use crate::disk::Purpose;
use crate::meta::MetaState;
use crate::write::Reach;
use quorate_model::{Error, IndexName, Result};
use quorate_node::ops::Incarnation;
use std::time::{Duration, Instant};

/// How soon it is looked again; each time after twice as long.
pub(super) const INTERVAL: Duration = Duration::from_millis(2);
/// At the end after so long.
pub(super) const INTERVAL_MAX: Duration = Duration::from_millis(64);
/// How long something may be made ready while somebody waits for it: twice as long as a move waits for replicas that have to be rebuilt.
/// Who is still at it begins anew, and has half the time of a write left.
pub(super) const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 5 } else { 12 });
/// How long the meta group may take to say how far it is: a new leader may have to be found.
const ABREAST: Duration = Duration::from_secs(10);

/// Before the configuration of a name, and with [`Reach::Replicas`] that of its replicas, is changed: waits until what this node knows
/// that is made ready with it is in use or given up.
///
/// Cost: a look at what is reserved. Errors: `Unavailable` when that takes until the deadline; nothing is changed then.
pub async fn until_settled(
    context: &NodeContext,
    (name, reach): (&IndexName, Reach),
    deadline: Instant,
) -> Result<()> {
    let made = made_for(&context.shared_meta().load(), name, reach);
    until_over(context, name, made, deadline).await
}

/// As [`until_settled`]; before a change that is to reach replicas, also waits until the group has heard of them.
///
/// Cost and errors: those of [`until_told`] besides, for such a change.
pub async fn until_reached(
    context: &NodeContext,
    (name, reach): (&IndexName, Reach),
    deadline: Instant,
) -> Result<()> {
    until_settled(context, (name, reach), deadline).await?;
    match reach {
        Reach::Index => Ok(()),
        Reach::Replicas => until_told(context, name, deadline).await,
    }
}

/// After a change was made to the configuration of `incarnation`, and of its replicas when they are within reach: waits until nothing
/// is made ready any more that may lack it, and returns whether it counts for the name. That also holds when the name is gone,
/// and when what it stood for has another one by now, which it took the change along to. `false` = the name stands for something else,
/// which, or whose replicas, may lack the change.
///
/// Cost: a lock where what this node knows of the meta group is enough, else a round trip to its leader. Errors: `Unavailable` when
/// something is made ready until the deadline, or the meta group does not answer; the change may hold all the same.
pub async fn is_kept(
    context: &NodeContext,
    (name, reach): (&IndexName, Reach),
    incarnation: Incarnation,
    deadline: Instant,
) -> Result<bool> {
    until_abreast(context, Asked::Unleased, deadline).await?;
    // what is reserved later will be configured with the change
    let made = made_for(&context.shared_meta().load(), name, reach);
    until_over(context, name, made, deadline).await?;
    let meta = context.shared_meta().load();
    Ok(match meta.catalogue.get(name) {
        Some(row) if row.incarnation != incarnation => {
            meta.catalogue.iter().any(|(_, row)| row.incarnation == incarnation)
        }
        Some(_) | None => true,
    })
}

/// When the meta group is asked how far it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Asked {
    /// On a node without a lease of it: afterwards all is known that anybody was answered.
    Unleased,
    /// Always: afterwards all is known that it had decided.
    Always,
}

/// Asks the meta group how far it is until it says so, for [`ABREAST`] at most.
pub(super) async fn until_abreast(context: &NodeContext, asked: Asked, deadline: Instant) -> Result<()> {
    let until = deadline.min(Instant::now() + ABREAST);
    let mut pause = INTERVAL;
    loop {
        let said = match asked {
            Asked::Unleased => abreast::be_abreast(context).await,
            Asked::Always => abreast::learn(context).await,
        };
        let Err(error) = said else { return Ok(()) };
        if Instant::now() >= until {
            return Err(error);
        }
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(INTERVAL_MAX);
    }
}

/// What is made ready with the configuration of a name, or of its replicas when they are within reach.
fn made_for(meta: &MetaState, name: &IndexName, reach: Reach) -> Vec<Incarnation> {
    if meta.reserved.is_empty() {
        return vec![];
    }
    let row = meta.catalogue.get(name).filter(|_| reach == Reach::Replicas);
    let replicas = row.map_or(&[][..], |row| row.replicas()).iter().map(|link| &link.name);
    replicas.chain([name]).flat_map(|name| meta.reserved.made_for(name)).collect()
}

/// Waits until nothing of this is reserved any more, as this node knows; what has been for too long is given up.
async fn until_over(
    context: &NodeContext,
    name: &IndexName,
    made: Vec<Incarnation>,
    deadline: Instant,
) -> Result<()> {
    let (since, mut pause) = (Instant::now(), INTERVAL);
    let is_reserved = |made: &Incarnation| context.shared_meta().load().reserved.contains_key(made);
    while let Some(&incarnation) = made.iter().find(|made| is_reserved(made)) {
        if since.elapsed() >= PATIENCE {
            tracing::info!(index = %name, incarnation, "giving up what was made ready for it for too long");
            let abandon = MetaCommand::AbandonCopy { incarnation };
            context.proposer().propose_meta(abandon, Purpose::Remove, deadline).await?;
        } else if Instant::now() >= deadline {
            return Err(Error::unavailable(format!("replicas are being made ready for {name}; try again")));
        } else {
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(INTERVAL_MAX);
        }
    }
    Ok(())
}
