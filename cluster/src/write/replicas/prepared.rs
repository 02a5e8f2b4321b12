//! How is an index made ready that a name will stand for as a replica?
//!
//! The name goes on showing what it has until one command of the meta group lets it stand for the new index. For a move the
//! new index has its records before: the group of the source is told that it follows, as of the log index of its reservation. What
//! the group is told of the move later is newer and lists it too; what is given up is dropped, and then nothing follows.

use super::announcement_of;
use crate::clock::write_deadline;
use crate::command::{MetaCommand, Moved};
use crate::context::NodeContext;
use crate::context::silence;
use crate::disk::Purpose;
use crate::meta::{Link, MetaState};
use crate::read::index_config::{self, IndexConfig};
use crate::write::{configuring, tasks};
use futures_util::future::try_join_all;
use quorate_model::{GroupId, IndexName, Result, TaskId, level};
use quorate_node::ops::{Follower, Incarnation, IndexCommand, ReplicaKind};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long a move waits for replicas that have to be rebuilt for settings of their own; afterwards they show the records in the
/// order of the primary until they are.
const REBUILD: Duration = Duration::from_secs(5);

/// The indices that are kept ready for names that will be replicas, and for partitions of them.
#[derive(Debug, Default)]
pub struct Prepared {
    lives: BTreeMap<IndexName, Life>,
    rebuilt: Option<TaskId>,
}

/// One index that is kept ready.
#[derive(Debug)]
struct Life {
    incarnation: Incarnation,
    group: GroupId,
    kind: ReplicaKind,
    /// The index or the partition that it will follow.
    primary: IndexName,
    /// The index that it has its configuration of.
    configured_as: IndexName,
    /// What it was configured as.
    config: Option<IndexConfig>,
}

impl Prepared {
    /// What is ready for a name.
    pub fn of(&self, name: &IndexName) -> Option<Incarnation> {
        self.lives.get(name).map(|life| life.incarnation)
    }
    /// The names that something is ready for.
    pub fn names(&self) -> impl Iterator<Item = &IndexName> {
        self.lives.keys()
    }
    /// Whether what is ready for one of these names is still only reserved.
    pub fn is_unused(&self, meta: &MetaState, links: &[Link]) -> bool {
        let mut ready = links.iter().filter_map(|link| self.of(&link.name));
        ready.any(|incarnation| meta.reserved.contains_key(&incarnation))
    }
    /// Where the replicas of a move's destination go on.
    pub fn moved(&self) -> Vec<Moved> {
        let moved =
            |(name, life): (&IndexName, &Life)| Moved { name: name.clone(), incarnation: life.incarnation };
        self.lives.iter().map(moved).collect()
    }
    /// The task of settings that one of them is still being rebuilt for.
    pub fn rebuilt(&self) -> Option<TaskId> {
        self.rebuilt
    }
    /// What follows `primary`, which lies in `group`, and the revision of a list that begins with the last of them. What was made ready
    /// in another group, where the name stood for something else, follows nobody.
    fn following(&self, primary: &IndexName, group: GroupId) -> (Vec<Follower>, u64) {
        let lives = self.lives.values().filter(|life| life.primary == *primary && life.group == group);
        let follower = |life: &Life| Follower { incarnation: life.incarnation, kind: life.kind };
        let followers: Vec<Follower> = lives.map(follower).collect();
        let newest = followers.iter().map(|follower| TaskId(follower.incarnation).log_index()).max();
        (followers, newest.unwrap_or_default())
    }
}

/// Reserves an incarnation for each of `names` in the group of `primary`, and one for each of their partitions in the group of
/// the partition that it will follow, except in clusters that are silent; all with the settings, synonyms and rules that the name has
/// now. From level 11 on nobody is answered who changes these until what is reserved is in use or given up ([`super::settled`]).
pub async fn prepare(
    context: &NodeContext,
    primary: &IndexName,
    names: &[&Link],
    deadline: Instant,
) -> Result<Prepared> {
    let mut prepared = Prepared::default();
    if let Err(error) = prepare_all(context, primary, names, &mut prepared, deadline).await {
        abandon_unused(context, &prepared).await;
        return Err(error);
    }
    Ok(prepared)
}

/// As [`prepare`]; reads of what is ready see the records of `primary` afterwards.
pub async fn prepare_filled(
    context: &NodeContext,
    primary: &IndexName,
    names: &[&Link],
    deadline: Instant,
) -> Result<Prepared> {
    let mut prepared = prepare(context, primary, names, deadline).await?;
    if let Err(error) = fill(context, &mut prepared, deadline).await {
        abandon_unused(context, &prepared).await;
        return Err(error);
    }
    Ok(prepared)
}

async fn prepare_all(
    context: &NodeContext,
    primary: &IndexName,
    names: &[&Link],
    prepared: &mut Prepared,
    deadline: Instant,
) -> Result<()> {
    for link in names {
        reserve(context, primary, link, prepared, deadline).await?;
    }
    if prepared.lives.is_empty() {
        return Ok(());
    }
    // a change that is kept after the configuration was read finds on every node what is reserved
    tasks::until_known(context, deadline).await?;
    configure(context, prepared, deadline).await
}

