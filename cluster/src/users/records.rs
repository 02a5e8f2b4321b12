//! How do a user's records get from one partition of an index into another, and how are they deleted and counted?
//!
//! Copying compares the two partitions and writes the difference, so it may be done again, and a second time only takes what
//! changed since. Every command of a move or a removal names the user's epoch: see `quorate_node::ops`.

use super::usage::{Figures, Usage};
use crate::command::Looked;
use crate::context::NodeContext;
use crate::disk::Purpose;
use crate::meta::{IndexRow, MetaState};
use crate::read::user_records;
use crate::types::{OwnedDigest, Whose};
use crate::write::env::{Env, seen};
use futures_util::future::try_join_all;
use quorate_model::{Error, GroupId, IndexName, RecordOp, Result, TaskId, UserId, limits};
use quorate_node::ops::{Incarnation, IndexCommand};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Instant;

/// Records of one call to another node at most.
const RECORDS_AT_A_TIME: usize = 250;
/// Indices that are looked at at a time.
const INDICES_AT_A_TIME: usize = 8;
/// No index has this incarnation: there is none.
const NO_LIFE: Incarnation = 0;
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
    /// The partition that has them.
    pub from: &'a IndexName,
    /// The partition that gets them.
    pub to: &'a IndexName,
    /// Only those with these stored ids.
    pub ids: Option<&'a [String]>,
}

/// The same without the partitions.
#[derive(Clone, Copy, Debug)]
struct Who<'a> {
    user: &'a UserId,
    epoch: Option<u64>,
    ids: Option<&'a [String]>,
}
impl<'a> Copying<'a> {
    fn who(&self) -> Who<'a> {
        Who { user: self.user, epoch: self.epoch, ids: self.ids }
    }
}

/// What one partition has in another way than another one.
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

/// Both partitions as they are at one moment; `None` when they follow another index, which gives them their records.
fn rows(env: &impl Env, Copying { from, to, .. }: &Copying<'_>) -> Result<Option<(IndexRow, IndexRow)>> {
    let meta = env.meta();
    let rows = &meta.catalogue;
    let row = |name: &IndexName| rows.get(name).cloned().ok_or_else(|| Error::no_index(name.partition().0));
    let (source, target) = (row(from)?, row(to)?);
    Ok(Some((source, target)).filter(|(source, target)| source.primary().or(target.primary()).is_none()))
}

/// Compares two partitions as of every write answered before. Partitions of replicas do not differ.
pub async fn differences(env: &impl Env, copying: &Copying<'_>, deadline: Instant) -> Result<Differences> {
    match rows(env, copying)? {
        Some((source, target)) => compare(env, copying.who(), (Some(&source), &target), deadline).await,
        None => Ok(Differences::default()),
    }
}

async fn compare(
    env: &impl Env,
    Who { user, epoch: _, ids }: Who<'_>,
    (source, target): (Option<&IndexRow>, &IndexRow),
    deadline: Instant,
) -> Result<Differences> {
    let whose = Whose { owner: user.clone(), ids: ids.map(<[String]>::to_vec) };
    let wanted = match source {
        Some(source) => env.digest(source, &whose, deadline).await?,
        None => OwnedDigest::new(),
    };
    let mut found = env.digest(target, &whose, deadline).await?;
    let differs = |(id, number): (String, u64)| (found.remove(&id) != Some(number)).then_some(id);
    let all = wanted.len();
    let puts: Vec<String> = wanted.into_iter().filter_map(differs).collect();
    let alike = all - puts.len();
    Ok(Differences { puts, deletes: found.into_keys().collect(), alike })
}

/// Makes the owner's records in one partition those of another as of every write answered before. Reads see them when this
/// returns. Returns how many were not.
pub async fn copy(env: &impl Env, copying: &Copying<'_>, deadline: Instant) -> Result<usize> {
    match rows(env, copying)? {
        Some((source, target)) => copy_rows(env, copying.who(), (Some(&source), &target), deadline).await,
        None => Ok(0),
    }
}

