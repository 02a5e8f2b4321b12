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
    /// The files of a shard that were there before the start.
    #[error("the files of an index in {folder} are gone, and with them what it held")]
    Gone {
        /// The shard's folder.
        folder: PathBuf,
    },
    /// The metadata store.
    #[error("metadata store: {0}")]
    Store(#[from] quorate_store::StoreError),
    /// The files of events.
    #[error("events: {0}")]
    Events(#[from] quorate_insights::error::Error),
    /// Models of recommendations.
    #[error("models: {0}")]
    Neighbours(#[from] quorate_insights::neighbours::NeighboursError),
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
            // others may have them
            Error::Delayed | Error::Stopped | Error::Gone { .. } => ErrorKind::Unavailable,
            Error::Engine { .. }
            | Error::Store(_)
            | Error::Events(_)
            | Error::Neighbours(_)
            | Error::Io { .. } => ErrorKind::Internal,
        }
    }
    /// Whether a file is not as it was written.
    pub fn is_damage(&self) -> bool {
        match self {
            Error::Engine { source: quorate_engine::index::IndexError::Damaged { .. }, .. }
            | Error::Gone { .. } => true,
            Error::Events(error) => error.is_damage(),
            _ => false,
        }
    }
    /// Whether every node meets the same error at the same place of the log, so that it is an outcome and not a failure.
    pub fn is_deterministic(&self) -> bool {
        match self {
            Error::Model(error) => is_outcome(error.kind),
            Error::Engine { .. }
            | Error::Gone { .. }
            | Error::Store(_)
            | Error::Events(_)
            | Error::Io { .. }
            | Error::Delayed
            | Error::Stopped
            | Error::Neighbours(_) => false,
        }
    }
}

/// Whether an error of this class says something of the command alone. What a disk, the time or a load brings about is no
/// outcome: a node that passed over the command for it would differ from the others from then on.
pub(crate) fn is_outcome(kind: ErrorKind) -> bool {
    match kind {
        ErrorKind::Invalid
        | ErrorKind::Forbidden
        | ErrorKind::NotFound
        | ErrorKind::MethodNotAllowed
        | ErrorKind::TooLarge
        | ErrorKind::NotImplemented
        | ErrorKind::NotEnabled
        | ErrorKind::Unprocessable
        | ErrorKind::Unauthorized => true,
        ErrorKind::RateLimited | ErrorKind::Unavailable | ErrorKind::Internal => false,
    }
}

impl From<Error> for quorate_model::Error {
    fn from(error: Error) -> Self {
        let kind = error.kind();
        match error {
            Error::Model(e) => e,
            Error::Gone { .. } => {
                quorate_model::Error::unavailable("the files of this index are gone on this node")
            }
            other => quorate_model::Error::new(kind, other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_command_itself_says_is_an_outcome() {
        let model = |error| Error::Model(error);
        assert!(model(quorate_model::Error::invalid("no such word")).is_deterministic());
        assert!(model(quorate_model::Error::no_object()).is_deterministic());
        assert!(!model(quorate_model::Error::internal("a segment cannot be read")).is_deterministic());
        assert!(!model(quorate_model::Error::unavailable("too much to do")).is_deterministic());
        let source = std::io::Error::other("input/output error");
        let failed = Error::Io { what: "reading".into(), source };
        // the same on its way through what callers are told
        assert!(!failed.is_deterministic() && !model(failed.into()).is_deterministic());
    }
}
