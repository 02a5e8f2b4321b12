//! attribute: in which attribute is the best match, and how early in it? Attribute number × 1024 + word position (C§7.7).

use super::matched::{Found, MatchTally, Nearest};
use super::row::{Better, CriterionRow, Reach, never};
use crate::index::position;
use crate::ranking::rules::{Frame, PositionRules};

/// Its row.
pub const ROW: CriterionRow = CriterionRow {
    bits: 16,
    better: Better::Less,
    best,
    varies: never,
    explain: |place, _, member| {
        member("firstMatchedWord", (place >> WORD_BITS) * 1_000 + (place & WORD_MASK))
    },
};
pub use super::row::as_matched as of_document;

/// Bits of the word position in a value.
pub const WORD_BITS: u32 = 10;
const WORD_MASK: u32 = (1 << WORD_BITS) - 1;

fn best(reach: &Reach<'_>) -> u32 {
    if !reach.rules.attributes_rank {
        return 0;
    }
    let has_all_without_typos = reach.typos == 0 && !reach.may_lack_words() && reach.typos_rank_first;
    let places = reach.query_terms.iter().map(|query_term| match has_all_without_typos {
        true => query_term.best_typo_free,
        false => query_term.best,
    });
    places.map(|place| u32::from(position::place(place))).min().unwrap_or(0)
}
/// The value of a position.
#[inline]
pub fn rank_of(rules: &PositionRules, p: u16) -> u32 {
    if !rules.attributes_rank {
        return 0;
    }
    u32::from(rules.numbers.rank(p))
}
/// The best of all matches so far.
pub struct Tally(u32);
impl MatchTally for Tally {
    #[inline(always)]
    fn begin(_: &Frame) -> Tally {
        Tally(u32::MAX)
    }
    #[inline(always)]
    fn count(&mut self, found: &Found<'_>) {
        if found.rules.attribute_of_all_matches {
            self.0 = found.links.iter().map(|link| rank_of(found.rules, link.0)).fold(self.0, u32::min);
        }
    }
    #[inline(always)]
    fn value(self, nearest: &Nearest<'_>) -> u32 {
        if nearest.rules.attribute_of_all_matches { self.0 } else { nearest.way & 0xffff }
    }
}
