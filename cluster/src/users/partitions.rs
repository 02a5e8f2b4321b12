//! How do the partitions of an index stay alike in what belongs to all users: settings, synonyms, rules, public records?
//!
//! The index that callers name is the home of all that; the others are made like it. Whoever changes something there
//! compares and writes until a look finds no difference, so several may do it at the same time: the last one that writes
//! looks once more. The change is kept once the index has it: a cluster that is down gets it when it is back, and nobody waits for it.
//! What is lacking there, and what somebody left undone who died, is found by the leader of the meta group ([`keep_alike`]).

use super::records::{Copying, copy, differences};
use crate::clock::write_deadline;
use crate::command::{MetaCommand, Subject};
use crate::context::NodeContext;
use crate::context::silence;
use crate::disk::Purpose;
use crate::meta::{IndexRow, Link, MetaState};
use crate::read::index_config::IndexConfig;
use crate::write::Reach;
use crate::write::announcements::announce;
use crate::write::configuring;
use crate::write::env::{Env, seen};
use crate::write::replicas::listed;
use futures_util::future::join_all;
use quorate_model::{Error, ErrorKind, IndexName, Result, TaskId, UserId};
use quorate_node::ops::IndexCommand;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a difference is written before it is left to others.
const ROUNDS: usize = 8;
/// How long a change of configuration may take until all show it, before its caller is answered all the same.
const SHOWN: Duration = Duration::from_secs(10);
/// Between two looks for differences, at least; a look that takes long is followed by a rest of many times as long.
const COMPARE_EVERY: Duration = Duration::from_secs(5);
const REST_AFTER_COMPARISON: u32 = 50;

/// Gives every other partition the configuration that the index has now, and its replicas, and with [`Reach::Replicas`] those
/// theirs; returns when all readers see it, or when that takes long. A cluster that cannot be reached gets it later.
pub async fn spread(context: &NodeContext, name: &IndexName, reach: Reach, deadline: Instant) -> Result<()> {
    let partitions = within_reach(context, name);
    let spread = partitions.iter().map(|partition| spread_to(context, (name, partition), reach, deadline));
    let spread: Vec<Result<Vec<TaskId>>> = join_all(spread).await;
    let shown = spread.iter().flatten().flatten().map(|task| {
        let until = deadline.min(Instant::now() + SHOWN);
        async move { seen(context, *task, until).await }
    });
    if let Some(error) = join_all(shown).await.into_iter().find_map(Result::err) {
        tracing::info!(index = %name, %error, "a configuration is shown later on some nodes");
    }
    let mut reached = partitions.iter().zip(spread);
    reached.try_for_each(|(partition, spread)| or_later(context, partition, spread.map(drop)))
}

/// The other partitions of an index, without those of clusters that no write would reach: they get it later.
fn within_reach(context: &NodeContext, name: &IndexName) -> Vec<IndexName> {
    let partitions = context.meta().other_partitions(name).into_iter();
    let (out_of_reach, partitions): (Vec<_>, Vec<_>) =
        partitions.partition(|it| is_out_of_reach(context, it));
    out_of_reach.into_iter().for_each(|partition| context.users().lagging.note(partition));
    partitions
}
fn is_out_of_reach(context: &NodeContext, partition: &IndexName) -> bool {
    let group = context.meta().catalogue.get(partition).map(|row| row.group);
    group.is_some_and(|group| silence::is_out_of_reach(context, group))
}

/// What a caller is told whose change is kept in the index itself, and who would make it again: that it is done, although a
/// partition was not reached, which gets it later.
fn or_later(context: &NodeContext, partition: &IndexName, reached: Result<()>) -> Result<()> {
    match reached {
        Err(error) if error.kind == ErrorKind::Unavailable => {
            tracing::info!(index = %partition, %error, "a cluster gets a change later");
            context.users().lagging.note(partition.clone());
            Ok(())
        }
        other => other,
    }
}

/// The same to one partition; returns the tasks after which readers see it.
async fn spread_to(
    context: &NodeContext,
    (name, partition): (&IndexName, &IndexName),
    reach: Reach,
    deadline: Instant,
) -> Result<Vec<TaskId>> {
    let mut tasks: Vec<TaskId> = configure(context, name, partition, deadline).await?.into_iter().collect();
    // what is new takes over the configuration that its primary has by now
    let linked = link(context, partition, deadline).await?;
    if reach == Reach::Replicas || linked.is_some() {
        let meta = context.meta();
        let replicas = meta.catalogue.get(partition).map_or(&[][..], IndexRow::replicas);
        for Link { name: partition, kind: _ } in replicas {
            let name = IndexName::new(partition.partition().0)?;
            tasks.extend(configure(context, &name, partition, deadline).await?);
        }
    }
    tasks.extend(linked);
    Ok(tasks)
}

