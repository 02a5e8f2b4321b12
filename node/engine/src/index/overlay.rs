//! Where new files live until they are durable: small ones in memory, large ones on disk without fsync.
//!
//! A crash loses what is only here; the durable commit before it stays whole, and the log fills the gap.

use super::container::aligned;
use super::error::{IndexError, Result, is_disk_full};
use super::segment::Storage;
use parking_lot::Mutex;
use quorate_store::files::{FileWriter, Files};
use rustc_hash::FxHashMap;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, OwnedBytes, TerminatingWrite,
    WatchCallback, WatchCallbackList, WatchHandle, WritePtr,
};

/// Bytes of a new file that are kept in memory; a larger file goes to disk at once.
pub(crate) const SPILL_BYTES: usize = 4 << 20;

/// A file that is not durable yet.
enum Pending {
    Memory(OwnedBytes),
    Spilled(Box<dyn FileWriter>, u64),
}
impl Pending {
    fn len(&self) -> u64 {
        match self {
            Pending::Memory(bytes) => bytes.len() as u64,
            Pending::Spilled(_, len) => *len,
        }
    }
}

/// The folder of a shard with its files that are not durable yet.
pub(crate) struct Overlay {
    dir: PathBuf,
    files: Arc<dyn Files>,
    mapped: MmapDirectory,
    spill: usize,
    pending: Mutex<FxHashMap<String, Pending>>,
    closing: AtomicBool,
    full: AtomicBool,
}

impl Overlay {
    /// Opens an existing folder.
    pub fn open(dir: &Path, files: Arc<dyn Files>, spill: usize) -> Result<Arc<Overlay>> {
        let mapped =
            MmapDirectory::open(dir).map_err(|e| IndexError::io(dir, io::Error::other(e.to_string())))?;
        Ok(Arc::new(Overlay {
            dir: dir.into(),
            files,
            mapped,
            spill,
            pending: Mutex::default(),
            closing: AtomicBool::new(false),
            full: AtomicBool::new(false),
        }))
    }
    /// Makes every further write fail, so that work in the background ends soon.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }
    /// Whether writes fail.
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }
    /// The same folder with pending files of its own, which the owner of this one does not count or sweep.
    pub fn apart(&self) -> Result<Arc<Overlay>> {
        Self::open(&self.dir, self.files.clone(), self.spill)
    }
    /// Names a full disk as such: on its way through the engine an error loses its kind.
    pub fn explain(&self, error: IndexError) -> IndexError {
        if self.full.swap(false, Ordering::Relaxed) {
            return IndexError::DiskFull { path: self.dir.clone() };
        }
        error
    }
    /// Bytes of a new file that are kept in memory.
    pub fn spill(&self) -> usize {
        self.spill
    }
    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
    /// The file layer.
    pub fn files(&self) -> &Arc<dyn Files> {
        &self.files
    }
    /// Starts a new file; it appears when [`StagedFile::finish`] is called.
    pub fn create(self: &Arc<Self>, name: &str) -> StagedFile {
        StagedFile {
            overlay: self.clone(),
            name: name.into(),
            memory: Vec::new(),
            spilled: Mutex::default(),
            len: 0,
        }
    }
    /// The content of a file, pending or durable.
    pub fn read(&self, name: &str) -> Result<OwnedBytes> {
        if let Some(Pending::Memory(bytes)) = self.pending.lock().get(name) {
            return Ok(bytes.clone());
        }
        let path = self.dir.join(name);
        self.files.before_read(&path).map_err(|e| IndexError::io(&path, e))?;
        let file = self.mapped.open_read(Path::new(name)).map_err(|e| match e {
            OpenReadError::FileDoesNotExist(_) => IndexError::damaged(&path, "the file is missing"),
            other => IndexError::io(&path, io::Error::other(other.to_string())),
        })?;
        file.read_bytes().map_err(|e| IndexError::io(&path, e))
    }
    /// Where the content of a file is.
    pub fn place(&self, name: &str) -> Storage {
        match self.pending.lock().get(name) {
            Some(Pending::Memory(_)) => Storage::Memory,
            Some(Pending::Spilled(..)) | None => Storage::Disk,
        }
    }
    /// Names and lengths of the pending files that start with `prefix`.
    pub fn pending(&self, prefix: &str) -> Vec<(String, u64)> {
        let pending = self.pending.lock();
        let mut found: Vec<_> = pending
            .iter()
            .filter(|(name, _)| name.starts_with(prefix))
            .map(|(n, p)| (n.clone(), p.len()))
            .collect();
        found.sort();
        found
    }
    /// Bytes that are not durable.
    pub fn pending_bytes(&self) -> u64 {
        self.pending.lock().values().map(Pending::len).sum()
    }
    /// Bytes that are in memory only.
    pub fn memory_bytes(&self) -> u64 {
        let in_memory = |file: &Pending| match file {
            Pending::Memory(bytes) => bytes.len() as u64,
            Pending::Spilled(..) => 0,
        };
        self.pending.lock().values().map(in_memory).sum()
    }
    /// Writes and syncs the pending files that start with `prefix`; their names are durable after a sync of the folder.
    pub fn make_durable(&self, prefix: &str) -> Result<()> {
        for (name, _) in self.pending(prefix) {
            let path = self.dir.join(&name);
            let Some(file) = self.pending.lock().remove(&name) else { continue };
            self.sync_file(&path, file).map_err(|e| IndexError::io(&path, e))?;
        }
        Ok(())
    }
    /// Writes and syncs a new file; its name is durable after a sync of the folder.
    pub fn write_durable(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut out = self.files.create(path)?;
        out.write_all(bytes)?;
        out.sync()
    }
    fn sync_file(&self, path: &Path, file: Pending) -> io::Result<()> {
        match file {
            Pending::Memory(bytes) => self.write_durable(path, &bytes),
            Pending::Spilled(mut out, _) => out.sync(),
        }
    }
    /// Removes a file, pending or durable; a missing one is no error.
    pub fn remove(&self, name: &str) -> Result<()> {
        if let Some(Pending::Memory(_)) = self.pending.lock().remove(name) {
            return Ok(());
        }
        let path = self.dir.join(name);
        match self.files.remove(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(IndexError::io(&path, e)),
            _ => Ok(()),
        }
    }
}

