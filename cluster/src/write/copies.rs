//! How is an index copied with all its partitions, as one?
//!
//! The partitions are copied one by one under reserved incarnations, then one command lets the names stand for all of them. While
//! an incarnation is reserved for a copy no user goes on to another cluster, and none is reserved while a user's writes wait
//! (`meta/copies.rs`; the two take turns, `meta/turns.rs`): so each user's records are in the copy, once. A source that is replaced or deleted meanwhile gives
//! partitions of different times; then the copy is begun again.

use crate::command::{Copied, MetaCommand, Source};
use crate::context::proposer::Accepted;
use crate::disk::Purpose;
use crate::meta::{IndexRow, MetaState, Side};
use crate::write::env::{Env, seen};
use futures_util::future::try_join_all;
use quorate_model::{Error, GroupId, IndexName, Result, TaskId, level};
use quorate_node::ops::{Incarnation, ReplicaKind};
use std::time::{Duration, Instant};

/// Tries to copy while others change the same names.
const ATTEMPTS: usize = 8;
/// Between two looks whether it is the turn of copies.
const LOOK: Duration = Duration::from_millis(5);
/// How often who waits for its turn says so in the meta group.
pub const REPEAT: Duration = Duration::from_millis(100);
/// No index has this incarnation: the source of a copy that is missing.
const MISSING: Incarnation = 0;

/// One incarnation that is copied into another one.
#[derive(Clone, Debug)]
pub struct Filling {
    /// The index or the partition as it is known; `None` when there is none.
    pub shown: Option<IndexRow>,
    /// The group of both.
    pub group: GroupId,
    /// What has the records; of a virtual replica its primary.
    pub from: Incarnation,
    /// The copy.
    pub to: Incarnation,
}

/// What is copied under which name, before anything is reserved for it.
struct Plan {
    name: IndexName,
    shown: Option<IndexRow>,
    from: Incarnation,
    group: GroupId,
}

/// Reserves an incarnation in each group, all at once, when it is the turn of copies.
async fn begin(env: &impl Env, groups: &[GroupId], deadline: Instant) -> Result<Vec<Incarnation>> {
    if env.meta().level() < level::LOOKED {
        let mut begun = vec![];
        for group in groups {
            let begin = MetaCommand::BeginCopy { group: *group };
            begun.push(env.decide(begin, Purpose::Add, deadline).await?.task_id.0);
        }
        return Ok(begun);
    }
    loop {
        let begin = MetaCommand::BeginCopies { groups: groups.to_vec() };
        let first = env.decide(begin, Purpose::Add, deadline).await?.task_id.0;
        if env.meta().reserved.contains_key(&first) {
            return Ok((first..).take(groups.len()).collect());
        }
        let again = env.now() + REPEAT;
        loop {
            if env.now() >= deadline {
                return Err(Error::unavailable("a user is being moved to another cluster; try again"));
            }
            env.pause(LOOK).await;
            if env.now() >= again || env.meta().may_begin(Side::Copies) {
                break;
            }
        }
    }
}

/// Gives up what is still only reserved.
pub async fn abandon(env: &impl Env, reserved: impl IntoIterator<Item = Incarnation>) {
    for incarnation in reserved {
        if !env.meta().reserved.contains_key(&incarnation) {
            continue;
        }
        let abandon = MetaCommand::AbandonCopy { incarnation };
        if let Err(error) = env.decide(abandon, Purpose::Remove, env.write_deadline()).await {
            tracing::warn!(%error, "an abandoned copy stays for a while");
        }
    }
}

/// The row whose records a name shows: of a virtual replica its primary's.
fn with_records(meta: &MetaState, row: &IndexRow) -> IndexRow {
    let primary = row.primary().filter(|link| link.kind == ReplicaKind::Virtual);
    primary.and_then(|link| meta.catalogue.get(&link.name)).unwrap_or(row).clone()
}

fn plan(env: &impl Env, source: &IndexName, destination: &IndexName) -> Result<Vec<Plan>> {
    let meta = env.meta();
    let Some(row) = meta.catalogue.get(source) else {
        let group = env.group_for(destination)?;
        return Ok(vec![Plan { name: destination.clone(), shown: None, from: MISSING, group }]);
    };
    let planned = |name: IndexName, row: &IndexRow| {
        let IndexRow { incarnation: from, group, .. } = with_records(&meta, row);
        Plan { name, shown: Some(row.clone()), from, group }
    };
    let mut plan = vec![planned(destination.clone(), row)];
    for partition in meta.other_partitions(source) {
        if let (Some(number), Some(row)) = (partition.partition().1, meta.catalogue.get(&partition)) {
            plan.push(planned(destination.partition_in(number)?, row));
        }
    }
    Ok(plan)
}