/// Tells the group of a partition of its replicas if it may not have heard. Returns the task.
async fn link(context: &NodeContext, partition: &IndexName, deadline: Instant) -> Result<Option<TaskId>> {
    let meta = context.meta();
    let Some(row) = meta.catalogue.get(partition) else { return Ok(None) };
    let subject = Subject::Replicas(row.incarnation);
    match meta.unannounced.get(&subject) {
        Some(revision) => {
            let told = announce(context, subject, *revision, deadline).await?;
            Ok(told.map(|told| told.task_id))
        }
        None => Ok(None),
    }
}

/// Makes the configuration of a partition like that of its index. Returns a task after which readers see it; `None` for one that
/// is gone.
pub(super) async fn configure(
    env: &impl Env,
    name: &IndexName,
    partition: &IndexName,
    deadline: Instant,
) -> Result<Option<TaskId>> {
    for _ in 0..ROUNDS {
        let meta = env.meta();
        let (Some(from), Some(to)) = (meta.catalogue.get(name), meta.catalogue.get(partition)) else {
            return Ok(None);
        };
        let (wanted, found) = configurations(env, (from, to), deadline).await?;
        let index = to.incarnation;
        if is_same(&wanted, &found) {
            // shown after everything that others may have changed a moment ago
            let nothing = IndexCommand::Settings { index, changes: b"{}".to_vec(), replace: false };
            let proposed = env.propose(to.group, nothing, Purpose::Remove, deadline).await?;
            return Ok(Some(proposed.task_id));
        }
        let commands = configuring::all(index, &own_settings(&wanted), wanted.resources);
        env.propose(to.group, IndexCommand::Sequence { commands }, Purpose::Add, deadline).await?;
    }
    Err(Error::unavailable(format!("index {name} is being configured by others; try again")))
}

async fn configurations(
    env: &impl Env,
    (from, to): (&IndexRow, &IndexRow),
    deadline: Instant,
) -> Result<(IndexConfig, IndexConfig)> {
    let wanted = env.configuration(from, deadline).await?;
    Ok((wanted, env.configuration(to, deadline).await?))
}
/// Whether a partition has the configuration of its index; also when one of them is gone.
pub(super) async fn are_configured_alike(
    env: &impl Env,
    name: &IndexName,
    partition: &IndexName,
    deadline: Instant,
) -> Result<bool> {
    let meta = env.meta();
    let (Some(from), Some(to)) = (meta.catalogue.get(name), meta.catalogue.get(partition)) else {
        return Ok(true);
    };
    let (wanted, found) = configurations(env, (from, to), deadline).await?;
    Ok(is_same(&wanted, &found))
}
fn is_same(wanted: &IndexConfig, found: &IndexConfig) -> bool {
    own_settings(wanted) == own_settings(found) && wanted.resources == found.resources
}
fn own_settings(config: &IndexConfig) -> Map<String, Value> {
    let mut document = config.settings.document.clone();
    document.remove("replicas");
    document
}

/// Gives every other partition the public records that the index has now, of all or those that are named by stored ids; returns
/// when all readers see them. A cluster that cannot be reached gets them later.
pub async fn follow(
    context: &NodeContext,
    name: &IndexName,
    ids: Option<&[String]>,
    deadline: Instant,
) -> Result<()> {
    let partitions = within_reach(context, name);
    let followed = partitions.iter().map(|partition| follow_in(context, (name, partition), ids, deadline));
    let mut followed = partitions.iter().zip(join_all(followed).await);
    followed.try_for_each(|(partition, followed)| or_later(context, partition, followed))
}

/// The same of one partition. Errors: `Unavailable` when it cannot be reached.
async fn follow_in(
    context: &NodeContext,
    (name, partition): (&IndexName, &IndexName),
    ids: Option<&[String]>,
    deadline: Instant,
) -> Result<()> {
    let public = UserId::new(quorate_model::user::PUBLIC)?;
    let copying = Copying { user: &public, epoch: None, from: name, to: partition, ids };
    let mut rounds = 0..ROUNDS;
    while copy(context, &copying, deadline).await? > 0 {
        if rounds.next().is_none() {
            return Err(Error::unavailable(format!("index {name} is being written by others; try again")));
        }
    }
    Ok(())
}

