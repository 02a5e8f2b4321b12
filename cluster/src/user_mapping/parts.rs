//! How do the parts of an index stay alike in what belongs to all users: settings, synonyms, rules, public records?
//!
//! The index that callers name is the home of all that; the others are made like it. Whoever changes something there
//! compares and writes until a look finds no difference, so several may do it at the same time: the last one that writes
//! looks once more. What somebody left undone who died is found by the leader of the meta group ([`keep_alike`]).

use super::means::{Here, Means, seen};
use super::records::{Copying, copy, differences};
use super::write::Ways;
use crate::command::MetaCommand;
use crate::disk::Purpose;
use crate::meta::{IndexRow, Link, MetaState};
use crate::operate;
use crate::parts::{Parts, now};
use crate::replicas::{listed, settle};
use crate::router::{Accepted, Router, write_deadline};
use crate::service::IndexOperation;
use crate::write::Reach;
use quorate_model::{DocumentKind, Error, IndexName, Result, TaskId, UserId};
use quorate_node::Node;
use quorate_node::ops::IndexCommand;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a difference is written before it is left to others.
const ROUNDS: usize = 8;
/// How long a change of configuration may take until all show it, before its caller is answered all the same.
const SHOWN: Duration = Duration::from_secs(10);
/// Between two looks for differences, at least; a look that takes long is followed by a rest of many times as long.
const COMPARE_EVERY: Duration = Duration::from_secs(5);
const REST_AFTER_COMPARISON: u32 = 50;

/// Gives every other part the configuration that the index has now, and the replicas, and with [`Reach::Replicas`] those
/// theirs; returns when all readers see it, or when that takes long.
pub async fn spread(
    router: &Router,
    node: &Node,
    name: &IndexName,
    reach: Reach,
    deadline: Instant,
) -> Result<()> {
    let parts = router.meta().other_parts(name);
    if parts.is_empty() {
        return Ok(());
    }
    let mut tasks = vec![];
    for part in &parts {
        tasks.extend(configure(router, node, name, part, deadline).await?);
    }
    // what is new takes over the configuration that its primary has by now
    let linked = link(router, &parts).await?;
    let replicas = router.meta().catalogue.get(name).map_or(vec![], |row| row.replicas().to_vec());
    if reach == Reach::Replicas || !linked.is_empty() {
        for Link { name: replica, kind: _ } in replicas {
            for part in router.meta().other_parts(&replica) {
                tasks.extend(configure(router, node, &replica, &part, deadline).await?);
            }
        }
    }
    for task in tasks.into_iter().chain(linked) {
        if let Err(error) = seen(&Here { router, node }, task, deadline.min(Instant::now() + SHOWN)).await {
            tracing::info!(index = %name, %error, "a configuration is shown later on some nodes");
        }
    }
    Ok(())
}

/// Tells the groups of parts of their replicas where they may not have heard. Returns the tasks.
pub async fn link(router: &Router, parts: &[IndexName]) -> Result<Vec<TaskId>> {
    let meta = router.meta();
    let mut told = vec![];
    for row in parts.iter().filter_map(|part| meta.catalogue.get(part)) {
        if let Some(revision) = meta.unsettled.get(&row.incarnation) {
            told.extend(settle(router, row.incarnation, *revision).await?);
        }
    }
    Ok(told)
}

/// Makes the configuration of a part like that of its index. Returns a task after which readers see it; `None` for one that
/// is gone.
async fn configure(
    router: &Router,
    node: &Node,
    name: &IndexName,
    part: &IndexName,
    deadline: Instant,
) -> Result<Option<TaskId>> {
    for _ in 0..ROUNDS {
        let meta = router.meta();
        let (Some(from), Some(to)) = (meta.catalogue.get(name), meta.catalogue.get(part)) else {
            return Ok(None);
        };
        let (wanted, found) = configurations(router, node, (from, to), deadline).await?;
        let index = to.incarnation;
        if is_same(&wanted, &found) {
            // shown after everything that others may have changed a moment ago
            let nothing = IndexCommand::Settings { index, changes: b"{}".to_vec(), replace: false };
            let proposed = router.propose_index(to.group, nothing, Purpose::Remove, deadline).await?;
            return Ok(Some(proposed.task_id));
        }
        let changes = serde_json::to_vec(&own_settings(&wanted)).expect("a JSON object always serialises");
        let mut commands = vec![IndexCommand::Settings { index, changes, replace: true }];
        commands.extend(wanted.documents.into_iter().map(|(kind, documents)| IndexCommand::SaveDocuments {
            index,
            kind,
            documents,
            replace: true,
        }));
        router.propose_index(to.group, IndexCommand::Sequence { commands }, Purpose::Add, deadline).await?;
    }
    Err(Error::unavailable(format!("index {name} is being configured by others; try again")))
}

