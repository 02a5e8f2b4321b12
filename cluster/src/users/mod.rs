//! Which cluster serves which user (C§15): what the interface asks about users and has done to them.
//!
//! The mapping itself lies in the meta state, in the memory of every node. [`routing`] says where a user is,
//! [`mod@write`] and [`records`] put records there, [`partitions`] keeps the partitions of an index alike, [`actor`] moves and removes
//! users as [`core`] says, `runner.rs` has begun and [`saga`] does; [`usage`] is what they have, [`search`] finds them.

pub mod actor;
pub mod core;
pub mod env;
pub mod partitions;
pub mod records;
pub mod routing;
mod runner;
pub mod saga;
pub mod search;
pub mod usage;
pub mod write;

use crate::clock;
use crate::clock::write_deadline;
use crate::command::MetaCommand;
use crate::context::NodeContext;
use crate::context::abreast;
use crate::context::proposer::Accepted;
use crate::disk::Purpose;
use crate::meta::{MetaState, USERS_PER_COMMAND_MAX, UserRow, UserState};
use crate::write::tasks;
use actor::mailbox;
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use quorate_model::{Error, ErrorKind, Result, UserId};
use search::{FoundUser, UserIndex};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::time::{Duration, Instant};
use usage::{Figures, Usage};

/// Users of one call that assigns many.
pub const USERS_PER_CALL_MAX: usize = 10_000;
/// Users of a cluster that the list of those with most records has (C§15).
const TOP_USERS: usize = 10;
/// A rebuild of the user index is begun after this many times the time that the last one took.
const REST_AFTER_BUILD: u32 = 50;

/// A user mapping record (C§15).
#[derive(Clone, Debug, PartialEq)]
pub struct UserRecord {
    /// The user.
    pub user: UserId,
    /// The cluster that serves the user.
    pub cluster: String,
    /// What the user has.
    pub figures: Figures,
}
/// A cluster record (C§15).
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterRecord {
    /// Its name.
    pub name: String,
    /// How many users it serves.
    pub users: u64,
    /// What it holds.
    pub figures: Figures,
}
/// A page of the users that match a query.
#[derive(Clone, Debug, Default)]
pub struct UserHits {
    /// The users with what matches.
    pub hits: Vec<(UserRecord, FoundUser)>,
    /// How many there are in all.
    pub nb_hits: usize,
    /// When the index was built, Unix seconds.
    pub updated_at_s: u64,
}

/// What this node keeps beside the mapping.
#[derive(Debug, Default)]
pub struct UserDirectory {
    /// What the users have.
    pub usage: ArcSwap<Usage>,
    actor: mailbox::Address,
    index: Mutex<Option<Built>>,
}
#[derive(Debug, Clone)]
struct Built {
    index: Arc<UserIndex>,
    of: crate::meta::UserMap,
    usage: Arc<Usage>,
    at_s: u64,
    ended: Instant,
    took: Duration,
}

/// Turns the mapping on, for good: records that were placed by user must never show without one.
pub async fn enable(context: &NodeContext) -> Result<()> {
    if !context.meta().users.is_enabled {
        propose(context, MetaCommand::EnableUsers).await?;
    }
    Ok(())
}

/// Errors: `NotEnabled` when the installation does not place records by user.
pub fn check_enabled(meta: &MetaState) -> Result<()> {
    match meta.users.is_enabled {
        true => Ok(()),
        false => Err(Error::new(
            ErrorKind::NotEnabled,
            "Multi-cluster user mapping is not enabled on this installation: start a node with --multi-cluster",
        )),
    }
}

/// The row of a user. Errors: `Invalid` for one that is in no cluster, or being removed (C§15).
pub fn assigned(meta: &MetaState, user: &UserId) -> Result<UserRow> {
    match meta.users.map.get(user) {
        Some(row) if row.state != UserState::Removing => Ok(*row),
        Some(_) | None => Err(Error::invalid(format!(
            "userID {user} is not assigned to a cluster; assign it with POST /1/clusters/mapping first"
        ))),
    }
}

fn cluster_number(meta: &MetaState, name: &str) -> Result<u16> {
    meta.clusters.get(name).map(|row| row.number).ok_or_else(|| {
        let known: Vec<&str> = meta.clusters.keys().map(String::as_str).collect();
        Error::parameter("cluster", &format!("the name of a cluster: {}", known.join(", ")))
    })
}
fn check_is_user(user: &UserId) -> Result<()> {
    match user.is_public() {
        true => Err(Error::invalid(
            "userID * stands for the public records of all clusters: it cannot be assigned",
        )),
        false => Ok(()),
    }
}
fn busy(user: &UserId, row: &UserRow) -> Error {
    let what = match row.state {
        UserState::Assigned => "changed by another call",
        UserState::Copying { .. }
        | UserState::Frozen { .. }
        | UserState::Landing { .. }
        | UserState::Cleaning { .. } => "moved",
        UserState::Removing => "removed",
    };
    Error::invalid(format!("userID {user} is being {what}; try again when that has ended"))
}

