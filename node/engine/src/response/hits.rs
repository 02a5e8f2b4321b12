//! How do the hits of a page become JSON? Details are read again from the index, then each hit is rendered.

use super::highlight::Showing;
use super::hit::{HitDetails, RankingDetails, Renderer};
use super::record::Selection;
use crate::analysis::Analyzer;
use crate::bits;
use crate::clock::{Clock, Deadline};
use crate::index::ShardView;
use crate::limits::SearchLimits;
use crate::matching::collect::mark_terms;
use crate::matching::find::Prepared;
use crate::matching::union::can_match;
use crate::query::words::Other;
use crate::query::{Path, Plan, Unit, Word};
use crate::ranking::criteria::CriterionScores;
use crate::ranking::criteria::typo::NO_MATCH;
use crate::ranking::distance;
use crate::ranking::evaluate::Evaluator;
use crate::ranking::top::Entry;
use crate::scratch::Scratch;
use crate::term_matches::TermMatches;
use quorate_model::Settings;
use quorate_model::params::ExactOnSingleWord;
use quorate_model::results::Hits;
use quorate_model::settings::Effective;
use std::borrow::Cow;

/// Bytes of hits that are shown in no time.
const UNTIMED_BYTES: usize = 1 << 20;

/// Bytes that a hit takes, more or less, beside those of its record and of the shown texts.
const BYTES_AROUND: usize = 512;

/// Bytes of a hit that may be in memory beyond those of the answer, before the buffer grows again.
const BYTES_BEYOND: usize = 1 << 20;

