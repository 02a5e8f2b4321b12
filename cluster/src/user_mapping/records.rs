//! How do a user's records get from one part of an index into another, and how are they deleted and counted?
//!
//! Copying compares the two parts and writes the difference, so it may be done again, and a second time only takes what
//! changed since. Every command of a move or a removal names the user's epoch: see `quorate_node::ops`.

use super::means::{Means, seen};
use super::owned::{self, Whose};
use super::usage::{Figures, Usage};
use crate::disk::Purpose;
use crate::meta::{IndexRow, MetaState};
use crate::router::Router;
use futures_util::future::try_join_all;
use quorate_model::{Error, GroupId, IndexName, RecordOp, Result, TaskId, UserId, limits};
use quorate_node::Node;
use quorate_node::ops::IndexCommand;
use serde_json::{Value, json};
use std::time::Instant;

/// Records of one call to another node at most.
const RECORDS_AT_A_TIME: usize = 250;
/// Bytes of the records of one command, about.
const COMMAND_BYTES: usize = limits::ENTRY_BYTES / 2;

/// The parameters of a deletion with the owner whose records it is for.
pub fn deletion_of(user: &UserId, params: &[u8]) -> Result<Vec<u8>> {
    let mut params: Value = serde_json::from_slice(params)
        .map_err(|error| Error::internal(format!("a checked deletion: {error}")))?;
    params[quorate_model::user::OWNER] = json!(user.as_str());
    Ok(params.to_string().into_bytes())
}

/// Which records are made alike.
#[derive(Clone, Copy, Debug)]
pub struct Copying<'a> {
    /// Their owner.
    pub user: &'a UserId,
    /// The epoch of the owner that this was decided on; public records have none.
    pub epoch: Option<u64>,
    /// The part that has them.
    pub from: &'a IndexName,
    /// The part that gets them.
    pub to: &'a IndexName,
    /// Only those with these stored ids.
    pub ids: Option<&'a [String]>,
}

/// What one part has in another way than another one.
#[derive(Debug, Default)]
pub struct Differences {
    /// Stored ids of records that are missing or others.
    puts: Vec<String>,
    /// Stored ids of records that should not be there.
    deletes: Vec<String>,
    /// How many records do not differ.
    alike: usize,
}
impl Differences {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.puts.is_empty() && self.deletes.is_empty()
    }
}

/// Both parts as they are at one moment; `None` when they follow another index, which gives them their records.
fn rows(means: &impl Means, Copying { from, to, .. }: &Copying<'_>) -> Result<Option<(IndexRow, IndexRow)>> {
    let meta = means.meta();
    let row =
        |name: &IndexName| meta.catalogue.get(name).cloned().ok_or_else(|| Error::no_index(name.part().0));
    let (source, target) = (row(from)?, row(to)?);
    Ok(Some((source, target)).filter(|(source, target)| source.primary().or(target.primary()).is_none()))
}

/// Compares two parts as of every write answered before. Parts of replicas do not differ.
pub async fn differences(
    means: &impl Means,
    copying: &Copying<'_>,
    deadline: Instant,
) -> Result<Differences> {
    match rows(means, copying)? {
        Some((source, target)) => compare(means, copying, (&source, &target), deadline).await,
        None => Ok(Differences::default()),
    }
}

async fn compare(
    means: &impl Means,
    copying: &Copying<'_>,
    (source, target): (&IndexRow, &IndexRow),
    deadline: Instant,
) -> Result<Differences> {
    let Copying { user, epoch: _, from: _, to: _, ids } = *copying;
    let whose = Whose { owner: user.clone(), ids: ids.map(<[String]>::to_vec) };
    let wanted = means.digest(source, &whose, deadline).await?;
    let mut found = means.digest(target, &whose, deadline).await?;
    let differs = |(id, number): (String, u64)| (found.remove(&id) != Some(number)).then_some(id);
    let all = wanted.len();
    let puts: Vec<String> = wanted.into_iter().filter_map(differs).collect();
    let alike = all - puts.len();
    Ok(Differences { puts, deletes: found.into_keys().collect(), alike })
}

/// Makes the owner's records in one part those of another as of every write answered before. Reads see them when this
/// returns. Returns how many were not.
pub async fn copy(means: &impl Means, copying: &Copying<'_>, deadline: Instant) -> Result<usize> {
    let Copying { user, epoch, .. } = *copying;
    let Some((source, row)) = rows(means, copying)? else { return Ok(0) };
    let Differences { puts, deletes, alike } = compare(means, copying, (&source, &row), deadline).await?;
    let target = Target { means, row: &row, user, epoch, deadline };
    for ids in puts.chunks(RECORDS_AT_A_TIME) {
        let records = means.records(&source, ids, deadline).await?;
        let (mut ops, mut bytes) = (vec![], 0);
        for (id, record) in ids.iter().zip(records) {
            // deleted since the two parts were compared: an older one must not stay in the other part
            let Some(record) = record else {
                ops.push(RecordOp::Delete { object_id: id.clone() });
                continue;
            };
            if bytes + record.len() > COMMAND_BYTES && !ops.is_empty() {
                target.propose(std::mem::take(&mut ops), Purpose::Add).await?;
                bytes = 0;
            }
            bytes += record.len();
            ops.push(RecordOp::Put { object_id: id.clone(), record });
        }
        target.propose(ops, Purpose::Add).await?;
    }
    for ids in deletes.chunks(RECORDS_AT_A_TIME) {
        let ops = ids.iter().map(|id| RecordOp::Delete { object_id: id.clone() }).collect();
        target.propose(ops, Purpose::Remove).await?;
    }
    let differed = puts.len() + deletes.len();
    if differed + alike > 0 {
        // after everything that an attempt before may have written and not every reader shows yet
        seen(means, target.propose(vec![], Purpose::Remove).await?, deadline).await?;
    }
    Ok(differed)
}

