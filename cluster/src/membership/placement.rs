//! Where the replicas of placement groups should be: a plan that follows from the nodes alone, one change at a time.
//!
//! Every active node of a cluster gets its share of the replicas and of the leaders; what is in place stays where it is as
//! long as that is fair. Repeating [`next_change`] and carrying it out ends: each change either fills a gap or makes the
//! shares more equal.

use crate::meta::MetaState;
use quorate_model::{GroupId, NodeId, limits};
use std::collections::BTreeMap;

/// The next group whose wanted nodes should change, and to what; `None`: nothing should.
pub fn next_change(meta: &MetaState) -> Option<(GroupId, Vec<NodeId>)> {
    meta.clusters.keys().find_map(|cluster| change_in(meta, cluster))
}

fn change_in(meta: &MetaState, cluster: &str) -> Option<(GroupId, Vec<NodeId>)> {
    let nodes = meta.present_nodes().into_iter();
    let active: Vec<NodeId> =
        nodes.filter(|(_, row)| row.is_active() && row.cluster == cluster).map(|(id, _)| id).collect();
    if active.is_empty() {
        return None;
    }
    let groups: BTreeMap<GroupId, Vec<NodeId>> =
        meta.groups_of(cluster).into_iter().map(|group| (group, meta.wanted(group))).collect();
    let shares = Shares::of(&active, &groups);
    filled(&active, &groups, &shares)
        .or_else(|| levelled(&groups, &shares))
        .or_else(|| led_evenly(&groups, &shares))
}

/// How many replicas each active node has, and how many groups it should lead.
struct Shares {
    held: BTreeMap<NodeId, usize>,
    led: BTreeMap<NodeId, usize>,
}

impl Shares {
    fn of(active: &[NodeId], groups: &BTreeMap<GroupId, Vec<NodeId>>) -> Shares {
        let none: BTreeMap<NodeId, usize> = active.iter().map(|&node| (node, 0)).collect();
        let mut shares = Shares { held: none.clone(), led: none };
        for nodes in groups.values() {
            for node in nodes {
                if let Some(count) = shares.held.get_mut(node) {
                    *count += 1;
                }
            }
            if let Some(count) = nodes.first().and_then(|leader| shares.led.get_mut(leader)) {
                *count += 1;
            }
        }
        shares
    }
    fn ends(counts: &BTreeMap<NodeId, usize>) -> Option<(NodeId, NodeId)> {
        let (most, most_count) = counts.iter().max_by_key(|(_, count)| **count)?;
        let (least, least_count) = counts.iter().min_by_key(|(_, count)| **count)?;
        (most_count - least_count >= 2).then_some((*most, *least))
    }
}

/// The first group that is not on as many active nodes as it should be, and on no others.
fn filled(
    active: &[NodeId],
    groups: &BTreeMap<GroupId, Vec<NodeId>>,
    shares: &Shares,
) -> Option<(GroupId, Vec<NodeId>)> {
    let size = active.len().min(limits::REPLICATION);
    for (&group, now) in groups {
        let mut nodes: Vec<NodeId> = now.iter().filter(|node| active.contains(node)).copied().collect();
        while nodes.len() < size {
            let free = active.iter().filter(|node| !nodes.contains(node));
            let least = free.min_by_key(|node| shares.held[node])?;
            nodes.push(*least);
        }
        nodes.truncate(size);
        if nodes != *now {
            return Some((group, nodes));
        }
    }
    None
}

/// Moves a replica from the node that has most to the one that has fewest.
fn levelled(groups: &BTreeMap<GroupId, Vec<NodeId>>, shares: &Shares) -> Option<(GroupId, Vec<NodeId>)> {
    let (most, least) = Shares::ends(&shares.held)?;
    let movable = groups.iter().filter(|(_, nodes)| nodes.contains(&most) && !nodes.contains(&least));
    // a replica that does not lead is moved with less ado
    let (group, nodes) = movable.min_by_key(|(_, nodes)| nodes.first() == Some(&most))?;
    let moved = nodes.iter().map(|&node| if node == most { least } else { node }).collect();
    Some((*group, moved))
}

