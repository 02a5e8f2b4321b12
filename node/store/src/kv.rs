//! Where the metadata store is kept while the node runs: a working store that is verified at every start and never trusted with durability.
//!
//! What survives a power cut is the last dump and the log; this store saves reading them after an ordinary restart. At
//! [`Kv::open`] it is used only if the last process closed it, or died on a machine that has been up since, and if every
//! row of every tree matches the digest that is kept in the same batch as the rows. Anything else gives an empty store
//! and a [`Start::Rebuild`] with the reason.
//!
//! A write that the store refuses, on a full disk above all, does not stop the node: from then on changes are kept in
//! memory over what the store has, dumps hold both, and the next start rebuilds. Trees that are made or replaced from then on are in
//! memory alone: the store takes nothing any more, whatever room there is.

mod batch;
mod failure;
mod stored;
#[cfg(test)]
mod tests;

pub use batch::{Batch, Row};

use crate::error::{Result, StoreError};
use crate::files::{Files, folder_of};
use crate::session::{self, Ended, Seal, Session, row_digest};
use failure::Failure;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};
use stored::{CHUNK, ROW, SEAL_KEY, Stored, chunk_key, pieces, row_key};

/// Small segments: large values leave them for files that are never synced.
const SEGMENT_BYTES: usize = 8 << 20;
/// Batches and bytes of one tree that wait in memory for each other. The store wakes all of its threads for every batch it
/// gets; what it does not have yet is read from the log again after a kill.
const BATCHES_KEPT: usize = 64;
const BYTES_KEPT: usize = 256 << 10;
/// Changes of one tree kept in memory after a failure; more of them stop the node.
const OVERLAY_BYTES_MAX: usize = 256 << 20;
/// How long opening and verifying may take before the store counts as damaged: 4 GB at 50 MB/s, with room.
const OPEN_S: u64 = 120;
/// How long a store of this process may take to let go of its files.
const LOCK_S: u64 = 10;
const LOCK_RETRY: Duration = Duration::from_millis(5);

/// How the store was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// Every tree holds exactly what some batch left; how far is in [`Tree::applied`].
    Verified,
    /// The store is empty; the state must come from the dump and the log.
    Rebuild {
        /// Why, in words for the log.
        reason: String,
    },
}

/// The working store of one node: one tree per group.
#[derive(Clone, Debug)]
pub struct Kv {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    files: Arc<dyn Files>,
    db: sled::Db,
    failure: Arc<Failure>,
    /// The trees in use.
    trees: Mutex<BTreeMap<String, Tree>>,
}

/// The rows of one group. Cheap to clone; one writer at a time, readers see whole batches.
#[derive(Clone, Debug)]
pub struct Tree {
    name: Arc<str>,
    /// Those of the store; of no use to a tree that is in memory alone.
    rows: sled::Tree,
    failure: Arc<Failure>,
    state: Arc<RwLock<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// What the store holds.
    seal: Seal,
    /// Whether the overlay is all that there is: the store had failed when the tree was made or replaced.
    in_memory: bool,
    /// The log index of the newest batch.
    applied: u64,
    /// Changes that the store does not have yet, or cannot take any more; they win over its rows.
    overlay: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    overlay_bytes: usize,
    /// Batches that made them.
    batches: usize,
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

impl Kv {
    /// Opens the store in `folder`, making it if needed. `cache_bytes` bounds its page cache (real use is up to 1.6 times that).
    ///
    /// Never fails because of damage: what cannot be verified is moved to `aside/` (the one before is dropped) and the
    /// store starts empty. Errors: the folder cannot be written.
    pub fn open(folder: &Path, files: Arc<dyn Files>, cache_bytes: u64) -> Result<(Kv, Start)> {
        files.create_dir_all(folder).map_err(|e| StoreError::io("create", folder, e))?;
        match try_existing(folder, &files, cache_bytes) {
            Ok(kv) => Ok((kv, Start::Verified)),
            Err(reason) => {
                set_aside(folder, &files)?;
                let kv = create(folder, files, cache_bytes)?;
                Ok((kv, Start::Rebuild { reason }))
            }
        }
    }

