//! What do copies of indices and the placing and moving of users need of their node and of the others? All their input and
//! output goes through here, so that a simulation can stand in for it.

use crate::command::MetaCommand;
use crate::context::proposer::Accepted;
use crate::context::user_writes::UserWrites;
use crate::disk::Purpose;
use crate::groups::leases::Hold;
use crate::meta::{IndexRow, MetaState};
use crate::read::index_config::IndexConfig;
use crate::types::{OwnedDigest, Whose};
use crate::write::copies::Filling;
use quorate_model::{Error, GroupId, IndexName, Result, TaskId, limits};
use quorate_node::ops::IndexCommand;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the meta group may take to say how far it is.
pub const ASK: Duration = Duration::from_secs(1);
/// Between two looks whether a write is seen.
const LOOK: Duration = Duration::from_millis(5);

/// The node that something is done on, and what it reaches.
pub trait Env: Sync {
    /// What this node knows of the installation.
    fn meta(&self) -> Arc<MetaState>;
    /// The last command of the meta group that is part of it.
    fn known_through(&self) -> Result<u64>;
    /// The users for whom writes are under way on this node.
    fn writes(&self) -> &UserWrites;
    /// The time.
    fn now(&self) -> Instant;
    /// Lets others work for so long.
    fn pause(&self, time: Duration) -> impl Future<Output = ()> + Send;
    /// Why this node may believe what it knows of the installation, if it may.
    fn hold(&self) -> Option<Hold>;
    /// Whether it could all the time since.
    fn is_unbroken(&self, hold: Option<Hold>) -> bool;
    /// Waits until this node knows everything that the meta group had decided when it was asked.
    fn learn(&self) -> impl Future<Output = Result<()>> + Send;
    /// Before a name is used: waits until this node knows what was decided about it, as far as the others can be asked.
    fn look_again(&self, name: &IndexName) -> impl Future<Output = ()> + Send;
    /// Changes what the installation knows; returns when this node knows it too.
    fn decide(
        &self,
        command: MetaCommand,
        purpose: Purpose,
        deadline: Instant,
    ) -> impl Future<Output = Result<Accepted>> + Send;
    /// Puts a command into the log of a group; returns when it is on disk on a majority.
    fn propose(
        &self,
        group: GroupId,
        command: IndexCommand,
        purpose: Purpose,
        deadline: Instant,
    ) -> impl Future<Output = Result<Accepted>> + Send;
    /// What is known of an index, which is made when there is none.
    fn index_for_write(
        &self,
        name: &IndexName,
        deadline: Instant,
    ) -> impl Future<Output = Result<IndexRow>> + Send;
    /// Lets every cluster have its partition of an index that is older than the cluster.
    fn make_partitions(&self, name: &IndexName, deadline: Instant)
    -> impl Future<Output = Result<()>> + Send;
    /// The group that a new index is made in here.
    fn group_for(&self, name: &IndexName) -> Result<GroupId>;
    /// Lets a reserved incarnation hold what another one holds and shows; returns when reads see its records. What it returns
    /// is the task of settings that are not in force yet.
    fn fill(
        &self,
        filling: &Filling,
        deadline: Instant,
    ) -> impl Future<Output = Result<Option<TaskId>>> + Send;
    /// Whether every reader sees a write.
    fn is_published(&self, task: TaskId) -> impl Future<Output = bool> + Send;
    /// What a partition has of an owner, as of every write that was answered before.
    fn digest(
        &self,
        row: &IndexRow,
        whose: &Whose,
        deadline: Instant,
    ) -> impl Future<Output = Result<OwnedDigest>> + Send;
    /// The raw JSON of records by their stored ids, in order, as of every write that was answered before.
    fn records(
        &self,
        row: &IndexRow,
        ids: &[String],
        deadline: Instant,
    ) -> impl Future<Output = Result<Vec<Option<Vec<u8>>>>> + Send;

    /// The configuration of a partition, as of every write that was answered before.
    fn configuration(
        &self,
        row: &IndexRow,
        deadline: Instant,
    ) -> impl Future<Output = Result<IndexConfig>> + Send;

    /// When a write that starts now gives up.
    fn write_deadline(&self) -> Instant {
        self.now() + Duration::from_secs(limits::WRITE_S)
    }
    /// What is known of an index. Errors: `NotFound`.
    fn row(&self, name: &IndexName) -> Result<IndexRow> {
        self.meta().catalogue.get(name).cloned().ok_or_else(|| Error::no_index(name.as_str()))
    }
}

/// Waits until every reader sees a write.
pub async fn seen(env: &impl Env, task: TaskId, deadline: Instant) -> Result<()> {
    while !env.is_published(task).await {
        if env.now() >= deadline {
            return Err(Error::unavailable("not every node shows the change yet; try again"));
        }
        env.pause(LOOK).await;
    }
    Ok(())
}
