//! Where the metadata store is kept while the node runs: a working store that is verified at every start and never trusted with durability.
//!
//! What survives a power cut is the last dump and the log; this store saves reading them after an ordinary restart. At
//! [`Kv::open`] it is used only if the last process closed it, or died on a machine that has been up since, and if every
//! row of every tree matches the digest that is kept in the same batch as the rows. Anything else gives an empty store
//! and a [`Start::Rebuild`] with the reason.
//!
//! A write that the store refuses does not stop the node: from then on changes are kept in memory over what the store has, dumps
//! hold both, and the next start rebuilds. Trees that are made or replaced from then on are in memory alone: the store takes nothing any
//! more, whatever room there is. While its disk is nearly full the store gets nothing, since one that runs out of room within a change
//! cannot read all of its pages: changes wait in memory, and what cannot wait (a tree that is made or replaced, and the end) is a failure.

mod batch;
mod failure;
mod open;
mod stored;
#[cfg(test)]
mod tests;
mod tree;

pub use batch::{Batch, Row};
pub use tree::Tree;

use crate::error::{Result, StoreError};
use crate::files::Files;
use crate::session::Seal;
use failure::Failure;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stored::SEAL_KEY;
use tree::{broken, never_drop};

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

impl Kv {
    /// Opens the store in `folder`, making it if needed. `cache_bytes` bounds its page cache (real use is up to 1.6 times that).
    ///
    /// Never fails because of damage: what cannot be verified is moved to `aside/` (the one before is dropped) and the
    /// store starts empty. Errors: the folder cannot be written.
    pub fn open(folder: &Path, files: Arc<dyn Files>, cache_bytes: u64) -> Result<(Kv, Start)> {
        files.create_dir_all(folder).map_err(|e| StoreError::io("create", folder, e))?;
        match open::existing(folder, &files, cache_bytes) {
            Ok(kv) => Ok((kv, Start::Verified)),
            Err(reason) => {
                open::set_aside(folder, &files)?;
                let kv = open::create(folder, files, cache_bytes)?;
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
            true => Err(StoreError::Broken("it failed before".into())),
            false => inner.make(name),
        };
        let tree = match made {
            Err(StoreError::Broken(error)) => {
                if inner.failure.happens(&error) {
                    never_drop(&inner.db);
                }
                // without a dump the next start must find nothing of it
                inner.failure.distrust()?;
                Tree::in_memory(name, (*inner.db).clone(), &inner.failure)
            }
            made => made?,
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
        open::sync_all(&self.inner.folder.join("db"), &*self.inner.files)?;
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
        self.failure.check_room()?;
        let rows = self.db.open_tree(name).map_err(broken)?;
        let tree = Tree::new(name, rows, &self.failure);
        tree.rows.insert(SEAL_KEY, crate::codec::encode(&Seal::default())).map_err(broken)?;
        self.db.flush().map_err(broken)?;
        open::sync_all(&self.folder.join("db"), &*self.files)?;
        self.failure.has_tree(name)?;
        Ok(tree)
    }
}
