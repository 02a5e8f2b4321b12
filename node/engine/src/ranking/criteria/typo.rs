//! typo: how many typos are there over all matched words? (C§7.2)

use super::matched::{Found, MatchTally, Nearest};
use super::row::{Better, CriterionRow, never};
use crate::ranking::rules::Frame;
use crate::terms::Interval;

/// Its row.
pub const ROW: CriterionRow = CriterionRow {
    bits: 6,
    better: Better::Less,
    best: |reach| reach.frame.typos + reach.typos,
    varies: never,
    explain: |typos, _, member| member("nbTypos", typos),
};
pub use super::row::as_matched as of_document;

/// A word that did not match.
pub const NO_MATCH: u8 = 255;

/// Typos of the interval that holds the ordinal.
#[inline]
pub fn typos_at(intervals: &[Interval], ordinal: u32) -> u8 {
    let Some(first) = intervals.first() else { return NO_MATCH };
    if first.typos == 0 && ordinal >= first.low && ordinal < first.high {
        return 0;
    }
    let rest = &intervals[usize::from(first.typos == 0)..];
    let after = rest.partition_point(|interval| interval.low <= ordinal);
    match after.checked_sub(1).and_then(|i| rest.get(i)) {
        Some(interval) if ordinal < interval.high => interval.typos,
        Some(_) | None => NO_MATCH,
    }
}
/// Typos so far.
pub struct Tally(u32);
impl MatchTally for Tally {
    #[inline(always)]
    fn begin(frame: &Frame) -> Tally {
        Tally(frame.typos)
    }
    #[inline(always)]
    fn count(&mut self, found: &Found<'_>) {
        if found.typos != NO_MATCH {
            self.0 += u32::from(found.typos);
        }
    }
    #[inline(always)]
    fn value(self, _: &Nearest<'_>) -> u32 {
        self.0
    }
}