/// The same for two lives of partitions, whatever they are called. Where there is no source there are no records.
async fn copy_rows(
    env: &impl Env,
    who: Who<'_>,
    (source, row): (Option<&IndexRow>, &IndexRow),
    deadline: Instant,
) -> Result<usize> {
    let Who { user, epoch, ids: _ } = who;
    let Differences { puts, deletes, alike } = compare(env, who, (source, row), deadline).await?;
    let target = Target { env, row, user, epoch, deadline };
    for ids in puts.chunks(RECORDS_AT_A_TIME) {
        let records = match source {
            Some(source) => env.records(source, ids, deadline).await?,
            None => vec![],
        };
        let (mut ops, mut bytes) = (vec![], 0);
        for (id, record) in ids.iter().zip(records) {
            // deleted since the two partitions were compared: an older one must not stay in the other partition
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
        seen(env, target.propose(vec![], Purpose::Remove).await?, deadline).await?;
    }
    Ok(differed)
}

/// A partition that a user's records are written to.
struct Target<'a, M> {
    env: &'a M,
    row: &'a IndexRow,
    user: &'a UserId,
    epoch: Option<u64>,
    deadline: Instant,
}
impl<M: Env> Target<'_, M> {
    async fn propose(&self, ops: Vec<RecordOp>, purpose: Purpose) -> Result<TaskId> {
        let records = IndexCommand::Records { index: self.row.incarnation, ops };
        let command = match self.epoch {
            Some(epoch) => for_user(self.user, epoch, records),
            None => records,
        };
        let proposed = self.env.propose(self.row.group, command, purpose, self.deadline).await?;
        Ok(proposed.task_id)
    }
}

fn for_user(user: &UserId, epoch: u64, command: IndexCommand) -> IndexCommand {
    IndexCommand::ForUser { user: user.clone(), epoch, command: Box::new(command) }
}

/// Lets a cluster refuse what was decided for a user before `epoch`.
pub async fn fence(env: &impl Env, user: &UserId, epoch: u64, cluster: u16, deadline: Instant) -> Result<()> {
    let meta = env.meta();
    let groups = meta.cluster_name(cluster).map(|name| meta.groups_of(name)).unwrap_or_default();
    let told = groups.into_iter().map(async |group| {
        let command = for_user(user, epoch, IndexCommand::Sequence { commands: vec![] });
        env.propose(group, command, Purpose::Remove, deadline).await
    });
    try_join_all(told).await.map(drop)
}

/// What two clusters have of an index.
#[derive(Clone, Debug)]
struct Pair {
    name: IndexName,
    from: Option<IndexRow>,
    to: Option<IndexRow>,
}
impl Pair {
    /// What it is known by, whatever the index is called meanwhile.
    fn lives(&self) -> (Incarnation, Incarnation) {
        let life = |row: &Option<IndexRow>| row.as_ref().map_or(NO_LIFE, |row| row.incarnation);
        (life(&self.from), life(&self.to))
    }
    /// Whether it follows another index, which gives it its records.
    fn follows(&self) -> bool {
        self.from.as_ref().or(self.to.as_ref()).is_some_and(|row| row.primary().is_some())
    }
}

fn pairs(meta: &MetaState, (from, to): (u16, u16)) -> Vec<Pair> {
    let row = |name: &IndexName, cluster: u16| {
        meta.partition_of(name, cluster).ok().and_then(|partition| meta.catalogue.get(&partition).cloned())
    };
    let pair = |name: IndexName| Pair { from: row(&name, from), to: row(&name, to), name };
    meta.catalogue.named().into_iter().map(pair).filter(|pair| !pair.follows()).collect()
}

/// Makes what a user has in a cluster what it has in another one, index by index.
pub struct Mirroring<'a, M> {
    env: &'a M,
    whom: (&'a UserId, u64),
    clusters: (u16, u16),
    deadline: Instant,
    done: BTreeSet<(Incarnation, Incarnation)>,
}

impl<'a, M: Env> Mirroring<'a, M> {
    /// From the first of two clusters to the second.
    pub fn new(env: &'a M, whom: (&'a UserId, u64), clusters: (u16, u16), deadline: Instant) -> Self {
        Mirroring { env, whom, clusters, deadline, done: BTreeSet::new() }
    }
    /// Goes on until there is no index that it has not been at, and returns what it has looked at.
    pub async fn look(&mut self) -> Result<Looked> {
        let through = self.env.known_through()?;
        loop {
            let meta = self.env.meta();
            let pairs = pairs(&meta, self.clusters).into_iter();
            let new: Vec<Pair> = pairs.filter(|pair| !self.done.contains(&pair.lives())).collect();
            if new.is_empty() {
                return Ok(Looked { changed: meta.catalogue_changed(), through });
            }
            if self.env.now() >= self.deadline {
                return Err(Error::unavailable("the records of a user are not copied in time"));
            }
            for some in new.chunks(INDICES_AT_A_TIME) {
                let mirrored = some.iter().map(|pair| self.mirror(pair));
                let mirrored = try_join_all(mirrored).await?;
                let done = some.iter().zip(mirrored).filter(|(_, is_done)| *is_done);
                self.done.extend(done.map(|(pair, _)| pair.lives()));
            }
        }
    }
    /// Returns whether the two partitions are alike; otherwise one has been made that was missing.
    async fn mirror(&self, Pair { name, from, to }: &Pair) -> Result<bool> {
        let (user, epoch) = self.whom;
        let who = Who { user, epoch: Some(epoch), ids: None };
        match (from, to) {
            (_, Some(to)) if to.primary().is_some() => {
                Err(Error::unavailable(format!("the replicas of {name} are being changed; try again")))
            }
            (from, Some(to)) => {
                copy_rows(self.env, who, (from.as_ref(), to), self.deadline).await.map(|_| true)
            }
            (None, None) => Ok(true),
            (Some(from), None) => {
                let whose = Whose { owner: user.clone(), ids: None };
                if self.env.digest(from, &whose, self.deadline).await?.is_empty() {
                    return Ok(true);
                }
                self.env.make_partitions(name, self.deadline).await.map(|()| false)
            }
        }
    }
}

