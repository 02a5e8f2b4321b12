//! Sort keys and the custom ranking where they compare before some other criterion: the number of the group of documents
//! with equal ones (C§7.9, C§7.10).

use super::row::{Better, CriterionRow};
use crate::ranking::context::SegmentContext;

/// The row.
pub const ROW: CriterionRow = CriterionRow {
    bits: 32,
    better: Better::Less,
    best: |_| 0,
    varies: |context| context.groups[0].is_some(),
    explain: |_, hit, member| member("userScore", hit.user_score),
};
pub use super::matched::Unmatched as Tally;
/// The group of a document.
#[inline]
pub fn of_document(context: &SegmentContext<'_>, doc: u32, _: u32) -> u32 {
    context.groups[0].as_ref().map_or(0, |groups| groups.of(context.segment, doc))
}
