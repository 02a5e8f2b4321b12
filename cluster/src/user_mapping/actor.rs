//! Who moves and removes users? The leader of the meta group, one piece of work for each user at a time.

use super::UserDirectory;
use super::core::{Core, What, Work};
use super::parts::seen;
use super::records::{copy_all, count, delete_in, fence};
use crate::command::MetaCommand;
use crate::disk::Purpose;
use crate::router::{Router, write_deadline};
use quorate_model::{GroupId, Result, TaskId};
use quorate_node::Node;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Between two looks while nothing is under way.
const INTERVAL: Duration = Duration::from_millis(250);
/// How long one piece of work may take before it is begun again.
const WORK: Duration = Duration::from_secs(600);
/// How long the rest of a move may take while writes wait for it.
const REST: Duration = Duration::from_secs(3);
/// How long it may take until all nodes know of a step: longer than leases last.
const HEARD: Duration = Duration::from_secs(10);
/// Between two counts, at least; a count that takes long is followed by a rest of many times as long.
const COUNT_EVERY: Duration = Duration::from_secs(2);
const REST_AFTER_COUNT: u32 = 20;

/// Works until the task is aborted; what was under way then is begun again by whoever leads next.
pub async fn run(router: Arc<Router>, node: Node) {
    let (mut core, mut works, began) = (Core::default(), JoinSet::new(), Instant::now());
    loop {
        if leads(&router) {
            for work in core.next(&router.meta(), began.elapsed()) {
                let (router, node) = (router.clone(), node.clone());
                works.spawn(async move {
                    let outcome = carry_out(&router, &node, &work).await;
                    (work, outcome)
                });
            }
        }
        tokio::select! {
            Some(Ok((work, outcome))) = works.join_next(), if !works.is_empty() => {
                if let Err(error) = &outcome {
                    tracing::warn!(user = %work.user, what = ?work.what, %error, "work for a user failed; it is tried again");
                }
                core.ended(&work, outcome.map_err(drop), began.elapsed());
            }
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}

fn leads(router: &Router) -> bool {
    router.groups().meta().is_ok_and(|group| group.is_led_here())
}

async fn carry_out(router: &Router, node: &Node, work: &Work) -> Result<()> {
    let Work { user, epoch, what } = work;
    let (whom, deadline) = ((user, *epoch), Instant::now() + WORK);
    match *what {
        What::Copy { from, to } => {
            copy_all(router, node, whom, (from, to), deadline).await?;
            // who has just died must not keep writes waiting in the next step
            all_heard(router, node).await?;
        }
        What::CopyRest { from, to } => {
            all_heard(router, node).await?;
            copy_all(router, node, whom, (from, to), Instant::now() + REST).await?;
        }
        What::Land { to } => {
            fence(router, user, *epoch, to, deadline).await?;
            all_heard(router, node).await?;
        }
        What::Clean { cluster } => delete_in(router, node, whom, cluster, deadline).await?,
        What::Delete => {
            all_heard(router, node).await?;
            for row in router.meta().clusters.values() {
                delete_in(router, node, whom, row.number, deadline).await?;
            }
        }
        What::Step(_) => {}
    }
    let command = MetaCommand::StepUser { user: user.clone(), epoch: *epoch, step: what.leads_to() };
    router.propose_meta(command, Purpose::Remove, write_deadline()).await.map(drop)
}

/// Waits until every node that may serve users knows what this one knows of them, and has no write under way that it began
/// before. A node that cannot be asked has no lease to serve with after some seconds.
async fn all_heard(router: &Router, node: &Node) -> Result<()> {
    let log_index = *router.groups().meta()?.applied.borrow();
    let task = TaskId::new(GroupId::META, log_index);
    seen(router, node, task, Instant::now() + HEARD).await
}

/// Counts what users have, until the task is aborted.
pub async fn keep_count(router: Arc<Router>, node: Node, users: Arc<UserDirectory>) {
    loop {
        let began = Instant::now();
        if router.shared_meta().load().users.is_enabled {
            match count(&router, &node).await {
                Ok(usage) if usage != **users.usage.load() => users.usage.store(Arc::new(usage)),
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "the records of users are not counted"),
            }
        }
        tokio::time::sleep(COUNT_EVERY.max(began.elapsed() * REST_AFTER_COUNT)).await;
    }
}
