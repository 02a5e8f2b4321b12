//! How do the dictionaries of the installation change (§2.9)? They are its own, whatever indices there are.
//!
//! Every node is a member of the meta group, so what is announced to placement groups is the revision alone: a member of such
//! a group is through the announcement when it has dictionaries of that revision or a later one in force.

use super::{At, MetaState, RowChange};
use crate::command::Subject;
use quorate_model::dictionary::StandardChange;
use quorate_model::{DictionaryKind, DictionaryOp, GroupId};
use quorate_node::EntryChange;

impl MetaState {
    pub(super) fn change_dictionary(
        &mut self,
        at: At,
        kind: DictionaryKind,
        clear: bool,
        ops: Vec<DictionaryOp>,
    ) -> Vec<RowChange> {
        // one that would leave too many entries changes nothing, on every member
        let changes = self.dictionaries.change(kind, clear, ops).unwrap_or_default();
        let row = |change| match change {
            EntryChange::Saved(entry) => RowChange::dictionary_entry(&entry),
            EntryChange::Removed(object_id) => RowChange::no_dictionary_entry(kind, &object_id),
        };
        let mut rows: Vec<RowChange> = changes.into_iter().map(row).collect();
        rows.extend(self.revise_dictionaries(at));
        rows
    }

    pub(super) fn set_standard_entries(&mut self, at: At, changes: [StandardChange; 3]) -> Vec<RowChange> {
        self.dictionaries.change_standard(changes);
        let mut rows = vec![RowChange::standard_entries(self.dictionaries.settings())];
        rows.extend(self.revise_dictionaries(at));
        rows
    }

    /// Also after a change that came to nothing: its task is published like every other one.
    fn revise_dictionaries(&mut self, at: At) -> Vec<RowChange> {
        self.dictionaries_revision = at.log_index;
        let groups: Vec<GroupId> = self.placement.keys().copied().collect();
        let announced =
            groups.into_iter().map(|group| self.announce(at.log_index, Subject::Dictionaries(group)));
        [RowChange::dictionaries_revision(at.log_index)].into_iter().chain(announced).collect()
    }
}
