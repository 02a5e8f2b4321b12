//! Which indices of a group have files here, so that a start knows of those that are gone (`index/files.rs`)?
//!
//! A row for each in the metadata store. It is put some seconds after the first durable commit, and goes in the batch of the command that
//! removes the files. Programs that do not know these rows pass them over.

use super::PlacementMachine;
use crate::error::{Error, Result};
use crate::index::{IndexState, Kept};
use crate::ops::Incarnation;
use quorate_engine::index::ShardView;
use quorate_store::files::Files;
use quorate_store::kv::Tree;
use quorate_store::layout::rows;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Placement group: an index has files, by incarnation.
pub(super) const FILES: u8 = b'h';

/// The indices that a tree knows to have files.
pub(super) fn load(tree: &Tree) -> Result<BTreeSet<Incarnation>> {
    Ok(tree.scan(&[FILES])?.into_iter().filter_map(|(key, _)| rows::number(&key)).collect())
}

impl IndexState {
    /// Whether its files are gone. Cost: an atomic load.
    pub(crate) fn is_gone(&self) -> bool {
        self.kept.get() == Kept::Absent
    }
    /// Looks whether the files are there that should be; those of an index that rests may have gone since the start. Errors: they are
    /// gone; the disk does not say. Cost: a look at the folder.
    pub(crate) fn look_for_files(&self, files: &dyn Files) -> Result<()> {
        let is_there = || {
            let looked = ShardView::is_there(&self.folder, files);
            looked.map_err(|source| Error::Engine { folder: self.folder.clone(), source })
        };
        if self.kept.get() == Kept::Files && !is_there()? {
            self.kept.set(Kept::Absent);
        }
        self.check_files()
    }
    /// Errors: its files are gone.
    pub(crate) fn check_files(&self) -> Result<()> {
        match self.is_gone() {
            true => Err(Error::Gone { folder: self.folder.clone() }),
            false => Ok(()),
        }
    }
}

impl PlacementMachine {
    /// Looks which files are there, before the log is replayed. Cost: a look at each index's folder.
    pub(super) fn look_for_files(&mut self) -> Result<()> {
        let mut lacks_some = false;
        for state in self.node.of_group(self.group) {
            match state.look_for_files(&*self.node.files) {
                Ok(()) => {}
                // a program that did not know of the row emptied it
                Err(Error::Gone { .. }) if self.links.is_virtual(state.incarnation) => {
                    state.kept.set(Kept::Nothing);
                }
                Err(Error::Gone { .. }) => lacks_some = true,
                Err(error) => return Err(error),
            }
        }
        self.find_new_files()?;
        self.lack(lacks_some);
        Ok(())
    }
    /// Looks for files that the metadata store does not know: it is of a program that kept no such rows, or of before a durable commit.
    pub(super) fn find_new_files(&self) -> Result<()> {
        let unknown = |state: &Arc<IndexState>| state.kept.get() == Kept::Nothing;
        for state in self.node.of_group(self.group).into_iter().filter(unknown) {
            let looked = ShardView::is_there(&state.folder, &*self.node.files);
            if looked.map_err(|source| Error::Engine { folder: state.folder.clone(), source })? {
                state.kept.became_durable();
            }
        }
        Ok(())
    }
    /// Notes whether an index lacks its files: no full copy then, and the log is kept.
    pub(super) fn lack(&self, lacks_some: bool) {
        self.lacks_some.store(lacks_some, Ordering::Release);
        self.node.note_lacking(self.group, lacks_some);
    }
    /// The log has been applied as far as it went when the group was opened: what is not there now has not been removed, and nothing
    /// gives it back. May be called again.
    pub fn replayed(&mut self) {
        if !std::mem::replace(&mut self.has_replayed, true) {
            self.note_files();
        }
    }
    /// Notes what has become durable, and, once the log has been replayed, what is gone. Cost: an atomic load for each index.
    pub(super) fn note_files(&mut self) {
        let mut gone = vec![];
        for state in self.node.of_group(self.group) {
            match state.kept.get() {
                Kept::New => {
                    state.kept.set(Kept::Files);
                    self.keep_row(&state);
                }
                Kept::Absent => gone.push(state),
                Kept::Nothing | Kept::Files => {}
            }
        }
        self.lack(!gone.is_empty());
        if self.has_replayed {
            self.node.note_gone(self.group, gone);
        }
    }
    /// Whether a checkpoint would write rows.
    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }
    fn keep_row(&mut self, state: &IndexState) {
        self.changes.put(rows::by_number(FILES, state.incarnation), vec![]);
    }
    /// Puts down that indices have no files any more, in the batch of what removed them.
    pub(super) fn keep_emptied(&mut self) {
        for incarnation in std::mem::take(&mut *self.emptied.lock()) {
            // it may have been given other files meanwhile
            let has_files = |state: &IndexState| state.kept.get() == Kept::Files;
            if !self.node.index(incarnation).is_some_and(|state| has_files(&state)) {
                self.changes.delete(rows::by_number(FILES, incarnation));
            }
        }
    }
    /// An index has been given the records of another one, in files that are durable.
    pub(super) fn keep_given(&mut self, state: &IndexState) {
        state.kept.set(Kept::Files);
        self.keep_row(state);
    }
    /// Errors: an index lacks its files; nobody else may take that for what it holds.
    pub(super) fn check_files(&self) -> Result<()> {
        self.node.of_group(self.group).iter().try_for_each(|state| state.check_files())
    }
}
