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
    /// Opens an existing file to write behind its end.
    fn append(&self, path: &Path) -> io::Result<Box<dyn FileWriter>>;
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
    /// Makes durable what any process wrote to an existing file.
    fn sync_file(&self, path: &Path) -> io::Result<()>;

    /// Asked before a file or folder is opened or mapped for reading, which no file layer does itself. One that plays a system
    /// without free file handles, or without room for a mapping, refuses here.
    fn before_read(&self, path: &Path) -> io::Result<()> {
        let _it_is_open_to_all = path;
        Ok(())
    }

    /// Whether there is a file or folder of this name. Errors: the disk does not say, and nothing follows from that.
    fn exists(&self, path: &Path) -> io::Result<bool> {
        path.try_exists()
    }

    /// Like [`Files::create`], readable and writable by the owner alone (mode 0600) from the first moment.
    fn create_private(&self, path: &Path) -> io::Result<Box<dyn FileWriter>>;

    /// Replaces `path` by `bytes` so that after a power cut it holds either the old content or all of the new.
    fn write_atomic(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.write_atomic_with(path, &mut |file| file.write_all(bytes))
    }

    /// Like [`Files::write_atomic`] for content that is written piece by piece. When `write` errors the old content stays.
    fn write_atomic_with(
        &self,
        path: &Path,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let temporary = fresh_temporary(self, path)?;
        put_in_place(self, self.create(&temporary)?, &temporary, path, write)
    }

    /// Like [`Files::write_atomic`] with a file that only the owner may read.
    fn write_atomic_private(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let temporary = fresh_temporary(self, path)?;
        put_in_place(self, self.create_private(&temporary)?, &temporary, path, &mut |file| {
            file.write_all(bytes)
        })
    }

    /// Creates a folder and its missing parents so that all of them survive a power cut.
    fn create_dir_durable(&self, path: &Path) -> io::Result<()> {
        let missing: Vec<&Path> =
            path.ancestors().take_while(|p| !p.as_os_str().is_empty() && !p.is_dir()).collect();
        self.create_dir_all(path)?;
        for made in missing.iter().rev() {
            self.sync_dir(folder_of(made))?;
        }
        Ok(())
    }
}

fn fresh_temporary<F: Files + ?Sized>(files: &F, path: &Path) -> io::Result<PathBuf> {
    let temporary = temporary_name(path);
    match files.remove(&temporary) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(temporary),
    }
}

fn put_in_place<F: Files + ?Sized>(
    files: &F,
    mut file: Box<dyn FileWriter>,
    temporary: &Path,
    path: &Path,
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let written = write(&mut *file).and_then(|()| file.sync());
    drop(file);
    if let Err(e) = written {
        // The old content stands; the leftover may stay when it cannot be removed.
        let _ = files.remove(temporary);
        return Err(e);
    }
    files.rename(temporary, path)?;
    files.sync_dir(folder_of(path))
}

/// The folder a path is in; the current one for a bare name.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
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
    fn append(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        Ok(Box::new(RealFile(std::fs::OpenOptions::new().append(true).open(path)?)))
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
    fn sync_file(&self, path: &Path) -> io::Result<()> {
        std::fs::File::open(path)?.sync_all()
    }
    fn create_private(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Box::new(RealFile(options.open(path)?)))
    }
}
