//! What bounds one search, and what may its caller see?

use crate::clock::Deadline;

/// What bounds a search and what its caller may see.
#[derive(Clone, Debug)]
pub struct SearchLimits {
    /// When to stop and answer with what there is.
    pub deadline: Deadline,
    /// Unix seconds, for rules that act for a time.
    pub now_s: u64,
    /// Whether unretrievable attributes are shown.
    pub sees_unretrievable: bool,
    /// Cap of the page length from the caller's key; 0 = none.
    pub max_hits_per_query: u64,
    /// Bytes that the hits may take, as JSON.
    pub bytes_max: usize,
}
