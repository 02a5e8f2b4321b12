//! Which terms of one segment does a query word stand for?

use super::typo::{Tolerance, typo_intervals};
use super::widen;
use crate::index::{Lists, Segment};
use crate::query::Word;
use crate::term_matches::{Adjacency, TermMatches, postings};
use crate::terms::{Expansion, Interval};
use std::sync::Arc;

/// Where a query term sends its terms with typos.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ExpandOptions {
    /// Two edits with one of them on the first letter are looked for as well.
    pub deep: bool,
    /// The intervals without prefixes are needed too.
    pub whole_words: bool,
}

/// Finds the terms of `word` in the segment.
pub fn expand(segment: &Segment, word: &Word, options: ExpandOptions) -> TermMatches {
    // with fewer edits there is nothing deeper to find
    let options = ExpandOptions { deep: options.deep && word.edits > 1, ..options };
    let key = key(word, options);
    let mut terms = segment.expansions().get_or(&key, || expansion(segment, word, options));
    if !word.others.is_empty()
        && let Some(wider) = widen::with_others(segment, &terms, &word.others, options)
    {
        terms = Arc::new(wider);
    }
    let adjacency = if word.follows { Adjacency::Follows } else { Adjacency::Apart };
    TermMatches {
        terms,
        optional: word.optional,
        adjacency,
        covers: 1,
        may_be_exact: true,
        is_typo: false,
        only: None,
    }
}
/// Everything that decides about the terms of a word, as text.
fn key(word: &Word, options: ExpandOptions) -> String {
    let bit = |flag: bool, number: u8| u8::from(flag) << number;
    let how =
        bit(word.prefix, 0) | bit(options.deep, 1) | bit(options.whole_words, 2) | word.edits.min(2) << 3;
    let mut key = String::with_capacity(word.text.len() + 1);
    key.push(char::from(how));
    key.push_str(&word.text);
    key
}
fn expansion(segment: &Segment, word: &Word, options: ExpandOptions) -> Expansion {
    let lists = segment.lists();
    let mut made = Expansion { characters: word.chars.len(), ..Expansion::default() };
    let found = segment.terms().starting_with(&word.text);
    if let Some((low, high, is_term)) = found {
        made.exact = is_term.then_some(low);
        (made.low, made.high) = match (word.prefix, is_term) {
            (true, _) => (low, high),
            (false, true) => (low, low + 1),
            (false, false) => (0, 0),
        };
    }
    let tolerance = Tolerance { edits: word.edits, prefix: word.prefix, deep: options.deep };
    made.intervals = with_typos(segment, word, (made.low, made.high), tolerance);
    if options.whole_words {
        let exact = made.exact.map_or((0, 0), |ordinal| (ordinal, ordinal + 1));
        made.whole_words = with_typos(segment, word, exact, Tolerance { prefix: false, ..tolerance });
    }
    sum_up(&mut made, &lists);
    made.intervals.shrink_to_fit();
    made.whole_words.shrink_to_fit();
    made
}
fn with_typos(segment: &Segment, word: &Word, free: (u32, u32), tolerance: Tolerance) -> Vec<Interval> {
    let (low, high) = free;
    let mut out = vec![];
    if low < high {
        out.push(Interval { low, high, typos: 0 });
    }
    if tolerance.edits == 0 {
        return out;
    }
    let mut near = vec![];
    typo_intervals(&segment.terms(), &word.chars, tolerance, &mut near);
    for interval in near {
        if low >= high || interval.high <= low || interval.low >= high {
            out.push(interval);
            continue;
        }
        if interval.low < low {
            out.push(Interval { high: low, ..interval });
        }
        if interval.high > high {
            out.push(Interval { low: high, ..interval });
        }
    }
    out
}
/// Computes what follows from the intervals.
pub fn sum_up(expansion: &mut Expansion, lists: &Lists<'_>) {
    let least = |least: u16, interval: &Interval| {
        let places = &lists.best[interval.low as usize..interval.high as usize];
        places.iter().copied().fold(least, u16::min)
    };
    let free = expansion.intervals.iter().filter(|interval| interval.typos == 0);
    expansion.best_typo_free = free.fold(u16::MAX, least);
    expansion.best = expansion.intervals.iter().fold(u16::MAX, least);
    expansion.typos_max = expansion.intervals.iter().map(|i| i.typos).max().unwrap_or(0);
    expansion.postings = expansion.intervals.iter().map(|i| postings(lists, i.low, i.high)).sum();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_match_differently_are_kept_apart() {
        let mut keys = std::collections::HashSet::new();
        for text in ["a", "ab", "b"] {
            for (prefix, edits) in [(false, 0), (false, 1), (false, 2), (true, 0), (true, 1), (true, 2)] {
                let word = Word { prefix, edits, ..Word::written(text) };
                for (deep, whole_words) in [(false, false), (false, true), (true, false), (true, true)] {
                    assert!(keys.insert(key(&word, ExpandOptions { deep, whole_words })));
                }
            }
        }
    }
}
