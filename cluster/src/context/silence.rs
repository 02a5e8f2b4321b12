//! Which other nodes are silent, and which groups can decide nothing because of that?

use super::NodeContext;
use quorate_model::{GroupId, NodeId};
use std::collections::BTreeMap;
use std::time::Duration;

/// Seconds after which no leader takes a silent member for a live one: more than `LIVE_TICKS` of consensus.
pub const GONE_S: u64 = 5;

/// For how long each other node has not been heard of here, in seconds.
pub fn silent_s(context: &NodeContext) -> BTreeMap<NodeId, u64> {
    let up = context.started().elapsed();
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

/// Whether so many of those that are to vote in a group are gone that it neither takes a write nor grants a lease, as far as this node
/// hears. Nobody needs to wait for it then. Cost: memory only.
pub fn is_out_of_reach(context: &NodeContext, group: GroupId) -> bool {
    let meta = context.meta();
    let silent = silent_s(context);
    lacks_majority(&meta.wanted(group)[..meta.wanted_voters(group)], |node| {
        silent.get(&node).is_some_and(|&seconds| seconds >= GONE_S)
    })
}

fn lacks_majority(voters: &[NodeId], is_gone: impl Fn(NodeId) -> bool) -> bool {
    let here = voters.iter().filter(|node| !is_gone(**node)).count();
    here * 2 <= voters.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_decides_with_more_than_half_of_its_voters() {
        let nodes = |count: u64| (1..=count).map(NodeId).collect::<Vec<_>>();
        for (voters, gone, expected) in [
            (1, vec![], false),
            (1, vec![1], true),
            (1, vec![2], false),
            (3, vec![2], false),
            (3, vec![1, 3], true),
            (0, vec![], true),
        ] {
            let is_gone = |node: NodeId| gone.contains(&node.0);
            assert_eq!(lacks_majority(&nodes(voters), is_gone), expected, "{voters} {gone:?}");
        }
    }
}
