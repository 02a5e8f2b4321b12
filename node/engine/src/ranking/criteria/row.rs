//! What is said of one criterion? The row that each of them has in the [table](super).

use crate::ranking::context::SegmentContext;
use crate::ranking::rules::{Frame, PositionRules};
use crate::term_matches::TermMatches;

/// One criterion. How its value is computed stands beside its row: `of_document(context, document, matched)` reads it from the
/// document, or is [`as_matched`]: what its [`MatchTally`](super::matched::MatchTally) made of the matches. Of a criterion that is read
/// from the document `Tally` is [`Unmatched`](super::matched::Unmatched).
///
/// Hot path: `of_document` runs for every document that matches, also where `ranking` does not name the criterion: it reads what the
/// [`SegmentContext`] has prepared or a column of the segment by the document's number, and looks nothing up. `_rankingInfo` shows its
/// value as it is; only keys bound it by `bits`.
pub struct CriterionRow {
    /// Bits of a key that it takes; values above the width act as the highest.
    pub bits: u32,
    /// Which values rank higher.
    pub better: Better,
    /// The best that a document within reach can have, for a query with words: where that comes too late, documents are not looked at. A
    /// bound that is too good costs looks, one that is not good enough loses hits.
    pub best: fn(&Reach<'_>) -> u32,
    /// Whether documents of a segment differ in it beside what lists of single words say, which is typos, attribute and
    /// exactness: then neither these lists nor the order of documents tell which come first. What matches tell is not asked of
    /// queries without words.
    pub varies: fn(&SegmentContext<'_>) -> bool,
    /// Its members of `_rankingInfo`, by their names (C§7.12).
    pub explain: fn(u32, &Explained, &mut dyn FnMut(&'static str, u32)),
}
/// Which values rank higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Smaller ones.
    Less,
    /// Greater ones.
    More,
}
/// Documents that are looked at together, before any of them is.
pub struct Reach<'a> {
    /// What holds for all matches of this way to read the query.
    pub frame: Frame,
    /// The fewest typos of one of them.
    pub typos: u32,
    /// What is looked for.
    pub query_terms: &'a [TermMatches],
    /// What positions mean.
    pub rules: &'a PositionRules,
    /// Whether the number of typos is the first criterion.
    pub typos_rank_first: bool,
    /// Their segment.
    pub context: &'a SegmentContext<'a>,
}
impl Reach<'_> {
    /// Whether a document may lack some word.
    pub fn may_lack_words(&self) -> bool {
        self.query_terms.iter().any(|query_term| query_term.optional)
    }
}
/// What explains a hit beside the values of its criteria.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explained {
    /// Words of the query.
    pub words: u32,
    /// Place in the custom order.
    pub user_score: u32,
    /// Metres of a distance bucket there, when it has a place that counts.
    pub precision: Option<u32>,
}
/// For criteria that lists of single words say all about, or in which documents with one word never differ.
pub fn never(_: &SegmentContext<'_>) -> bool {
    false
}
/// For criteria that matches of words decide: what the evaluation found.
#[inline(always)]
pub fn as_matched(_: &SegmentContext<'_>, _: u32, matched: u32) -> u32 {
    matched
}
