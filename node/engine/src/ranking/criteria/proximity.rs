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
/// Many matches of the previous word, by place: a match is compared with those near it, and all others are as far as can be.
pub struct Sorted<'a> {
    previous: &'a [(u16, u32)],
    /// The best way to any of them.
    best: u32,
}
impl Sorted<'_> {
    /// Of matches in ascending order.
    pub fn of(previous: &[(u16, u32)]) -> Sorted<'_> {
        let best = previous.iter().map(|&(_, way)| way).min().unwrap_or(UNREACHED);
        Sorted { previous, best }
    }
    /// The same as [`extend`] from all of them.
    pub fn extend(&self, rules: &PositionRules, p: u16, rank: u32, adjacency: Adjacency) -> u32 {
        let (place, near) = (position::place(p), FAR as u16);
        let from = self.previous.partition_point(|&(q, _)| position::place(q) < place.saturating_sub(near));
        let behind = &self.previous[from..];
        let to = behind.partition_point(|&(q, _)| position::place(q) <= place.saturating_add(near));
        let best = extend(rules, &behind[..to], p, rank, adjacency);
        if adjacency.is_next() || self.best == UNREACHED {
            return best;
        }
        let own = if adjacency.counts() { FAR } else { 0 };
        best.min(((self.best >> 16) + own) << 16 | (self.best & 0xffff).min(rank))
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::phrases::ANYWHERE;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn matches_near_and_the_best_one_tell_what_all_do(
            mut previous in proptest::collection::vec((0u32..3, 0u32..1_100, 0u32..9, 0u32..50, 0u32..5), 0..60),
            p in (0u32..3, 0u32..1_100), rank in 0u32..50, min_proximity in 1u32..9, spread in prop_oneof![Just(12), Just(1_100)],
        ) {
            previous.iter_mut().for_each(|it| it.1 %= spread);
            let link = |(attribute, word, distance, rank, reached)| {
                (position::pack(attribute, word, 0), if reached == 0 { UNREACHED } else { distance << 16 | rank })
            };
            let mut previous: Vec<(u16, u32)> = previous.into_iter().map(link).collect();
            let (p, rules) = (position::pack(p.0, p.1 % spread, 0), PositionRules { min_proximity, ..ANYWHERE });
            for adjacency in [Adjacency::Apart, Adjacency::Follows, Adjacency::Inside, Adjacency::Loose] {
                let expected = extend(&rules, &previous, p, rank, adjacency);
                previous.sort_unstable();
                prop_assert_eq!(Sorted::of(&previous).extend(&rules, p, rank, adjacency), expected, "{:?}", adjacency);
            }
        }
    }
}
