//! filters: how much do the filters say in favour of a document? More is better (C§7.5).

use super::row::{Better, CriterionRow};
use crate::ranking::context::SegmentContext;

/// Its row.
pub const ROW: CriterionRow = CriterionRow {
    bits: 26,
    better: Better::More,
    best: |reach| reach.context.scores.max(),
    varies: |context| !context.scores.is_constant(),
    explain: |score, _, member| member("filters", score),
};
pub use super::matched::Unmatched as Tally;
/// The score of a document.
#[inline]
pub fn of_document(context: &SegmentContext<'_>, doc: u32, _: u32) -> u32 {
    context.scores.of(doc)
}
