//! Where do the records of an index lie when they are placed by user? In one part for each cluster (§4.10, C§15).
//!
//! A part is an index of its own in a group of its cluster, under a name that no caller can give. The index that callers
//! name is the part of the cluster it was made in, and the home of the configuration and of the public records. The parts
//! come and go with it, in the same command.

use super::{At, ClusterRow, IndexRow, MetaState, Role, RowChange, group_of};
use quorate_model::{GroupId, IndexName, Result, TaskId, limits};

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
    /// The name of the part of an index that a cluster has. Errors: `name` is that of a part.
    pub fn part_of(&self, name: &IndexName, cluster: u16) -> Result<IndexName> {
        match self.cluster_with(name) {
            Some(own) if own != cluster => name.part_in(cluster),
            Some(_) | None => Ok(name.clone()),
        }
    }
    /// The parts that other clusters than its own have of an index.
    pub fn other_parts(&self, name: &IndexName) -> Vec<IndexName> {
        if !self.users.is_enabled {
            return vec![];
        }
        let part = |row: &ClusterRow| name.part_in(row.number).ok();
        let parts = self.clusters.values().filter_map(part);
        parts.filter(|part| self.catalogue.get(part).is_some()).collect()
    }
    /// Whether a cluster has no part of an index that has one in every cluster.
    pub fn lacks_parts(&self, name: &IndexName) -> bool {
        self.catalogue.get(name).is_some_and(|row| self.has_parts(name, row))
            && self.other_parts(name).len() + 1 < self.clusters.len()
    }
    /// Replicas follow their primary in its own cluster only.
    fn has_parts(&self, name: &IndexName, row: &IndexRow) -> bool {
        self.users.is_enabled && name.part().1.is_none() && row.primary().is_none()
    }

    /// Lets every cluster have its part of an index. Their incarnations are the numbers after the command's task id.
    pub(super) fn complete_parts(&mut self, at: At, name: &IndexName) -> Vec<RowChange> {
        let Some(row) = self.catalogue.get(name) else { return vec![] };
        if !self.has_parts(name, row) {
            return vec![];
        }
        let (own, created_ms) = (self.cluster_with(name), row.created_ms);
        let minted = TaskId::new(GroupId::META, at.log_index).0;
        let numbers: Vec<u16> = self.clusters.values().map(|row| row.number).collect();
        let mut changes = vec![];
        for (number, ordinal) in numbers.into_iter().zip(1..) {
            let Ok(part) = name.part_in(number) else { continue };
            if Some(number) == own {
                // the index itself came from another cluster
                changes.extend(self.remove_part(&part));
                continue;
            }
            if self.catalogue.get(&part).is_some() {
                continue;
            }
            let group = self.group_in(number, &part);
            let row = IndexRow { incarnation: minted + ordinal, group, created_ms, role: Role::Alone };
            changes.push(RowChange::index(&part, &row));
            self.catalogue.put(part, row);
        }
        changes
    }
    /// Takes the parts of an index out with it.
    pub(super) fn remove_parts(&mut self, name: &IndexName) -> Vec<RowChange> {
        let parts = self.other_parts(name);
        parts.iter().flat_map(|part| self.remove_part(part)).collect()
    }
    fn remove_part(&mut self, part: &IndexName) -> Vec<RowChange> {
        match self.catalogue.remove(part) {
            Some(row) => vec![RowChange::no_index(part), self.doom(row.incarnation, row.group)],
            None => vec![],
        }
    }
    /// Lets the parts of an index that was renamed go with it.
    pub(super) fn move_parts(&mut self, at: At, from: &IndexName, to: &IndexName) -> Vec<RowChange> {
        let mut changes = self.remove_parts(to);
        for part in self.other_parts(from) {
            let (Some(number), Some(row)) = (part.part().1, self.catalogue.remove(&part)) else { continue };
            changes.push(RowChange::no_index(&part));
            if let Ok(part) = to.part_in(number) {
                changes.push(RowChange::index(&part, &row));
                self.catalogue.put(part, row);
            }
        }
        changes.extend(self.complete_parts(at, to));
        changes
    }
}
