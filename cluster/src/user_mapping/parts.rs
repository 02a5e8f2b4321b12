//! Where do the records of an index lie when they are placed by user? In one part for each cluster that has some.
//!
//! A part is an index of its own in a group of its cluster, under a name that no caller can give. The index that callers
//! name is the part of the cluster it was first written in, and the home of the configuration: the others get a copy of
//! it. Parts are made at the first need.

use super::records;
use super::write::Ways;
use crate::disk::Purpose;
use crate::meta::MetaState;
use crate::operate;
use crate::parts::{Parts, now};
use crate::replicas::listed;
use crate::router::{Accepted, Router};
use crate::service::IndexOperation;
use crate::tasks;
use crate::write::{self, index_for_write};
use quorate_model::{DocumentKind, Error, IndexName, Result, UserId, limits};
use quorate_node::Node;
use quorate_node::ops::IndexCommand;
use serde_json::{Map, Value};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// Between two looks whether a write is seen.
const LOOK: Duration = Duration::from_millis(5);
/// One configuration is spread at a time, so that what is spread last is what was read last.
static SPREADING: LazyLock<Mutex<()>> = LazyLock::new(Mutex::default);

impl MetaState {
    /// Number of the cluster that has an index's own records.
    fn cluster_with(&self, name: &IndexName) -> Option<u16> {
        let group = self.catalogue.get(name)?.group;
        Some(group.0.checked_sub(1)? / limits::PLACEMENT_GROUPS)
    }
    /// The name of the part of an index that a cluster has, or will have.
    pub fn part_of(&self, name: &IndexName, cluster: u16) -> Result<IndexName> {
        match self.cluster_with(name) {
            Some(own) if own != cluster => name.part_in(cluster),
            Some(_) | None => Ok(name.clone()),
        }
    }
    /// The part that reads in a cluster use: the index itself while the cluster has none of it.
    pub fn read_part(&self, name: &IndexName, cluster: u16) -> Result<IndexName> {
        let part = self.part_of(name, cluster)?;
        Ok(if self.catalogue.get(&part).is_some() { part } else { name.clone() })
    }
    /// The parts that other clusters have of an index.
    pub fn other_parts(&self, name: &IndexName) -> Vec<IndexName> {
        if !self.users.is_enabled {
            return vec![];
        }
        let part = |row: &crate::meta::ClusterRow| name.part_in(row.number).ok();
        let parts = self.clusters.values().filter_map(part);
        parts.filter(|part| self.catalogue.get(part).is_some()).collect()
    }
}

/// The part of an index that a cluster has, made with its configuration and the public records when it has none.
pub async fn part_for_write(
    router: &Router,
    node: &Node,
    name: &IndexName,
    cluster: u16,
    deadline: Instant,
) -> Result<IndexName> {
    if router.meta().catalogue.get(name).is_none() {
        index_for_write(router, name, deadline).await?;
    }
    let part = router.meta().part_of(name, cluster)?;
    if router.meta().catalogue.get(&part).is_none() {
        index_for_write(router, &part, deadline).await?;
        spread_to(router, node, name, &part, deadline).await?;
        let public = UserId::new(quorate_model::user::PUBLIC)?;
        records::copy(router, node, name, &part, &public, deadline).await?;
    }
    Ok(part)
}

/// Gives every other part the configuration that the index has now; returns when all readers see it.
pub async fn spread(router: &Router, node: &Node, name: &IndexName, deadline: Instant) -> Result<()> {
    let parts = router.meta().other_parts(name);
    if parts.is_empty() {
        return Ok(());
    }
    let _one_at_a_time = SPREADING.lock().await;
    for part in parts {
        let accepted = spread_to(router, node, name, &part, deadline).await?;
        seen(router, node, &accepted, deadline).await?;
    }
    Ok(())
}

async fn spread_to(
    router: &Router,
    node: &Node,
    name: &IndexName,
    part: &IndexName,
    deadline: Instant,
) -> Result<Accepted> {
    let meta = router.meta();
    let (Some(from), Some(to)) = (meta.catalogue.get(name), meta.catalogue.get(part)) else {
        return Err(Error::unavailable(format!("index {name} is being changed by another call; try again")));
    };
    let Parts { settings, documents } = now(router, node, from, &DocumentKind::ALL, deadline).await?;
    let (index, group) = (to.incarnation, to.group);
    let mut document = settings.document.clone();
    document.remove("replicas");
    let changes = serde_json::to_vec(&document).expect("a JSON object always serialises");
    let mut commands = vec![IndexCommand::Settings { index, changes, replace: true }];
    commands.extend(documents.into_iter().map(|(kind, documents)| IndexCommand::SaveDocuments {
        index,
        kind,
        documents,
        replace: true,
    }));
    let command = IndexCommand::Sequence { commands };
    router.propose_index(group, command, Purpose::Add, deadline).await
}

/// Errors: `Invalid` when `changes` names replicas and there is more than one cluster: replicas follow one part only.
pub fn check_replicas(meta: &MetaState, changes: &Map<String, Value>) -> Result<()> {
    let names_some = listed(changes)?.is_some_and(|links| !links.is_empty());
    if meta.users.is_enabled && meta.clusters.len() > 1 && names_some {
        return Err(Error::invalid(
            "replicas cannot be used while records are placed by user on several clusters",
        ));
    }
    Ok(())
}

/// Copies or moves the parts that other clusters have of `source` over those that they have of `destination`.
pub async fn operate_others(
    ways: Ways<'_>,
    source: &IndexName,
    destination: &IndexName,
    operation: &IndexOperation,
) -> Result<()> {
    let Ways { router, node, sweeper } = ways;
    let meta = router.meta();
    if !meta.users.is_enabled || matches!(operation, IndexOperation::Copy { scope: Some(_) }) {
        return Ok(());
    }
    if meta.catalogue.get(source).is_none() && matches!(operation, IndexOperation::Move) {
        return Ok(());
    }
    for row in meta.clusters.values() {
        let (from, to) = (source.part_in(row.number)?, destination.part_in(row.number)?);
        match (meta.catalogue.get(&from), operation) {
            (Some(_), IndexOperation::Move) => {
                operate::move_index(router, node, sweeper, &from, &to).await?;
            }
            (Some(_), IndexOperation::Copy { .. }) => {
                operate::copy_index(router, node, sweeper, &from, &to).await?;
            }
            (None, _) if meta.catalogue.get(&to).is_some() => {
                write::delete(router, sweeper, &to).await?;
            }
            (None, _) => {}
        }
    }
    Ok(())
}

/// Waits until every reader sees a write.
pub async fn seen(router: &Router, node: &Node, accepted: &Accepted, deadline: Instant) -> Result<()> {
    while !tasks::is_published(router, node, accepted.task_id).await {
        if Instant::now() >= deadline {
            return Err(Error::unavailable("not every node shows the change yet; try again"));
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}
