//! What does one group keep in the store: its rows, the changes that the store does not have yet, and what they come to?

use super::batch::{Batch, Row};
use super::failure::Failure;
use super::stored::{CHUNK, ROW, SEAL_KEY, Stored, chunk_key, pieces, row_key};
use crate::error::{Result, StoreError};
use crate::session::{Seal, row_digest};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Batches and bytes of one tree that wait in memory for each other. The store wakes all of its threads for every batch it
/// gets; what it does not have yet is read from the log again after a kill.
const BATCHES_KEPT: usize = 64;
const BYTES_KEPT: usize = 256 << 10;
/// Changes of one tree kept in memory after a failure, where more of them stop the node, or while the disk has no room for them, where
/// more of them are a failure.
const OVERLAY_BYTES_MAX: usize = 256 << 20;

/// The rows of one group. Cheap to clone; one writer at a time, readers see whole batches.
#[derive(Clone, Debug)]
pub struct Tree {
    name: Arc<str>,
    /// Those of the store; of no use to a tree that is in memory alone.
    pub(super) rows: sled::Tree,
    failure: Arc<Failure>,
    state: Arc<RwLock<State>>,
}

/// What a tree has beside the rows of the store.
#[derive(Debug, Default)]
pub(super) struct State {
    /// What the store holds.
    pub(super) seal: Seal,
    /// Whether the overlay is all that there is: the store had failed when the tree was made or replaced.
    pub(super) in_memory: bool,
    /// The log index of the newest batch.
    pub(super) applied: u64,
    /// Changes that the store does not have yet, or cannot take any more; they win over its rows.
    pub(super) overlay: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    pub(super) overlay_bytes: usize,
    /// Batches that made them.
    pub(super) batches: usize,
}

impl State {
    fn keep(&mut self, batch: &Batch) {
        let bytes = |key: &[u8], value: &Option<Vec<u8>>| key.len() + value.as_ref().map_or(0, Vec::len);
        for (key, value) in &batch.changes {
            // where nothing is beneath there is nothing to hide
            let before = if self.in_memory && value.is_none() {
                self.overlay.remove(key)
            } else {
                self.overlay_bytes += bytes(key, value);
                self.overlay.insert(key.clone(), value.clone())
            };
            if let Some(before) = before {
                self.overlay_bytes -= bytes(key, &before);
            }
        }
        self.applied = batch.applied_index;
        self.batches += 1;
    }
}

impl Tree {
    pub(super) fn new(name: &str, rows: sled::Tree, failure: &Arc<Failure>) -> Tree {
        Tree { name: name.into(), rows, failure: failure.clone(), state: Arc::default() }
    }

    /// An empty one of a store that has failed; `rows` are any of it, and of no use.
    pub(super) fn in_memory(name: &str, rows: sled::Tree, failure: &Arc<Failure>) -> Tree {
        let tree = Tree::new(name, rows, failure);
        tree.write().in_memory = true;
        tree
    }

