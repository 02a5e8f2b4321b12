//! How is a piece of work for a user carried out, and what has to be true before its step is taken?

use super::core::{What, Work};
use super::means::{Means, seen};
use super::records::{copy_all, delete_in, fence};
use crate::command::MetaCommand;
use crate::disk::Purpose;
use quorate_model::{GroupId, Result, TaskId};
use std::time::Duration;

/// How long one piece of work may take before it is begun again.
const WORK: Duration = Duration::from_secs(600);
/// How long the rest of a move may take while writes wait for it.
const REST: Duration = Duration::from_secs(3);
/// How long it may take until all nodes know of a step: longer than leases last.
const HEARD: Duration = Duration::from_secs(10);

/// Does what there is to do, and takes the step that this allows. Errors: it is to be begun again.
pub async fn carry_out(means: &impl Means, work: &Work) -> Result<()> {
    let Work { user, epoch, what } = work;
    let (whom, deadline) = ((user, *epoch), means.now() + WORK);
    match *what {
        What::Copy { from, to } => {
            copy_all(means, whom, (from, to), deadline).await?;
            // who has just died must not keep writes waiting in the next step
            all_heard(means).await?;
        }
        What::CopyRest { from, to } => {
            all_heard(means).await?;
            copy_all(means, whom, (from, to), means.now() + REST).await?;
        }
        What::Land { to } => {
            fence(means, user, *epoch, to, deadline).await?;
            all_heard(means).await?;
        }
        What::Clean { cluster } => delete_in(means, whom, cluster, deadline).await?,
        What::Delete => {
            all_heard(means).await?;
            for row in means.meta().clusters.values() {
                delete_in(means, whom, row.number, deadline).await?;
            }
        }
        What::Step(_) => {}
    }
    let command = MetaCommand::StepUser { user: user.clone(), epoch: *epoch, step: what.leads_to() };
    means.decide(command, Purpose::Remove, means.write_deadline()).await.map(drop)
}

/// Waits until every node that may serve users knows what this one knows of them, and has no write under way that it began
/// before. A node that cannot be asked has no lease to serve with after some seconds.
async fn all_heard(means: &impl Means) -> Result<()> {
    let task = TaskId::new(GroupId::META, means.known_through()?);
    seen(means, task, means.now() + HEARD).await
}
