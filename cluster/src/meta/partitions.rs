//! Where do the records of an index lie when they are placed by user? In one partition for each cluster (C§15).
//!
//! A partition is an index of its own in a group of its cluster, under a name that no caller can give. The index that callers
//! name is the partition of the cluster it was made in, and the home of the configuration and of the public records. The partitions
//! come and go with it, in the same command.
//!
//! What follows an index has partitions, too: that of a cluster follows the partition that this cluster has of the primary.

use super::links::NewIncarnations;
use super::{At, ClusterRow, IndexRow, Link, MetaState, Role, RowChange, group_of};
use crate::command::{Moved, WantedReplica};
use quorate_model::{GroupId, IndexName, Result, level, limits};

impl MetaState {
    /// The group of a cluster that an index is made in.
    pub fn group_in(&self, cluster: u16, name: &IndexName) -> GroupId {
        GroupId(cluster * limits::PLACEMENT_GROUPS + group_of(name, limits::PLACEMENT_GROUPS).0)
    }
    /// Number of the cluster that has an index's own records.
    fn cluster_with(&self, name: &IndexName) -> Option<u16> {
        let group = self.catalogue.get(name)?.group;
        Some(group.0.checked_sub(1)? / limits::PLACEMENT_GROUPS)
    }
    /// The name of the partition of an index that a cluster has. Errors: `name` is that of a partition.
    pub fn partition_of(&self, name: &IndexName, cluster: u16) -> Result<IndexName> {
        match self.cluster_with(name) {
            Some(own) if own != cluster => name.partition_in(cluster),
            Some(_) | None => Ok(name.clone()),
        }
    }
    /// The partitions that other clusters than its own have of an index.
    pub fn other_partitions(&self, name: &IndexName) -> Vec<IndexName> {
        if !self.users.is_enabled {
            return vec![];
        }
        let partition = |row: &ClusterRow| name.partition_in(row.number).ok();
        let partitions = self.clusters.values().filter_map(partition);
        partitions.filter(|partition| self.catalogue.get(partition).is_some()).collect()
    }
    /// Whether a cluster has no partition of an index that has one in every cluster, or one whose replicas are not the index's.
    pub fn lacks_partitions(&self, name: &IndexName) -> bool {
        let Some(row) = self.catalogue.get(name).filter(|row| self.has_partitions(name, row)) else {
            return false;
        };
        let partitions = self.other_partitions(name);
        partitions.len() + 1 < self.clusters.len()
            || self.partitions_follow()
                && partitions.iter().any(|partition| !self.is_linked_like(row, partition))
    }
    /// Those of a replica come and go with those of its primary.
    fn has_partitions(&self, name: &IndexName, row: &IndexRow) -> bool {
        self.users.is_enabled && name.partition().1.is_none() && row.primary().is_none()
    }
    /// Whether replicas have partitions, as every node knows by now.
    pub fn partitions_follow(&self) -> bool {
        self.level() >= level::PARTITIONS_FOLLOW
    }
    /// Whether what follows a partition is what follows its index.
    fn is_linked_like(&self, index: &IndexRow, partition: &IndexName) -> bool {
        let Some(row) = self.catalogue.get(partition) else { return false };
        let is_like = |own: &Link, theirs: &Link| {
            let follows = Role::Replica(Link { name: partition.clone(), kind: own.kind });
            own.kind == theirs.kind
                && own.name.as_str() == theirs.name.partition().0
                && self.catalogue.get(&theirs.name).is_some_and(|row| row.role == follows)
        };
        let (own, theirs) = (index.replicas(), row.replicas());
        own.len() == theirs.len() && own.iter().zip(theirs).all(|(own, theirs)| is_like(own, theirs))
    }

