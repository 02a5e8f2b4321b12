//! What can go wrong when neighbours are computed, written or read?

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Why there is no model, or why a file is none.
#[derive(Debug, thiserror::Error)]
pub enum NeighboursError {
    /// Whoever asked for the build wants it no more.
    #[error("the build was stopped")]
    Stopped,
    /// The interactions do not fit into the memory that a build may take.
    #[error("more than {most} {what}")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How much there may be.
        most: usize,
    },
    /// The file was written by a later version.
    #[error("format version {0} of the model file is not known")]
    Version(u32),
    /// The bytes are not those that were written.
    #[error("the model file is damaged: {0}")]
    Damaged(&'static str),
    /// The file cannot be written, or read.
    #[error("cannot write or read the model: {0}")]
    Io(#[from] io::Error),
    /// What users did cannot be read.
    #[error(transparent)]
    Events(#[from] crate::error::Error),
}

/// What computing and reading models answers.
pub type Result<T> = std::result::Result<T, NeighboursError>;

/// Ends a build that was told to stop. Asked often enough that a build ends within 100 ms.
pub(super) fn go_on(stop: &AtomicBool) -> Result<()> {
    if stop.load(Ordering::Relaxed) { Err(NeighboursError::Stopped) } else { Ok(()) }
}
