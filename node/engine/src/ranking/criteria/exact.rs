//! exact: how many words of the query have no exact match? (C§7.8)

use super::matched::{Found, MatchTally, Nearest};
use super::row::{Better, CriterionRow, Reach, never};
use super::typo::NO_MATCH;
use crate::index::position;
use crate::ranking::rules::Frame;
use crate::term_matches::TermMatches;
use quorate_model::params::ExactOnSingleWord;

/// Its row.
pub const ROW: CriterionRow = CriterionRow {
    bits: 4,
    better: Better::Less,
    best,
    varies: never,
    explain: |inexact, hit, member| member("nbExactWords", hit.words - inexact.min(hit.words)),
};
pub use super::row::as_matched as of_document;

/// Characters a single word needs to count as exact by itself (C§7.8 `word`).
pub const EXACT_WORD_CHARS_MIN: usize = 3;

fn best(reach: &Reach<'_>) -> u32 {
    if reach.typos > 0 {
        return 1;
    }
    let never_exact = reach.query_terms.iter().filter(|query_term| !query_term.has_exact_terms());
    never_exact.map(|query_term| u32::from(query_term.covers)).sum()
}
/// Words without an exact match so far.
pub struct Tally {
    inexact: u32,
    /// Words of the query that the current unit stands for, unless it was found not to be exact.
    unit: u32,
}
impl MatchTally for Tally {
    #[inline(always)]
    fn begin(_: &Frame) -> Tally {
        Tally { inexact: 0, unit: 0 }
    }
    #[inline(always)]
    fn count(&mut self, found: &Found<'_>) {
        if found.typos == NO_MATCH {
            self.inexact += 1;
            return;
        }
        let covers = u32::from(found.query_term.covers);
        self.unit = if covers > 0 { covers } else { self.unit };
        if !counts_as_exact(found) {
            self.inexact += std::mem::take(&mut self.unit);
        }
    }
    #[inline(always)]
    fn value(self, _: &Nearest<'_>) -> u32 {
        self.inexact
    }
}
/// Whether what was found counts (C§7.8).
#[inline(always)]
fn counts_as_exact(found: &Found<'_>) -> bool {
    let Found { query_term, rules, words, ordinals, positions, .. } = *found;
    if !found.exact || !query_term.may_be_exact {
        return false;
    }
    let whole = match (words, rules.exact_on_single_word) {
        (1, ExactOnSingleWord::None) => return false,
        (1, ExactOnSingleWord::Attribute) => true,
        (1, ExactOnSingleWord::Word) if query_term.characters < EXACT_WORD_CHARS_MIN => return false,
        (_, ExactOnSingleWord::Word | ExactOnSingleWord::None | ExactOnSingleWord::Attribute) => false,
    };
    let allowed = rules.exact & rules.searched;
    if !whole && allowed == u32::MAX {
        return true;
    }
    let occurs = |exact: &u32| {
        let from = below(ordinals, *exact);
        let of_term = ordinals[from..].iter().zip(&positions[from..]);
        of_term
            .take_while(|(ordinal, _)| *ordinal == exact)
            .any(|(_, &p)| allowed >> position::attribute(p) & 1 == 1 && (!whole || position::whole_value(p)))
    };
    query_term.exact.iter().chain(&query_term.exact_too).any(occurs)
}
/// Whether the term is another word that counts as the query term's word.
#[inline]
pub fn counts_as_itself(query_term: &TermMatches, ordinal: u32) -> bool {
    !query_term.exact_too.is_empty() && query_term.exact_too.binary_search(&ordinal).is_ok()
}
/// How many of the sorted ordinals are smaller; by counting where that is faster than halving.
#[inline(always)]
pub fn below(ordinals: &[u32], x: u32) -> usize {
    if ordinals.len() > 192 {
        return ordinals.partition_point(|&ordinal| ordinal < x);
    }
    ordinals.iter().map(|&ordinal| u32::from(ordinal < x)).sum::<u32>() as usize
}