/// Whose partitions are looked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clusters {
    /// Those of one cluster.
    Only(u16),
    /// Those of all.
    All,
}

/// Deletes what a user has in clusters, index by index.
pub struct Deleting<'a, M> {
    env: &'a M,
    whom: (&'a UserId, u64),
    clusters: Clusters,
    deadline: Instant,
    done: BTreeSet<Incarnation>,
    through: u64,
}

impl<'a, M: Env> Deleting<'a, M> {
    /// Of these clusters.
    pub fn new(env: &'a M, whom: (&'a UserId, u64), clusters: Clusters, deadline: Instant) -> Self {
        Deleting { env, whom, clusters, deadline, done: BTreeSet::new(), through: 0 }
    }
    /// Lets the clusters refuse what was decided for the user before.
    pub async fn begin(&self) -> Result<()> {
        let meta = self.env.meta();
        let (user, epoch) = self.whom;
        let numbers = meta.clusters.values().map(|row| row.number);
        for number in numbers.filter(|number| self.is_meant(*number)) {
            fence(self.env, user, epoch, number, self.deadline).await?;
        }
        Ok(())
    }
    fn is_meant(&self, cluster: u16) -> bool {
        match self.clusters {
            Clusters::Only(only) => cluster == only,
            Clusters::All => true,
        }
    }
    /// Goes on until there is no index that it has not been at and no reader sees a record, and returns what it has looked at.
    pub async fn look(&mut self) -> Result<Looked> {
        loop {
            let meta = self.env.meta();
            let is_new = |row: &&IndexRow| {
                let is_meant = cluster_of(row.group).is_some_and(|cluster| self.is_meant(cluster));
                // a replica has what its primary has
                is_meant && row.primary().is_none() && !self.done.contains(&row.incarnation)
            };
            let new: Vec<IndexRow> =
                meta.catalogue.iter().map(|(_, row)| row).filter(is_new).cloned().collect();
            if new.is_empty() && self.through > 0 {
                return Ok(Looked { changed: meta.catalogue_changed(), through: self.through });
            }
            if self.env.now() >= self.deadline {
                return Err(Error::unavailable("the records of a user are not deleted in time"));
            }
            let mut tasks = vec![];
            for some in new.chunks(INDICES_AT_A_TIME) {
                tasks.extend(try_join_all(some.iter().map(|row| self.delete_in(row))).await?);
            }
            let tasks: Vec<TaskId> = tasks.into_iter().flatten().collect();
            for task in &tasks {
                seen(self.env, *task, self.deadline).await?;
            }
            if self.through == 0 || !tasks.is_empty() {
                // a copy that begins after this finds nothing any more
                self.env.learn().await?;
                self.through = self.env.known_through()?;
            }
            self.done.extend(new.iter().map(|row| row.incarnation));
        }
    }
    async fn delete_in(&self, row: &IndexRow) -> Result<Option<TaskId>> {
        let (user, epoch) = self.whom;
        let whose = Whose { owner: user.clone(), ids: None };
        if self.env.digest(row, &whose, self.deadline).await?.is_empty() {
            return Ok(None);
        }
        let ops = vec![RecordOp::DeleteBy { params: deletion_of(user, b"{}")? }];
        let target = Target { env: self.env, row, user, epoch: Some(epoch), deadline: self.deadline };
        target.propose(ops, Purpose::Remove).await.map(Some)
    }
}

/// Number of the cluster of a placement group.
fn cluster_of(group: GroupId) -> Option<u16> {
    group.0.checked_sub(1).map(|group| group / limits::PLACEMENT_GROUPS)
}

/// Counts what all indices have of each user.
pub async fn count(context: &NodeContext) -> Result<Usage> {
    let meta = context.meta();
    let rows = meta.catalogue.iter().filter(|(_, row)| row.primary().is_none());
    let mut usage = Usage::default();
    for (_, row) in rows {
        let Some(cluster) = cluster_of(row.group) else { continue };
        let owners = user_records::owners(context, row).await?;
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