/// What is decided about users, including what other nodes have answered before. Errors: users are not mapped here; `Unavailable`
/// when the others cannot be asked.
async fn up_to_date(context: &NodeContext) -> Result<Arc<MetaState>> {
    check_enabled(&context.meta())?;
    abreast::learn(context).await?;
    Ok(context.meta())
}

/// Assigns a user to a cluster, or begins to move it there. Returns when it was accepted, Unix milliseconds.
///
/// Errors: `Invalid` for an unknown cluster and while something is under way for the user.
pub async fn assign(context: &NodeContext, user: UserId, cluster: &str) -> Result<u64> {
    let meta = up_to_date(context).await?;
    check_is_user(&user)?;
    let to = cluster_number(&meta, cluster)?;
    let command = match meta.users.map.get(&user) {
        None => MetaCommand::AssignUsers { cluster: to, users: vec![user.clone()] },
        Some(row) if !row.is_settled() => return Err(busy(&user, row)),
        Some(row) if row.cluster == to => return Ok(context.ids().time_ms()),
        Some(_) => MetaCommand::MoveUser { user: user.clone(), to },
    };
    let accepted = propose(context, command).await?;
    match context.meta().users.map.get(&user) {
        Some(row) if row.cluster == to || row.state == (UserState::Copying { to }) => Ok(accepted.time_ms),
        Some(row) if row.state == (UserState::Frozen { to }) => Ok(accepted.time_ms),
        Some(row) => Err(busy(&user, row)),
        None => Err(Error::unavailable(format!("userID {user} was removed meanwhile; try again"))),
    }
}

/// Assigns users that are in no cluster yet. Returns when it was accepted, Unix milliseconds.
///
/// Errors: `Invalid` for an unknown cluster, and when one of them is in another cluster or being moved: then none is assigned.
pub async fn assign_many(context: &NodeContext, mut users: Vec<UserId>, cluster: &str) -> Result<u64> {
    let meta = up_to_date(context).await?;
    let to = cluster_number(&meta, cluster)?;
    if users.len() > USERS_PER_CALL_MAX {
        return Err(Error::parameter("users", &format!("list of at most {USERS_PER_CALL_MAX} user IDs")));
    }
    for user in &users {
        check_is_user(user)?;
        match meta.users.map.get(user) {
            Some(row) if !row.is_settled() => return Err(busy(user, row)),
            Some(row) if row.cluster != to => {
                let name = meta.cluster_name(row.cluster).unwrap_or_default();
                return Err(Error::invalid(format!(
                    "userID {user} is in the cluster {name}: a batch cannot move users"
                )));
            }
            Some(_) | None => {}
        }
    }
    users.retain(|user| meta.users.map.get(user).is_none());
    let mut last_ms = context.ids().time_ms();
    for part in users.chunks(USERS_PER_COMMAND_MAX) {
        let command = MetaCommand::AssignUsers { cluster: to, users: part.to_vec() };
        last_ms = propose(context, command).await?.time_ms;
    }
    Ok(last_ms)
}

/// Begins to remove a user with all records. Returns when it was accepted, Unix milliseconds.
///
/// Errors: `NotFound` for an unknown user, `Invalid` while something is under way for it.
pub async fn remove(context: &NodeContext, user: UserId) -> Result<u64> {
    let meta = up_to_date(context).await?;
    let row = meta.users.map.get(&user).ok_or_else(|| unknown(&user))?;
    if !row.is_settled() {
        return Err(busy(&user, row));
    }
    let deadline = write_deadline();
    let command = MetaCommand::RemoveUser { user };
    let accepted = context.proposer().propose_meta(command, Purpose::Add, deadline).await?;
    // or the next write of the user, through another node, would be answered and go with the others
    tasks::until_known(context, deadline).await?;
    Ok(accepted.time_ms)
}

fn unknown(user: &UserId) -> Error {
    Error::not_found(format!("userID {user} does not exist"))
}

async fn propose(context: &NodeContext, command: MetaCommand) -> Result<Accepted> {
    context.proposer().propose_meta(command, Purpose::Add, write_deadline()).await
}

impl UserDirectory {
    fn record(&self, meta: &MetaState, user: &UserId, row: &UserRow) -> UserRecord {
        let cluster = meta.cluster_name(row.cluster).unwrap_or_default().to_owned();
        UserRecord { user: user.clone(), cluster, figures: self.usage.load().of(user) }
    }

    /// One user. Errors: `NotFound`.
    pub fn get(&self, meta: &MetaState, user: &UserId) -> Result<UserRecord> {
        check_enabled(meta)?;
        let row = meta.users.map.get(user).ok_or_else(|| unknown(user))?;
        Ok(self.record(meta, user, row))
    }