/// A file being written.
pub(crate) struct StagedFile {
    overlay: Arc<Overlay>,
    name: String,
    memory: Vec<u8>,
    /// Behind a lock only because a writer has to be `Sync`.
    spilled: Mutex<Option<Box<dyn FileWriter>>>,
    len: u64,
}
impl StagedFile {
    /// Makes the file visible to readers of the overlay.
    pub fn finish(mut self) {
        self.register();
    }
    fn register(&mut self) {
        let file = match self.spilled.get_mut().take() {
            Some(out) => Pending::Spilled(out, self.len),
            None => Pending::Memory(aligned(&std::mem::take(&mut self.memory))),
        };
        self.overlay.pending.lock().insert(std::mem::take(&mut self.name), file);
    }
}
impl Write for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.stage(bytes);
        if written.as_ref().is_err_and(is_disk_full) {
            self.overlay.full.store(true, Ordering::Relaxed);
        }
        written
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
impl StagedFile {
    fn stage(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.overlay.closing.load(Ordering::Relaxed) {
            return Err(io::Error::other("the shard is being closed"));
        }
        let spilled = self.spilled.get_mut();
        if spilled.is_none() && self.memory.len() + bytes.len() > self.overlay.spill {
            let mut out = self.overlay.files.create(&self.overlay.dir.join(&self.name))?;
            out.write_all(&std::mem::take(&mut self.memory))?;
            *spilled = Some(out);
        }
        match spilled {
            Some(out) => out.write_all(bytes)?,
            None => self.memory.extend_from_slice(bytes),
        }
        self.len += bytes.len() as u64;
        Ok(bytes.len())
    }
}
impl TerminatingWrite for StagedFile {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.register();
        Ok(())
    }
}
impl Drop for StagedFile {
    fn drop(&mut self) {
        // an unfinished file on disk would hold space that is already short
        if self.spilled.get_mut().take().is_some() {
            let _ = self.overlay.files.remove(&self.overlay.dir.join(&self.name));
        }
    }
}

/// The folder as tantivy sees it while it makes one segment: its own bookkeeping stays here and is dropped.
#[derive(Clone)]
pub(crate) struct Staging {
    overlay: Arc<Overlay>,
    bookkeeping: Arc<Mutex<FxHashMap<PathBuf, Vec<u8>>>>,
}
impl Staging {
    /// Bookkeeping of its own over the shared folder.
    pub fn new(overlay: &Arc<Overlay>) -> Staging {
        Staging { overlay: overlay.clone(), bookkeeping: Arc::default() }
    }
}
impl fmt::Debug for Staging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Staging({:?})", self.overlay.dir)
    }
}
impl Directory for Staging {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let name = path.to_string_lossy();
        match self.overlay.read(&name) {
            Ok(bytes) => Ok(Arc::new(bytes)),
            Err(IndexError::Damaged { .. }) => Err(OpenReadError::FileDoesNotExist(path.into())),
            Err(e) => Err(OpenReadError::wrap_io_error(io::Error::other(e.to_string()), path.into())),
        }
    }
    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        if self.bookkeeping.lock().remove(path).is_some() {
            return Ok(());
        }
        self.overlay.remove(&path.to_string_lossy()).map_err(|e| DeleteError::IoError {
            io_error: Arc::new(io::Error::other(e.to_string())),
            filepath: path.into(),
        })
    }
    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        Ok(self.bookkeeping.lock().contains_key(path)
            || self.overlay.pending.lock().contains_key(path.to_string_lossy().as_ref()))
    }
    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        Ok(io::BufWriter::with_capacity(64 << 10, Box::new(self.overlay.create(&path.to_string_lossy()))))
    }
    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.bookkeeping.lock().get(path).cloned().ok_or_else(|| OpenReadError::FileDoesNotExist(path.into()))
    }
    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.bookkeeping.lock().insert(path.into(), data.into());
        Ok(())
    }
    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }
    fn acquire_lock(&self, _: &Lock) -> Result<DirectoryLock, LockError> {
        // the owner of the shard is the only writer; nothing else sees this bookkeeping
        Ok(DirectoryLock::from(Box::new(())))
    }
    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchCallbackList::default().subscribe(WatchCallback::new(|| {})))
    }
}
