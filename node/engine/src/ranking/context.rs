//! What is known of a segment's documents before words are looked at?

use super::distance::GeoQuery;
use super::groups::Groups;
use super::nearby::Nearby;
use crate::bits;
use crate::filter::scores::Scores;
use crate::index::Segment;

/// The part of a query that is known per segment before words are looked at.
pub struct SegmentContext<'a> {
    /// The documents.
    pub segment: &'a Segment,
    /// Documents that may be shown; `None` = all.
    pub allowed: Option<Vec<u64>>,
    /// Scores of the filters.
    pub scores: Scores,
    /// Distances to the centre, when there is one.
    pub nearby: Option<Nearby<'a>>,
    /// The geographic part of the query.
    pub geo: &'a GeoQuery,
    /// Groups of documents with equal leading sort keys, when there are such keys, and with later ones as well.
    pub groups: [Option<Groups>; 2],
}
impl SegmentContext<'_> {
    /// Whether the document may be shown.
    #[inline]
    pub fn is_allowed(&self, doc: u32) -> bool {
        self.allowed.as_deref().is_none_or(|allowed| bits::contains(allowed, doc))
    }
    /// Keeps the documents that may be shown.
    pub fn restrict(&self, set: &mut [u64]) {
        if let Some(allowed) = &self.allowed {
            bits::and(set, allowed);
        }
    }
}
