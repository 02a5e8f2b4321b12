//! Where can a word be cut so that its parts are neighbouring words of records? (C§6.4 split)
//!
//! Hot path: one look-up for each word of the query; what it finds is kept with the segment's expansions. A word that was
//! not looked up before costs a dictionary look-up for each of its places, and some 60 ns for each document that has the
//! rarer of the two parts.

use super::ahead::each_ahead;
use crate::bits;
use crate::index::{Lists, Segment, ShardView};
use crate::query::Word;
use crate::ranking::criteria::proximity::directly_after;
use crate::term_matches::{add_documents, each_document, postings};
use crate::terms::{Cut, Expansion};
use std::sync::Arc;

/// Characters of the first part at most (C§6.4).
const FIRST_PART_MAX: usize = 12;
/// Documents looked at for one place; more would not change which place has most matches by much.
const LOOKED_AT_MAX: usize = 1_024;

/// The two parts of `word` that stand next to each other in most records; the first of equal places.
pub fn parts(view: &ShardView, word: &Word) -> Option<[Word; 2]> {
    let mut counts = [0u64; FIRST_PART_MAX + 1];
    for segment in view.segments() {
        for cut in &cuts(segment, word).cuts {
            let alive = cut.docs.iter().filter(|&&doc| segment.is_alive(doc));
            counts[cut.at] += alive.count() as u64;
        }
    }
    let most = *counts.iter().max()?;
    let at = counts.iter().position(|&count| count == most && count > 0)?;
    let (first, second) =
        (word.chars[..at].iter().collect::<String>(), word.chars[at..].iter().collect::<String>());
    Some([Word::written(first), Word { prefix: word.prefix, ..Word::written(second) }])
}
/// The documents in which the parts of the word, cut after so many characters, stand next to each other, alive or not;
/// `None` when not all are known.
pub fn documents_of(segment: &Segment, word: &Word, at: usize) -> Option<Arc<[u32]>> {
    let cuts = cuts(segment, word);
    match cuts.cuts.iter().find(|cut| cut.at == at) {
        Some(cut) => cut.complete.then(|| cut.docs.clone()),
        None => Some(Arc::default()),
    }
}
fn cuts(segment: &Segment, word: &Word) -> Arc<Expansion> {
    // apart from the keys of expansions, whose first character is below
    let key = format!("{}{}", if word.prefix { '^' } else { '|' }, word.text);
    segment.expansions().get_or(&key, || Expansion { cuts: find(segment, word), ..Expansion::default() })
}
fn find(segment: &Segment, word: &Word) -> Vec<Cut> {
    let (lists, terms) = (segment.lists(), segment.terms());
    let mut found = vec![];
    let mut docs = vec![];
    for (at, (byte, _)) in word.text.char_indices().enumerate().skip(1).take(FIRST_PART_MAX) {
        let (first, second) = word.text.split_at(byte);
        let Some((low, high, ends)) = terms.starting_with(first) else { break };
        if !ends {
            continue;
        }
        debug_assert!(low < high);
        let Some((from, to, is_term)) = terms.starting_with(second) else { continue };
        let second = match (word.prefix, is_term) {
            (true, _) => (from, to),
            (false, true) => (from, from + 1),
            (false, false) => continue,
        };
        let complete = neighbours(segment, &lists, (low, low + 1), second, &mut docs);
        if !docs.is_empty() || !complete {
            found.push(Cut { at, docs: docs.as_slice().into(), complete });
        }
    }
    found
}
/// Makes `docs` the documents in which a term of the second range stands directly after one of the first; of many
/// documents only the first are looked at. Answers whether these are all.
fn neighbours(
    segment: &Segment,
    lists: &Lists<'_>,
    first: (u32, u32),
    second: (u32, u32),
    docs: &mut Vec<u32>,
) -> bool {
    docs.clear();
    let count = |range: (u32, u32)| postings(lists, range.0, range.1);
    let rarer = if count(first) <= count(second) { first } else { second };
    let mut candidates = vec![];
    let complete = count(rarer) <= LOOKED_AT_MAX as u64;
    if complete {
        each_document(segment, lists, rarer.0, rarer.1, |doc| candidates.push(doc));
        candidates.sort_unstable();
        candidates.dedup();
    } else {
        first_documents(segment, lists, rarer, &mut candidates);
    }
    each_ahead(lists, candidates.into_iter(), |doc| {
        let line = lists.doc_off[doc as usize] as usize..lists.doc_off[doc as usize + 1] as usize;
        let (ordinals, positions) = (&lists.ords[line.clone()], &lists.pos[line]);
        let of = |range: (u32, u32)| {
            let from = ordinals.partition_point(|&ordinal| ordinal < range.0);
            let to = from + ordinals[from..].partition_point(|&ordinal| ordinal < range.1);
            &positions[from..to]
        };
        let after = of(second);
        if of(first).iter().any(|&p| after.iter().any(|&q| directly_after(p, q))) {
            docs.push(doc);
        }
        true
    });
    complete
}
/// The first documents that have a term of a range with many.
fn first_documents(segment: &Segment, lists: &Lists<'_>, range: (u32, u32), docs: &mut Vec<u32>) {
    let mut made = vec![];
    let set = segment.bitmap(range.0, range.1).unwrap_or_else(|| {
        made.resize(bits::words_for(segment.doc_count()), 0);
        add_documents(segment, lists, range.0, range.1, &mut made);
        &made
    });
    docs.extend(bits::documents(set).take(LOOKED_AT_MAX));
}
