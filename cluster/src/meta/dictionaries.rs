//! How do the dictionaries of the installation change (C§12)? They are its own, whatever indices there are.
//!
//! Every node is a member of the meta group, so what is announced to placement groups is the revision alone: a member of such
//! a group is through the announcement when it has dictionaries of that revision or a later one in force.

use super::rows::{Row, RowChange, StateTable, number};
use super::{At, MetaState};
use crate::command::Subject;
use quorate_model::dictionary::{DictionaryEntry, DictionarySettings, StandardChange};
use quorate_model::{DictionaryKind, DictionaryOp, GroupId, level};
use quorate_node::{CustomEntries, EntryChange};

/// A row for each custom entry.
const ENTRY: u8 = b'D';
/// Which standard entries are switched off.
const STANDARD_ENTRIES: u8 = b'S';
const REVISION: u8 = b'R';

/// What the installation says of dictionaries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DictionaryChanges {
    /// Custom entries, and which standard ones are switched off.
    pub custom: CustomEntries,
    /// The log index of the last command that was to change them, from [`level::DICTIONARIES_ACT`] on; 0 while they do not act.
    pub revision: u64,
}

impl StateTable for DictionaryChanges {
    fn kinds(&self) -> &'static [u8] {
        &[ENTRY, STANDARD_ENTRIES, REVISION]
    }
    fn hashed_as(&self) -> &'static str {
        "dictionaries"
    }
    fn rows(&self) -> Box<dyn Iterator<Item = RowChange> + '_> {
        if self.custom.is_empty() && self.revision == 0 {
            return Box::new(std::iter::empty());
        }
        let entries = DictionaryKind::ALL.into_iter().flat_map(|kind| self.custom.all(kind)).map(entry_row);
        // no row before they act, as on nodes that know of no revisions
        let revision = Some(self.revision).filter(|it| *it > 0).map(revision_row);
        Box::new(entries.chain([standard_row(self.custom.settings())]).chain(revision))
    }
    fn take(&mut self, row: Row<'_>) -> Option<()> {
        match row.kind {
            ENTRY => self.custom.insert(row.decoded()?),
            STANDARD_ENTRIES => self.custom.set(row.decoded()?),
            _ => self.revision = number(row.value)?,
        }
        Some(())
    }
}

/// The rest of the key of an entry's row.
fn entry_key(kind: DictionaryKind, object_id: &str) -> Vec<u8> {
    [&[kind as u8], object_id.as_bytes()].concat()
}
fn entry_row(entry: &DictionaryEntry) -> RowChange {
    RowChange::encoded(ENTRY, &entry_key(entry.kind(), &entry.object_id), entry)
}
fn standard_row(settings: &DictionarySettings) -> RowChange {
    RowChange::encoded(STANDARD_ENTRIES, b"", settings)
}
fn revision_row(log_index: u64) -> RowChange {
    RowChange::put(REVISION, b"", log_index.to_be_bytes().to_vec())
}

impl MetaState {
    pub(super) fn change_dictionary(
        &mut self,
        at: At,
        kind: DictionaryKind,
        clear: bool,
        ops: Vec<DictionaryOp>,
    ) -> Vec<RowChange> {
        // one that would leave too many entries changes nothing, on every member
        let changes = self.dictionaries.custom.change(kind, clear, ops).unwrap_or_default();
        let row = |change| match change {
            EntryChange::Saved(entry) => entry_row(&entry),
            EntryChange::Removed(object_id) => RowChange::delete(ENTRY, &entry_key(kind, &object_id)),
        };
        let mut rows: Vec<RowChange> = changes.into_iter().map(row).collect();
        rows.extend(self.revise_dictionaries(at));
        rows
    }

    pub(super) fn set_standard_entries(&mut self, at: At, changes: [StandardChange; 3]) -> Vec<RowChange> {
        self.dictionaries.custom.change_standard(changes);
        let mut rows = vec![standard_row(self.dictionaries.custom.settings())];
        rows.extend(self.revise_dictionaries(at));
        rows
    }

    /// Has all groups told of the dictionaries as they are, once they act. Also after a change that came to nothing: its task is
    /// published like every other one.
    pub(super) fn revise_dictionaries(&mut self, at: At) -> Vec<RowChange> {
        if self.level() < level::DICTIONARIES_ACT {
            return vec![];
        }
        self.dictionaries.revision = at.log_index;
        let groups: Vec<GroupId> = self.placement.keys().copied().collect();
        let announced =
            groups.into_iter().map(|group| self.announce(at.log_index, Subject::Dictionaries(group)));
        [revision_row(at.log_index)].into_iter().chain(announced).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::MetaCommand;
    use crate::meta::log_of_tests::Log;
    use quorate_model::dictionary::DictionaryWords;

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
        log.knows(level::DICTIONARIES);
        let groups: Vec<GroupId> = log.state.placement.keys().copied().collect();
        assert!(!groups.is_empty());
        log.change("before");
        log.step(
            0,
            MetaCommand::SetStandardEntries {
                changes: std::array::from_fn(|_| StandardChange::Set([("en".to_owned(), true)].into())),
            },
        );
        assert_eq!((log.state.dictionaries.revision, log.unannounced()), (0, vec![]), "as older programs");
        log.knows(level::DICTIONARIES_ACT);
        let told = |revision| {
            groups.iter().map(|&group| (Subject::Dictionaries(group), revision)).collect::<Vec<_>>()
        };
        assert_eq!((log.state.dictionaries.revision, log.unannounced()), (4, told(4)));
        log.change("after");
        assert_eq!((log.state.dictionaries.revision, log.unannounced()), (5, told(5)));
        let mut fresh = Log::default();
        fresh.knows(level::DICTIONARIES_ACT);
        assert_eq!(fresh.unannounced(), [], "there is nothing to tell");
    }
}
