//! What operators ask a node, and what they have done to nodes and groups.

use super::Service;
use crate::controllers::digests;
use crate::disk::Purpose;
use crate::membership::{self, Force, Overview};
use crate::metrics;
use crate::types::NodeDigest;
use quorate_model::{Error, GroupId, Result, limits};
use std::time::Duration;
use tokio::sync::MutexGuard;
use tokio::time::timeout;

impl Service {
    /// How the installation is: nodes, groups, replicas, as every node that can be reached says.
    pub async fn overview(&self) -> Result<Overview> {
        Ok(membership::overview(self.open_context()?).await)
    }
    /// Hashes of what this node holds, index by index. See [`NodeDigest`].
    pub async fn digest(&self) -> Result<NodeDigest> {
        digests::own(self.open_context()?).await
    }
    /// Moves everything off a node, which goes on answering. See [`membership::drain`].
    pub async fn drain_node(&self, node: &str) -> Result<()> {
        let _alone = self.change_nodes_alone().await?;
        let seen = self.overview().await?;
        membership::drain(self.open_context()?, &seen, node).await
    }
    /// Lets a drained node hold replicas again. See [`membership::undrain`].
    pub async fn undrain_node(&self, node: &str) -> Result<()> {
        membership::undrain(self.open_context()?, node).await
    }
    /// Takes a node out for good. See [`membership::remove`].
    pub async fn remove_node(&self, node: &str, force: Force) -> Result<()> {
        let _alone = self.change_nodes_alone().await?;
        let seen = self.overview().await?;
        membership::remove(self.open_context()?, &seen, node, force).await
    }
    /// Puts another node in the place of one that is taken out for good. See [`membership::replace`].
    pub async fn replace_node(&self, old: &str, new: Option<&str>, force: Force) -> Result<String> {
        let _alone = self.change_nodes_alone().await?;
        let seen = self.overview().await?;
        membership::replace(self.open_context()?, &seen, old, new, force).await
    }
    /// Waits until no other change of nodes is being made through this node: what one takes away the next must not count on.
    async fn change_nodes_alone(&self) -> Result<MutexGuard<'_, ()>> {
        let others_end = timeout(Duration::from_secs(limits::WRITE_S), self.inner.changes_nodes.lock());
        others_end
            .await
            .map_err(|_| Error::unavailable("another change of nodes is being made; try again later"))
    }
    /// Gives a group to another leader. See [`membership::transfer`].
    pub async fn transfer_leader(&self, group: GroupId, to: &str) -> Result<()> {
        let seen = self.overview().await?;
        membership::transfer(self.open_context()?, &seen, group, to).await
    }
    /// Sets the figures that say how the node is now: disk, memory, queues, what is open, how far groups are applied. What parts of
    /// the data folder take is looked at now and then.
    pub fn show_figures(&self) {
        let context = &self.inner.context;
        let disk = context.disk();
        metrics::gauges(
            disk.free_bytes(),
            disk.claimed_bytes(),
            disk.reserve_bytes(),
            context.shared_meta().load().catalogue.len(),
        );
        let is_full = disk.admit(Purpose::Add).is_err();
        metrics::full_disks(disk.full_elsewhere().len() + usize::from(is_full));
        metrics::node(context.node());
        for (kind, totals) in context.actor_totals() {
            metrics::actors(kind.name(), totals.queued, totals.queued_bytes, totals.head_age, totals.failing);
        }
        metrics::memory();
        for group in context.groups().all() {
            metrics::applied(group.id.0, *group.applied.borrow());
        }
    }
}
