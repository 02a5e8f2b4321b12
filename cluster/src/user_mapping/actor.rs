//! Who moves and removes users? The leader of the meta group, one piece of work for each user at a time.

use super::UserDirectory;
use super::core::{Core, What, Work};
use super::records::{copy_all, count, delete_in};
use crate::command::MetaCommand;
use crate::disk::Purpose;
use crate::requests::{PeerAnswer, PeerRequest};
use crate::router::{Router, write_deadline};
use quorate_model::{Error, GroupId, Result, UserId};
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
/// A node that has not heard of a move after this time has no lease to read with.
const UNHEARD: Duration = Duration::from_secs(30);
/// Between two looks whether all nodes have heard.
const LOOK: Duration = Duration::from_millis(50);
/// How long a node may take to say what it knows.
const PROBE: Duration = Duration::from_secs(1);
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
    let deadline = Instant::now() + WORK;
    match *what {
        What::Copy { from, to } => copy_all(router, node, user, from, to, deadline).await?,
        What::CopyRest { from, to } => {
            copy_all(router, node, user, from, to, Instant::now() + REST).await?;
        }
        What::Clean { cluster } => {
            all_heard(router).await?;
            delete_in(router, node, user, cluster, deadline).await?;
        }
        What::Delete => delete_everywhere(router, node, user, deadline).await?,
        What::Step(_) => {}
    }
    let command = MetaCommand::StepUser { user: user.clone(), epoch: *epoch, step: what.leads_to() };
    router.propose_meta(command, Purpose::Remove, write_deadline()).await.map(drop)
}

async fn delete_everywhere(router: &Router, node: &Node, user: &UserId, deadline: Instant) -> Result<()> {
    let meta = router.meta();
    for row in meta.clusters.values() {
        delete_in(router, node, user, row.number, deadline).await?;
    }
    Ok(())
}

/// Waits until every node that can serve reads knows what this one knows of the users: none reads where they were.
async fn all_heard(router: &Router) -> Result<()> {
    let group = router.groups().meta()?;
    let log_index = *group.applied.borrow();
    let until = Instant::now() + UNHEARD;
    for (other, _) in router.meta().present_nodes() {
        if other == router.self_id() {
            continue;
        }
        let request = PeerRequest::IsVisible { group: GroupId::META, log_index };
        while !matches!(
            router.ask(other, &request, Instant::now() + PROBE).await,
            Ok(PeerAnswer::Truth(true))
        ) {
            if Instant::now() >= until {
                break;
            }
            tokio::time::sleep(LOOK).await;
        }
    }
    match leads(router) {
        true => Ok(()),
        false => Err(Error::unavailable("another node leads now")),
    }
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
