//! What can go wrong in the index of a shard, and whether trying again can help.

use std::io;
use std::path::{Path, PathBuf};

/// Result of everything in [`crate::index`].
pub type Result<T, E = IndexError> = std::result::Result<T, E>;

/// An error of the index. After [`IndexError::DiskFull`] or [`IndexError::Io`] drop the writer and open it again: it
/// continues from the last durable state.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// No space is left for new segments; reads go on.
    #[error("disk full while writing {path:?}")]
    DiskFull {
        /// The file or folder that could not grow.
        path: PathBuf,
    },
    /// The file system failed.
    #[error("cannot use {path:?}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file does not hold what was written.
    #[error("damaged file {path:?}: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A file was written by a newer version.
    #[error("{path:?} has format version {found}, this build reads up to {known}")]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest one known here.
        known: u32,
    },
    /// Another writer has the folder open.
    #[error("{path:?} is open in another writer")]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// There is no index in this folder.
    #[error("no index in {path:?}")]
    Absent {
        /// The folder.
        path: PathBuf,
    },
    /// A record is not a JSON object.
    #[error("record {object_id:?} cannot be indexed: {what}")]
    Record {
        /// Its objectID.
        object_id: String,
        /// What is wrong with it.
        what: String,
    },
    /// The engine below refused.
    #[error("engine: {0}")]
    Engine(#[from] tantivy::TantivyError),
}

impl IndexError {
    /// Wraps an error of the file system that concerns `path`.
    pub fn io(path: &Path, source: io::Error) -> Self {
        if is_disk_full(&source) {
            return IndexError::DiskFull { path: path.into() };
        }
        IndexError::Io { path: path.into(), source }
    }
    /// Says what is wrong with the content of `path`.
    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> Self {
        IndexError::Damaged { path: path.into(), what: what.into() }
    }
    /// Whether space that is freed would help.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, IndexError::DiskFull { .. })
    }
}

/// Whether an error of the file system says that no space is left.
pub(crate) fn is_disk_full(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