    /// The value of a row.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let state = self.read();
        if let Some(changed) = state.overlay.get(key) {
            return Ok(changed.clone());
        }
        if state.in_memory {
            return Ok(None);
        }
        match self.rows.get(row_key(key)).map_err(|error| self.refused(&error))? {
            Some(stored) => Ok(Some(self.value(key, &stored)?)),
            None => Ok(None),
        }
    }

    /// All rows whose key starts with `prefix`, in key order. For large results see [`Tree::visit`].
    pub fn scan(&self, prefix: &[u8]) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        self.visit(prefix, |key, value| {
            rows.push((key.to_vec(), value));
            Ok(())
        })?;
        Ok(rows)
    }

    /// Calls `row` with every row whose key starts with `prefix`, in key order, as of one batch: writers wait meanwhile,
    /// so `row` must not use this tree. Returns the log index the rows reflect.
    pub fn visit(&self, prefix: &[u8], mut row: impl FnMut(&[u8], Vec<u8>) -> Result<()>) -> Result<u64> {
        let state = self.read();
        let changed = state.overlay.range(prefix.to_vec()..);
        let mut changed = changed.take_while(|(key, _)| key.starts_with(prefix)).peekable();
        let mut changed_row = |key: &[u8], value: &Option<Vec<u8>>| match value {
            Some(value) => row(key, value.clone()),
            None => Ok(()),
        };
        let stored = (!state.in_memory).then(|| self.rows.scan_prefix(row_key(prefix)));
        for stored in stored.into_iter().flatten() {
            let (stored_key, stored) = stored.map_err(|error| self.refused(&error))?;
            let key = &stored_key[1..];
            while let Some((before, value)) = changed.next_if(|(other, _)| other.as_slice() < key) {
                changed_row(before, value)?;
            }
            match changed.next_if(|(other, _)| other.as_slice() == key) {
                Some((_, value)) => changed_row(key, value)?,
                None => changed_row(key, &Some(self.value(key, &stored)?))?,
            }
        }
        for (key, value) in changed {
            changed_row(key, value)?;
        }
        Ok(state.applied)
    }

    /// Applies all changes of a batch and its log index, or none of them. They go to the store with those of further
    /// batches: a process that dies before finds the store as an earlier batch left it.
    ///
    /// Errors: `Broken`; the tree must then not be used further.
    pub fn apply(&self, batch: &Batch) -> Result<()> {
        let mut state = self.write();
        state.keep(batch);
        match self.failure.has_failed() {
            true if state.overlay_bytes > OVERLAY_BYTES_MAX => {
                Err(StoreError::Broken("too much has changed since it failed; make room and restart".into()))
            }
            true => Ok(()),
            false if state.batches < BATCHES_KEPT && state.overlay_bytes < BYTES_KEPT => Ok(()),
            // the log has them, too, and there may be room again
            false if state.overlay_bytes <= OVERLAY_BYTES_MAX && self.failure.check_room().is_err() => Ok(()),
            false => self.write_kept(&mut state),
        }
    }

    /// Hands all changes to the store, which has failed if its disk has no room for them. Errors: as [`Tree::apply`].
    pub fn write_out(&self) -> Result<()> {
        let mut state = self.write();
        match state.batches == 0 || self.failure.has_failed() {
            true => Ok(()),
            false => self.write_kept(&mut state),
        }
    }

    /// Hands the overlay to the store, or finds that it has failed, after which the overlay stays.
    fn write_kept(&self, state: &mut State) -> Result<()> {
        match self.put(state) {
            // what the store took of them in part is hidden: the same keys are all in the overlay
            Err(StoreError::Broken(error)) => self.fail(&error),
            put => {
                let seal = put?;
                *state = State { seal, applied: seal.applied, ..State::default() };
            }
        }
        Ok(())
    }
    /// Puts the overlay into the store; what the store holds then. Errors: `Broken` when it takes nothing any more.
    fn put(&self, state: &State) -> Result<Seal> {
        self.failure.check_room()?;
        let mut next = Seal { applied: state.applied, ..state.seal };
        let (mut changes, mut touched) = (sled::Batch::default(), Vec::new());
        for (key, value) in &state.overlay {
            if let Some(stored) = self.rows.get(row_key(key)).map_err(broken)? {
                let old = Stored::parse(&stored).ok_or_else(|| self.damaged(key))?;
                next.rows = next.rows.wrapping_sub(1);
                next.digest = next.digest.wrapping_sub(old.digest(key));
                for number in 0..old.chunks() {
                    changes.remove(chunk_key(key, number));
                    touched.push(chunk_key(key, number));
                }
                if value.is_none() {
                    changes.remove(row_key(key));
                }
            }
            if let Some(value) = value {
                next.rows += 1;
                next.digest = next.digest.wrapping_add(row_digest(key, value));
                let (stored, chunks) = pieces(key, value);
                changes.insert(row_key(key), stored);
                for (number, chunk) in chunks.enumerate() {
                    changes.insert(chunk_key(key, number as u32), chunk);
                    touched.push(chunk_key(key, number as u32));
                }
            }
        }
        changes.insert(SEAL_KEY, crate::codec::encode(&next));
        self.rows.apply_batch(changes).map_err(broken)?;
        // whoever comes by a page that has grown or shrunk divides or joins it, which is a write: who reads after a failure finds none
        for key in state.overlay.keys().map(|key| row_key(key)).chain(touched) {
            self.rows.get(key).map_err(broken)?;
        }
        Ok(next)
    }

    /// What the store says instead of giving a row: it puts its pages in order when they are read, which is a write that may fail.
    fn refused(&self, error: &sled::Error) -> StoreError {
        self.fail(error);
        StoreError::Broken(error.to_string())
    }
    pub(super) fn fail(&self, error: &dyn std::fmt::Display) {
        if self.failure.happens(error) {
            never_drop(&self.rows);
        }
    }

    /// Replaces all rows: empties the tree, puts `rows` and, last, sets the log index. A process that dies in between
    /// leaves a tree with log index 0, or a store that is rebuilt: both ask for the same again.
    pub fn restore(&self, applied_index: u64, rows: &mut dyn Iterator<Item = Result<Row>>) -> Result<()> {
        {
            let mut state = self.write();
            if !self.failure.has_failed()
                && let Err(error) = self.empty()
            {
                self.fail(&error);
            }
            let in_memory = self.failure.has_failed();
            // rows that the store still has are none of it any more
            *state = State { in_memory, ..State::default() };
            if in_memory {
                self.failure.distrust()?;
            }
        }
        let put = self.put_all(applied_index, rows);
        if put.is_err() {
            // in memory half of it would be in nobody's way but memory's
            let mut state = self.write();
            if state.in_memory {
                *state = State { in_memory: true, ..State::default() };
            }
        }
        put
    }
    fn put_all(&self, applied_index: u64, rows: &mut dyn Iterator<Item = Result<Row>>) -> Result<()> {
        let mut batch = Batch::new(0);
        let mut bytes = 0;
        for row in rows {
            let (key, value) = row?;
            bytes += key.len() + value.len();
            batch.put(key, value);
            if bytes > 1 << 20 {
                self.apply(&batch)?;
                batch = Batch::new(0);
                bytes = 0;
            }
        }
        batch.set_applied_index(applied_index);
        self.apply(&batch)?;
        self.write_out()
    }

    /// Empties the tree in the store.
    fn empty(&self) -> Result<()> {
        self.failure.check_room()?;
        self.rows.insert(SEAL_KEY, &b""[..]).map_err(broken)?;
        self.rows.clear().map_err(broken)?;
        self.rows.insert(SEAL_KEY, crate::codec::encode(&Seal::default())).map_err(broken)?;
        Ok(())
    }

    /// The log index the rows reflect; 0 when nothing was applied.
    pub fn applied(&self) -> u64 {
        self.read().applied
    }

    fn value(&self, key: &[u8], stored: &[u8]) -> Result<Vec<u8>> {
        let (chunks, bytes, digest) = match Stored::parse(stored).ok_or_else(|| self.damaged(key))? {
            Stored::Inline(value) => return Ok(value.to_vec()),
            Stored::Chunked { chunks, bytes, digest } => (chunks, bytes, digest),
        };
        let mut value = Vec::new();
        for number in 0..chunks {
            let chunk = self.rows.get(chunk_key(key, number)).map_err(|error| self.refused(&error))?;
            value.extend_from_slice(&chunk.ok_or_else(|| self.damaged(key))?);
        }
        if value.len() as u64 != bytes || row_digest(key, &value) != digest {
            return Err(self.damaged(key));
        }
        Ok(value)
    }

    /// Compares every row with the seal. `Err` says what is wrong.
    pub(super) fn verify(&self) -> Result<Seal> {
        let wrong = |why: &str| StoreError::damaged(format!("tree {}", self.name), why);
        let stored = self.rows.get(SEAL_KEY).map_err(broken)?.ok_or_else(|| wrong("its seal is missing"))?;
        let seal: Seal = crate::codec::decode(&stored, 64)?;
        let mut found = Seal { applied: seal.applied, ..Seal::default() };
        let mut chunks = 0usize;
        for row in self.rows.scan_prefix([ROW]) {
            let (key, stored) = row.map_err(broken)?;
            chunks += Stored::parse(&stored).ok_or_else(|| self.damaged(&key))?.chunks() as usize;
            let value = self.value(&key[1..], &stored)?;
            found.rows += 1;
            found.digest = found.digest.wrapping_add(row_digest(&key[1..], &value));
        }
        let mut chunks_found = 0usize;
        for chunk in self.rows.scan_prefix([CHUNK]).keys() {
            chunk.map_err(broken)?;
            chunks_found += 1;
        }
        match found == seal && chunks == chunks_found {
            true => Ok(seal),
            false => Err(wrong("its rows do not match its seal")),
        }
    }

    fn damaged(&self, key: &[u8]) -> StoreError {
        StoreError::damaged(format!("tree {}", self.name), format!("row {}", key.escape_ascii()))
    }
    pub(super) fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }
    pub(super) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A failed store may wait for ever when it is dropped, so this part of it never is.
pub(super) fn never_drop(rows: &sled::Tree) {
    std::mem::forget(rows.clone());
}
pub(super) fn broken(error: sled::Error) -> StoreError {
    StoreError::Broken(error.to_string())
}
