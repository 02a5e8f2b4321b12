//! What the whole installation knows: which index a name stands for, the keys, the application id.
//!
//! [`MetaState`] is the state machine of the meta group. It is cheap to clone: every request reads an immutable copy.

mod catalogue;
mod rows;

pub use catalogue::{Catalogue, IndexRow, group_of};
pub use rows::{RowChange, RowError};

use crate::command::MetaCommand;
use quorate_model::{ApiKey, GroupId, IndexName, TaskId};
use quorate_node::ops::Incarnation;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The state of the meta group after some entry of its log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetaState {
    /// The installation; `None` before the first start.
    pub installation: Option<Arc<Installation>>,
    /// Name to index.
    pub catalogue: Catalogue,
    /// Every key but the admin key, by value.
    pub keys: Arc<BTreeMap<String, Arc<ApiKey>>>,
    /// Incarnations reserved as the destination of a copy, with their group.
    pub reserved: Arc<BTreeMap<Incarnation, GroupId>>,
    /// Incarnations that no name stands for any more and that still hold files in their group.
    pub doomed: Arc<BTreeMap<Incarnation, GroupId>>,
}

/// What the first start fixed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The application id of every request.
    pub app_id: String,
    /// SHA-256 of the admin key.
    pub admin_key: [u8; 32],
}

/// The place and time of a command in the meta log.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// Its log index.
    pub log_index: u64,
    /// Unix milliseconds, given by the proposer.
    pub time_ms: u64,
}

impl MetaState {
    /// Carries a command out and returns the rows that changed. A command that does not fit changes nothing.
    pub fn apply(&mut self, at: At, command: MetaCommand) -> Vec<RowChange> {
        match command {
            MetaCommand::SetUp { app_id, admin_key, search_key } => {
                self.set_up(app_id, admin_key, &search_key)
            }
            MetaCommand::StartNode => vec![],
            MetaCommand::SetAdminKey { admin_key } => self.set_admin_key(admin_key),
            MetaCommand::CreateIndex { name, group } => self.create_index(at, name, group),
            MetaCommand::DeleteIndex { name, incarnation } => self.delete_index(&name, incarnation),
            MetaCommand::MoveIndex { from, to } => self.move_index(&from, &to),
            MetaCommand::BeginCopy { group } => self.begin_copy(at, group),
            MetaCommand::PointIndex { name, incarnation, group } => {
                self.point_index(at, name, incarnation, group)
            }
            MetaCommand::AbandonCopy { incarnation } => self.abandon_copy(incarnation),
            MetaCommand::Dropped { incarnation } => self.dropped(incarnation),
            MetaCommand::PutKey { key } => self.put_key(&key),
            MetaCommand::DeleteKey { value } => self.delete_key(&value),
        }
    }

    fn set_up(&mut self, app_id: String, admin_key: [u8; 32], search_key: &[u8]) -> Vec<RowChange> {
        if self.installation.is_some() {
            return vec![];
        }
        let installation = Installation { app_id, admin_key };
        let mut changes = vec![RowChange::installation(&installation)];
        self.installation = Some(Arc::new(installation));
        changes.extend(self.put_key(search_key));
        changes
    }

    fn set_admin_key(&mut self, admin_key: [u8; 32]) -> Vec<RowChange> {
        let Some(installation) = &mut self.installation else { return vec![] };
        let installation = Arc::make_mut(installation);
        installation.admin_key = admin_key;
        vec![RowChange::installation(installation)]
    }

    fn create_index(&mut self, at: At, name: IndexName, group: GroupId) -> Vec<RowChange> {
        if self.catalogue.get(&name).is_some() {
            return vec![];
        }
        let incarnation = TaskId::new(GroupId::META, at.log_index).0;
        let row = IndexRow { incarnation, group, created_ms: at.time_ms };
        let change = RowChange::index(&name, &row);
        self.catalogue.put(name, row);
        vec![change]
    }

    fn delete_index(&mut self, name: &IndexName, incarnation: Incarnation) -> Vec<RowChange> {
        match self.catalogue.get(name) {
            Some(row) if row.incarnation == incarnation => {
                let row = row.clone();
                self.catalogue.remove(name);
                vec![RowChange::no_index(name), self.doom(row.incarnation, row.group)]
            }
            Some(_) | None => vec![],
        }
    }

    fn move_index(&mut self, from: &IndexName, to: &IndexName) -> Vec<RowChange> {
        if from == to {
            return vec![];
        }
        let Some(row) = self.catalogue.get(from).cloned() else { return vec![] };
        let mut changes = vec![RowChange::no_index(from), RowChange::index(to, &row)];
        self.catalogue.remove(from);
        if let Some(old) = self.catalogue.put(to.clone(), row) {
            changes.push(self.doom(old.incarnation, old.group));
        }
        changes
    }

    fn begin_copy(&mut self, at: At, group: GroupId) -> Vec<RowChange> {
        let incarnation = TaskId::new(GroupId::META, at.log_index).0;
        Arc::make_mut(&mut self.reserved).insert(incarnation, group);
        vec![RowChange::reserved(incarnation, group)]
    }

    fn point_index(
        &mut self,
        at: At,
        name: IndexName,
        incarnation: Incarnation,
        group: GroupId,
    ) -> Vec<RowChange> {
        if Arc::make_mut(&mut self.reserved).remove(&incarnation).is_none() {
            return vec![];
        }
        let created_ms = self.catalogue.get(&name).map_or(at.time_ms, |old| old.created_ms);
        let row = IndexRow { incarnation, group, created_ms };
        let mut changes = vec![RowChange::not_reserved(incarnation), RowChange::index(&name, &row)];
        if let Some(old) = self.catalogue.put(name, row) {
            changes.push(self.doom(old.incarnation, old.group));
        }
        changes
    }

    fn abandon_copy(&mut self, incarnation: Incarnation) -> Vec<RowChange> {
        match Arc::make_mut(&mut self.reserved).remove(&incarnation) {
            Some(group) => vec![RowChange::not_reserved(incarnation), self.doom(incarnation, group)],
            None => vec![],
        }
    }

    fn doom(&mut self, incarnation: Incarnation, group: GroupId) -> RowChange {
        Arc::make_mut(&mut self.doomed).insert(incarnation, group);
        RowChange::doomed(incarnation, group)
    }

    fn dropped(&mut self, incarnation: Incarnation) -> Vec<RowChange> {
        match Arc::make_mut(&mut self.doomed).remove(&incarnation) {
            Some(_) => vec![RowChange::not_doomed(incarnation)],
            None => vec![],
        }
    }

    fn put_key(&mut self, document: &[u8]) -> Vec<RowChange> {
        let Ok(key) = serde_json::from_slice::<ApiKey>(document) else { return vec![] };
        let change = RowChange::key(&key.value, document);
        Arc::make_mut(&mut self.keys).insert(key.value.clone(), Arc::new(key));
        vec![change]
    }

    fn delete_key(&mut self, value: &str) -> Vec<RowChange> {
        match Arc::make_mut(&mut self.keys).remove(value) {
            Some(_) => vec![RowChange::no_key(value)],
            None => vec![],
        }
    }
}

#[cfg(test)]
mod tests;
