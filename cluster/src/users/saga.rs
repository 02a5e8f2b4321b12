//! How is a piece of work for a user carried out, and what has to be true before its step is taken?
//!
//! Indices come, go and are copied while somebody works for a user. A step that rests on having been at every index says
//! what was looked at ([`Looked`]), and has no effect when that has changed: then what is new is looked at, too.

use super::core::{What, Work};
use super::records::{Clusters, Deleting, Mirroring, fence};
use crate::command::{Looked, MetaCommand, UserStep};
use crate::disk::Purpose;
use crate::meta::Side;
use crate::write::copies::REPEAT;
use crate::write::env::{Env, seen};
use quorate_model::{Error, GroupId, Result, TaskId, level, limits};
use std::time::{Duration, Instant};

/// How long one piece of work may take before it is begun again.
const WORK: Duration = Duration::from_secs(600);
/// How long the rest of a move may take while writes wait for it: in the first try, and in those after it, of a move that takes
/// longer. Writes are refused a little later.
const REST: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(10)];
/// How long it may take until all nodes know of a step: longer than leases last.
const HEARD: Duration = Duration::from_secs(10);
/// How long a move waits for its turn before it looks for what has changed meanwhile: longer than copies that somebody still
/// waits for, so that those that died keep others from beginning for a while only.
const TURN: Duration = Duration::from_secs(limits::WRITE_S + 5);
/// Between two looks whether a copy has ended.
const LOOK: Duration = Duration::from_millis(5);

/// Does what there is to do, and takes the step that this allows. Errors: it is to be begun again.
pub async fn carry_out(env: &impl Env, work: &Work) -> Result<()> {
    let Work { user, epoch, what, tries } = work;
    let (whom, deadline) = ((user, *epoch), env.now() + WORK);
    match *what {
        What::Copy { from, to } => {
            Mirroring::new(env, whom, (from, to), deadline).look().await?;
            // who has just died must not keep writes waiting in the next step
            all_heard(env).await?;
            if env.meta().level() >= level::LOOKED {
                return freeze(env, work).await;
            }
        }
        What::CopyRest { from, to } => {
            all_heard(env).await?;
            let until = env.now() + if *tries == 0 { REST[0] } else { REST[1] };
            // what somebody who copied before sent late must not come after the comparison
            fence(env, user, *epoch, to, until).await?;
            let mut mirroring = Mirroring::new(env, whom, (from, to), until);
            loop {
                let looked = mirroring.look().await?;
                if step_after(env, work, looked, until).await? {
                    return Ok(());
                }
            }
        }
        What::Land { to } => {
            fence(env, user, *epoch, to, deadline).await?;
            all_heard(env).await?;
        }
        What::Clean { cluster } => {
            return delete(env, work, Clusters::Only(cluster), deadline).await;
        }
        What::Delete => {
            all_heard(env).await?;
            return delete(env, work, Clusters::All, deadline).await;
        }
        What::Step(_) => {}
    }
    step(env, work, what.leads_to()).await
}

async fn delete(env: &impl Env, work: &Work, clusters: Clusters, deadline: Instant) -> Result<()> {
    let mut deleting = Deleting::new(env, (&work.user, work.epoch), clusters, deadline);
    deleting.begin().await?;
    loop {
        let looked = deleting.look().await?;
        if step_after(env, work, looked, deadline).await? {
            return Ok(());
        }
    }
}

async fn step(env: &impl Env, work: &Work, step: UserStep) -> Result<()> {
    let command = MetaCommand::StepUser { user: work.user.clone(), epoch: work.epoch, step };
    env.decide(command, Purpose::Remove, env.write_deadline()).await.map(drop)
}

/// Takes the step of work that has been at every index, when no copy is under way that may bring another one. Returns whether
/// the user has gone on; otherwise there is something new to be looked at.
async fn step_after(env: &impl Env, work: &Work, looked: Looked, deadline: Instant) -> Result<bool> {
    let Work { user, epoch, what, .. } = work;
    if env.meta().level() < level::LOOKED {
        return step(env, work, what.leads_to()).await.map(|()| true);
    }
    while env.meta().copies_since_before(looked.through) {
        wait(env, deadline).await?;
    }
    if env.meta().is_as_it_was(looked) {
        let (user, step) = (user.clone(), what.leads_to());
        let command = MetaCommand::StepUserAfterLook { user, epoch: *epoch, step, looked };
        env.decide(command, Purpose::Remove, env.write_deadline()).await?;
        if has_gone_on(env, work) {
            return Ok(true);
        }
    }
    wait(env, deadline).await.map(|()| false)
}

async fn wait(env: &impl Env, deadline: Instant) -> Result<()> {
    if env.now() >= deadline {
        return Err(Error::unavailable("indices are being changed by others; try again"));
    }
    env.pause(LOOK).await;
    Ok(())
}

/// Lets the user's writes wait from now on, when it is the turn of moves: while indices are copied, which may take long, they
/// go on, and no other copy begins.
async fn freeze(env: &impl Env, work: &Work) -> Result<()> {
    let until = env.now() + TURN;
    loop {
        step(env, work, UserStep::Freeze).await?;
        if has_gone_on(env, work) {
            return Ok(());
        }
        let again = env.now() + REPEAT;
        wait(env, until).await?;
        while env.now() < again && !env.meta().may_begin(Side::Moves) {
            wait(env, until).await?;
        }
    }
}

fn has_gone_on(env: &impl Env, Work { user, epoch, .. }: &Work) -> bool {
    env.meta().users.map.get(user).is_none_or(|row| row.epoch != *epoch)
}

/// Waits until every node that may serve users knows what this one knows of them, and has no write under way that it began
/// before. A node that cannot be asked has no lease to serve with after some seconds.
async fn all_heard(env: &impl Env) -> Result<()> {
    let task = TaskId::new(GroupId::META, env.known_through()?);
    seen(env, task, env.now() + HEARD).await
}