/// The names and lives that are copied, as the catalogue has them.
fn sources(meta: &MetaState, source: &IndexName) -> Vec<Source> {
    let names = std::iter::once(source.clone()).chain(meta.other_partitions(source));
    let row = |name: IndexName| Some(Source { incarnation: meta.catalogue.get(&name)?.incarnation, name });
    names.filter_map(row).collect()
}

/// Makes `destination` a copy of `source`, which is another name; a missing source gives an empty index. `check` says whether
/// that is allowed, each time before it is tried.
pub async fn copy(
    env: &impl Env,
    (source, destination): (&IndexName, &IndexName),
    check: impl Fn(&MetaState) -> Result<()>,
    deadline: Instant,
) -> Result<Accepted> {
    for _ in 0..ATTEMPTS {
        check(&env.meta())?;
        let mut reserved = vec![];
        let outcome = attempt(env, (source, destination), &mut reserved, deadline).await;
        abandon(env, reserved).await;
        if let Some(accepted) = outcome? {
            return Ok(accepted);
        }
    }
    Err(Error::unavailable(format!("{} is being changed by others; try again", destination.partition().0)))
}

/// `None` when the catalogue has changed meanwhile.
async fn attempt(
    env: &impl Env,
    (source, destination): (&IndexName, &IndexName),
    reserved: &mut Vec<Incarnation>,
    deadline: Instant,
) -> Result<Option<Accepted>> {
    // nobody moves from the reservation on: what is there is looked at after it
    let groups = |plan: &[Plan]| -> Vec<GroupId> { plan.iter().map(|planned| planned.group).collect() };
    let expected = groups(&plan(env, source, destination)?);
    reserved.extend(begin(env, &expected, deadline).await?);
    let (sources, plan) = (sources(&env.meta(), source), plan(env, source, destination)?);
    if groups(&plan) != expected {
        return Ok(None);
    }
    let filling = |(planned, &to): (&Plan, &Incarnation)| {
        let Plan { shown, from, group, .. } = planned;
        Filling { shown: shown.clone(), group: *group, from: *from, to }
    };
    let fillings: Vec<Filling> = plan.iter().zip(&*reserved).map(filling).collect();
    let filled = fillings.iter().map(|filling| env.fill(filling, deadline));
    let rebuilt: Option<TaskId> = try_join_all(filled).await?[0];
    let copied = |(planned, filling): (&Plan, &Filling)| Copied {
        name: planned.name.clone(),
        incarnation: filling.to,
        group: filling.group,
    };
    let copies: Vec<Copied> = plan.iter().zip(&fillings).map(copied).collect();
    let life = || env.meta().catalogue.get(destination).map(|row| row.incarnation);
    let before = life();
    let mut accepted = point(env, destination, sources, copies, deadline).await?;
    // refused, or given up as nobody's; when the name changed, another change may have come after this one
    if env.meta().reserved.contains_key(&reserved[0]) || life() == before {
        return Ok(None);
    }
    if let Some(task_id) = rebuilt {
        seen(env, accepted.task_id, deadline).await?;
        accepted.task_id = task_id;
    }
    Ok(Some(accepted))
}

async fn point(
    env: &impl Env,
    destination: &IndexName,
    sources: Vec<Source>,
    mut copies: Vec<Copied>,
    deadline: Instant,
) -> Result<Accepted> {
    if env.meta().level() >= level::LOOKED {
        let command = MetaCommand::PointCopy { name: destination.clone(), sources, copies };
        return env.decide(command, Purpose::Add, deadline).await;
    }
    let Copied { name, incarnation, group } = copies.swap_remove(0);
    for Copied { name, incarnation, group } in copies {
        let command = MetaCommand::PointIndex { name, incarnation, group };
        env.decide(command, Purpose::Add, deadline).await?;
    }
    env.decide(MetaCommand::PointIndex { name, incarnation, group }, Purpose::Add, deadline).await
}
