//! What is known of a store that a write failed in, and how the next start hears of it?

use crate::error::{Result, StoreError};
use crate::files::Files;
use crate::session::{self, Ended, Seal, Session};
use crate::space;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Free bytes without which nothing is handed to the store: one that runs out of room in the middle of a change cannot even read some
/// of its pages any more, and what it has buffered goes to disk after the change.
const ROOM_BYTES: u64 = 4 << 20;

/// Whether a store has failed, and the session file that says at the next start whether it is to be trusted.
#[derive(Debug)]
pub(super) struct Failure {
    has_failed: AtomicBool,
    files: Arc<dyn Files>,
    path: PathBuf,
    session: Mutex<Session>,
}

impl Failure {
    /// Of the store in a folder, which has not failed, and what is in its session file.
    pub fn new(folder: &Path, files: Arc<dyn Files>, session: Session) -> Arc<Failure> {
        let (has_failed, path) = (AtomicBool::new(false), session::path(folder));
        Arc::new(Failure { has_failed, files, path, session: Mutex::new(session) })
    }
    /// Whether it has.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }
    /// Errors: `Broken`, before the store takes a change that its disk may have no room for. Cost: one system call.
    pub fn check_room(&self) -> Result<()> {
        let free = self.path.parent().and_then(|folder| space::of(folder).ok()).map(|space| space.free_bytes);
        match free.filter(|free| *free < ROOM_BYTES) {
            Some(free) => Err(StoreError::Broken(format!("its disk has {free} bytes left"))),
            None => Ok(()),
        }
    }
    /// It fails now; whether it had not before.
    pub fn happens(&self, error: &dyn Display) -> bool {
        let is_first = !self.has_failed.swap(true, Ordering::AcqRel);
        if is_first {
            tracing::error!(%error, "the working metadata store failed; changes are kept in memory, the next start rebuilds it");
            // on a full disk that may fail as well: whoever makes or replaces a tree tries again, and does not go on without
            if let Err(error) = self.distrust() {
                tracing::warn!(%error, "the metadata store cannot be marked for that yet");
            }
        }
        is_first
    }
    /// Lets the next start rebuild the store, durably.
    pub fn distrust(&self) -> Result<()> {
        self.replace(|session| session.ended = Ended::Failed)
    }
    /// One more tree is in the store, durably.
    pub fn has_tree(&self, name: &str) -> Result<()> {
        self.replace(|session| {
            session.trees.insert(name.to_owned(), Seal::default());
        })
    }
    /// The store is closed, and its trees hold this. One that is not to be trusted stays so.
    pub fn closes(&self, trees: BTreeMap<String, Seal>) -> Result<()> {
        self.replace(|session| {
            if session.ended != Ended::Failed {
                *session = Session { ended: Ended::Clean, trees };
            }
        })
    }

    fn replace(&self, change: impl FnOnce(&mut Session)) -> Result<()> {
        let mut session = self.session();
        let mut next = session.clone();
        change(&mut next);
        if next != *session {
            next.write(&*self.files, &self.path)?;
            *session = next;
        }
        Ok(())
    }
    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
