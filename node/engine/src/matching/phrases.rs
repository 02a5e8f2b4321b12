//! Which documents contain some words next to each other, as they are written?
//!
//! Cost: the sets of the words; where words have to follow each other or attributes are left out, the positions of every
//! document that has them all.

use super::collect::mark_terms;
use super::expand::{ExpandOptions, expand};
use crate::bits;
use crate::clock::Clock;
use crate::index::Segment;
use crate::index::position::AttributeNumbers;
use crate::query::Word;
use crate::ranking::evaluate::Evaluator;
use crate::ranking::rules::{Frame, PositionRules};
use crate::scratch::Scratch;
use crate::term_matches::TermMatches;
use quorate_model::limits::QUERY_WORDS_MAX;
use quorate_model::params::ExactOnSingleWord;

/// Words count wherever they stand.
pub const ANYWHERE: PositionRules = PositionRules {
    searched: u32::MAX,
    typos: u32::MAX,
    prefixes: u32::MAX,
    exact: u32::MAX,
    numbers: AttributeNumbers::UNRANKED,
    attributes_rank: false,
    attribute_of_all_matches: false,
    min_proximity: 1,
    exact_on_single_word: ExactOnSingleWord::None,
};

/// The documents that contain the words next to each other where the rules allow. Those not looked at when the clock rings count as if
/// they did. More words than may rank are looked for as stretches of as many as may, each from the last word of the one before.
pub fn having(
    segment: &Segment,
    words: &[Word],
    rules: &PositionRules,
    clock: &mut Clock,
    scratch: &mut Scratch,
) -> Vec<u64> {
    let stretch = |from: usize| &words[from..words.len().min(from + QUERY_WORDS_MAX)];
    let mut set = with_stretch(segment, stretch(0), rules, clock, scratch);
    for from in (0..words.len().saturating_sub(1)).step_by(QUERY_WORDS_MAX - 1).skip(1) {
        let other = with_stretch(segment, stretch(from), rules, clock, scratch);
        bits::and(&mut set, &other);
        scratch.give(other);
    }
    set
}
/// The same for as many words as may rank.
fn with_stretch(
    segment: &Segment,
    words: &[Word],
    rules: &PositionRules,
    clock: &mut Clock,
    scratch: &mut Scratch,
) -> Vec<u64> {
    let lists = segment.lists();
    let options = ExpandOptions { whole_words: rules.prefixes != u32::MAX, ..ExpandOptions::default() };
    let written = |word: &Word| Word { edits: 0, others: vec![], ..word.clone() };
    let query_terms: Vec<TermMatches> =
        words.iter().map(|word| expand(segment, &written(word), options)).collect();
    let mut set = scratch.take(bits::words_for(segment.doc_count()));
    bits::fill_all(&mut set, segment.doc_count());
    let mut other = scratch.any(set.len());
    for query_term in &query_terms {
        clock.spend(segment.doc_count() / 64 + query_term.postings as u32 / 64 + 1);
        query_term.fill(segment, &lists, u8::MAX, &mut other);
        bits::and(&mut set, &other);
    }
    scratch.give(other);
    if query_terms.len() > 1 || !rules.sets_decide() {
        let mut terms = std::mem::take(&mut scratch.terms);
        terms.resize(terms.len().max(segment.term_count() as usize / 64 + 1), 0);
        mark_terms(&query_terms, |low, high| bits::insert_range(&mut terms, low, high));
        let frame = Frame { words: query_terms.len(), typos: 0, proximity: 0 };
        let mut evaluator = Evaluator::new(lists, &query_terms, rules, frame, &terms);
        let candidates = scratch.copy(&set);
        bits::each(&candidates, |doc| {
            if evaluator.evaluate(doc).is_none() {
                set[doc as usize >> 6] &= !(1 << (doc & 63));
            }
            !clock.spend(evaluator.worth(doc))
        });
        scratch.give(candidates);
        mark_terms(&query_terms, |low, high| bits::clear_range(&mut terms, low, high));
        scratch.terms = terms;
    }
    set
}
