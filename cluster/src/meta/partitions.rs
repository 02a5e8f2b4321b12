//! Where do the records of an index lie when they are placed by user? In one part for each cluster (C§15).
//!
//! A part is an index of its own in a group of its cluster, under a name that no caller can give. The index that callers
//! name is the part of the cluster it was made in, and the home of the configuration and of the public records. The parts
//! come and go with it, in the same command.
//!
//! What follows an index has parts, too: that of a cluster follows the part that this cluster has of the primary.

use super::links::NewIncarnations;
use super::{At, ClusterRow, IndexRow, Link, MetaState, Role, RowChange, group_of};
use crate::command::{Moved, Wanted};
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
    /// Whether a cluster has no part of an index that has one in every cluster, or one whose replicas are not the index's.
    pub fn lacks_parts(&self, name: &IndexName) -> bool {
        let Some(row) = self.catalogue.get(name).filter(|row| self.has_parts(name, row)) else {
            return false;
        };
        let parts = self.other_parts(name);
        parts.len() + 1 < self.clusters.len()
            || self.parts_follow() && parts.iter().any(|part| !self.is_linked_like(row, part))
    }
    /// Those of a replica come and go with those of its primary.
    fn has_parts(&self, name: &IndexName, row: &IndexRow) -> bool {
        self.users.is_enabled && name.part().1.is_none() && row.primary().is_none()
    }
    /// Whether replicas have parts, as every node knows by now.
    pub fn parts_follow(&self) -> bool {
        self.level() >= level::PARTITIONS_FOLLOW
    }
    /// Whether what follows a part is what follows its index.
    fn is_linked_like(&self, index: &IndexRow, part: &IndexName) -> bool {
        let Some(row) = self.catalogue.get(part) else { return false };
        let is_like = |own: &Link, theirs: &Link| {
            let follows = Role::Replica(Link { name: part.clone(), kind: own.kind });
            own.kind == theirs.kind
                && own.name.as_str() == theirs.name.part().0
                && self.catalogue.get(&theirs.name).is_some_and(|row| row.role == follows)
        };
        let (own, theirs) = (index.replicas(), row.replicas());
        own.len() == theirs.len() && own.iter().zip(theirs).all(|(own, theirs)| is_like(own, theirs))
    }

    /// Lets every cluster have its part of an index, and of what follows it: `ready` are reserved for that. The incarnations
    /// of the others are numbers after the command's task id.
    pub(super) fn complete_parts(&mut self, at: At, name: &IndexName, ready: &[Moved]) -> Vec<RowChange> {
        let Some(row) = self.catalogue.get(name) else { return vec![] };
        if !self.has_parts(name, row) {
            return vec![];
        }
        let (own, created_ms) = (self.cluster_with(name), row.created_ms);
        let mut incarnations = NewIncarnations::after(at);
        let numbers: Vec<u16> = self.clusters.values().map(|row| row.number).collect();
        let mut changes = vec![];
        for number in numbers {
            let incarnation = incarnations.take();
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
            let row = IndexRow { incarnation, group, created_ms, role: Role::Alone };
            changes.push(RowChange::index(&part, &row));
            self.catalogue.put(part, row);
        }
        changes.extend(self.link_parts(at, name, ready, &mut incarnations, Links::ThatDiffer));
        changes
    }
    /// Lets the parts of an index be followed by the parts of what follows it. What there are too few numbers for is left to
    /// the next command that completes the parts.
    pub(super) fn link_parts(
        &mut self,
        at: At,
        name: &IndexName,
        ready: &[Moved],
        incarnations: &mut NewIncarnations,
        links: Links,
    ) -> Vec<RowChange> {
        let Some(row) = self.catalogue.get(name).filter(|_| self.parts_follow()).cloned() else {
            return vec![];
        };
        let mut changes = vec![];
        if let Some(own) = self.cluster_with(name) {
            // replicas that came from another cluster
            let parts = row.replicas().iter().filter_map(|link| link.name.part_in(own).ok());
            changes.extend(parts.flat_map(|part| self.remove_part(&part)).collect::<Vec<_>>());
        }
        for part in self.other_parts(name) {
            let Some((number, group)) = part.part().1.zip(self.catalogue.get(&part).map(|row| row.group))
            else {
                continue;
            };
            if links == Links::ThatDiffer && self.is_linked_like(&row, &part) {
                continue;
            }
            let wanted = |link: &Link| {
                let name = link.name.part_in(number).ok()?;
                let prepared = ready.iter().find(|it| it.name == name).map(|it| it.incarnation);
                let prepared = prepared.filter(|it| self.reserved.get(it) == Some(&group));
                Some(Wanted { name, kind: link.kind, prepared })
            };
            let wanted: Vec<Wanted> = row.replicas().iter().filter_map(wanted).collect();
            if incarnations.left() < wanted.len() {
                break;
            }
            changes.extend(self.link(at, &part, &wanted, incarnations));
        }
        changes
    }
    /// Takes the parts of an index out with it.
    pub(super) fn remove_parts(&mut self, name: &IndexName) -> Vec<RowChange> {
        let parts = self.other_parts(name);
        parts.iter().flat_map(|part| self.remove_part(part)).collect()
    }
    fn remove_part(&mut self, part: &IndexName) -> Vec<RowChange> {
        let Some(row) = self.catalogue.remove(part) else { return vec![] };
        let mut changes = vec![RowChange::no_index(part), self.tombstone(row.incarnation, row.group)];
        changes.extend(self.forget_links(&row));
        changes
    }
    /// Lets the parts of an index that was renamed over one with the replicas `theirs` go with it.
    pub(super) fn move_parts(
        &mut self,
        at: At,
        (from, to): (&IndexName, &IndexName),
        theirs: &[Link],
        ready: &[Moved],
    ) -> Vec<RowChange> {
        let mut changes = self.remove_parts(to);
        if self.parts_follow() {
            // they held what the destination had
            changes.extend(theirs.iter().flat_map(|link| self.remove_parts(&link.name)).collect::<Vec<_>>());
        }
        for part in self.other_parts(from) {
            let (Some(number), Some(row)) = (part.part().1, self.catalogue.remove(&part)) else { continue };
            changes.push(RowChange::no_index(&part));
            if let Ok(part) = to.part_in(number) {
                for Link { name, kind } in row.replicas() {
                    changes.extend(
                        self.change_role(name, Role::Replica(Link { name: part.clone(), kind: *kind })),
                    );
                }
                changes.push(RowChange::index(&part, &row));
                self.catalogue.put(part, row);
            }
        }
        changes.extend(self.complete_parts(at, to, ready));
        changes
    }
}

/// Which parts of an index are given its replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    /// All; their groups are told again.
    All,
    /// Those that have others.
    ThatDiffer,
}
