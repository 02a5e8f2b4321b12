//! What does one segment contribute when the query can be read in several ways?
//!
//! Hot path: a path that cannot match here costs the look-up of its words. As long as one path is left, nothing is put
//! together; with several, each gives its best documents and the set of its matches.

use super::collect::{SegmentHits, search_path};
use super::paths::query_terms_of;
use super::wordless::without_words;
use crate::bits;
use crate::index::Segment;
use crate::query::Plan;
use crate::ranking::context::SegmentContext;
use crate::ranking::top::Ranked;
use crate::scratch::Scratch;
use crate::term_matches::TermMatches;
use rustc_hash::FxHashSet;

/// Whether the set of matching documents is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matches {
    /// The set.
    Listed,
    /// Only their number.
    Counted,
}

/// Runs the plan on one segment.
pub fn search_segment(
    segment: &Segment,
    plan: &Plan,
    context: &mut SegmentContext<'_>,
    scratch: &mut Scratch,
) -> SegmentHits {
    if plan.words.is_empty() {
        return without_words(segment, plan, context, scratch);
    }
    let query_terms = query_terms_of(segment, plan);
    let possible = query_terms.iter().filter(|query_terms| can_match(query_terms)).count();
    let matches = if plan.wants_set || possible > 1 { Matches::Listed } else { Matches::Counted };
    let mut all: Option<SegmentHits> = None;
    for (path, query_terms) in
        plan.paths.iter().zip(&query_terms).filter(|(_, query_terms)| can_match(query_terms))
    {
        if let Some(others) = &mut all
            && plan.deadline.is_over()
        {
            (others.count_cut, others.order_cut) = (true, true);
            break;
        }
        let hits = search_path(segment, plan, plan.frame(path), query_terms, matches, context, scratch);
        all = Some(match all {
            None => hits,
            Some(others) => put_together(others, hits, plan.limit, scratch),
        });
    }
    let all = all.unwrap_or_else(|| SegmentHits {
        matched: plan.wants_set.then(|| empty_set(segment)),
        ..SegmentHits::default()
    });
    match all.matched {
        Some(set) if !plan.wants_set => {
            scratch.give(set);
            SegmentHits { query_terms, matched: None, ..all }
        }
        matched => SegmentHits { query_terms, matched, ..all },
    }
}
/// The set of no document.
fn empty_set(segment: &Segment) -> Vec<u64> {
    vec![0; bits::words_for(segment.doc_count())]
}
/// Whether documents can match: every mandatory word has terms, and any word has.
pub fn can_match(query_terms: &[TermMatches]) -> bool {
    !query_terms.iter().any(|query_term| query_term.is_empty() && !query_term.optional)
        && !query_terms.iter().all(|query_term| query_term.is_empty())
}
/// The documents of two paths; one that is on both keeps its better key.
fn put_together(a: SegmentHits, b: SegmentHits, limit: usize, scratch: &mut Scratch) -> SegmentHits {
    let (count_cut, order_cut) = (a.count_cut | b.count_cut, a.order_cut | b.order_cut);
    let mut matched = a.matched.unwrap_or_default();
    let other = b.matched.unwrap_or_default();
    debug_assert_eq!(matched.len(), other.len());
    bits::or(&mut matched, &other);
    scratch.give(other);
    let ranked = best_of(a.ranked, b.ranked, limit);
    let count = bits::count(&matched);
    SegmentHits { ranked, count, matched: Some(matched), query_terms: vec![], count_cut, order_cut }
}
/// The best `limit` documents of two lists, each named once. A document that is missing on a list because the list is
/// full has `limit` better ones before it there, so its entry on the other list does not come in either.
fn best_of(a: Vec<Ranked>, b: Vec<Ranked>, limit: usize) -> Vec<Ranked> {
    if b.is_empty() {
        return a;
    }
    let mut all = a;
    all.extend(b);
    all.sort_unstable();
    let mut seen: FxHashSet<u32> = FxHashSet::default();
    all.retain(|&(_, doc)| seen.insert(doc));
    all.truncate(limit);
    all
}
