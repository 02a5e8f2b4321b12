//! Through what the log touches files, so that a test can cut the power or fill the disk.

use crate::log_inspect::{self, Kind};
use crate::log_mark::{Durable, LogPosition};
use crate::metrics::metrics;
use parking_lot::Mutex;
use raft_engine::env::{DefaultFileSystem, FileSystem, Handle, Permission, WriteExt};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// An open file of the log.
pub trait LogFile: Send + Sync {
    /// Reads at an offset; fewer bytes only at the end.
    fn read_at(&self, offset: usize, bytes: &mut [u8]) -> io::Result<usize>;
    /// Writes at an offset.
    fn write_at(&self, offset: usize, bytes: &[u8]) -> io::Result<usize>;
    /// Sets the length.
    fn truncate(&self, len: usize) -> io::Result<()>;
    /// Reserves space; the length grows with it.
    fn allocate(&self, offset: usize, len: usize) -> io::Result<()>;
    /// The length.
    fn len(&self) -> io::Result<usize>;
    /// Whether the length is zero.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Returns once everything written survives a power cut.
    fn sync(&self) -> io::Result<()>;
}

/// The operations on files that the log uses. Paths are real: the log lists its folder itself.
pub trait LogFiles: Send + Sync {
    /// Opens for reading and writing, making the file when it is missing.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn LogFile>>;
    /// Opens an existing file for reading and writing.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn LogFile>>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Renames a file, replacing the target.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
}

/// The file system itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealLogFiles;

struct RealLogFile(<DefaultFileSystem as FileSystem>::Handle);

impl LogFile for RealLogFile {
    fn read_at(&self, offset: usize, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(offset, bytes)
    }
    fn write_at(&self, offset: usize, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(offset, bytes)
    }
    fn truncate(&self, len: usize) -> io::Result<()> {
        self.0.truncate(len)
    }
    fn allocate(&self, offset: usize, len: usize) -> io::Result<()> {
        self.0.allocate(offset, len)
    }
    fn len(&self) -> io::Result<usize> {
        self.0.file_size()
    }
    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }
}

impl LogFiles for RealLogFiles {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn LogFile>> {
        Ok(Arc::new(RealLogFile(DefaultFileSystem.create(path)?)))
    }
    fn open(&self, path: &Path) -> io::Result<Arc<dyn LogFile>> {
        Ok(Arc::new(RealLogFile(DefaultFileSystem.open(path, Permission::ReadWrite)?)))
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }
}

/// [`LogFiles`] in the shape that the engine asks for, counting syncs.
pub(crate) struct EngineFiles {
    files: Arc<dyn LogFiles>,
    syncs: Arc<AtomicU64>,
    durable: Arc<Durable>,
    unread: Arc<Unread>,
}

/// Whether some of the log could not be read while it was opened. The engine takes that for the end of what was written, and cuts
/// the rest off, which is whole: nothing is cut off then, and the log is not opened.
#[derive(Default)]
pub(crate) struct Unread {
    reason: Mutex<Option<String>>,
    is_over: AtomicBool,
}
impl Unread {
    /// Why some of it could not be read.
    pub(crate) fn reason(&self) -> Option<String> {
        self.reason.lock().clone()
    }
    fn noted<T>(&self, read: io::Result<T>) -> io::Result<T> {
        read.inspect_err(|error| {
            if self.is_over.load(Ordering::Acquire) {
                return;
            }
            self.reason.lock().get_or_insert_with(|| error.to_string());
        })
    }
    fn check(&self) -> io::Result<()> {
        self.reason().map_or(Ok(()), |reason| {
            Err(io::Error::other(format!("nothing is cut off a log that cannot be read: {reason}")))
        })
    }
    /// Reads of a log that is open concern whoever asked for them.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }
}

impl EngineFiles {
    pub(crate) fn new(files: Arc<dyn LogFiles>, durable: Arc<Durable>) -> Self {
        EngineFiles { files, syncs: Arc::default(), durable, unread: Arc::default() }
    }
    pub(crate) fn unread(&self) -> Arc<Unread> {
        self.unread.clone()
    }
    pub(crate) fn syncs(&self) -> Arc<AtomicU64> {
        self.syncs.clone()
    }
    fn handle(&self, path: &Path, file: Arc<dyn LogFile>) -> EngineHandle {
        EngineHandle {
            file,
            syncs: self.syncs.clone(),
            durable: self.durable.clone(),
            unread: self.unread.clone(),
            named: log_inspect::named(path),
            written: Arc::default(),
        }
    }
}

