//! Which other nodes are silent, and which clusters with all of theirs?

use super::NodeContext;
use parking_lot::Mutex;
use quorate_model::{GroupId, IndexName, NodeId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Seconds after which no leader takes a silent member for a live one: more than `LIVE_TICKS` of consensus.
pub const GONE_S: u64 = 5;

/// Partitions that a change did not reach, as far as this node saw; it brings them what they lack when it can.
#[derive(Debug, Default)]
pub struct Lagging(Mutex<BTreeSet<IndexName>>);

impl Lagging {
    /// Notes one.
    pub fn note(&self, partition: IndexName) {
        self.0.lock().insert(partition);
    }
    /// Takes all that were noted.
    pub fn take(&self) -> BTreeSet<IndexName> {
        std::mem::take(&mut *self.0.lock())
    }
}

/// For how long each other node has not been heard of here, in seconds.
pub fn silent_s(context: &NodeContext) -> BTreeMap<NodeId, u64> {
    let up = context.readiness().up();
    let heard: BTreeMap<NodeId, Duration> = context
        .peers()
        .connections()
        .map(|peers| peers.status())
        .unwrap_or_default()
        .into_iter()
        .filter_map(|peer| Some((peer.node, peer.last_heard?)))
        .collect();
    let others = context.meta().present_nodes().into_iter().map(|(id, _)| id).collect::<Vec<_>>();
    let others = others.into_iter().filter(|id| *id != context.self_id());
    others.map(|id| (id, heard.get(&id).copied().unwrap_or(up).min(up).as_secs())).collect()
}

/// Whether nothing is heard of any node of the cluster that has a group: nobody needs to wait for it. Cost: memory only.
pub fn is_out_of_reach(context: &NodeContext, group: GroupId) -> bool {
    let meta = context.meta();
    let Some(cluster) = meta.cluster_of(group).filter(|_| context.groups().get(group).is_none()) else {
        return false;
    };
    let silent = silent_s(context);
    let of_cluster = meta.present_nodes().into_iter().filter(|(_, row)| row.cluster == cluster);
    all_gone(of_cluster.map(|(id, _)| id), &silent)
}

fn all_gone(mut nodes: impl Iterator<Item = NodeId>, silent: &BTreeMap<NodeId, u64>) -> bool {
    nodes.all(|node| silent.get(&node).is_some_and(|&seconds| seconds >= GONE_S))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_out_of_reach_when_all_its_nodes_are_silent() {
        let silent = BTreeMap::from([(NodeId(2), GONE_S), (NodeId(3), GONE_S - 1), (NodeId(4), 60)]);
        // the node itself, 1, is never silent
        for (nodes, expected) in
            [(vec![2], true), (vec![2, 4], true), (vec![2, 3], false), (vec![1, 2], false), (vec![5], false)]
        {
            assert_eq!(all_gone(nodes.iter().copied().map(NodeId), &silent), expected, "{nodes:?}");
        }
    }
}
