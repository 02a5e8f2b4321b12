//! What one step of a group's log changes in its tree.

use std::collections::BTreeMap;

/// What one step of a group's log changes; the last change of a key counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    pub(super) changes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    pub(super) applied_index: u64,
}

impl Batch {
    /// An empty batch that brings the tree to `applied_index`.
    pub fn new(applied_index: u64) -> Self {
        Batch { changes: BTreeMap::new(), applied_index }
    }
    /// Sets a row.
    pub fn put(&mut self, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        self.changes.insert(key.into(), Some(value.into()));
    }
    /// Removes a row; a missing one is no error.
    pub fn delete(&mut self, key: impl Into<Vec<u8>>) {
        self.changes.insert(key.into(), None);
    }
    /// The log index the tree has after this batch.
    pub fn applied_index(&self) -> u64 {
        self.applied_index
    }
    /// Moves the log index the tree will have.
    pub fn set_applied_index(&mut self, applied_index: u64) {
        self.applied_index = applied_index;
    }
    /// How many rows change.
    pub fn len(&self) -> usize {
        self.changes.len()
    }
    /// Whether no row changes.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
    /// What this batch does to a row: `None` nothing, `Some(None)` removes it.
    pub fn change(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.changes.get(key).map(Option::as_deref)
    }
}

/// A row: key and value.
pub type Row = (Vec<u8>, Vec<u8>);
