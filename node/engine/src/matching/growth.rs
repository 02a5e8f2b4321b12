//! How many words must a record have when all words of a long query are optional? (C§4.6 optionalWords)
//!
//! With four words or more, required matches grow every 1,000 results: results are taken by their number of matched words,
//! most first, and those with fewer words are left out once there are too many before them.
//!
//! Cost: for queries that it cuts, one pass over the documents of each word and one byte for each document. Time is looked at
//! before each word.

use super::union::can_match;
use crate::bits;
use crate::index::Segment;
use crate::query::Plan;
use crate::scratch::Scratch;
use crate::term_matches::TermMatches;
use quorate_model::limits::QUERY_WORDS_MAX;

/// Words from which on it acts.
const WORDS_MIN: usize = 4;
/// Words from which on required matches grow faster.
const MANY_WORDS: usize = 10;
/// With many words required matches grow by one for so many of them.
const WORDS_PER_STEP: usize = 5;

/// Whether required matches may grow for a query with `count` results, when they stay the same for `results`.
pub fn applies(plan: &Plan, count: u64, results: u64) -> bool {
    let words = plan.words.len();
    words >= WORDS_MIN && count > results && plan.words.iter().all(|word| word.optional)
}
/// What became of the words that records must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Every result stays.
    None,
    /// Results with too few words are out.
    Some,
    /// Time ran out before it was known.
    Late,
}
/// Words of the query that each document of the segment has, as far as sets of terms tell; the most over all paths.
/// `None` when time runs out.
pub fn matched_words(
    segment: &Segment,
    plan: &Plan,
    paths: &[Vec<TermMatches>],
    scratch: &mut Scratch,
) -> Option<Vec<u8>> {
    let mut set = scratch.take(bits::words_for(segment.doc_count()));
    let matched = count_words(segment, plan, paths, &mut set);
    scratch.give(set);
    matched
}
fn count_words(
    segment: &Segment,
    plan: &Plan,
    paths: &[Vec<TermMatches>],
    set: &mut [u64],
) -> Option<Vec<u8>> {
    let lists = segment.lists();
    let documents = segment.doc_count() as usize;
    let mut most = vec![0u8; documents];
    let mut counts = vec![0u8; documents];
    for query_terms in plan
        .paths
        .iter()
        .zip(paths)
        .map(|(_, query_terms)| query_terms)
        .filter(|query_terms| can_match(query_terms))
    {
        counts.fill(0);
        let mut covers = 0;
        let mut missing: Vec<&TermMatches> = vec![];
        for query_term in query_terms {
            if plan.deadline.is_over() {
                return None;
            }
            covers = if query_term.covers > 0 { query_term.covers } else { covers };
            if !query_term.optional {
                missing.push(query_term);
            }
            let adds = if query_term.covers > 0 { covers } else { 0 };
            query_term.fill(segment, &lists, u8::MAX, set);
            bits::each(set, |doc| {
                counts[doc as usize] += adds;
                true
            });
        }
        // a document without a mandatory word is not on this path
        for query_term in missing {
            query_term.fill(segment, &lists, u8::MAX, set);
            for (doc, count) in counts.iter_mut().enumerate() {
                if !bits::contains(set, doc as u32) {
                    *count = 0;
                }
            }
        }
        most.iter_mut().zip(&counts).for_each(|(most, count)| *most = (*most).max(*count));
    }
    Some(most)
}
/// The words a record must have. `with` holds how many records have exactly so many words; required matches stay the same
/// for `results` of them.
pub fn required(words: usize, with: &[u64; QUERY_WORDS_MAX + 1], results: u64) -> usize {
    let step = if words < MANY_WORDS { 1 } else { words / WORDS_PER_STEP };
    let mut before = 0;
    for matched in (1..=words).rev() {
        let room = results * ((matched - 1) / step + 1) as u64;
        if before >= room {
            return matched + 1;
        }
        before += with[matched];
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_words_are_let_in_while_there_is_room() {
        for (words, with, expected) in [
            (4, vec![0, 10, 20, 30, 40], 1),
            // three words have room for 3,000 results, two for 2,000, one for 1,000
            (4, vec![0, 9, 9, 9, 999], 2),
            (4, vec![0, 9, 9, 9, 990], 2),
            (4, vec![0, 9, 9, 0, 990], 1),
            (4, vec![0, 9, 9, 2_000, 1_000], 3),
            (4, vec![0, 9, 9, 1, 3_000], 4),
            (10, vec![0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 999], 1),
            (10, vec![0, 9, 9, 0, 0, 0, 0, 0, 0, 0, 1_000], 3),
        ] {
            let mut counts = [0; QUERY_WORDS_MAX + 1];
            counts[..with.len()].copy_from_slice(&with);
            assert_eq!(required(words, &counts, 1_000), expected, "{words} {with:?}");
        }
    }
}
