//! How do indices come and go, and what is left of those that went?

use super::rows::{Row, RowChange, StateTable, group, number};
use super::{At, IndexRow, MetaState, Role, SharedMap};
use quorate_model::{GroupId, IndexName, TaskId};
use quorate_node::ops::Incarnation;
use std::ops::{Deref, DerefMut};

/// A row for each incarnation that still holds files, with its group.
const TOMBSTONED: u8 = b'd';

/// Incarnations that no name stands for any more and that still hold files in their group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tombstoned(SharedMap<Incarnation, GroupId>);

impl Deref for Tombstoned {
    type Target = SharedMap<Incarnation, GroupId>;
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
impl DerefMut for Tombstoned {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl StateTable for Tombstoned {
    fn kinds(&self) -> &'static [u8] {
        &[TOMBSTONED]
    }
    fn hashed_as(&self) -> &'static str {
        "removed indices"
    }
    fn rows(&self) -> Box<dyn Iterator<Item = RowChange> + '_> {
        Box::new(self.iter().map(|(incarnation, group)| row(*incarnation, *group)))
    }
    fn take(&mut self, row: Row<'_>) -> Option<()> {
        self.insert(number(row.rest)?, group(row.value)?);
        Some(())
    }
}

fn row(incarnation: Incarnation, group: GroupId) -> RowChange {
    RowChange::put(TOMBSTONED, &incarnation.to_be_bytes(), group.0.to_be_bytes().to_vec())
}

impl MetaState {
    pub(super) fn create_index(&mut self, at: At, name: IndexName, group: GroupId) -> Vec<RowChange> {
        if self.catalogue.get(&name).is_some() {
            return vec![];
        }
        let incarnation = TaskId::new(GroupId::META, at.log_index).0;
        let row = IndexRow { incarnation, group, created_ms: at.time_ms, role: Role::Alone };
        let mut changes = vec![RowChange::index(&name, &row)];
        self.catalogue.put(name.clone(), row);
        changes.extend(self.complete_partitions(at, &name, &[]));
        changes
    }

    pub(super) fn delete_index(
        &mut self,
        at: At,
        name: &IndexName,
        incarnation: Incarnation,
    ) -> Vec<RowChange> {
        match self.catalogue.get(name) {
            Some(row) if row.incarnation == incarnation && row.primary().is_none() => {
                let row = row.clone();
                self.catalogue.remove(name);
                let mut changes = vec![RowChange::no_index(name), self.tombstone(row.incarnation, row.group)];
                changes.extend(self.forget_links(&row));
                changes.extend(self.remove_partitions(name));
                changes.extend(self.delete_keys_of(at, name));
                changes
            }
            Some(_) | None => vec![],
        }
    }

    pub(super) fn tombstone(&mut self, incarnation: Incarnation, group: GroupId) -> RowChange {
        self.tombstoned.insert(incarnation, group);
        row(incarnation, group)
    }

    pub(super) fn dropped(&mut self, incarnation: Incarnation) -> Vec<RowChange> {
        match self.tombstoned.remove(&incarnation) {
            Some(_) => vec![RowChange::delete(TOMBSTONED, &incarnation.to_be_bytes())],
            None => vec![],
        }
    }
}
