//! How do the dictionaries of the installation change (§2.9)? They are its own, whatever indices there are.

use super::{MetaState, RowChange};
use quorate_model::dictionary::StandardChange;
use quorate_model::{DictionaryKind, DictionaryOp};
use quorate_node::EntryChange;

impl MetaState {
    pub(super) fn change_dictionary(
        &mut self,
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
        changes.into_iter().map(row).collect()
    }

    pub(super) fn set_standard_entries(&mut self, changes: [StandardChange; 3]) -> Vec<RowChange> {
        self.dictionaries.change_standard(changes);
        vec![RowChange::standard_entries(self.dictionaries.settings())]
    }
}
