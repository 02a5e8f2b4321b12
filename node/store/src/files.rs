//! The file layer: every byte that must survive a power cut is written through [`Files`], so that a test can cut the power.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open file that can be made durable.
pub trait FileWriter: Write + Send {
    /// Returns once everything written so far survives a power cut (fdatasync).
    fn sync(&mut self) -> io::Result<()>;
}

/// The operations on files that durability depends on.
///
/// Paths are real paths: readers may map them directly. A name (create, rename, remove, link) is durable only after
/// [`Files::sync_dir`] of its folder.
pub trait Files: Send + Sync + fmt::Debug {
    /// Creates a new file; errors when it exists.
    fn create(&self, path: &Path) -> io::Result<Box<dyn FileWriter>>;
    /// Renames within one file system, replacing the target.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Adds a second name for a file's content.
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Creates a folder and its missing parents.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Removes a folder with all it holds.
    fn remove_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a folder durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Replaces `path` by `bytes` so that after a power cut it holds either the old content or all of the new.
    fn write_atomic(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let temporary = temporary_name(path);
        match self.remove(&temporary) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let mut file = self.create(&temporary)?;
        file.write_all(bytes)?;
        file.sync()?;
        drop(file);
        self.rename(&temporary, path)?;
        self.sync_dir(path.parent().unwrap_or(Path::new(".")))
    }
}

/// The name beside `path` that a half-written replacement has; leftovers may be removed at any start.
pub fn temporary_name(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".tmp");
    path.with_file_name(name)
}

/// The file system itself.
#[derive(Debug, Default, Clone, Copy)]
pub struct RealFiles;

impl RealFiles {
    /// The file system behind the trait.
    pub fn shared() -> Arc<dyn Files> {
        Arc::new(RealFiles)
    }
}

struct RealFile(std::fs::File);
impl Write for RealFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
impl FileWriter for RealFile {
    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }
}

impl Files for RealFiles {
    fn create(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        Ok(Box::new(RealFile(std::fs::OpenOptions::new().write(true).create_new(true).open(path)?)))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::hard_link(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        std::fs::create_dir_all(path)
    }
    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_dir_all(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        std::fs::File::open(path)?.sync_all()
    }
}
