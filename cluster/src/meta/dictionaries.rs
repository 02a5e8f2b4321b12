//! How do the dictionaries of the installation change (§2.9)? They are its own, whatever indices there are.
//!
//! Every node is a member of the meta group, so what is announced to placement groups is the revision alone: a member of such
//! a group is through the announcement when it has dictionaries of that revision or a later one in force.

use super::{At, MetaState, RowChange};
use crate::command::{DICTIONARIES_ACT_LEVEL, Subject};
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

    /// Has all groups told of the dictionaries as they are, once they act. Also after a change that came to nothing: its task is
    /// published like every other one.
    pub(super) fn revise_dictionaries(&mut self, at: At) -> Vec<RowChange> {
        if self.level() < DICTIONARIES_ACT_LEVEL {
            return vec![];
        }
        self.dictionaries_revision = at.log_index;
        let groups: Vec<GroupId> = self.placement.keys().copied().collect();
        let announced =
            groups.into_iter().map(|group| self.announce(at.log_index, Subject::Dictionaries(group)));
        [RowChange::dictionaries_revision(at.log_index)].into_iter().chain(announced).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{DICTIONARIES_LEVEL, MetaCommand};
    use crate::meta::log_of_tests::Log;
    use quorate_model::dictionary::{DictionaryEntry, DictionaryWords};

    impl Log {
        fn knows(&mut self, level: u16) {
            self.join(1, "main", level);
        }
        fn change(&mut self, id: &str) {
            let words = DictionaryWords::StopWord { word: "w".into(), is_enabled: true };
            let entry = DictionaryEntry { object_id: id.into(), language: "en", words };
            let ops = vec![DictionaryOp::Add(entry)];
            self.step(
                0,
                MetaCommand::ChangeDictionary { kind: DictionaryKind::StopWords, clear: false, ops },
            );
        }
        fn unannounced(&self) -> Vec<(Subject, u64)> {
            self.state.unannounced.iter().map(|(subject, revision)| (*subject, *revision)).collect()
        }
    }

    #[test]
    fn groups_are_told_once_every_node_knows_how_dictionaries_act() {
        let mut log = Log::default();
        log.knows(DICTIONARIES_LEVEL);
        let groups: Vec<GroupId> = log.state.placement.keys().copied().collect();
        assert!(!groups.is_empty());
        log.change("before");
        log.step(
            0,
            MetaCommand::SetStandardEntries {
                changes: std::array::from_fn(|_| StandardChange::Set([("en".to_owned(), true)].into())),
            },
        );
        assert_eq!((log.state.dictionaries_revision, log.unannounced()), (0, vec![]), "as older programs");
        log.knows(DICTIONARIES_ACT_LEVEL);
        let told = |revision| {
            groups.iter().map(|&group| (Subject::Dictionaries(group), revision)).collect::<Vec<_>>()
        };
        assert_eq!((log.state.dictionaries_revision, log.unannounced()), (4, told(4)));
        log.change("after");
        assert_eq!((log.state.dictionaries_revision, log.unannounced()), (5, told(5)));
        let mut fresh = Log::default();
        fresh.knows(DICTIONARIES_ACT_LEVEL);
        assert_eq!(fresh.unannounced(), [], "there is nothing to tell");
    }
}
