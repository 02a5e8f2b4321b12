//! Which nodes the installation has, in which clusters, and where each placement group's replicas are wanted.

use super::level::LevelInForce;
use super::{MetaState, RowChange};
use crate::command::{Joining, NodeState, Subject};
use quorate_model::{GroupId, NodeId, level, limits};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Clusters an installation may have: a group number is below 4,096, and each cluster takes its own.
pub const CLUSTERS_MAX: usize = 64;

/// A named set of nodes with groups of its own (C§15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterRow {
    /// Says which groups it has.
    pub number: u16,
    /// Its first node, which makes its groups.
    pub founder: NodeId,
}

/// What the installation knows of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRow {
    /// The name its operator gave it; unique among the nodes that are not removed.
    pub name: String,
    /// The cluster it belongs to.
    pub cluster: String,
    /// Where its peers find it, HOST:PORT.
    pub peer: String,
    /// Where its clients find it, HOST:PORT; for operators and proxies.
    pub http: String,
    /// Whether it takes part.
    pub state: NodeState,
    /// The newest commands its program knows.
    pub level: u16,
    /// Meta log index of its joining: the order of the nodes.
    pub since: u64,
}

impl NodeRow {
    /// Whether it may be given replicas.
    pub fn is_active(&self) -> bool {
        self.state == NodeState::Active
    }
    /// Whether this is what the node says of itself.
    pub fn is(&self, joining: &Joining) -> bool {
        let Joining { name, cluster, peer, http, level } = joining;
        let own = (&self.name, &self.cluster, &self.peer, &self.http, &self.level);
        own == (name, cluster, peer, http, level)
    }
    /// Whether it belongs to the installation.
    pub fn is_present(&self) -> bool {
        self.state != NodeState::Removed
    }
}

/// Why a node cannot join under its name or number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAdmitted {
    /// The number was removed.
    #[error("this node was removed from the installation; start it with an empty data folder to join anew")]
    Removed,
    /// Another node has the name.
    #[error("another node is called {0}; choose another --node-name, or remove that node first")]
    NameTaken(String),
    /// It was in another cluster.
    #[error("this node belongs to the cluster {0}; a node cannot change its cluster")]
    OtherCluster(String),
    /// It does not know all commands that are in use.
    #[error(
        "the installation uses commands of level {used}, and this node knows those up to {known}; start a newer version"
    )]
    TooOld {
        /// The level that is in force.
        used: u16,
        /// The node's.
        known: u16,
    },
    /// Too many clusters.
    #[error("the installation has {CLUSTERS_MAX} clusters; no more are possible")]
    TooManyClusters,
}

impl MetaState {
    /// The nodes that were not removed, in the order they joined.
    pub fn present_nodes(&self) -> Vec<(NodeId, &NodeRow)> {
        let mut nodes: Vec<_> =
            self.nodes.iter().filter(|(_, row)| row.is_present()).map(|(id, row)| (*id, row)).collect();
        nodes.sort_by_key(|(id, row)| (row.since, *id));
        nodes
    }
    /// The groups of a cluster; none for one that is not known.
    pub fn groups_of(&self, cluster: &str) -> Vec<GroupId> {
        let Some(row) = self.clusters.get(cluster) else { return vec![] };
        let first = row.number * limits::PLACEMENT_GROUPS;
        (first + 1..=first + limits::PLACEMENT_GROUPS).map(GroupId).collect()
    }
    /// The cluster whose groups include `group`; `None` for the meta group and for groups of no cluster.
    pub fn cluster_of(&self, group: GroupId) -> Option<&str> {
        let number = group.0.checked_sub(1)? / limits::PLACEMENT_GROUPS;
        self.clusters.iter().find(|(_, row)| row.number == number).map(|(name, _)| name.as_str())
    }
    /// Whether `node` makes a group: it is the first of the group's cluster.
    pub fn is_founder(&self, node: NodeId, group: GroupId) -> bool {
        self.cluster_of(group).and_then(|name| self.clusters.get(name)).is_some_and(|row| row.founder == node)
    }
    /// The nodes that are to hold a replica of a group; the first is the one that should lead.
    pub fn wanted(&self, group: GroupId) -> Vec<NodeId> {
        if group != GroupId::META {
            return self.placement.get(&group).cloned().unwrap_or_default();
        }
        // one that drains gives its vote to one that stays, as far as there is one: it may be taken out next
        let mut nodes = self.present_nodes();
        nodes.sort_by_key(|(_, row)| !row.is_active());
        nodes.into_iter().map(|(id, _)| id).collect()
    }
    /// How many of the wanted members of a group vote: an odd number, the first of them.
    pub fn wanted_voters(&self, group: GroupId) -> usize {
        let most = if group == GroupId::META { META_VOTERS_MAX } else { limits::REPLICATION };
        let members = self.wanted(group).len().min(most);
        if members.is_multiple_of(2) { members.saturating_sub(1) } else { members }
    }