    /// The tree with this name, made if needed; in memory alone when the store has failed.
    pub fn tree(&self, name: &str) -> Result<Tree> {
        let inner = &*self.inner;
        let mut trees = inner.trees();
        if let Some(tree) = trees.get(name) {
            return Ok(tree.clone());
        }
        let made = match self.has_failed() {
            true => None,
            false => Some(inner.make(name)).filter(|made| match made {
                Err(StoreError::Broken(error)) => {
                    if inner.failure.happens(error) {
                        never_drop(&inner.db);
                    }
                    false
                }
                Ok(_) | Err(_) => true,
            }),
        };
        let tree = match made {
            Some(made) => made?,
            None => {
                // without a dump the next start must find nothing of it
                inner.failure.distrust()?;
                let tree = Tree::new(name, (*inner.db).clone(), &inner.failure);
                tree.write().in_memory = true;
                tree
            }
        };
        trees.insert(name.to_string(), tree.clone());
        Ok(tree)
    }

    /// Names of the trees, sorted.
    pub fn tree_names(&self) -> Vec<String> {
        self.inner.trees().keys().cloned().collect()
    }

    /// Writes everything out and marks the store as closed. Later use of its trees is an error of the caller: their
    /// changes would make the next start rebuild.
    pub fn close(self) -> Result<()> {
        let trees = self.inner.trees();
        trees.values().try_for_each(Tree::write_out)?;
        if self.has_failed() {
            return self.distrust();
        }
        self.inner.db.flush().map_err(broken)?;
        sync_all(&self.inner.folder.join("db"), &*self.inner.files)?;
        let seals = trees.iter().map(|(name, tree)| (name.clone(), tree.read().seal)).collect();
        self.inner.failure.closes(seals)
    }

    /// Marks the store as not to be trusted: the next start rebuilds. For a caller that found a wrong row.
    pub fn distrust(&self) -> Result<()> {
        self.inner.failure.distrust()
    }

    /// Whether a write failed since the start: changes are in memory, and the next start rebuilds.
    pub fn has_failed(&self) -> bool {
        self.inner.failure.has_failed()
    }

    /// Bytes on disk.
    pub fn disk_bytes(&self) -> u64 {
        self.inner.db.size_on_disk().unwrap_or(0)
    }
}

impl Inner {
    fn trees(&self) -> MutexGuard<'_, BTreeMap<String, Tree>> {
        self.trees.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// An empty tree in the store, durably. Errors: `Broken` when the store takes nothing any more.
    fn make(&self, name: &str) -> Result<Tree> {
        let rows = self.db.open_tree(name).map_err(broken)?;
        let tree = Tree::new(name, rows, &self.failure);
        tree.rows.insert(SEAL_KEY, crate::codec::encode(&Seal::default())).map_err(broken)?;
        self.db.flush().map_err(broken)?;
        sync_all(&self.folder.join("db"), &*self.files)?;
        self.failure.has_tree(name)?;
        Ok(tree)
    }
}

impl Tree {
    fn new(name: &str, rows: sled::Tree, failure: &Arc<Failure>) -> Tree {
        Tree { name: name.into(), rows, failure: failure.clone(), state: Arc::default() }
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
        match self.rows.get(row_key(key)).map_err(broken)? {
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
            let (stored_key, stored) = stored.map_err(broken)?;
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
            false if state.batches >= BATCHES_KEPT || state.overlay_bytes >= BYTES_KEPT => {
                self.write_kept(&mut state)
            }
            false => Ok(()),
        }
    }

    /// Hands all changes to the store. Errors: as [`Tree::apply`].
    pub fn write_out(&self) -> Result<()> {
        let mut state = self.write();
        match state.batches == 0 || self.failure.has_failed() {
            true => Ok(()),
            false => self.write_kept(&mut state),
        }
    }

