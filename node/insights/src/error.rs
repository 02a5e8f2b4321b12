//! What can go wrong with the files of events.

use quorate_store::StoreError;
use std::io;
use std::path::Path;

/// A failure of this node, never of a caller. The text names the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk, or what lies on it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Result of everything in this crate that touches a file.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Error {
        StoreError::io(action, path, source).into()
    }
    pub(crate) fn damaged(path: &Path, why: impl ToString) -> Error {
        StoreError::damaged(path.display().to_string(), why.to_string()).into()
    }
    /// Why a file is not there as it was written. Errors: this one, when it is the disk that refuses.
    pub(crate) fn lost(self) -> Result<String> {
        match self {
            Error::Store(StoreError::Damaged { why, .. }) => Ok(why),
            Error::Store(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Ok("it is gone".to_owned())
            }
            other => Err(other),
        }
    }
    /// Whether a file is not what was written, rather than the disk refusing.
    pub fn is_damage(&self) -> bool {
        matches!(self, Error::Store(StoreError::Damaged { .. }))
    }
}
