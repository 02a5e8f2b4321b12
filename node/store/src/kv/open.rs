//! How is the store opened, and what is there verified, set aside and made anew?

use super::failure::Failure;
use super::tree::{State, Tree, broken};
use super::{Inner, Kv};
use crate::error::{Result, StoreError};
use crate::files::{Files, folder_of};
use crate::session::{self, Ended, Seal, Session};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Small segments: large values leave them for files that are never synced.
const SEGMENT_BYTES: usize = 8 << 20;
/// How long opening and verifying may take before the store counts as damaged: 4 GB at 50 MB/s, with room.
const OPEN_S: u64 = 120;
/// How long a store of this process may take to let go of its files.
const LOCK_S: u64 = 10;
const LOCK_RETRY: Duration = Duration::from_millis(5);

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
pub fn existing(folder: &Path, files: &Arc<dyn Files>, cache_bytes: u64) -> Result<Kv, String> {
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

/// A new, empty one.
pub fn create(folder: &Path, files: Arc<dyn Files>, cache_bytes: u64) -> Result<Kv> {
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

/// Moves what cannot be used out of the way.
pub fn set_aside(folder: &Path, files: &Arc<dyn Files>) -> Result<()> {
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
pub fn sync_all(db: &Path, files: &dyn Files) -> Result<()> {
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
