//! Sort keys and the custom ranking that compare behind others, with criteria between them and before some: the number of the group of
//! documents that are equal in all of them (C§7.9, C§7.10).

use super::row::{Better, CriterionRow};
use crate::ranking::context::SegmentContext;

/// The row. `userScore` is told by the first ones.
pub const ROW: CriterionRow = CriterionRow {
    bits: 32,
    better: Better::Less,
    best: |_| 0,
    varies: |context| context.groups[1].is_some(),
    explain: |_, _, _| (),
};
pub use super::matched::Unmatched as Tally;
/// The group of a document.
#[inline]
pub fn of_document(context: &SegmentContext<'_>, doc: u32, _: u32) -> u32 {
    context.groups[1].as_ref().map_or(0, |groups| groups.of(context.segment, doc))
}