    /// A page of all users, by their ids.
    pub async fn list(
        self: Arc<Self>,
        meta: Arc<MetaState>,
        page: usize,
        rows: usize,
    ) -> Result<Vec<UserRecord>> {
        check_enabled(&meta)?;
        off_arbiter(move || {
            let map = &meta.users.map;
            let from = page.saturating_mul(rows);
            let mut users: Vec<&UserId> = map.iter().map(|(user, _)| user).collect();
            let to = from.saturating_add(rows).min(users.len());
            if from >= to {
                return vec![];
            }
            users.select_nth_unstable(to - 1);
            let users = &mut users[..to];
            users.sort_unstable();
            let record = |user: &&UserId| Some(self.record(&meta, user, map.get(user)?));
            users[from..].iter().filter_map(record).collect()
        })
        .await
    }

    /// The users with most records of each cluster.
    pub async fn top(self: Arc<Self>, meta: Arc<MetaState>) -> Result<BTreeMap<String, Vec<UserRecord>>> {
        check_enabled(&meta)?;
        off_arbiter(move || {
            let usage = self.usage.load_full();
            let mut heaps: BTreeMap<u16, BinaryHeap<Reverse<(u64, Reverse<&UserId>)>>> =
                meta.clusters.values().map(|row| (row.number, BinaryHeap::new())).collect();
            for (user, row) in meta.users.map.iter() {
                let Some(heap) = heaps.get_mut(&row.cluster) else { continue };
                heap.push(Reverse((usage.of(user).records, Reverse(user))));
                if heap.len() > TOP_USERS {
                    heap.pop();
                }
            }
            let named = |(number, heap): (u16, BinaryHeap<Reverse<(u64, Reverse<&UserId>)>>)| {
                let name = meta.cluster_name(number)?.to_owned();
                let users = heap.into_sorted_vec().into_iter();
                let record = |Reverse((_, Reverse(user))): Reverse<(u64, Reverse<&UserId>)>| {
                    Some(self.record(&meta, user, meta.users.map.get(user)?))
                };
                Some((name, users.filter_map(record).collect()))
            };
            heaps.into_iter().filter_map(named).collect()
        })
        .await
    }

    /// Every cluster; also when the mapping is not enabled.
    pub fn clusters(&self, meta: &MetaState) -> Vec<ClusterRecord> {
        let usage = self.usage.load();
        let record = |(name, row): (&String, &crate::meta::ClusterRow)| ClusterRecord {
            name: name.clone(),
            users: meta.users.counts.get(&row.number).copied().unwrap_or_default(),
            figures: usage.clusters.get(&row.number).copied().unwrap_or_default(),
        };
        meta.clusters.iter().map(record).collect()
    }

    /// The users for whom something is under way, by the cluster that serves them.
    pub fn pending(&self, meta: &MetaState) -> Result<BTreeMap<String, Vec<UserId>>> {
        check_enabled(meta)?;
        let mut pending: BTreeMap<String, Vec<UserId>> = BTreeMap::new();
        for user in meta.users.pending.keys() {
            let row = meta.users.map.get(user);
            if let Some(name) = row.and_then(|row| meta.cluster_name(row.cluster)) {
                pending.entry(name.to_owned()).or_default().push(user.clone());
            }
        }
        Ok(pending)
    }

    /// A page of the users that match a query. Errors: `Invalid` for an unknown cluster.
    pub async fn search(
        self: Arc<Self>,
        meta: Arc<MetaState>,
        query: String,
        cluster: Option<String>,
        page: usize,
        rows: usize,
    ) -> Result<UserHits> {
        check_enabled(&meta)?;
        let cluster = cluster.map(|name| cluster_number(&meta, &name)).transpose()?;
        off_arbiter(move || {
            let built = self.index(&meta);
            let from = page.saturating_mul(rows);
            let (nb_hits, found) = built.index.search(&query, cluster, from..from.saturating_add(rows));
            let hit = |found: FoundUser| {
                let indexed = &found.indexed;
                let cluster = meta.cluster_name(indexed.cluster).unwrap_or_default().to_owned();
                let record = UserRecord { user: indexed.user.clone(), cluster, figures: indexed.figures };
                (record, found)
            };
            UserHits { hits: found.into_iter().map(hit).collect(), nb_hits, updated_at_s: built.at_s }
        })
        .await
    }

    /// The index of all users, built anew when they have changed and the last build is some time ago: at once for a
    /// few users, after a minute for millions.
    fn index(&self, meta: &MetaState) -> Built {
        let mut kept = self.index.lock();
        let usage = self.usage.load_full();
        if let Some(built) = &*kept {
            let is_same = built.of.is_same(&meta.users.map) && Arc::ptr_eq(&built.usage, &usage);
            if is_same || built.ended.elapsed() < built.took * REST_AFTER_BUILD {
                return built.clone();
            }
        }
        let begun = Instant::now();
        let index = Arc::new(UserIndex::build(&meta.users.map, &usage));
        let (at_s, took) = (clock::unix_ms() / 1_000, begun.elapsed());
        let built = Built { index, of: meta.users.map.clone(), usage, at_s, ended: Instant::now(), took };
        kept.insert(built).clone()
    }
}

async fn off_arbiter<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Error::unavailable("the node is stopping"))
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
