//! Which indices of a group have files here, so that a start knows of those that are gone (`index/files.rs`)?
//!
//! A row for each in the metadata store. It is put some seconds after the first durable commit, and goes in the batch of the command that
//! removes the files. Programs that do not know these rows pass them over.

use super::PlacementMachine;
use crate::error::{Error, Result};
use crate::index::{IndexState, Kept};
use quorate_engine::index::ShardView;
use quorate_store::kv::Tree;
use quorate_store::layout::rows;
use std::collections::BTreeMap;

/// Placement group: whether an index has files, by incarnation.
pub(super) const FILES: u8 = b'h';

/// What the rows of a tree say, by incarnation.
pub(super) fn load(tree: &Tree) -> Result<BTreeMap<u64, Kept>> {
    let rows = tree.scan(&[FILES])?.into_iter();
    Ok(rows.filter_map(|(key, value)| Some((rows::number(&key)?, Kept::of_row(&value)))).collect())
}

impl PlacementMachine {
    /// Looks which files are there, before the log is replayed. Cost: a look at each index's folder.
    pub(super) fn look_for_files(&mut self) -> Result<()> {
        let mut absent = false;
        for state in self.node.of_group(self.group) {
            let looked = ShardView::is_there(&state.folder, &*self.node.files);
            let is_there = looked.map_err(|source| Error::Engine { folder: state.folder.clone(), source })?;
            match (state.kept.get(), is_there) {
                (Kept::Nothing, true) => state.kept.set(Kept::New),
                (Kept::Files, false) => {
                    state.kept.set(Kept::Absent);
                    absent = true;
                    self.keep_row(&state);
                }
                _ => {}
            }
        }
        if absent {
            // before the replay makes files that lack what these had
            self.keep_changes()?;
            self.tree.write_out()?;
        }
        Ok(())
    }
    /// The log has been applied as far as it went when the group was opened: what is not there now has not been removed, and nothing
    /// gives it back.
    pub fn replayed(&mut self) {
        self.has_replayed = true;
    }
    /// Notes what has become durable, and, once the log has been replayed, what is gone. Cost: an atomic load for each index.
    pub(super) fn note_files(&mut self) {
        for state in self.node.of_group(self.group) {
            match state.kept.get() {
                Kept::New => {
                    state.kept.set(Kept::Files);
                    self.keep_row(&state);
                }
                Kept::Absent if self.has_replayed => {
                    state.kept.set(Kept::Gone);
                    tracing::error!(
                        group = self.group.0,
                        index = state.incarnation,
                        folder = %state.folder.display(),
                        "the files of an index are gone"
                    );
                    self.node.note_gone(state);
                }
                Kept::Nothing | Kept::Files | Kept::Absent | Kept::Gone => {}
            }
        }
    }
    fn keep_row(&mut self, state: &IndexState) {
        if let Some(row) = state.kept.get().row() {
            self.changes.put(rows::by_number(FILES, state.incarnation), row.to_vec());
        }
    }
    /// Puts down that indices have no files any more, in the batch of what removed them.
    pub(super) fn keep_emptied(&mut self) {
        for incarnation in std::mem::take(&mut *self.emptied.lock()) {
            // it may have been given other files meanwhile
            let has_row = self.node.index(incarnation).is_some_and(|state| state.kept.get().row().is_some());
            if !has_row {
                self.changes.delete(rows::by_number(FILES, incarnation));
            }
        }
    }
    /// An index was given the records of another one, in files that are durable: what is gone there is gone here, too.
    pub(super) fn keep_copied(&mut self, source: &IndexState, copy: &IndexState) {
        copy.kept.set(if source.kept.get().lacks_some() { Kept::Absent } else { Kept::Files });
        self.keep_row(copy);
    }
    /// Errors: an index lacks files; nobody else may take that for what it holds.
    pub(super) fn check_files(&self) -> Result<()> {
        match self.node.of_group(self.group).iter().find(|state| state.kept.get().lacks_some()) {
            Some(state) => Err(state.gone()),
            None => Ok(()),
        }
    }
}
