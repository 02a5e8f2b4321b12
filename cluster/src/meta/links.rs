//! How the catalogue keeps primaries and replicas in step: every link stands in both rows (C§3.2).

use super::partitions::Links;
use super::{At, IndexRow, Link, MetaState, Role, RowChange};
use crate::command::{Moved, Subject, WantedReplica};
use quorate_model::{GroupId, IndexName, TaskId, limits};
use quorate_node::ops::{Incarnation, ReplicaKind};

/// The incarnations that a command has to give: numbers from its task id on, up to that of the next command.
#[derive(Debug)]
pub(super) struct NewIncarnations {
    next: Incarnation,
    end: Incarnation,
}
impl NewIncarnations {
    /// All of them.
    fn of(at: At) -> NewIncarnations {
        let task_id = |log_index| TaskId::new(GroupId::META, log_index).0;
        NewIncarnations { next: task_id(at.log_index), end: task_id(at.log_index + 1) }
    }
    /// All but the first, which is an index's own.
    pub(super) fn after(at: At) -> NewIncarnations {
        let mut incarnations = NewIncarnations::of(at);
        incarnations.take();
        incarnations
    }
    /// How many there are.
    pub(super) fn left(&self) -> usize {
        (self.end - self.next) as usize
    }
    /// The next one; there must be one.
    pub(super) fn take(&mut self) -> Incarnation {
        debug_assert!(self.left() > 0);
        self.next += 1;
        self.next - 1
    }
}

/// The bound that a list of replicas breaks, in words; `None` when it keeps all of them.
pub fn too_many(links: &[Link]) -> Option<String> {
    let virtual_ones = links.iter().filter(|link| link.kind == ReplicaKind::Virtual).count();
    match () {
        () if links.len() > limits::REPLICAS_MAX => {
            Some(format!("at most {} replicas", limits::REPLICAS_MAX))
        }
        () if virtual_ones > limits::VIRTUAL_REPLICAS_MAX => {
            Some(format!("at most {} virtual replicas", limits::VIRTUAL_REPLICAS_MAX))
        }
        () => None,
    }
}

impl MetaState {
    /// Whether a name can be what `wanted` says of it, of an index that lies in `group`.
    fn can_follow(&self, primary: &IndexName, group: GroupId, wanted: &WantedReplica) -> bool {
        if wanted.name == *primary || wanted.prepared.is_some_and(|it| !self.is_ready(it, group)) {
            return false;
        }
        match self.catalogue.get(&wanted.name).map(|row| &row.role) {
            None => true,
            Some(Role::Alone) => wanted.prepared.is_some(),
            Some(Role::Primary(_)) => false,
            Some(Role::Replica(link)) => link.name == *primary,
        }
    }

    pub(super) fn set_replicas(
        &mut self,
        at: At,
        name: &IndexName,
        incarnation: Incarnation,
        wanted: &[WantedReplica],
    ) -> Vec<RowChange> {
        let Some(row) = self.catalogue.get(name).filter(|row| row.incarnation == incarnation).cloned() else {
            return vec![];
        };
        let (own, of_parts): (Vec<WantedReplica>, Vec<WantedReplica>) =
            wanted.iter().cloned().partition(|wanted| wanted.name.partition().1.is_none());
        if row.primary().is_some() || !own.iter().all(|wanted| self.can_follow(name, row.group, wanted)) {
            return vec![];
        }
        let mut incarnations = NewIncarnations::of(at);
        let mut changes = self.link(at, name, &own, &mut incarnations);
        let ready = |WantedReplica { name, prepared, .. }: WantedReplica| {
            Some(Moved { name, incarnation: prepared? })
        };
        let ready: Vec<Moved> = of_parts.into_iter().filter_map(ready).collect();
        changes.extend(self.link_partitions(at, name, &ready, &mut incarnations, Links::All));
        changes
    }

