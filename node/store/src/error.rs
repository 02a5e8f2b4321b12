//! What can go wrong with durable bytes, and which class each case is.

use quorate_model::ErrorKind;
use std::io;
use std::path::{Path, PathBuf};

/// A failure of the store. The text names the file or folder it is about.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused an operation on a file.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// Bytes on disk are not what was written.
    #[error("{what} is damaged: {why}")]
    Damaged {
        /// The file, folder or tree.
        what: String,
        /// What does not fit.
        why: String,
    },
    /// The working store failed; the process must stop, the next start rebuilds it.
    #[error("the working metadata store failed: {0}")]
    Broken(String),
    /// The data folder was written by a newer version.
    #[error(
        "{path} has data format {found}, this version reads formats up to {known}: start the newer version, or restore a backup made by this one"
    )]
    TooNew {
        /// The data folder.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// The folder holds files of something else.
    #[error("{path} is not a data folder of this service: it is not empty and has no file FORMAT")]
    NotOurs {
        /// The folder.
        path: PathBuf,
    },
    /// Another process uses the data folder.
    #[error(
        "the data folder {path} is in use by another process{}: stop that one, or give this one another folder",
        process.map_or(String::new(), |id| format!(" (its lock names {id})"))
    )]
    InUse {
        /// The folder.
        path: PathBuf,
        /// The number of the process, when its lock says it.
        process: Option<u32>,
    },
    /// The folder belongs to an installation with another application id.
    #[error(
        "the data folder {path} belongs to the application id {kept:?}, not {asked:?}: the application id of an installation cannot change"
    )]
    OtherApp {
        /// The folder.
        path: PathBuf,
        /// The id it has.
        kept: String,
        /// The id that was asked for.
        asked: String,
    },
}

/// Result of everything in this crate.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

impl StoreError {
    /// Wraps an I/O error with what was tried on which path.
    pub fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        StoreError::Io { action, path: path.to_path_buf(), source }
    }
    /// Whether the process may not do with a file what it has to.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, StoreError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
    }
    /// Bytes of `what` are not what was written.
    pub fn damaged(what: impl Into<String>, why: impl Into<String>) -> Self {
        StoreError::Damaged { what: what.into(), why: why.into() }
    }
    /// The class of the error: a full disk is a passing condition, everything else is internal.
    pub fn kind(&self) -> ErrorKind {
        match self {
            StoreError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                ErrorKind::Unavailable
            }
            StoreError::Io { .. }
            | StoreError::Damaged { .. }
            | StoreError::Broken(_)
            | StoreError::TooNew { .. }
            | StoreError::NotOurs { .. }
            | StoreError::InUse { .. }
            | StoreError::OtherApp { .. } => ErrorKind::Internal,
        }
    }
}

impl From<StoreError> for quorate_model::Error {
    fn from(error: StoreError) -> Self {
        quorate_model::Error::new(error.kind(), error.to_string())
    }
}
