//! Why is there no report?

use crate::error::Error;

/// Searches or events between two looks at whether to stop.
pub(super) const LOOK: usize = 1_024;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The rows cannot be read.
    #[error(transparent)]
    Rows(#[from] Error),
    /// It was to be stopped.
    #[error("it was stopped")]
    Stopped,
    /// The range has too many events.
    #[error("more than 2,000,000 events")]
    TooMany,
    /// The tags are not what they have to be.
    #[error("the tags cannot be read")]
    Tags,
}
