//! Which ways to read the query can find anything in these records?

use super::cuts;
use super::expand::{ExpandOptions, expand};
use crate::index::{Segment, ShardView};
use crate::query::alternatives::{Alternative, Reason, Unit, paths};
use crate::query::words::Compounds;
use crate::query::{Plan, Word};
use crate::term_matches::{Adjacency, TermMatches};

/// Alternatives of one query at most.
pub const ALTERNATIVES_MAX: usize = 32;

/// Keeps the alternatives of the plan that occur in the records, adds the splits of its words and lays out the paths.
///
/// Cost: a dictionary look-up for each alternative and segment; see [`cuts`] for the splits, before each of which it looks
/// at the time.
pub fn lay(view: &ShardView, plan: &mut Plan) {
    plan.alternatives.retain(|alternative| view.segments().iter().any(|segment| has(segment, alternative)));
    for (at, word) in plan.words.iter().enumerate().filter(|(_, word)| word.splits) {
        if plan.deadline.is_over() {
            plan.is_late = true;
            break;
        }
        if let Some(parts) = cuts::parts(view, word) {
            let (from, to, words) = (at, at + 1, parts.to_vec());
            let split = Alternative { reason: Reason::Split, from, to, words, typos: 1, exact: false };
            plan.alternatives.push(split);
        }
    }
    plan.alternatives.extend(compounds(view, plan));
    plan.alternatives.truncate(ALTERNATIVES_MAX);
    plan.paths = paths(plan.words.len(), &plan.alternatives);
}
/// The parts of the query's compound words.
fn compounds(view: &ShardView, plan: &Plan) -> Vec<Alternative> {
    let Some(Compounds { dictionaries, languages }) = &plan.compounds else { return vec![] };
    let mut is_term =
        |word: &str| view.segments().iter().any(|segment| segment.terms().ordinal(word).is_some());
    let mut found = vec![];
    for (at, word) in plan.words.iter().enumerate().filter(|(_, word)| !word.quoted) {
        let parts = dictionaries.compound_parts_by_terms(&word.text, *languages, &mut is_term);
        if parts.len() > 1 {
            let (from, to, words) = (at, at + 1, parts.into_iter().map(Word::written).collect());
            found.push(Alternative { reason: Reason::Compound, from, to, words, typos: 0, exact: false });
        }
    }
    found.retain(|alternative| view.segments().iter().any(|segment| has(segment, alternative)));
    found
}
/// Whether the segment has terms for every word of the alternative.
fn has(segment: &Segment, alternative: &Alternative) -> bool {
    let terms = segment.terms();
    let has = |word: &Word| terms.starting_with(&word.text).is_some_and(|(_, _, ends)| word.prefix || ends);
    alternative.words.iter().all(has)
}
/// The words on each path with their terms in the segment.
pub fn query_terms_of(segment: &Segment, plan: &Plan) -> Vec<Vec<TermMatches>> {
    let options = ExpandOptions { deep: plan.deep, whole_words: plan.rules.prefixes != u32::MAX };
    let typed: Vec<TermMatches> = plan.words.iter().map(|word| expand(segment, word, options)).collect();
    let alternatives: Vec<Vec<TermMatches>> = plan
        .alternatives
        .iter()
        .map(|alternative| query_terms_instead(segment, plan, alternative, options))
        .collect();
    let Some((_, others)) = plan.paths.split_first() else { return vec![] };
    let mut paths = Vec::with_capacity(plan.paths.len());
    for path in others {
        let mut query_terms = Vec::with_capacity(path.units.len() + 1);
        for unit in &path.units {
            match unit {
                Unit::Word(i) => query_terms.push(typed[*i].clone()),
                Unit::Alternative(i) => query_terms.extend_from_slice(&alternatives[*i]),
            }
        }
        paths.push(query_terms);
    }
    paths.insert(0, typed);
    paths
}
fn query_terms_instead(
    segment: &Segment,
    plan: &Plan,
    alternative: &Alternative,
    options: ExpandOptions,
) -> Vec<TermMatches> {
    // the parts of a word stand next to each other in few documents, and which these are is known
    let mut only = match alternative.reason {
        Reason::Split => {
            let first = alternative.words.first().map_or(0, |word| word.chars.len());
            cuts::documents_of(segment, &plan.words[alternative.from], first)
        }
        Reason::Concat | Reason::Synonym | Reason::Compound => None,
    };
    let mut query_term = |(number, word): (usize, &Word)| {
        let only = only.take();
        let (adjacency, covers) = match (number, alternative.reason) {
            (0, _) => (Adjacency::Apart, (alternative.to - alternative.from) as u8),
            (_, Reason::Compound) => (Adjacency::Loose, 0),
            (_, Reason::Concat | Reason::Split | Reason::Synonym) => (Adjacency::Inside, 0),
        };
        let (may_be_exact, is_typo) = (alternative.exact, alternative.is_typo());
        TermMatches { adjacency, covers, may_be_exact, is_typo, only, ..expand(segment, word, options) }
    };
    alternative.words.iter().enumerate().map(&mut query_term).collect()
}
