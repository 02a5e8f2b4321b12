//! What do criteria make of the matches of a document? Each keeps a tally while the words of the query are gone through.

use crate::ranking::rules::{Frame, PositionRules};
use crate::term_matches::TermMatches;

/// The tally of one criterion over the words of the query, in their order; one for each document.
///
/// Hot path: made, told of each word and asked for every document whose matches are looked at; nothing is allocated.
pub trait MatchTally {
    /// Whether matches say anything about the criterion. If so, all documents are equal in it for a query without words.
    const TELLS: bool = true;

    /// Before the first word.
    fn begin(frame: &Frame) -> Self;
    /// Counts what is looked for next, found or not.
    #[inline(always)]
    fn count(&mut self, found: &Found<'_>) {
        let _nothing_of_one_word_counts = found;
    }
    /// The value of the criterion.
    fn value(self, nearest: &Nearest<'_>) -> u32;
}
/// What the document has of one word that is looked for.
pub struct Found<'a> {
    /// What is looked for.
    pub query_term: &'a TermMatches,
    /// What positions mean.
    pub rules: &'a PositionRules,
    /// Words of the query, however many are looked for.
    pub words: usize,
    /// The fewest typos of a match; [`NO_MATCH`](super::typo::NO_MATCH) when there is none, and the document may lack the word.
    pub typos: u8,
    /// Whether one of the matches is the word itself.
    pub exact: bool,
    /// Positions of the matches with so few typos, by term and then by position where they are few, and the best ways to them from the words
    /// before ([`extend`](super::proximity::extend)); there may be none to some.
    pub links: &'a [(u16, u32)],
    /// Terms of all tokens of the document, ascending.
    pub ordinals: &'a [u32],
    /// Their positions.
    pub positions: &'a [u16],
}
/// What is known when all words were gone through.
pub struct Nearest<'a> {
    /// What holds for all documents.
    pub frame: &'a Frame,
    /// What positions mean.
    pub rules: &'a PositionRules,
    /// The best way through matches of all words, as [`extend`](super::proximity::extend) makes them.
    pub way: u32,
}
/// For criteria that nothing of matches says anything about.
pub struct Unmatched;
impl MatchTally for Unmatched {
    const TELLS: bool = false;

    #[inline(always)]
    fn begin(_: &Frame) -> Unmatched {
        Unmatched
    }
    #[inline(always)]
    fn value(self, _: &Nearest<'_>) -> u32 {
        0
    }
}