    fn write_kept(&self, state: &mut State) -> Result<()> {
        let mut next = Seal { applied: state.applied, ..state.seal };
        let mut changes = sled::Batch::default();
        for (key, value) in &state.overlay {
            if let Some(stored) = self.rows.get(row_key(key)).map_err(broken)? {
                let old = Stored::parse(&stored).ok_or_else(|| self.damaged(key))?;
                next.rows = next.rows.wrapping_sub(1);
                next.digest = next.digest.wrapping_sub(old.digest(key));
                for number in 0..old.chunks() {
                    changes.remove(chunk_key(key, number));
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
                }
            }
        }
        changes.insert(SEAL_KEY, crate::codec::encode(&next));
        match self.rows.apply_batch(changes) {
            Ok(()) => *state = State { seal: next, applied: next.applied, ..State::default() },
            // What the store took of the batch in part is hidden: the same keys are all in the overlay.
            Err(error) => self.fail(&error),
        }
        Ok(())
    }

    fn fail(&self, error: &dyn std::fmt::Display) {
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
            let chunk = self.rows.get(chunk_key(key, number)).map_err(broken)?;
            value.extend_from_slice(&chunk.ok_or_else(|| self.damaged(key))?);
        }
        if value.len() as u64 != bytes || row_digest(key, &value) != digest {
            return Err(self.damaged(key));
        }
        Ok(value)
    }

