//! What the interface calls for users and clusters (C§15): their mapping, and their reads and writes.

use super::{CallerOp, Receipt, Service};
use crate::clock;
use crate::users::actor::mailbox::Change;
use crate::users::{self, ClusterRecord, UserHits, UserRecord, routing};
use crate::write;
use quorate_model::{Error, IndexName, Result, UserId};
use std::collections::BTreeMap;

impl Service {
    /// As [`Self::write_records`], on the records of a user (C§15). Errors: also `Invalid` for a user that is in no
    /// cluster.
    pub async fn write_records_for(
        &self,
        user: &UserId,
        index: &IndexName,
        ops: Vec<CallerOp>,
    ) -> Result<Receipt> {
        users::write::records(self.open_context()?, user, index, ops).await
    }
    /// As [`Self::write_many`], on the records of a user.
    pub async fn write_many_for(
        &self,
        user: &UserId,
        ops: Vec<(IndexName, CallerOp)>,
    ) -> Result<write::ManyReceipt> {
        users::write::many(self.open_context()?, user, ops).await
    }
    /// Reads of an index for a user: `ask` is given the name of the partition that the user's cluster has, again when the user was
    /// moved meanwhile.
    ///
    /// Errors: those of `ask`; `Invalid` for a user that is in no cluster.
    pub async fn read_for<T>(
        &self,
        user: &UserId,
        index: &IndexName,
        mut ask: impl AsyncFnMut(&IndexName) -> Result<T>,
    ) -> Result<T> {
        let found = self.read_all_for(user, std::slice::from_ref(index), async |names: &[IndexName]| {
            let name = names.first().ok_or_else(|| Error::internal("one name has one partition"))?;
            ask(name).await
        });
        found.await
    }
    /// The same for several indices at a time: a partition for each of them.
    pub async fn read_all_for<T>(
        &self,
        user: &UserId,
        indices: &[IndexName],
        mut ask: impl AsyncFnMut(&[IndexName]) -> Result<T>,
    ) -> Result<T> {
        let context = self.open_context()?;
        if user.is_public() {
            return ask(indices).await;
        }
        routing::read(&**context, user, async |cluster| {
            let mut partitions = Vec::with_capacity(indices.len());
            for name in indices {
                partitions.push(routing::partition_for_read(&**context, name, cluster).await?);
            }
            ask(&partitions).await
        })
        .await
    }
    /// Errors: `NotEnabled` when the installation does not place records by user.
    pub fn check_users(&self) -> Result<()> {
        users::check_enabled(&self.open_context()?.meta())
    }
    /// Assigns a user to a cluster or begins to move it there; the time of it (C§15). Errors: `NotEnabled`, `Invalid`.
    pub async fn assign_user(&self, user: UserId, cluster: &str) -> Result<String> {
        Ok(clock::rfc3339(self.change_users(Change::Move { user, cluster: cluster.into() }).await?))
    }
    /// Assigns users that are in no cluster yet; the time of it. Errors: `NotEnabled`, `Invalid`.
    pub async fn assign_users(&self, users: Vec<UserId>, cluster: &str) -> Result<String> {
        Ok(clock::rfc3339(self.change_users(Change::Assign { users, cluster: cluster.into() }).await?))
    }
    /// Begins to remove a user with all records; the time of it. Errors: `NotEnabled`, `NotFound`, `Invalid`.
    pub async fn remove_user(&self, user: UserId) -> Result<String> {
        Ok(clock::rfc3339(self.change_users(Change::Remove { user }).await?))
    }
    async fn change_users(&self, change: Change) -> Result<u64> {
        self.open_context()?;
        self.inner.users.change(change).await
    }
    /// A user's record. Errors: `NotEnabled`, `NotFound`.
    pub fn user(&self, user: &UserId) -> Result<UserRecord> {
        self.inner.users.get(&self.open_context()?.meta(), user)
    }
    /// A page of the users' records, by user id. Errors: `NotEnabled`.
    pub async fn users(&self, page: usize, rows: usize) -> Result<Vec<UserRecord>> {
        self.inner.users.clone().list(self.open_context()?.meta(), page, rows).await
    }
    /// For each cluster the users with most records. Errors: `NotEnabled`.
    pub async fn top_users(&self) -> Result<BTreeMap<String, Vec<UserRecord>>> {
        self.inner.users.clone().top(self.open_context()?.meta()).await
    }
    /// A page of the users that match. Errors: `NotEnabled`, `Invalid` for an unknown cluster.
    pub async fn search_users(
        &self,
        query: String,
        cluster: Option<String>,
        page: usize,
        rows: usize,
    ) -> Result<UserHits> {
        self.inner.users.clone().search(self.open_context()?.meta(), query, cluster, page, rows).await
    }
    /// The users for whom something is under way, by cluster. Errors: `NotEnabled`.
    pub fn pending_users(&self) -> Result<BTreeMap<String, Vec<UserId>>> {
        self.inner.users.pending(&self.open_context()?.meta())
    }
    /// Every cluster with its figures.
    pub fn clusters(&self) -> Result<Vec<ClusterRecord>> {
        Ok(self.inner.users.clusters(&self.open_context()?.meta()))
    }
    /// Whether the installation places records by user.
    pub fn places_by_user(&self) -> bool {
        self.inner.context.shared_meta().load().users.is_enabled
    }
}