async fn configurations(
    router: &Router,
    node: &Node,
    (from, to): (&IndexRow, &IndexRow),
    deadline: Instant,
) -> Result<(Parts, Parts)> {
    let wanted = now(router, node, from, &DocumentKind::ALL, deadline).await?;
    Ok((wanted, now(router, node, to, &DocumentKind::ALL, deadline).await?))
}
fn is_same(wanted: &Parts, found: &Parts) -> bool {
    own_settings(wanted) == own_settings(found) && wanted.documents == found.documents
}
fn own_settings(parts: &Parts) -> Map<String, Value> {
    let mut document = parts.settings.document.clone();
    document.remove("replicas");
    document
}

/// Gives every other part the public records that the index has now, of all or those that are named by stored ids; returns
/// when all readers see them.
pub async fn follow(
    router: &Router,
    node: &Node,
    name: &IndexName,
    ids: Option<&[String]>,
    deadline: Instant,
) -> Result<()> {
    let public = UserId::new(quorate_model::user::PUBLIC)?;
    for part in router.meta().other_parts(name) {
        let copying = Copying { user: &public, epoch: None, from: name, to: &part, ids };
        let mut rounds = 0..ROUNDS;
        while copy(&Here { router, node }, &copying, deadline).await? > 0 {
            if rounds.next().is_none() {
                return Err(Error::unavailable(format!(
                    "index {name} is being written by others; try again"
                )));
            }
        }
    }
    Ok(())
}

/// Errors: `Invalid` when `changes` names replicas that would have no parts in other clusters.
pub fn check_replicas(meta: &MetaState, changes: &Map<String, Value>) -> Result<()> {
    let names_some = listed(changes)?.is_some_and(|links| !links.is_empty());
    if meta.users.is_enabled && meta.clusters.len() > 1 && names_some && !meta.parts_follow() {
        return Err(Error::invalid(
            "replicas cannot be used on several clusters before all nodes run a version that knows how",
        ));
    }
    Ok(())
}

/// Copies the parts that other clusters have of `source` over those that they have of `destination`. A move takes them
/// along by itself.
pub async fn copy_others(
    ways: Ways<'_>,
    source: &IndexName,
    destination: &IndexName,
    operation: &IndexOperation,
) -> Result<()> {
    let Ways { router, node, sweeper } = ways;
    let meta = router.meta();
    match operation {
        IndexOperation::Copy { scope: None } if source != destination => {}
        IndexOperation::Copy { .. } | IndexOperation::Move => return Ok(()),
    }
    for part in meta.other_parts(source) {
        let Some(number) = part.part().1 else { continue };
        operate::copy_index(router, node, sweeper, &part, &destination.part_in(number)?).await?;
    }
    Ok(())
}

/// The parts that are missing because their cluster came after their index are made by this.
pub async fn make(means: &impl Means, name: &IndexName, deadline: Instant) -> Result<Accepted> {
    means.decide(MetaCommand::MakeParts { name: name.clone() }, Purpose::Add, deadline).await
}

/// Finds and mends differences while this node leads the meta group, until the task is aborted.
pub async fn keep_alike(router: Arc<Router>, node: Node) {
    loop {
        let began = Instant::now();
        let meta = router.meta();
        if meta.users.is_enabled
            && meta.clusters.len() > 1
            && router.groups().meta().is_ok_and(|group| group.is_led_here())
        {
            for name in super::records::indices(&meta) {
                if let Err(error) = mend(&router, &node, &name).await {
                    tracing::debug!(index = %name, %error, "the parts of an index are not compared");
                }
            }
        }
        tokio::time::sleep(COMPARE_EVERY.max(began.elapsed() * REST_AFTER_COMPARISON)).await;
    }
}

async fn mend(router: &Router, node: &Node, name: &IndexName) -> Result<()> {
    let deadline = write_deadline();
    if router.meta().lacks_parts(name) {
        make(&Here { router, node }, name, deadline).await?;
    }
    let public = UserId::new(quorate_model::user::PUBLIC)?;
    for part in router.meta().other_parts(name) {
        let meta = router.meta();
        let (Some(from), Some(to)) = (meta.catalogue.get(name), meta.catalogue.get(&part)) else { continue };
        let (wanted, found) = configurations(router, node, (from, to), deadline).await?;
        if !is_same(&wanted, &found) {
            configure(router, node, name, &part, deadline).await?;
        }
        if from.primary().is_some() {
            // it has the records of what it follows
            continue;
        }
        let copying = Copying { user: &public, epoch: None, from: name, to: &part, ids: None };
        if !differences(&Here { router, node }, &copying, deadline).await?.is_empty() {
            follow(router, node, name, None, deadline).await?;
        }
    }
    link(router, &router.meta().other_parts(name)).await.map(drop)
}
