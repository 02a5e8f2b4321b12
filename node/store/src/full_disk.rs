//! What a full disk does: a file layer that refuses writes beyond a budget until there is room again. For tests.

use crate::files::{FileWriter, Files};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Another file layer with a bounded number of bytes.
#[derive(Clone, Debug)]
pub struct FullDisk {
    inner: Arc<dyn Files>,
    free_bytes: Arc<AtomicU64>,
}

impl FullDisk {
    /// Lets `free_bytes` more bytes be written.
    pub fn new(inner: Arc<dyn Files>, free_bytes: u64) -> FullDisk {
        FullDisk { inner, free_bytes: Arc::new(AtomicU64::new(free_bytes)) }
    }
    /// Sets how many more bytes fit: 0 fills the disk, `u64::MAX` frees it.
    pub fn set_free_bytes(&self, free_bytes: u64) {
        self.free_bytes.store(free_bytes, Ordering::SeqCst);
    }
    fn create_with(
        &self,
        create: impl FnOnce() -> io::Result<Box<dyn FileWriter>>,
    ) -> io::Result<Box<dyn FileWriter>> {
        if self.free_bytes.load(Ordering::SeqCst) == 0 {
            return Err(full());
        }
        Ok(Box::new(Bounded { inner: create()?, free_bytes: self.free_bytes.clone() }))
    }
}

fn full() -> io::Error {
    io::Error::new(io::ErrorKind::StorageFull, "no space left on device")
}

struct Bounded {
    inner: Box<dyn FileWriter>,
    free_bytes: Arc<AtomicU64>,
}
impl Write for Bounded {
    /// As the kernel does: the part that fits is written, the next write fails.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut taken = 0;
        let take = |free: u64| {
            taken = free.min(bytes.len() as u64);
            Some(free - taken)
        };
        let _ = self.free_bytes.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take);
        if taken == 0 && !bytes.is_empty() {
            return Err(full());
        }
        self.inner.write(&bytes[..taken as usize])
    }
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
impl FileWriter for Bounded {
    fn sync(&mut self) -> io::Result<()> {
        self.inner.sync()
    }
}

impl Files for FullDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        self.create_with(|| self.inner.create(path))
    }
    fn create_private(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        self.create_with(|| self.inner.create_private(path))
    }
    fn append(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        self.create_with(|| self.inner.append(path))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.hard_link(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.inner.create_dir_all(path)
    }
    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_dir_all(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.inner.sync_dir(path)
    }
    fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.inner.sync_file(path)
    }
}
