//! This node and the others as they are, for copies and for the placing and moving of users.

use super::partitions;
use crate::command::MetaCommand;
use crate::context::NodeContext;
use crate::context::abreast;
use crate::context::proposer::Accepted;
use crate::context::user_writes::UserWrites;
use crate::disk::Purpose;
use crate::groups::leases::Hold;
use crate::meta::{IndexRow, MetaState};
use crate::read;
use crate::read::index_config::IndexConfig;
use crate::read::user_records;
use crate::types::{OwnedDigest, Whose};
use crate::write;
use crate::write::copies::Filling;
use crate::write::env::Env;
use crate::write::operate;
use crate::write::replicas;
use crate::write::tasks;
use quorate_model::{Error, GroupId, IndexName, Result, TaskId};
use quorate_node::ops::IndexCommand;
use std::sync::Arc;
use std::time::{Duration, Instant};

impl Env for NodeContext {
    fn meta(&self) -> Arc<MetaState> {
        NodeContext::meta(self)
    }
    fn known_through(&self) -> Result<u64> {
        Ok(*self.groups().meta()?.applied.borrow())
    }
    fn writes(&self) -> &UserWrites {
        &self.users().writes
    }
    fn now(&self) -> Instant {
        Instant::now()
    }
    async fn pause(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
    fn hold(&self) -> Option<Hold> {
        let group = self.groups().meta().ok()?;
        let shows = *group.applied.borrow();
        group.leases.hold(shows)
    }
    fn is_unbroken(&self, hold: Option<Hold>) -> bool {
        let group = self.groups().meta().ok();
        group.zip(hold).is_some_and(|(group, hold)| group.leases.is_unbroken(hold))
    }
    async fn learn(&self) -> Result<()> {
        abreast::learn(self).await
    }
    async fn look_again(&self, name: &IndexName) {
        read::look_again(self, name).await;
    }
    async fn decide(&self, command: MetaCommand, purpose: Purpose, deadline: Instant) -> Result<Accepted> {
        self.proposer().propose_meta(command, purpose, deadline).await
    }
    async fn propose(
        &self,
        group: GroupId,
        command: IndexCommand,
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<Accepted> {
        self.proposer().propose_index(group, command, purpose, deadline).await
    }
    async fn index_for_write(&self, name: &IndexName, deadline: Instant) -> Result<IndexRow> {
        write::index_for_write(self, name, deadline).await
    }
    async fn make_partitions(&self, name: &IndexName, deadline: Instant) -> Result<()> {
        partitions::make(self, name, deadline).await
    }
    fn group_for(&self, name: &IndexName) -> Result<GroupId> {
        NodeContext::group_for(self, name)
    }
    async fn fill(&self, filling: &Filling, deadline: Instant) -> Result<Option<TaskId>> {
        operate::fill(self, filling, deadline).await
    }
    async fn is_published(&self, task: TaskId) -> bool {
        tasks::is_published(self, task).await
    }
    async fn digest(&self, row: &IndexRow, whose: &Whose, deadline: Instant) -> Result<OwnedDigest> {
        user_records::digest(self, row, whose, deadline).await
    }
    async fn records(
        &self,
        row: &IndexRow,
        ids: &[String],
        deadline: Instant,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        user_records::records(self, row, ids, deadline).await
    }
    async fn configuration(&self, row: &IndexRow, deadline: Instant) -> Result<IndexConfig> {
        crate::read::index_config::now(self, row, &self.resource_kinds(), deadline).await
    }
}

/// The partition of an index that a cluster has; the index is made when there is none.
pub async fn part_for_write(
    env: &impl Env,
    name: &IndexName,
    cluster: u16,
    deadline: Instant,
) -> Result<IndexRow> {
    let row = env.index_for_write(name, deadline).await?;
    replicas::check_writable(&row, name)?;
    let known = || {
        let meta = env.meta();
        let row = meta.catalogue.get(&meta.partition_of(name, cluster)?).cloned();
        // it may follow another one since
        row.as_ref().map_or(Ok(()), |row| replicas::check_writable(row, name))?;
        Ok::<_, Error>(row)
    };
    if let Some(row) = known()? {
        return Ok(row);
    }
    // the cluster came after the index
    env.make_partitions(name, deadline).await?;
    let gone = || Error::unavailable(format!("index {name} is being changed by others; try again"));
    known()?.ok_or_else(gone)
}
