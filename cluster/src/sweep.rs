//! What is put in order in the background: lists of replicas, files of indices that no name stands for, idle shards, gauges.

use crate::apply::actor::Incarnations;
use crate::command::MetaCommand;
use crate::disk::Purpose;
use crate::metrics;
use crate::replicas;
use crate::router::{Router, write_deadline};
use quorate_model::{GroupId, Result};
use quorate_node::Node;
use quorate_node::ops::{Incarnation, IndexCommand};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, RwLock, RwLockReadGuard};

/// How often idle shards are looked for and doomed indices are tried again.
const INTERVAL: Duration = Duration::from_secs(5);

/// Rounds between two looks at the size of every file.
const DISK_ROUNDS: u64 = 12;

/// Wakes the sweep when there is something for it.
#[derive(Clone, Debug, Default)]
pub struct Sweeper {
    notify: Arc<Notify>,
    linking: Arc<RwLock<()>>,
}

impl Sweeper {
    /// Something was doomed.
    pub fn wake(&self) {
        self.notify.notify_one();
    }
    /// While this is held, groups are told of their replicas by its holder and not by the sweep.
    pub async fn linking(&self) -> RwLockReadGuard<'_, ()> {
        self.linking.read().await
    }
}

/// Sweeps until the task is aborted. Every step can be repeated, so it may be cut off anywhere.
pub async fn run(router: Arc<Router>, node: Node, sweeper: Sweeper) {
    if let Err(error) = after_start(&router).await {
        tracing::warn!(%error, "leftovers of the last process stay until the next start");
    }
    for round in 0_u64.. {
        // a list that a caller is about to announce, with settings before it, must not come first from here
        if let Ok(_nobody_links) = sweeper.linking.try_write()
            && let Err(error) = replicas::settle(&router).await
        {
            tracing::debug!(%error, "lists of replicas wait");
        }
        if let Err(error) = drop_doomed(&router).await {
            tracing::debug!(%error, "doomed indices wait");
        }
        let node = node.clone();
        let upkeep = move || {
            metrics::node(&node);
            metrics::memory();
            if round % DISK_ROUNDS == 0 {
                metrics::disk(node.layout());
            }
            node.passivate()
        };
        match tokio::task::spawn_blocking(upkeep).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "cannot close idle indices"),
            Err(_) => tracing::error!("closing idle indices panicked"),
        }
        show(&router);
        let _woken_or_time = tokio::time::timeout(INTERVAL, sweeper.notify.notified()).await;
    }
}

fn show(router: &Router) {
    metrics::gauges(router.disk().free_bytes(), router.shared_meta().load().catalogue.len());
    for group in router.groups() {
        metrics::applied(group.id.0, *group.applied.borrow());
    }
}

/// Drops what no name stands for any more: first in its group, then from the list.
async fn drop_doomed(router: &Router) -> Result<()> {
    let doomed = router.meta().doomed.clone();
    for (&incarnation, &group) in doomed.iter() {
        drop_index(router, group, incarnation).await?;
        let dropped = MetaCommand::Dropped { incarnation };
        router.propose_meta(dropped, Purpose::Remove, write_deadline()).await?;
    }
    Ok(())
}

async fn drop_index(router: &Router, group: GroupId, index: Incarnation) -> Result<()> {
    let command = IndexCommand::Drop { index };
    router.propose_index(group, command, Purpose::Remove, write_deadline()).await?;
    Ok(())
}

/// Ends copies that the last process did not end, and drops indices that writes brought back after their end.
async fn after_start(router: &Router) -> Result<()> {
    for &incarnation in router.meta().reserved.keys() {
        let abandon = MetaCommand::AbandonCopy { incarnation };
        router.propose_meta(abandon, Purpose::Remove, write_deadline()).await?;
    }
    for group in &router.groups()[1..] {
        // listed before the catalogue is read: an index is in the catalogue before it is in its group
        let Ok(held) = group.incarnations.send(Incarnations).await else { continue };
        if held.is_empty() {
            continue;
        }
        let meta = router.meta();
        let known: std::collections::BTreeSet<Incarnation> = meta
            .catalogue
            .iter()
            .map(|(_, row)| row.incarnation)
            .chain(meta.reserved.keys().copied())
            .collect();
        for incarnation in held.into_iter().filter(|it| !known.contains(it) && !meta.doomed.contains_key(it))
        {
            tracing::info!(group = group.id.0, incarnation, "dropping an index that no name stands for");
            drop_index(router, group.id, incarnation).await?;
        }
    }
    Ok(())
}
