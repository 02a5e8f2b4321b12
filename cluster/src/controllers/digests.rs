//! What does this node hold, as hashes that other nodes can compare theirs with?

use crate::context::NodeContext;
use crate::types::GroupDigest;
use crate::types::NamedDigest;
use crate::types::NodeDigest;
use quorate_model::{Error, GroupId, Result};
use quorate_node::{IndexDigest, Node, PinnedIndex};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long reads may take to see what is applied.
const SHOWN: Duration = Duration::from_secs(30);
/// How often it is looked whether they do.
const SHOWN_LOOK: Duration = Duration::from_millis(2);

/// The hashes of all that this node holds. Cost: one pass over its records, on a thread of its own.
///
/// Errors: `Unavailable` when reads do not see within 30 s what is applied; the files of an index cannot be opened.
pub async fn own(context: &NodeContext) -> Result<NodeDigest> {
    let meta = context.meta();
    let names: BTreeMap<u64, String> =
        meta.catalogue.iter().map(|(name, row)| (row.incarnation, name.to_string())).collect();
    let mut groups = vec![];
    for group in context.groups().placement() {
        let (through, pinned) = pin(context.node(), group.id).await?;
        let is_exact = context.node().applied(group.id) == through;
        let indices = tokio::task::spawn_blocking(move || hashed(&pinned))
            .await
            .map_err(|_| Error::internal("hashing an index broke off"))?;
        let indices = indices.into_iter().map(|(incarnation, digest)| NamedDigest {
            index: names.get(&incarnation).cloned(),
            incarnation,
            digest,
        });
        let indices = indices.collect();
        groups.push(GroupDigest { is_exact, indices, ..GroupDigest::of(group.id, through) });
    }
    let node = crate::membership::name_of(&meta, context.self_id());
    Ok(NodeDigest { node, groups })
}

/// What the indices of a group show once they show everything that is applied now.
async fn pin(node: &Node, group: GroupId) -> Result<(u64, Vec<PinnedIndex>)> {
    let (through, deadline) = (node.applied(group), Instant::now() + SHOWN);
    while node.visible_through(group) < through {
        if Instant::now() >= deadline {
            return Err(Error::unavailable(format!("group {group} does not show what it has applied")));
        }
        node.publish_now(group, through);
        tokio::time::sleep(SHOWN_LOOK).await;
    }
    let node = node.clone();
    let pinned = tokio::task::spawn_blocking(move || node.pinned(group)).await;
    let pinned = pinned.map_err(|_| Error::internal("opening an index broke off"))??;
    Ok((through, pinned))
}

fn hashed(pinned: &[PinnedIndex]) -> Vec<(u64, IndexDigest)> {
    pinned.iter().map(|index| (index.incarnation, index.digest(|_| {}))).collect()
}
