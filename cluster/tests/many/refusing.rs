//! A disk that refuses what concerns some of its paths, for as long as a test wants.

use quorate_store::files::{FileWriter, Files, RealFiles};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{fmt, io};

/// What is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// To make a file or a folder, or to give it another name, as a full disk does.
    Writing,
    /// To remove a file.
    Removal,
}

/// The real disk, which refuses this of some paths.
pub struct Refusing {
    what: Refused,
    of: fn(&Path) -> bool,
    is_on: AtomicBool,
    refused: AtomicUsize,
}

impl Refusing {
    /// One that refuses nothing yet.
    pub fn new(what: Refused, of: fn(&Path) -> bool) -> Arc<Refusing> {
        Arc::new(Refusing { what, of, is_on: AtomicBool::new(false), refused: AtomicUsize::new(0) })
    }
    /// Begins to refuse, or ends it.
    pub fn refuse(&self, is_on: bool) {
        self.is_on.store(is_on, Ordering::SeqCst);
    }
    /// How many calls were refused.
    pub fn refused(&self) -> usize {
        self.refused.load(Ordering::SeqCst)
    }

    fn admit(&self, what: Refused, path: &Path) -> io::Result<()> {
        let is_on = self.is_on.load(Ordering::SeqCst) && self.what == what;
        if is_on && (self.of)(path) {
            self.refused.fetch_add(1, Ordering::SeqCst);
            return Err(io::Error::new(io::ErrorKind::StorageFull, "no space left on device (by a test)"));
        }
        Ok(())
    }
}

impl fmt::Debug for Refusing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Refusing({:?}, {} calls)", self.what, self.refused())
    }
}

impl Files for Refusing {
    fn create(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        self.admit(Refused::Writing, path).and_then(|()| RealFiles.create(path))
    }
    fn create_private(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        self.admit(Refused::Writing, path).and_then(|()| RealFiles.create_private(path))
    }
    fn append(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        self.admit(Refused::Writing, path).and_then(|()| RealFiles.append(path))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.admit(Refused::Writing, to).and_then(|()| RealFiles.rename(from, to))
    }
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.admit(Refused::Writing, to).and_then(|()| RealFiles.hard_link(from, to))
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.admit(Refused::Removal, path).and_then(|()| RealFiles.remove(path))
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.admit(Refused::Writing, path).and_then(|()| RealFiles.create_dir_all(path))
    }
    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        RealFiles.remove_dir_all(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        RealFiles.sync_dir(path)
    }
    fn sync_file(&self, path: &Path) -> io::Result<()> {
        RealFiles.sync_file(path)
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        RealFiles.exists(path)
    }
    fn before_read(&self, path: &Path) -> io::Result<()> {
        RealFiles.before_read(path)
    }
}
