//! What may a read show, and how much?

use quorate_model::limits;

/// What the caller's key lets a read show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadRights {
    /// Admin key or the right seeUnretrievableAttributes.
    pub sees_unretrievable: bool,
    /// Cap of hitsPerPage from the key; 0 = none.
    pub max_hits_per_query: u64,
    /// Bytes of the hits at most; 0 = [`limits::ANSWER_BYTES_MAX`].
    pub bytes_max: usize,
}
impl ReadRights {
    /// Bytes that hits or records may take together.
    pub fn bytes_max(&self) -> usize {
        if self.bytes_max == 0 { limits::ANSWER_BYTES_MAX } else { self.bytes_max }
    }
}