    /// Compares every row with the seal. `Err` says what is wrong.
    fn verify(&self) -> Result<Seal> {
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
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }
    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A failed store may wait for ever when it is dropped, so this part of it never is.
fn never_drop(rows: &sled::Tree) {
    std::mem::forget(rows.clone());
}
fn broken(error: sled::Error) -> StoreError {
    StoreError::Broken(error.to_string())
}

/// Opens sled's files. A store that was dropped a moment ago in this process lets go of its lock on a thread of its own,
/// so a held lock is waited for; no other process has the folder.
fn open_db(db: PathBuf, cache_bytes: u64) -> Result<sled::Db> {
    let config = sled::Config::new()
        .path(db)
        .segment_size(SEGMENT_BYTES)
        .cache_capacity(cache_bytes)
        .flush_every_ms(Some(500));
    let give_up = Instant::now() + Duration::from_secs(LOCK_S);
    loop {
        match config.open() {
            Err(sled::Error::Io(error))
                if error.to_string().contains("could not acquire lock") && Instant::now() < give_up =>
            {
                std::thread::sleep(LOCK_RETRY);
            }
            opened => return opened.map_err(broken),
        }
    }
}

/// Opens and verifies what is there. `Err` says why it cannot be used.
fn try_existing(folder: &Path, files: &Arc<dyn Files>, cache_bytes: u64) -> Result<Kv, String> {
    let path = session::path(folder);
    let mut session = match Session::read(&path) {
        Ok(Some(session)) => session,
        Ok(None) => return Err("there is none yet".into()),
        Err(e) => return Err(e.to_string()),
    };
    if let Some(reason) = session.distrust() {
        return Err(reason);
    }
    let db = folder.join("db");
    if !db.join("db").exists() {
        return Err("its files are gone".into());
    }
    let was_clean = session.ended == Ended::Clean;
    // From here on its files change: a clean end must not be on disk any more.
    session.ended = Ended::Open { boot_id: session::boot_id_now() };
    session.write(&**files, &path).map_err(|e| e.to_string())?;
    let known = session.trees.clone();
    let failure = Failure::new(folder, files.clone(), session);
    let (db, trees) = open_guarded(db, cache_bytes, known, was_clean, failure.clone())?;
    let inner =
        Inner { folder: folder.to_path_buf(), files: files.clone(), db, failure, trees: Mutex::new(trees) };
    Ok(Kv { inner: Arc::new(inner) })
}

type Verified = (sled::Db, BTreeMap<String, Tree>);

/// Damaged files make the engine panic or wait for ever in places, so it opens them on a thread of its own, with a deadline.
fn open_guarded(
    db: PathBuf,
    cache_bytes: u64,
    known: BTreeMap<String, Seal>,
    was_clean: bool,
    failure: Arc<Failure>,
) -> Result<Verified, String> {
    let (done, wait) = std::sync::mpsc::sync_channel(1);
    let work = move || {
        let result =
            catch_unwind(AssertUnwindSafe(|| verify_all(db, cache_bytes, &known, was_clean, &failure)));
        let result = match result {
            Ok(result) => result.map_err(|e| e.to_string()),
            Err(_) => Err("its files do not fit together".into()),
        };
        // The receiver is gone when the deadline has passed; the store is then dropped here.
        let _ = done.send(result);
    };
    std::thread::Builder::new().name("state-open".into()).spawn(work).map_err(|e| e.to_string())?;
    wait.recv_timeout(Duration::from_secs(OPEN_S))
        .unwrap_or_else(|_| Err(format!("it did not open within {OPEN_S} s")))
}

fn verify_all(
    db: PathBuf,
    cache_bytes: u64,
    known: &BTreeMap<String, Seal>,
    was_clean: bool,
    failure: &Arc<Failure>,
) -> Result<Verified> {
    let db = open_db(db, cache_bytes)?;
    let names = db.tree_names();
    let mut trees = BTreeMap::new();
    for (name, sealed) in known {
        if !names.iter().any(|n| n == name.as_bytes()) {
            return Err(StoreError::damaged(format!("tree {name}"), "it is missing"));
        }
        let rows = db.open_tree(name).map_err(broken)?;
        let tree = Tree::new(name, rows, failure);
        let seal = tree.verify()?;
        if was_clean && seal != *sealed {
            return Err(StoreError::damaged(format!("tree {name}"), "it is not as it was closed"));
        }
        *tree.write() = State { seal, applied: seal.applied, ..State::default() };
        trees.insert(name.clone(), tree);
    }
    Ok((db, trees))
}

fn create(folder: &Path, files: Arc<dyn Files>, cache_bytes: u64) -> Result<Kv> {
    let db = open_db(folder.join("db"), cache_bytes)?;
    db.flush().map_err(broken)?;
    sync_all(&folder.join("db"), &*files)?;
    files.sync_dir(folder).map_err(|e| StoreError::io("sync", folder, e))?;
    files.sync_dir(folder_of(folder)).map_err(|e| StoreError::io("sync", folder_of(folder), e))?;
    let session = Session { ended: Ended::Open { boot_id: session::boot_id_now() }, trees: BTreeMap::new() };
    session.write(&*files, &session::path(folder))?;
    let failure = Failure::new(folder, files.clone(), session);
    let inner = Inner { folder: folder.to_path_buf(), files, db, failure, trees: Mutex::default() };
    Ok(Kv { inner: Arc::new(inner) })
}

fn set_aside(folder: &Path, files: &Arc<dyn Files>) -> Result<()> {
    let (db, aside) = (folder.join("db"), folder.join("aside"));
    if db.exists() {
        match files.remove_dir_all(&aside) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(StoreError::io("remove", &aside, e));
            }
            _ => {}
        }
        files.rename(&db, &aside).map_err(|e| StoreError::io("move aside", &db, e))?;
        files.sync_dir(folder).map_err(|e| StoreError::io("sync", folder, e))?;
    }
    Ok(())
}

/// The engine syncs only part of what it writes, so this syncs every file of it, and their names.
fn sync_all(db: &Path, files: &dyn Files) -> Result<()> {
    let entries = std::fs::read_dir(db).map_err(|e| StoreError::io("list", db, e))?;
    for entry in entries {
        let entry = entry.map_err(|e| StoreError::io("list", db, e))?;
        let path = entry.path();
        if path.is_dir() {
            sync_all(&path, files)?;
        } else {
            match files.sync_file(&path) {
                // The engine removes its snapshots when it has written newer ones.
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                result => result.map_err(|e| StoreError::io("sync", &path, e))?,
            }
        }
    }
    files.sync_dir(db).map_err(|e| StoreError::io("sync", db, e))
}