/// Reserves what a name will stand for, and what partitions of it will.
async fn reserve(
    context: &NodeContext,
    primary: &IndexName,
    link: &Link,
    prepared: &mut Prepared,
    deadline: Instant,
) -> Result<()> {
    let meta = context.meta();
    if meta.catalogue.get(&link.name).is_none() {
        return Ok(());
    }
    let partitions = if meta.partitions_follow() { meta.other_partitions(primary) } else { vec![] };
    for followed in std::iter::once(primary).chain(&partitions) {
        let Some(group) = meta.catalogue.get(followed).map(|row| row.group) else { continue };
        // a cluster that is away makes its part when it is back, as it does without this
        if followed != primary && silence::is_out_of_reach(context, group) {
            continue;
        }
        let name = followed
            .partition()
            .1
            .map_or_else(|| Ok(link.name.clone()), |number| link.name.partition_in(number))?;
        let begin = match meta.level() >= level::RESERVED_FOR {
            true => MetaCommand::BeginReplica { name: link.name.clone(), group },
            false => MetaCommand::BeginCopy { group },
        };
        let incarnation = context.proposer().propose_meta(begin, Purpose::Add, deadline).await?.task_id.0;
        let (primary, configured_as) = (followed.clone(), link.name.clone());
        let life = Life { incarnation, group, kind: link.kind, primary, configured_as, config: None };
        prepared.lives.insert(name, life);
    }
    Ok(())
}

/// Gives everything that is ready the configuration that its name has now, unless it has it already.
async fn configure(context: &NodeContext, prepared: &mut Prepared, deadline: Instant) -> Result<()> {
    let mut configs = BTreeMap::new();
    for life in prepared.lives.values_mut() {
        let name = &life.configured_as;
        if !configs.contains_key(name) {
            configs.insert(name.clone(), config_of(context, &context.meta(), name, deadline).await?);
        }
        let Some(Some(config)) = configs.get(name) else { continue };
        if life.config.as_ref().is_some_and(|before| config.is_like(before)) {
            continue;
        }
        life.config = Some(config.clone());
        let IndexConfig { settings, resources } = config.clone();
        let commands = configuring::all(life.incarnation, &settings.document, resources);
        let command = IndexCommand::Sequence { commands };
        context.proposer().propose_index(life.group, command, Purpose::Add, deadline).await?;
    }
    Ok(())
}

/// What an index has beside its records; `None` when there is no such index.
async fn config_of(
    context: &NodeContext,
    meta: &MetaState,
    name: &IndexName,
    deadline: Instant,
) -> Result<Option<IndexConfig>> {
    match meta.catalogue.get(name) {
        Some(row) => index_config::now(context, row, &context.resource_kinds(), deadline).await.map(Some),
        None => Ok(None),
    }
}

/// Lets what is ready follow already and waits until reads would see its records; afterwards it has the configuration that the
/// names have by then.
pub(super) async fn fill(context: &NodeContext, prepared: &mut Prepared, deadline: Instant) -> Result<()> {
    let meta = context.meta();
    let mut primaries: Vec<&IndexName> = prepared.lives.values().map(|life| &life.primary).collect();
    primaries.sort_unstable();
    primaries.dedup();
    let told = primaries.into_iter().filter_map(|primary| {
        let row = meta.catalogue.get(primary)?;
        let (followers, revision) = prepared.following(primary, row.group);
        (!followers.is_empty()).then(|| announcement_of(&meta, row, revision, &followers))
    });
    let filled = told.map(async |told| {
        let proposed = context.proposer().propose_index(told.group, told.command, Purpose::Add, deadline);
        tasks::until_shown(context, proposed.await?.task_id, REBUILD, deadline).await
    });
    prepared.rebuilt = try_join_all(filled).await?.into_iter().flatten().next();
    // who begins to follow as a virtual replica loses what it has of its primary's settings, which it keeps for when it is a standard one
    for life in prepared.lives.values_mut().filter(|life| life.kind == ReplicaKind::Virtual) {
        life.config = None;
    }
    configure(context, prepared, deadline).await
}

/// Gives up what was prepared and is still only reserved.
pub async fn abandon_unused(context: &NodeContext, prepared: &Prepared) {
    let unused = |it: &Incarnation| context.shared_meta().load().reserved.contains_key(it);
    let lives = prepared.lives.values().map(|life| life.incarnation);
    for incarnation in lives.filter(unused).collect::<Vec<_>>() {
        let abandon = MetaCommand::AbandonCopy { incarnation };
        if let Err(error) = context.proposer().propose_meta(abandon, Purpose::Remove, write_deadline()).await
        {
            tracing::warn!(%error, "an index that was prepared as a replica stays for a while");
        }
    }
}