/// A part that a user's records are written to.
struct Target<'a, M> {
    means: &'a M,
    row: &'a IndexRow,
    user: &'a UserId,
    epoch: Option<u64>,
    deadline: Instant,
}
impl<M: Means> Target<'_, M> {
    async fn propose(&self, ops: Vec<RecordOp>, purpose: Purpose) -> Result<TaskId> {
        let records = IndexCommand::Records { index: self.row.incarnation, ops };
        let command = match self.epoch {
            Some(epoch) => for_user(self.user, epoch, records),
            None => records,
        };
        let proposed = self.means.propose(self.row.group, command, purpose, self.deadline).await?;
        Ok(proposed.task_id)
    }
}

fn for_user(user: &UserId, epoch: u64, command: IndexCommand) -> IndexCommand {
    IndexCommand::ForUser { user: user.clone(), epoch, command: Box::new(command) }
}

/// Lets a cluster refuse what was decided for a user before `epoch`.
pub async fn fence(
    means: &impl Means,
    user: &UserId,
    epoch: u64,
    cluster: u16,
    deadline: Instant,
) -> Result<()> {
    let meta = means.meta();
    let groups = meta.cluster_name(cluster).map(|name| meta.groups_of(name)).unwrap_or_default();
    let told = groups.into_iter().map(async |group| {
        let command = for_user(user, epoch, IndexCommand::Sequence { commands: vec![] });
        means.propose(group, command, Purpose::Remove, deadline).await
    });
    try_join_all(told).await.map(drop)
}

/// The indices that callers name.
pub fn indices(meta: &MetaState) -> Vec<IndexName> {
    meta.catalogue.iter().map(|(name, _)| name.clone()).filter(|name| name.part().1.is_none()).collect()
}

/// The rows of all parts that a cluster has, with the names of their indices.
fn parts_in(meta: &MetaState, cluster: u16) -> Vec<(IndexName, IndexRow)> {
    let part = |name: IndexName| {
        let row = meta.catalogue.get(&meta.part_of(&name, cluster).ok()?)?;
        // a replica has what its primary has
        row.primary().is_none().then(|| (name, row.clone()))
    };
    indices(meta).into_iter().filter_map(part).collect()
}

/// Makes what a user has in a cluster what it has in another one.
pub async fn copy_all(
    means: &impl Means,
    (user, epoch): (&UserId, u64),
    (from, to): (u16, u16),
    deadline: Instant,
) -> Result<()> {
    for (name, source) in parts_in(&means.meta(), from) {
        let whose = Whose { owner: user.clone(), ids: None };
        let is_missing = || {
            let meta = means.meta();
            meta.part_of(&name, to).is_ok_and(|part| meta.catalogue.get(&part).is_none())
        };
        if is_missing() {
            if means.digest(&source, &whose, deadline).await?.is_empty() {
                continue;
            }
            means.make_parts(&name, deadline).await?;
        }
        let meta = means.meta();
        let (source, target) = (meta.part_of(&name, from)?, meta.part_of(&name, to)?);
        let copying = Copying { user, epoch: Some(epoch), from: &source, to: &target, ids: None };
        match copy(means, &copying, deadline).await {
            // the index was deleted or moved meanwhile
            Err(error) if error.kind == quorate_model::ErrorKind::NotFound => {}
            other => drop(other?),
        }
    }
    Ok(())
}

/// Deletes a user's records in a cluster; returns when no reader sees them any more.
pub async fn delete_in(
    means: &impl Means,
    (user, epoch): (&UserId, u64),
    cluster: u16,
    deadline: Instant,
) -> Result<()> {
    fence(means, user, epoch, cluster, deadline).await?;
    let whose = Whose { owner: user.clone(), ids: None };
    let mut accepted = vec![];
    for (_, row) in parts_in(&means.meta(), cluster) {
        if means.digest(&row, &whose, deadline).await?.is_empty() {
            continue;
        }
        let ops = vec![RecordOp::DeleteBy { params: deletion_of(user, b"{}")? }];
        let target = Target { means, row: &row, user, epoch: Some(epoch), deadline };
        accepted.push(target.propose(ops, Purpose::Remove).await?);
    }
    for task in accepted {
        seen(means, task, deadline).await?;
    }
    Ok(())
}

/// Counts what all indices have of each user.
pub async fn count(router: &Router, node: &Node) -> Result<Usage> {
    let meta = router.meta();
    let rows = meta.catalogue.iter().filter(|(_, row)| row.primary().is_none());
    let cluster_of = |group: GroupId| group.0.checked_sub(1).map(|group| group / limits::PLACEMENT_GROUPS);
    let mut usage = Usage::default();
    for (_, row) in rows {
        let Some(cluster) = cluster_of(row.group) else { continue };
        let owners = owned::owners(router, node, row).await?;
        for (owner, (records, bytes)) in owners {
            let Ok(user) = UserId::new(&owner) else { continue };
            // what a move has copied or not deleted yet counts where the user is
            let is_here =
                user.is_public() || meta.users.map.get(&user).is_some_and(|row| row.cluster == cluster);
            if is_here {
                usage.add(cluster, user, Figures { records, bytes });
            }
        }
    }
    Ok(usage)
}
