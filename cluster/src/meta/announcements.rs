//! What has the meta group decided that placement groups have to know and may not have heard yet?
//!
//! What an entry of a placement group does depends on nothing but its log, so a decision of the meta group that shapes
//! segments reaches a group as an entry of that log: an announcement. It says all there is to know and has a revision, the
//! meta log index of the decision. The group keeps both in its metadata store, where restarts, snapshots and new members find
//! them, and carries out only what is newer than what it has: told twice, or late, it does nothing.
//!
//! Here stands what is announced and may not have been heard. Who decides something announces it at once; what that one left
//! undone who died, and what a group that was made anew has forgotten, the janitor announces (`write/announcements.rs`).

use super::rows::{Row, RowChange, StateTable, number};
use super::{At, IndexRow, MetaState, SharedMap};
use crate::command::Subject;
use quorate_model::GroupId;
use std::collections::BTreeSet;

/// A row for each subject that may not have been heard of, with the revision.
const UNANNOUNCED: u8 = b'u';

impl StateTable for SharedMap<Subject, u64> {
    fn kinds(&self) -> &'static [u8] {
        &[UNANNOUNCED]
    }
    fn hashed_as(&self) -> &'static str {
        "replica lists"
    }
    fn rows(&self) -> Box<dyn Iterator<Item = RowChange> + '_> {
        Box::new(self.iter().map(|(subject, revision)| row(*subject, *revision)))
    }
    fn take(&mut self, row: Row<'_>) -> Option<()> {
        self.insert(number(row.rest)?.into(), number(row.value)?);
        Some(())
    }
}

fn key(subject: Subject) -> [u8; 8] {
    u64::from(subject).to_be_bytes()
}
fn row(subject: Subject, revision: u64) -> RowChange {
    RowChange::put(UNANNOUNCED, &key(subject), revision.to_be_bytes().to_vec())
}

impl MetaState {
    /// From now on the group of a subject has to be told of it.
    pub(super) fn announce(&mut self, log_index: u64, subject: Subject) -> RowChange {
        self.unannounced.insert(subject, log_index);
        row(subject, log_index)
    }

    /// A group has been told of this revision, which may not be the last.
    pub(super) fn announced(&mut self, subject: Subject, revision: u64) -> Vec<RowChange> {
        match self.unannounced.get(&subject) == Some(&revision) {
            true => self.withdraw(subject).into_iter().collect(),
            false => vec![],
        }
    }

    /// There is nothing to tell of a subject any more.
    pub(super) fn withdraw(&mut self, subject: Subject) -> Option<RowChange> {
        let removed = self.unannounced.remove(&subject);
        removed.map(|_| RowChange::delete(UNANNOUNCED, &key(subject)))
    }

    /// Has everything announced again that a group has to know.
    pub(super) fn reannounce(&mut self, at: At, group: GroupId) -> Vec<RowChange> {
        self.subjects_of(group).into_iter().map(|subject| self.announce(at.log_index, subject)).collect()
    }

    /// All that a group has to know.
    fn subjects_of(&self, group: GroupId) -> BTreeSet<Subject> {
        let is_led = |row: &IndexRow| row.group == group && !row.replicas().is_empty();
        let primaries = self.catalogue.iter().filter(|(_, row)| is_led(row));
        let replicas = primaries.map(|(_, row)| Subject::Replicas(row.incarnation));
        let dictionaries = (self.dictionaries.revision > 0).then_some(Subject::Dictionaries(group));
        replicas.chain(dictionaries).collect()
    }
}
