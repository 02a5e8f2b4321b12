//! proximity: how near do neighbouring words of the query stand to each other? The sum of their distances (C§7.6).

use super::attribute;
use super::matched::{MatchTally, Nearest};
use super::row::{Better, CriterionRow, Reach, never};
use crate::index::position;
use crate::ranking::rules::{Frame, PositionRules};
use crate::term_matches::Adjacency;

/// Its row.
pub const ROW: CriterionRow = CriterionRow {
    bits: 8,
    better: Better::Less,
    best,
    varies: never,
    explain: |distance, _, member| member("proximityDistance", distance),
};
pub use super::row::as_matched as of_document;

/// Distance of words that are not near each other.
pub const FAR: u32 = 8;
/// A match that no way leads to.
pub const UNREACHED: u32 = u32::MAX;

fn best(reach: &Reach<'_>) -> u32 {
    let counted =
        || reach.query_terms.iter().filter(|query_term| query_term.adjacency.counts()).count() as u32;
    let pairs = if reach.may_lack_words() { 0 } else { counted() - 1 };
    reach.frame.proximity + pairs * reach.rules.min_proximity.min(FAR)
}
#[inline]
fn distance(rules: &PositionRules, before: u16, after: u16) -> u32 {
    let (a, b) = (u32::from(position::word(before)), u32::from(position::word(after)));
    if position::attribute(before) != position::attribute(after)
        || a >= position::WORD_MAX
        || b >= position::WORD_MAX
    {
        return FAR;
    }
    let steps = if b > a { b - a } else { a - b + 1 };
    steps.max(rules.min_proximity).min(FAR)
}
/// The best way to a match at `p` from the matches of the previous word: the distances so far, above the best attribute.
#[inline(always)]
pub fn extend(
    rules: &PositionRules,
    previous: &[(u16, u32)],
    p: u16,
    rank: u32,
    adjacency: Adjacency,
) -> u32 {
    let mut best = UNREACHED;
    for &(q, way) in previous {
        if way == UNREACHED || (adjacency.is_next() && !directly_after(q, p)) {
            continue;
        }
        let own = if adjacency.counts() { distance(rules, q, p) } else { 0 };
        let distance = (way >> 16) + own;
        best = best.min(distance << 16 | (way & 0xffff).min(rank));
    }
    best
}
// the lower half of a way holds the whole value of the attribute criterion
const _: () = assert!(attribute::ROW.bits <= 16);
/// Whether `p` is the place after `q` in the same attribute.
pub fn directly_after(q: u16, p: u16) -> bool {
    position::attribute(q) == position::attribute(p) && position::word(q) + 1 == position::word(p)
}
/// Ways hold the distances.
pub struct Tally;
impl MatchTally for Tally {
    #[inline(always)]
    fn begin(_: &Frame) -> Tally {
        Tally
    }
    #[inline(always)]
    fn value(self, nearest: &Nearest<'_>) -> u32 {
        nearest.frame.proximity + (nearest.way >> 16)
    }
}