pub(crate) struct EngineHandle {
    file: Arc<dyn LogFile>,
    syncs: Arc<AtomicU64>,
    durable: Arc<Durable>,
    unread: Arc<Unread>,
    /// Which file it is.
    named: Option<(Kind, u64)>,
    /// The end of what was written since it was opened; 0 = nothing was.
    written: Arc<AtomicUsize>,
}

impl EngineHandle {
    fn cursor(&self, written: Arc<AtomicUsize>) -> EngineCursor {
        EngineCursor { file: self.file.clone(), unread: self.unread.clone(), offset: 0, written }
    }
}

impl Handle for EngineHandle {
    fn truncate(&self, offset: usize) -> io::Result<()> {
        self.unread.check()?;
        self.file.truncate(offset)?;
        self.written.store(offset, Ordering::Release);
        Ok(())
    }
    fn file_size(&self) -> io::Result<usize> {
        self.unread.noted(self.file.len())
    }
    fn sync(&self) -> io::Result<()> {
        let start = Instant::now();
        let written = self.written.load(Ordering::Acquire);
        self.file.sync()?;
        if let (Some((kind, seq)), 1..) = (self.named, written) {
            self.durable.raise(kind, LogPosition { seq, offset: written as u64 });
        }
        self.syncs.fetch_add(1, Ordering::Relaxed);
        metrics().syncs.observe(start.elapsed().as_secs_f64());
        Ok(())
    }
}

/// A position in a file of the log.
pub(crate) struct EngineCursor {
    file: Arc<dyn LogFile>,
    unread: Arc<Unread>,
    offset: usize,
    written: Arc<AtomicUsize>,
}

impl Read for EngineCursor {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.unread.noted(self.file.read_at(self.offset, bytes))?;
        self.offset += count;
        Ok(count)
    }
}
impl Write for EngineCursor {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The engine starts a new file when the text of an error names a lack of space, once for every attempt. On a
        // full disk that only makes more files, so the text is replaced; the writer thread waits for space instead.
        let count = self
            .file
            .write_at(self.offset, bytes)
            .map_err(|e| io::Error::new(e.kind(), e.kind().to_string()))?;
        self.offset += count;
        self.written.store(self.offset, Ordering::Release);
        metrics().written_bytes.inc_by(count as u64);
        Ok(count)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
impl Seek for EngineCursor {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let moved = |from: usize, by: i64| {
            from.checked_add_signed(by as isize).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
        };
        self.offset = match to {
            SeekFrom::Start(offset) => offset as usize,
            SeekFrom::Current(by) => moved(self.offset, by)?,
            SeekFrom::End(by) => moved(self.file.len()?, by)?,
        };
        // The engine goes back behind a write that was cut off by a full disk, and gives that up: half of a record counts as
        // nothing, also when the file is synced before the next one takes its place.
        self.written.fetch_min(self.offset, Ordering::AcqRel);
        Ok(self.offset as u64)
    }
}
impl WriteExt for EngineCursor {
    fn truncate(&mut self, offset: usize) -> io::Result<()> {
        self.file.truncate(offset)?;
        self.offset = offset;
        self.written.store(offset, Ordering::Release);
        Ok(())
    }
    fn allocate(&mut self, offset: usize, size: usize) -> io::Result<()> {
        self.file.allocate(offset, size)
    }
}

impl FileSystem for EngineFiles {
    type Handle = EngineHandle;
    type Reader = EngineCursor;
    type Writer = EngineCursor;

    fn create<P: AsRef<Path>>(&self, path: P) -> io::Result<Self::Handle> {
        Ok(self.handle(path.as_ref(), self.files.create(path.as_ref())?))
    }
    fn open<P: AsRef<Path>>(&self, path: P, _permission: Permission) -> io::Result<Self::Handle> {
        Ok(self.handle(path.as_ref(), self.files.open(path.as_ref())?))
    }
    fn delete<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        self.files.remove(path.as_ref())
    }
    fn rename<P: AsRef<Path>>(&self, from: P, to: P) -> io::Result<()> {
        self.files.rename(from.as_ref(), to.as_ref())
    }
    fn new_reader(&self, handle: Arc<Self::Handle>) -> io::Result<Self::Reader> {
        // where a reader goes says nothing of what was written
        Ok(handle.cursor(Arc::default()))
    }
    fn new_writer(&self, handle: Arc<Self::Handle>) -> io::Result<Self::Writer> {
        Ok(handle.cursor(handle.written.clone()))
    }
}
