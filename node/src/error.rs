//! What can fail while commands are applied or shards are opened.

use quorate_model::ErrorKind;
use std::path::PathBuf;

/// An error of the node.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A caller's mistake or a missing thing: every node agrees on it.
    #[error(transparent)]
    Model(#[from] quorate_model::Error),
    /// The files of a shard.
    #[error("shard in {folder}: {source}")]
    Engine {
        /// The shard's folder.
        folder: PathBuf,
        /// What the engine says.
        source: quorate_engine::index::IndexError,
    },
    /// The small-state store.
    #[error("small state: {0}")]
    Store(#[from] quorate_store::StoreError),
    /// A file operation outside the engine and the store.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The shard waits until its disk takes writes again.
    #[error("the shard waits for its disk")]
    Delayed,
    /// The shard's actor is gone.
    #[error("the shard has stopped")]
    Stopped,
}

/// Result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The class of the error for the caller.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Model(e) => e.kind,
            Error::Delayed | Error::Stopped => ErrorKind::Unavailable,
            Error::Engine { .. } | Error::Store(_) | Error::Io { .. } => ErrorKind::Internal,
        }
    }
    /// Whether a file is not as it was written.
    pub fn is_damage(&self) -> bool {
        matches!(self, Error::Engine { source: quorate_engine::index::IndexError::Damaged { .. }, .. })
    }
    /// Whether every node meets the same error at the same place of the log, so that it is an outcome and not a failure.
    pub fn is_deterministic(&self) -> bool {
        match self {
            Error::Model(_) => true,
            Error::Engine { .. } | Error::Store(_) | Error::Io { .. } | Error::Delayed | Error::Stopped => {
                false
            }
        }
    }
}

impl From<Error> for quorate_model::Error {
    fn from(error: Error) -> Self {
        let kind = error.kind();
        match error {
            Error::Model(e) => e,
            other => quorate_model::Error::new(kind, other.to_string()),
        }
    }
}