    /// Lets exactly these names follow one that is there; there are numbers for all of them.
    pub(super) fn link(
        &mut self,
        at: At,
        name: &IndexName,
        wanted: &[WantedReplica],
        incarnations: &mut NewIncarnations,
    ) -> Vec<RowChange> {
        let Some(row) = self.catalogue.get(name).cloned() else { return vec![] };
        let mut changes = vec![];
        let follows = |state: &MetaState, replica: &IndexName| {
            let primary = state.catalogue.get(replica).and_then(IndexRow::primary);
            primary.is_some_and(|primary| primary.name == *name)
        };
        for gone in row.replicas() {
            if !wanted.iter().any(|wanted| wanted.name == gone.name) && follows(self, &gone.name) {
                changes.extend(self.change_role(&gone.name, Role::Alone));
            }
        }
        for wanted in wanted {
            let role = Role::Replica(Link { name: name.clone(), kind: wanted.kind });
            let incarnation = incarnations.take();
            changes.extend(match follows(self, &wanted.name) {
                true => self.change_role(&wanted.name, role).into_iter().collect(),
                false => self.put_replica(
                    at,
                    &wanted.name,
                    wanted.prepared.unwrap_or(incarnation),
                    row.group,
                    role,
                ),
            });
        }
        let links = wanted.iter().map(|wanted| Link { name: wanted.name.clone(), kind: wanted.kind });
        changes.extend(self.change_role(name, Role::primary_of(links.collect())));
        changes.push(self.announce(at.log_index, Subject::Replicas(row.incarnation)));
        changes
    }

    pub(super) fn move_index(
        &mut self,
        at: At,
        from: &IndexName,
        to: &IndexName,
        moved: &[Moved],
    ) -> Vec<RowChange> {
        if from == to {
            return vec![];
        }
        let Some(row) = self.catalogue.get(from).cloned() else { return vec![] };
        let old = self.catalogue.get(to).cloned();
        let theirs = old.as_ref().map_or(&[][..], IndexRow::replicas).to_vec();
        let place_of = |link: &Link| moved.iter().find(|moved| moved.name == link.name);
        let is_ready =
            |link: &Link| place_of(link).is_some_and(|moved| self.is_ready(moved.incarnation, row.group));
        let follows = row.primary().or_else(|| old.as_ref().and_then(IndexRow::primary));
        let replicas: Vec<Link> = row.replicas().iter().chain(&theirs).cloned().collect();
        if follows.is_some() || !theirs.iter().all(is_ready) || too_many(&replicas).is_some() {
            return vec![];
        }
        let mut changes = vec![RowChange::no_index(from)];
        self.catalogue.remove(from);
        for link in &theirs {
            let Some(moved) = place_of(link) else { continue };
            let role = Role::Replica(Link { name: to.clone(), kind: link.kind });
            changes.extend(self.put_replica(at, &link.name, moved.incarnation, row.group, role));
        }
        for link in row.replicas() {
            let role = Role::Replica(Link { name: to.clone(), kind: link.kind });
            changes.extend(self.change_role(&link.name, role));
        }
        if !theirs.is_empty() {
            changes.push(self.announce(at.log_index, Subject::Replicas(row.incarnation)));
        }
        let row = IndexRow { role: Role::primary_of(replicas), ..row };
        changes.push(RowChange::index(to, &row));
        self.catalogue.put(to.clone(), row);
        if let Some(old) = old {
            changes.push(self.tombstone(old.incarnation, old.group));
            changes.extend(self.withdraw(Subject::Replicas(old.incarnation)));
        }
        changes.extend(self.move_partitions(at, (from, to), &theirs, moved));
        changes.extend(self.move_copied_keys(from, to));
        changes
    }

    /// Takes what follows a removed index out of its service.
    pub(super) fn forget_links(&mut self, removed: &IndexRow) -> Vec<RowChange> {
        let mut changes: Vec<RowChange> =
            self.withdraw(Subject::Replicas(removed.incarnation)).into_iter().collect();
        for link in removed.replicas() {
            changes.extend(self.change_role(&link.name, Role::Alone));
        }
        changes
    }

    /// Lets a name stand for a new replica; what it stood for is tombstoned.
    fn put_replica(
        &mut self,
        at: At,
        name: &IndexName,
        incarnation: Incarnation,
        group: GroupId,
        role: Role,
    ) -> Vec<RowChange> {
        let created_ms = self.catalogue.get(name).map_or(at.time_ms, |old| old.created_ms);
        let row = IndexRow { incarnation, group, created_ms, role };
        let mut changes = vec![RowChange::index(name, &row)];
        if let Some(old) = self.catalogue.put(name.clone(), row) {
            changes.push(self.tombstone(old.incarnation, old.group));
        }
        if self.reserved.remove(&incarnation).is_some() {
            changes.push(RowChange::not_reserved(incarnation));
        }
        changes
    }

    pub(super) fn change_role(&mut self, name: &IndexName, role: Role) -> Option<RowChange> {
        let row = IndexRow { role, ..self.catalogue.get(name)?.clone() };
        let change = RowChange::index(name, &row);
        self.catalogue.put(name.clone(), row);
        Some(change)
    }
}
