//! words: how many words of the query have no match? (C§7.4)

use super::matched::{Found, MatchTally, Nearest};
use super::row::{Better, CriterionRow, never};
use super::typo::NO_MATCH;
use crate::ranking::rules::Frame;

/// Its row.
pub const ROW: CriterionRow = CriterionRow {
    bits: 4,
    better: Better::Less,
    best: |_| 0,
    varies: never,
    explain: |missing, hit, member| member("words", hit.words - missing.min(hit.words)),
};
pub use super::row::as_matched as of_document;

/// Words that were not found so far.
pub struct Tally(u32);
impl MatchTally for Tally {
    #[inline(always)]
    fn begin(_: &Frame) -> Tally {
        Tally(0)
    }
    #[inline(always)]
    fn count(&mut self, found: &Found<'_>) {
        self.0 += u32::from(found.typos == NO_MATCH);
    }
    #[inline(always)]
    fn value(self, _: &Nearest<'_>) -> u32 {
        self.0
    }
}