/// Errors: `Invalid` when `changes` names replicas that would have no partitions in other clusters.
pub fn check_replicas(meta: &MetaState, changes: &Map<String, Value>) -> Result<()> {
    let names_some = listed(changes)?.is_some_and(|links| !links.is_empty());
    if meta.users.is_enabled && meta.clusters.len() > 1 && names_some && !meta.partitions_follow() {
        return Err(Error::invalid(
            "replicas cannot be used on several clusters before all nodes run a version that knows how",
        ));
    }
    Ok(())
}

/// Makes the partitions that are missing because their cluster came after their index, with the configuration that they would
/// have.
pub async fn make(context: &NodeContext, name: &IndexName, deadline: Instant) -> Result<()> {
    let command = MetaCommand::MakePartitions { name: name.clone() };
    context.proposer().propose_meta(command, Purpose::Add, deadline).await?;
    if let Err(error) = spread(context, name, Reach::Replicas, deadline).await {
        tracing::info!(index = %name, %error, "a part is configured later");
    }
    Ok(())
}

/// Finds and mends differences while this node leads the meta group, until the task is aborted. What is missing is looked for
/// in memory, more often than what differs. What this node could not reach it tries again by itself, whoever leads.
pub async fn keep_alike(context: Arc<NodeContext>) {
    let mut next_comparison = Instant::now();
    loop {
        let meta = context.meta();
        if meta.users.is_enabled && meta.clusters.len() > 1 {
            let began = Instant::now();
            let leads = context.groups().meta().is_ok_and(|group| group.is_led_here());
            let compares = leads && began >= next_comparison;
            mend_all(&context, &meta, Looks { leads, compares }).await;
            if compares {
                next_comparison = Instant::now() + began.elapsed() * REST_AFTER_COMPARISON;
            }
        }
        tokio::time::sleep(COMPARE_EVERY).await;
    }
}

/// What a round looks for beside what could not be reached.
#[derive(Clone, Copy)]
struct Looks {
    /// Partitions that are missing.
    leads: bool,
    /// Partitions that differ.
    compares: bool,
}

/// Mends what a round looks for; what cannot be reached is left for the next one.
async fn mend_all(context: &NodeContext, meta: &MetaState, looks: Looks) {
    // one that did not answer is not waited for again in the same round
    let mut failed = BTreeSet::new();
    let lagging = context.users().lagging.take();
    if !looks.leads && lagging.is_empty() {
        return;
    }
    for name in meta.catalogue.named() {
        if looks.leads
            && meta.lacks_partitions(&name)
            && let Err(error) = make(context, &name, write_deadline()).await
        {
            tracing::debug!(index = %name, %error, "an index lacks partitions");
        }
        for partition in context.meta().other_partitions(&name) {
            if !looks.compares && !lagging.contains(&partition) {
                continue;
            }
            let cluster = partition.partition().1;
            if failed.contains(&cluster) || is_out_of_reach(context, &partition) {
                context.users().lagging.note(partition);
            } else if let Err(error) = mend(context, (&name, &partition), write_deadline()).await {
                tracing::debug!(index = %name, %error, "the partitions of an index are not compared");
                if error.kind == ErrorKind::Unavailable {
                    failed.insert(cluster);
                }
                context.users().lagging.note(partition);
            }
        }
    }
}

async fn mend(
    context: &NodeContext,
    (name, partition): (&IndexName, &IndexName),
    deadline: Instant,
) -> Result<()> {
    let meta = context.meta();
    let is_unannounced = |row: &IndexRow| meta.unannounced.contains_key(&Subject::Replicas(row.incarnation));
    if meta.catalogue.get(partition).is_some_and(is_unannounced)
        || !are_configured_alike(context, name, partition, deadline).await?
    {
        spread_to(context, (name, partition), Reach::Index, deadline).await?;
    }
    let public = UserId::new(quorate_model::user::PUBLIC)?;
    let copying = Copying { user: &public, epoch: None, from: name, to: partition, ids: None };
    if !differences(context, &copying, deadline).await?.is_empty() {
        follow_in(context, (name, partition), None, deadline).await?;
    }
    Ok(())
}