    /// The other node that has a name.
    pub fn namesake(&self, node: NodeId, name: &str) -> Option<(NodeId, &NodeRow)> {
        let has_name = |(id, row): &(&NodeId, &NodeRow)| **id != node && row.is_present() && row.name == name;
        self.nodes.iter().find(has_name).map(|(id, row)| (*id, row))
    }

    /// The node whose place another one wants that has its name and its address: it may be that one's machine with an empty
    /// folder, or with its disk not mounted.
    pub fn held_place(&self, node: NodeId, joining: &Joining) -> Option<&NodeRow> {
        let (_, row) = self.namesake(node, &joining.name)?;
        (row.peer == joining.peer && row.cluster == joining.cluster).then_some(row)
    }

    /// Whether a node may join as it introduces itself; when [`Self::held_place`] names another one, not before that one's place
    /// is free.
    pub fn admits(&self, node: NodeId, joining: &Joining) -> Result<(), NotAdmitted> {
        let Joining { name, cluster, peer, http: _, level } = joining;
        if let Some(known) = self.nodes.get(&node) {
            if !known.is_present() {
                return Err(NotAdmitted::Removed);
            }
            if known.cluster != *cluster {
                return Err(NotAdmitted::OtherCluster(known.cluster.clone()));
            }
        }
        if self.namesake(node, name).is_some_and(|(_, row)| row.peer != *peer || row.cluster != *cluster) {
            return Err(NotAdmitted::NameTaken(name.clone()));
        }
        if *level < self.level() {
            return Err(NotAdmitted::TooOld { used: self.level(), known: *level });
        }
        if !self.clusters.contains_key(cluster) && self.clusters.len() >= CLUSTERS_MAX {
            return Err(NotAdmitted::TooManyClusters);
        }
        Ok(())
    }

    /// As [`Self::admits`], for a node that asks now: also refuses one whose admission would put commands in force that it does
    /// not know, which that of a node in another's place does below [`level::PLACES_COUNT`].
    pub fn admits_now(&self, node: NodeId, joining: &Joining) -> Result<(), NotAdmitted> {
        self.admits(node, joining)?;
        let mut after = self.clone();
        after.add_node(0, node, joining.clone());
        match after.level() > joining.level {
            true => Err(NotAdmitted::TooOld { used: after.level(), known: joining.level }),
            false => Ok(()),
        }
    }

    pub(super) fn add_node(&mut self, log_index: u64, node: NodeId, joining: Joining) -> Vec<RowChange> {
        let takes_place = self.held_place(node, &joining).is_some();
        if self.admits(node, &joining).is_err() || takes_place && self.level() >= level::PLACES_HELD {
            return vec![];
        }
        self.put_in(log_index, node, joining)
    }

