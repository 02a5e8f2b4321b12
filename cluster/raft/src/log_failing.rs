//! What a disk that refuses single calls does to the log: a file layer of it that fails chosen calls. For tests.
//!
//! The sibling of [`quorate_store::failing`], which says which calls fail and how: both layers of a node may be on the same disk.

use crate::log_files::{LogFile, LogFiles};
use quorate_store::failing::{Call, Faults};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Another file layer of the log, some of whose calls fail.
#[derive(Clone)]
pub struct FailingLogFiles {
    inner: Arc<dyn LogFiles>,
    faults: Faults,
}

impl FailingLogFiles {
    /// A layer that fails what `faults` says.
    pub fn new(inner: Arc<dyn LogFiles>, faults: Faults) -> FailingLogFiles {
        FailingLogFiles { inner, faults }
    }
    fn opened(&self, file: io::Result<Arc<dyn LogFile>>) -> io::Result<Arc<dyn LogFile>> {
        Ok(Arc::new(FailingLogFile { inner: file?, faults: self.faults.clone() }))
    }
}

struct FailingLogFile {
    inner: Arc<dyn LogFile>,
    faults: Faults,
}

/// While a thread panics nothing fails: the engine panics again when it is closed, and a second panic would end the process of
/// the test and not the one that is played.
fn run<T>(faults: &Faults, call: Call, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    match std::thread::panicking() {
        true => act(),
        false => faults.run(call, act),
    }
}

impl LogFile for FailingLogFile {
    fn read_at(&self, offset: usize, bytes: &mut [u8]) -> io::Result<usize> {
        run(&self.faults, Call::Look, || self.inner.read_at(offset, bytes))
    }
    fn write_at(&self, offset: usize, bytes: &[u8]) -> io::Result<usize> {
        match std::thread::panicking() {
            true => self.inner.write_at(offset, bytes),
            false => self.faults.write(bytes, |bytes| self.inner.write_at(offset, bytes)),
        }
    }
    fn truncate(&self, len: usize) -> io::Result<()> {
        run(&self.faults, Call::Remove, || self.inner.truncate(len))
    }
    fn allocate(&self, offset: usize, len: usize) -> io::Result<()> {
        run(&self.faults, Call::Write, || self.inner.allocate(offset, len))
    }
    fn len(&self) -> io::Result<usize> {
        run(&self.faults, Call::Look, || self.inner.len())
    }
    fn sync(&self) -> io::Result<()> {
        run(&self.faults, Call::Sync, || self.inner.sync())
    }
}

impl LogFiles for FailingLogFiles {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn LogFile>> {
        self.opened(run(&self.faults, Call::Create, || self.inner.create(path)))
    }
    fn open(&self, path: &Path) -> io::Result<Arc<dyn LogFile>> {
        self.opened(run(&self.faults, Call::Open, || self.inner.open(path)))
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        run(&self.faults, Call::Remove, || self.inner.remove(path))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        run(&self.faults, Call::Name, || self.inner.rename(from, to))
    }
}