/// Lets one of a group's nodes lead it instead of another that leads two more groups.
fn led_evenly(groups: &BTreeMap<GroupId, Vec<NodeId>>, shares: &Shares) -> Option<(GroupId, Vec<NodeId>)> {
    let led = |node: &NodeId| shares.led.get(node).copied();
    groups.iter().find_map(|(&group, nodes)| {
        let leads = led(nodes.first()?)?;
        let next = *nodes.iter().filter(|node| led(node).is_some()).min_by_key(|node| led(node))?;
        let rest = nodes.iter().copied().filter(|node| *node != next);
        (led(&next)? + 2 <= leads).then(|| (group, std::iter::once(next).chain(rest).collect()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::MetaCommand;
    use crate::command::{Joining, NodeState};
    use crate::meta::At;

    struct Installation {
        meta: MetaState,
        log_index: u64,
    }
    impl Installation {
        fn new() -> Self {
            Installation { meta: MetaState::default(), log_index: 0 }
        }
        fn apply(&mut self, command: MetaCommand) {
            self.log_index += 1;
            self.meta.apply(At { log_index: self.log_index, time_ms: 0 }, command);
        }
        fn join(&mut self, node: u64, cluster: &str) {
            let joining = Joining {
                name: node.to_string(),
                cluster: cluster.into(),
                peer: String::new(),
                http: String::new(),
                level: 1,
            };
            self.apply(MetaCommand::AddNode { node: NodeId(node), joining });
        }
        fn set(&mut self, node: u64, state: NodeState) {
            self.apply(MetaCommand::SetNodeState { node: NodeId(node), state });
        }
        /// Carries the plan out and returns how many changes it took.
        fn settle(&mut self) -> usize {
            for changes in 0..500 {
                let Some((group, nodes)) = next_change(&self.meta) else { return changes };
                assert_ne!(nodes, self.meta.wanted(group), "a change that changes nothing");
                self.apply(MetaCommand::Place { group, nodes });
            }
            panic!("the plan does not end");
        }
        /// For each node of a cluster the replicas it holds and the groups it leads.
        fn shares(&self, cluster: &str) -> Vec<(u64, usize, usize)> {
            let groups: Vec<Vec<NodeId>> =
                self.meta.groups_of(cluster).into_iter().map(|group| self.meta.wanted(group)).collect();
            let count = |node: NodeId| {
                let held = groups.iter().filter(|nodes| nodes.contains(&node)).count();
                (node.0, held, groups.iter().filter(|nodes| nodes[0] == node).count())
            };
            let nodes = self.meta.nodes.iter().filter(|(_, row)| row.cluster == cluster && row.is_present());
            nodes.map(|(node, _)| count(*node)).collect()
        }
    }

    #[test]
    fn replicas_and_leaders_are_shared_evenly_as_nodes_come_and_go() {
        let mut installation = Installation::new();
        installation.join(1, "main");
        assert_eq!((installation.settle(), installation.shares("main")), (0, vec![(1, 16, 16)]));
        installation.join(2, "main");
        installation.settle();
        assert_eq!(installation.shares("main"), [(1, 16, 8), (2, 16, 8)]);
        installation.join(3, "main");
        installation.settle();
        let shares = installation.shares("main");
        assert!(shares.iter().all(|&(_, held, led)| held == 16 && (5..=6).contains(&led)), "{shares:?}");
        for node in 4..=7 {
            installation.join(node, "main");
            installation.settle();
            let (shares, each) = (installation.shares("main"), 48 / node as usize);
            let fair = |&(_, held, led): &(u64, usize, usize)| {
                (each..=each + 1).contains(&held) && (1..=5).contains(&led)
            };
            assert!(shares.iter().all(fair), "{node}: {shares:?}");
        }
        installation.set(3, NodeState::Draining);
        installation.settle();
        assert!(installation.shares("main").contains(&(3, 0, 0)));
        installation.set(3, NodeState::Removed);
        assert_eq!(installation.settle(), 0);
        for node in [1, 2, 4, 5] {
            installation.set(node, NodeState::Removed);
            installation.settle();
        }
        let shares = installation.shares("main");
        assert!(shares.iter().all(|&(_, held, led)| held == 16 && led == 8), "{shares:?}");
    }

    #[test]
    fn a_change_moves_little() {
        let mut installation = Installation::new();
        (1..=3).for_each(|node| installation.join(node, "main"));
        installation.settle();
        installation.join(4, "main");
        let before = installation.meta.placement.clone();
        installation.settle();
        let moved: usize = before
            .iter()
            .map(|(group, nodes)| {
                installation.meta.wanted(*group).iter().filter(|node| !nodes.contains(node)).count()
            })
            .sum();
        assert_eq!(moved, 12, "a fourth of all replicas, and none of the others");
    }

    #[test]
    fn clusters_keep_to_their_own_nodes() {
        let mut installation = Installation::new();
        for (node, cluster) in [(1, "east"), (2, "west"), (3, "east"), (4, "west"), (5, "east")] {
            installation.join(node, cluster);
        }
        installation.settle();
        assert_eq!(installation.shares("west"), [(2, 16, 8), (4, 16, 8)]);
        let held: Vec<_> =
            installation.shares("east").into_iter().map(|(node, held, _)| (node, held)).collect();
        assert_eq!(held, [(1, 16), (3, 16), (5, 16)]);
        // the last node of a cluster cannot be drained: its groups have nowhere to go
        installation.set(2, NodeState::Draining);
        installation.settle();
        installation.set(4, NodeState::Draining);
        assert_eq!(installation.settle(), 0);
        assert_eq!(installation.shares("west"), [(2, 0, 0), (4, 16, 16)]);
    }
}