    /// Lets a node take the place of the one that has its name and its address, which is removed. Nothing when there is none.
    pub(super) fn take_place(&mut self, log_index: u64, node: NodeId, joining: Joining) -> Vec<RowChange> {
        let held = self.held_place(node, &joining).is_some() && self.admits(node, &joining).is_ok();
        let Some((old, _)) = self.namesake(node, &joining.name).filter(|_| held) else { return vec![] };
        let mut changes = self.put_in(log_index, node, joining);
        let places: Vec<(GroupId, Vec<NodeId>)> = self
            .placement
            .iter()
            .filter(|(_, nodes)| nodes.contains(&old))
            .map(|(group, nodes)| {
                (*group, nodes.iter().map(|it| if *it == old { node } else { *it }).collect())
            })
            .collect();
        for (group, nodes) in places {
            changes.extend(self.place(log_index, group, nodes));
        }
        changes
    }

    fn put_in(&mut self, log_index: u64, node: NodeId, joining: Joining) -> Vec<RowChange> {
        let Joining { name, cluster, peer, http, level } = joining;
        let mut changes = vec![];
        let mut wiped = self.namesake(node, &name).map(|(wiped, _)| wiped);
        if self.level() < level::PLACES_COUNT
            && let Some(wiped) = wiped.take()
        {
            changes.extend(self.set_node_state(wiped, NodeState::Removed));
        }
        if !self.clusters.contains_key(&cluster) {
            let row = ClusterRow { number: self.clusters.len() as u16, founder: node };
            Arc::make_mut(&mut self.clusters).insert(cluster.clone(), row);
            changes.push(RowChange::cluster(&cluster, row));
            for group in self.groups_of(&cluster) {
                changes.extend(self.place(log_index, group, vec![node]));
            }
        }
        let known = self.nodes.get(&node);
        let since = known.map_or(log_index, |known| known.since);
        let state = known.map_or(NodeState::Active, |known| known.state);
        let row = NodeRow { name, cluster, peer, http, state, level, since };
        changes.push(self.put_node(node, row));
        // after the one that takes its place is counted: the level must not rise past that one
        if let Some(wiped) = wiped {
            changes.extend(self.set_node_state(wiped, NodeState::Removed));
        }
        changes.extend(self.raise_level());
        changes
    }

    /// Puts the commands in force that every present node has announced to know.
    fn raise_level(&mut self) -> Option<RowChange> {
        let known = self.nodes.values().filter(|row| row.is_present()).map(|row| row.level).min()?;
        (known > self.level()).then(|| {
            self.in_force = LevelInForce(known);
            self.in_force.row()
        })
    }

    pub(super) fn set_node_state(&mut self, node: NodeId, state: NodeState) -> Vec<RowChange> {
        match self.nodes.get(&node) {
            Some(row) if row.is_present() && row.state != state => {
                let row = NodeRow { state, ..row.clone() };
                let change = self.put_node(node, row);
                std::iter::once(change).chain(self.raise_level()).collect()
            }
            Some(_) | None => vec![],
        }
    }

    pub(super) fn place(&mut self, log_index: u64, group: GroupId, nodes: Vec<NodeId>) -> Vec<RowChange> {
        if self.placement.get(&group) == Some(&nodes) {
            return vec![];
        }
        let mut changes = vec![RowChange::placed(group, &nodes)];
        let is_new = Arc::make_mut(&mut self.placement).insert(group, nodes).is_none();
        if is_new && self.dictionaries.revision > 0 {
            changes.push(self.announce(log_index, Subject::Dictionaries(group)));
        }
        changes
    }

    fn put_node(&mut self, node: NodeId, row: NodeRow) -> RowChange {
        let change = RowChange::node(node, &row);
        Arc::make_mut(&mut self.nodes).insert(node, row);
        change
    }
}

/// Members of the meta group that vote, at most; every other node follows.
pub const META_VOTERS_MAX: usize = 5;

#[cfg(test)]
mod tests;