/// A hit of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Where it is.
    pub entry: Entry,
    /// Its number within its group, with distinct.
    pub sequence: Option<u32>,
    /// Whether a rule put it here.
    pub promoted: bool,
    /// Hundredths of its score, when it is recommended.
    pub score: Option<u16>,
}
impl Shown {
    /// A hit like any other.
    pub fn found(entry: Entry) -> Shown {
        Shown { entry, sequence: None, promoted: false, score: None }
    }
}
/// The hits of a page, as far as they fit.
pub enum Rendered {
    /// Every one.
    All(Hits),
    /// The first ones, at least one; the next would have taken more bytes than they may.
    Cut(Hits),
}
/// Renders the hits of a page, up to the bytes that they may take: never more than one hit beyond that is in memory.
#[allow(clippy::too_many_arguments)]
pub fn render(
    view: &ShardView,
    settings: &Settings,
    params: &Effective,
    limits: &SearchLimits,
    visible: &Selection,
    analyzer: &Analyzer,
    plan: &Plan,
    prepared: &Prepared<'_>,
    query_terms: &[Vec<Vec<TermMatches>>],
    shown: &[Shown],
    scratch: &mut Scratch,
) -> Rendered {
    if shown.is_empty() {
        return Rendered::All(Hits::default());
    }
    let selection = Selection::new(settings, Some(&params.attributes_to_retrieve), limits.sees_unretrievable);
    let showing = Showing::new(settings, params, visible.clone());
    let ranking = match params.get_ranking_info {
        true if visible.shows("_geoloc") => RankingDetails::Shown,
        true => RankingDetails::WithoutPlace,
        false => RankingDetails::Hidden,
    };
    let late = limits.deadline.of_showing();
    let details = details(view, plan, prepared, query_terms, shown, (scratch, &late));
    let marked = marked(plan, params);
    let mut renderer =
        Renderer::new(settings, &selection, &showing, analyzer, &marked, ranking, limits.bytes_max);
    let records =
        shown.iter().map(|shown| view.segments()[shown.entry.segment].record(shown.entry.doc).len());
    let expected = 2 * records.sum::<usize>() + BYTES_AROUND * shown.len();
    renderer.hits.json.reserve(expected.min(limits.bytes_max));
    let shown_count = shown.len();
    for (shown, details) in shown.iter().zip(&details) {
        if renderer.hits.json.len() > UNTIMED_BYTES && late.is_over() {
            renderer.stop_highlighting();
        }
        renderer.push(view.segments()[shown.entry.segment].record(shown.entry.doc), details);
        let json = &mut renderer.hits.json;
        if renderer.hits.ends.len() == 1 {
            // marks may have made it many times as long as the record: a buffer that doubles again and again takes twice the bytes
            let all =
                json.len().saturating_mul(shown_count).min(limits.bytes_max.saturating_add(BYTES_BEYOND));
            json.reserve_exact(all - json.len().min(all));
        }
        if json.len() > limits.bytes_max {
            renderer.hits.pop_beside_first();
            return Rendered::Cut(renderer.hits);
        }
    }
    Rendered::All(renderer.hits)
}
/// The plan whose words are marked: a query of one word marks what counts as exact and nothing else where
/// exactOnSingleWordQuery is `word` (C§7.8).
fn marked<'p>(plan: &'p Plan, params: &Effective) -> Cow<'p, Plan> {
    let ([word], ExactOnSingleWord::Word) = (plan.words.as_slice(), params.exact_on_single_word_query) else {
        return Cow::Borrowed(plan);
    };
    let exact = word.others.iter().filter(|other| other.exact);
    let others = exact.map(|other| Other { prefix: false, ..other.clone() }).collect();
    let word = Word { prefix: false, edits: 0, others, ..word.clone() };
    Cow::Owned(Plan { words: vec![word], alternatives: vec![], ..plan.clone() })
}
/// Evaluates the shown documents once more, keeping what ranked them; nothing of those that it is too late for.
fn details(
    view: &ShardView,
    plan: &Plan,
    prepared: &Prepared<'_>,
    query_terms: &[Vec<Vec<TermMatches>>],
    shown: &[Shown],
    (scratch, late): (&mut Scratch, &Deadline),
) -> Vec<HitDetails> {
    let mut details = vec![HitDetails::default(); shown.len()];
    let mut clock = Clock::new(late);
    for (number, segment) in view.segments().iter().enumerate() {
        let here = |shown: &Shown| shown.entry.segment == number;
        if !shown.iter().any(here) {
            continue;
        }
        let context = &prepared.contexts[number];
        let shown_here = || shown.iter().enumerate().filter(|(_, shown)| here(shown));
        for (path, query_terms) in
            plan.paths.iter().zip(&query_terms[number]).filter(|(_, query_terms)| can_match(query_terms))
        {
            let mut terms = std::mem::take(&mut scratch.terms);
            terms.resize(terms.len().max(segment.term_count() as usize / 64 + 1), 0);
            mark_terms(query_terms, |low, high| bits::insert_range(&mut terms, low, high));
            let mut evaluator =
                Evaluator::new(segment.lists(), query_terms, &plan.rules, plan.frame(path), &terms);
            for (i, shown) in shown_here() {
                if clock.spend(evaluator.worth(shown.entry.doc)) {
                    break;
                }
                if let Some(scores) = evaluator.evaluate(shown.entry.doc) {
                    details[i].add(plan, path, scores, &evaluator.query_term_typos);
                }
            }
            mark_terms(query_terms, |low, high| bits::clear_range(&mut terms, low, high));
            scratch.terms = terms;
        }
        for (i, shown) in shown_here() {
            let (doc, details) = (shown.entry.doc, &mut details[i]);
            details.scores = context.complete(doc, details.scores);
            details.user_score = doc;
            details.sequence = shown.sequence;
            details.promoted = shown.promoted;
            details.score = shown.score;
            details.place = plan.geo.centre.and_then(|centre| {
                let (metres, point) = distance::nearest(segment.geo()?.points_of(doc), centre)?;
                Some((metres, plan.geo.precision_at(metres), point))
            });
        }
    }
    details
}
impl HitDetails {
    /// Adds what one way to read the query found. The best key counts; what matched in any way is shown.
    fn add(&mut self, plan: &Plan, path: &Path, scores: CriterionScores, query_term_typos: &[u8]) {
        if self.typos.is_empty() {
            self.typos = vec![NO_MATCH; plan.words.len() + plan.alternatives.len()];
            self.scores = scores;
        } else if plan.layout.key(&scores) < plan.layout.key(&self.scores) {
            self.scores = scores;
        }
        let mut typos = query_term_typos.iter();
        for unit in &path.units {
            match unit {
                Unit::Word(i) => {
                    self.typos[*i] = self.typos[*i].min(typos.next().copied().unwrap_or(NO_MATCH));
                }
                Unit::Alternative(i) => {
                    let words = plan.alternatives[*i].words.len();
                    typos.by_ref().take(words).for_each(drop);
                    self.typos[plan.words.len() + i] = 0;
                }
            }
        }
    }
}