    /// Lets every cluster have its partition of an index, and of what follows it: `ready` are reserved for that. The incarnations
    /// of the others are numbers after the command's task id.
    pub(super) fn complete_partitions(
        &mut self,
        at: At,
        name: &IndexName,
        ready: &[Moved],
    ) -> Vec<RowChange> {
        let Some(row) = self.catalogue.get(name) else { return vec![] };
        if !self.has_partitions(name, row) {
            return vec![];
        }
        let (own, created_ms) = (self.cluster_with(name), row.created_ms);
        let mut incarnations = NewIncarnations::after(at);
        let numbers: Vec<u16> = self.clusters.values().map(|row| row.number).collect();
        let mut changes = vec![];
        for number in numbers {
            let incarnation = incarnations.take();
            let Ok(partition) = name.partition_in(number) else { continue };
            if Some(number) == own {
                // the index itself came from another cluster
                changes.extend(self.remove_partition(&partition));
                continue;
            }
            if self.catalogue.get(&partition).is_some() {
                continue;
            }
            let group = self.group_in(number, &partition);
            let row = IndexRow { incarnation, group, created_ms, role: Role::Alone };
            changes.push(RowChange::index(&partition, &row));
            self.catalogue.put(partition, row);
        }
        changes.extend(self.link_partitions(at, name, ready, &mut incarnations, Links::ThatDiffer));
        changes
    }
    /// Lets the partitions of an index be followed by the partitions of what follows it. What there are too few numbers for is left to
    /// the next command that completes the partitions.
    pub(super) fn link_partitions(
        &mut self,
        at: At,
        name: &IndexName,
        ready: &[Moved],
        incarnations: &mut NewIncarnations,
        links: Links,
    ) -> Vec<RowChange> {
        let Some(row) = self.catalogue.get(name).filter(|_| self.partitions_follow()).cloned() else {
            return vec![];
        };
        let mut changes = vec![];
        if let Some(own) = self.cluster_with(name) {
            // replicas that came from another cluster
            let partitions = row.replicas().iter().filter_map(|link| link.name.partition_in(own).ok());
            changes.extend(
                partitions.flat_map(|partition| self.remove_partition(&partition)).collect::<Vec<_>>(),
            );
        }
        for partition in self.other_partitions(name) {
            let Some((number, group)) =
                partition.partition().1.zip(self.catalogue.get(&partition).map(|row| row.group))
            else {
                continue;
            };
            if links == Links::ThatDiffer && self.is_linked_like(&row, &partition) {
                continue;
            }
            let wanted = |link: &Link| {
                let name = link.name.partition_in(number).ok()?;
                let prepared = ready.iter().find(|it| it.name == name).map(|it| it.incarnation);
                let prepared = prepared.filter(|it| self.reserved.is_in(*it, group));
                Some(WantedReplica { name, kind: link.kind, prepared })
            };
            let wanted: Vec<WantedReplica> = row.replicas().iter().filter_map(wanted).collect();
            if incarnations.left() < wanted.len() {
                break;
            }
            changes.extend(self.link(at, &partition, &wanted, incarnations));
        }
        changes
    }
    /// Takes the partitions of an index out with it.
    pub(super) fn remove_partitions(&mut self, name: &IndexName) -> Vec<RowChange> {
        let partitions = self.other_partitions(name);
        partitions.iter().flat_map(|partition| self.remove_partition(partition)).collect()
    }
    fn remove_partition(&mut self, partition: &IndexName) -> Vec<RowChange> {
        let Some(row) = self.catalogue.remove(partition) else { return vec![] };
        let mut changes = vec![RowChange::no_index(partition), self.tombstone(row.incarnation, row.group)];
        changes.extend(self.forget_links(&row));
        changes
    }
    /// Lets the partitions of an index that was renamed over one with the replicas `theirs` go with it.
    pub(super) fn move_partitions(
        &mut self,
        at: At,
        (from, to): (&IndexName, &IndexName),
        theirs: &[Link],
        ready: &[Moved],
    ) -> Vec<RowChange> {
        let mut changes = self.remove_partitions(to);
        if self.partitions_follow() {
            // they held what the destination had
            changes.extend(
                theirs.iter().flat_map(|link| self.remove_partitions(&link.name)).collect::<Vec<_>>(),
            );
        }
        for partition in self.other_partitions(from) {
            let (Some(number), Some(row)) = (partition.partition().1, self.catalogue.remove(&partition))
            else {
                continue;
            };
            changes.push(RowChange::no_index(&partition));
            if let Ok(partition) = to.partition_in(number) {
                for Link { name, kind } in row.replicas() {
                    changes.extend(
                        self.change_role(name, Role::Replica(Link { name: partition.clone(), kind: *kind })),
                    );
                }
                changes.push(RowChange::index(&partition, &row));
                self.catalogue.put(partition, row);
            }
        }
        changes.extend(self.complete_partitions(at, to, ready));
        changes
    }
}

/// Which partitions of an index are given its replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    /// All; their groups are told again.
    All,
    /// Those that have others.
    ThatDiffer,
}
