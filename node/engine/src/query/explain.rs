//! What was looked for in the place of each word of the query? (C§8.9 `match.alternatives`)

use super::alternatives::{Alternative, Reason};
use super::plan::Plan;
use super::words::{OtherReason, Word};
use crate::analysis::as_written;
use crate::index::ShardView;
use crate::term_matches::TermMatches;
use quorate_model::results::ExplainedAlternative;
use rustc_hash::FxHashMap;

/// Terms found by typos that are listed for one word at most.
const TYPOS_MAX: usize = 32;

/// Whether a name of `explain` asks for the alternatives.
pub fn is_asked_for(explain: &[String]) -> bool {
    explain.iter().any(|name| matches!(name.as_str(), "*" | "match" | "match.*" | "match.alternatives"))
}
/// Everything that was looked for: the words as typed, then what stands for single words, then terms found by typos, then
/// what changes the number of words, then stop words and exclusions. Offsets and lengths count typed words, excluded ones
/// among them. `found` has the expanded words of each path in each segment; of them none is told to a caller who may not see all
/// that is searched, since nothing says in which attributes it stands.
pub fn alternatives(
    view: &ShardView,
    plan: &Plan,
    found: &[Vec<Vec<TermMatches>>],
    sees_all: bool,
) -> Vec<ExplainedAlternative> {
    let one = |types: Vec<&'static str>, words: Vec<String>, typos: u32, first: usize, length: usize| {
        let offset = first + excluded_before(plan, first);
        let last = first + length - 1;
        let length = last + excluded_before(plan, last) + 1 - offset;
        ExplainedAlternative { types, words, typos, offset, length }
    };
    let mut all = vec![];
    for word in plan.words.iter().chain(plan.beyond.iter().flatten()) {
        let types = if word.optional { vec!["original", "optional"] } else { vec!["original"] };
        all.push(one(types, vec![as_written(&word.text).into_owned()], 0, word.place, 1));
    }
    for word in &plan.words {
        for other in &word.others {
            let reason = match other.reason {
                OtherReason::Plural => "plural",
                OtherReason::Synonym => "synonym",
                OtherReason::Correction => "altCorrection",
            };
            let text = as_written(&other.text).into_owned();
            all.push(one(vec![reason], vec![text], other.typos.into(), word.place, 1));
        }
    }
    for (at, word) in plan.words.iter().enumerate().filter(|_| sees_all) {
        for (term, typos) in misspelt(view, word, at, found) {
            all.push(one(vec!["typo"], vec![as_written(&term).into_owned()], typos, word.place, 1));
        }
    }
    for Alternative { reason, from, to, words, typos, .. } in &plan.alternatives {
        let reason = match reason {
            Reason::Synonym => "synonym",
            Reason::Concat => "concat",
            Reason::Split => "split",
            Reason::Compound => "compound",
        };
        let (first, last) = (plan.words[*from].place, plan.words[*to - 1].place);
        all.push(one(vec![reason], texts(words), *typos, first, last + 1 - first));
    }
    for word in &plan.stop_words {
        all.push(one(vec!["stopWord"], vec![as_written(&word.text).into_owned()], 0, word.place, 1));
    }
    let mut excluded = 0;
    for phrase in &plan.excluded {
        let offset = phrase.first().map_or(0, |word| word.place) + excluded;
        excluded += phrase.len();
        let (types, words, length) = (vec!["excluded"], texts(phrase), phrase.len());
        all.push(ExplainedAlternative { types, words, typos: 0, offset, length });
    }
    all
}
/// Excluded words that were typed before the word with this number.
fn excluded_before(plan: &Plan, place: usize) -> usize {
    plan.excluded.iter().flatten().filter(|word| word.place <= place).count()
}
/// The terms that were found for a word by typos, with their typos; fewest typos first, then by text.
fn misspelt(view: &ShardView, word: &Word, at: usize, found: &[Vec<Vec<TermMatches>>]) -> Vec<(String, u32)> {
    let stands_for = |term: &str| {
        word.others.iter().any(|other| match other.prefix {
            true => term.starts_with(&other.text),
            false => term == other.text,
        })
    };
    let mut terms: FxHashMap<String, u32> = FxHashMap::default();
    for (segment, paths) in view.segments().iter().zip(found) {
        let Some(query_term) = paths.first().and_then(|query_terms| query_terms.get(at)) else { continue };
        let mut intervals: Vec<_> =
            query_term.intervals.iter().filter(|interval| interval.typos > 0).collect();
        intervals.sort_unstable_by_key(|interval| (interval.typos, interval.low));
        let ordinals = intervals.iter().flat_map(|i| (i.low..i.high).map(|ordinal| (ordinal, i.typos)));
        for (ordinal, typos) in ordinals.take(TYPOS_MAX + word.others.len()) {
            let term = segment.terms().text(ordinal);
            if !stands_for(&term) {
                let least = terms.entry(term).or_insert(typos.into());
                *least = (*least).min(typos.into());
            }
        }
    }
    let mut terms: Vec<(String, u32)> = terms.into_iter().collect();
    terms.sort_unstable_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
    terms.truncate(TYPOS_MAX);
    terms
}
/// Words as people write them.
pub fn texts<'a>(words: impl IntoIterator<Item = &'a Word>) -> Vec<String> {
    words.into_iter().map(|word| as_written(&word.text).into_owned()).collect()
}
