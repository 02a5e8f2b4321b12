//! What does this node hold, as hashes that other nodes can compare theirs with?

use crate::router::Router;
use quorate_model::{Error, GroupId, Result};
use quorate_node::{Digest, IndexDigest, Node, PinnedIndex};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long reads may take to see what is applied.
const SHOWN: Duration = Duration::from_secs(30);
/// How often it is looked whether they do.
const SHOWN_LOOK: Duration = Duration::from_millis(2);

/// Hashes of what one node holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeDigest {
    /// The node.
    pub node: String,
    /// Its replicas, without the meta group.
    pub groups: Vec<GroupDigest>,
}

/// Hashes of what one replica holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupDigest {
    /// Its group.
    pub group: GroupId,
    /// The log index that it is of.
    pub through: u64,
    /// Whether nothing was applied while the indices were looked at: then it is of exactly that log index.
    pub is_exact: bool,
    /// Its indices, in the order of their incarnations.
    pub indices: Vec<NamedDigest>,
    /// Incarnations of which nobody can say what they held, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<u64>,
    /// Of the meta group: its parts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, Digest>,
}

impl GroupDigest {
    /// Of a group that held nothing at a log index.
    pub fn of(group: GroupId, through: u64) -> GroupDigest {
        GroupDigest {
            group,
            through,
            is_exact: true,
            indices: vec![],
            unknown: vec![],
            parts: BTreeMap::new(),
        }
    }
}

/// Hashes of what one replica has of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedDigest {
    /// Its name; nothing for one that the catalogue does not name (any more).
    pub index: Option<String>,
    /// Which life of which index.
    pub incarnation: u64,
    /// The hashes.
    #[serde(flatten)]
    pub digest: IndexDigest,
}

/// The hashes of all that this node holds. Cost: one pass over its records, on a thread of its own.
///
/// Errors: `Unavailable` when reads do not see within 30 s what is applied; the files of an index cannot be opened.
pub async fn own(router: &Router, node: &Node) -> Result<NodeDigest> {
    let meta = router.meta();
    let names: BTreeMap<u64, String> =
        meta.catalogue.iter().map(|(name, row)| (row.incarnation, name.to_string())).collect();
    let mut groups = vec![];
    for group in router.groups().placement() {
        let (through, pinned) = pin(node, group.id).await?;
        let is_exact = node.applied(group.id) == through;
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
    let node = crate::membership::name_of(&meta, router.self_id());
    Ok(NodeDigest { node, groups })
}

/// What the indices of a group show once they show everything that is applied now.
async fn pin(node: &Node, group: GroupId) -> Result<(u64, Vec<PinnedIndex>)> {
    let (through, deadline) = (node.applied(group), Instant::now() + SHOWN);
    while node.shown_through(group) < through {
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
