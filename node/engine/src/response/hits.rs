//! How do the hits of a page become JSON? Details are read again from the index, then each hit is rendered.

use super::highlight::Showing;
use super::hit::{HitDetails, RankingDetails, Renderer};
use super::record::Selection;
use crate::analysis::Analyzer;
use crate::index::ShardView;
use crate::matching::bits;
use crate::matching::collect::mark_terms;
use crate::matching::find::{Entry, Prepared};
use crate::matching::scratch::Scratch;
use crate::matching::slot::Slot;
use crate::query::Plan;
use crate::ranking::evaluate::Evaluator;
use crate::ranking::geo;
use crate::search::SearchLimits;
use quorate_model::Settings;
use quorate_model::results::Hits;
use quorate_model::settings::Effective;

/// A hit of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Where it is.
    pub entry: Entry,
    /// Its number within its group, with distinct.
    pub sequence: Option<u32>,
}
/// Renders the hits of a page.
#[allow(clippy::too_many_arguments)]
pub fn render(
    view: &ShardView,
    settings: &Settings,
    params: &Effective,
    limits: &SearchLimits,
    analyzer: &Analyzer,
    plan: &Plan,
    prepared: &Prepared<'_>,
    slots: &[Vec<Slot>],
    shown: &[Shown],
    scratch: &mut Scratch,
) -> Hits {
    let selection = Selection::new(settings, Some(&params.attributes_to_retrieve), limits.sees_unretrievable);
    let showing = Showing::new(settings, params, limits.sees_unretrievable);
    let ranking = match params.get_ranking_info {
        true => RankingDetails::Shown,
        false => RankingDetails::Hidden,
    };
    let details = details(view, plan, prepared, slots, shown, scratch);
    let mut renderer =
        Renderer::new(settings, &selection, &showing, analyzer, &plan.words, plan.deep, ranking);
    for (shown, details) in shown.iter().zip(&details) {
        renderer.push(view.segments()[shown.entry.segment].record(shown.entry.doc), details);
    }
    renderer.hits
}
/// Evaluates the shown documents once more, keeping what ranked them.
fn details(
    view: &ShardView,
    plan: &Plan,
    prepared: &Prepared<'_>,
    slots: &[Vec<Slot>],
    shown: &[Shown],
    scratch: &mut Scratch,
) -> Vec<HitDetails> {
    let mut details = vec![HitDetails::default(); shown.len()];
    for (number, segment) in view.segments().iter().enumerate() {
        let here = |shown: &Shown| shown.entry.segment == number;
        if !shown.iter().any(here) {
            continue;
        }
        let slots = &slots[number];
        let context = &prepared.contexts[number];
        let mut terms = std::mem::take(&mut scratch.terms);
        terms.resize(terms.len().max(segment.term_count() as usize / 64 + 1), 0);
        mark_terms(slots, |low, high| bits::insert_range(&mut terms, low, high));
        let mut evaluator = Evaluator::new(segment.lists(), slots, &plan.rules, &terms);
        for (shown, details) in shown.iter().zip(&mut details).filter(|(shown, _)| here(shown)) {
            let doc = shown.entry.doc;
            if !slots.is_empty()
                && let Some(tuple) = evaluator.evaluate(doc)
            {
                details.tuple = tuple;
                details.typos = evaluator.slot_typos[..slots.len()].to_vec();
            }
            details.tuple.filters = context.scores.of(doc);
            details.user_score = doc;
            details.sequence = shown.sequence;
            details.place = plan.geo.centre.and_then(|centre| {
                let (metres, point) = geo::nearest(segment.geo()?.points_of(doc), centre)?;
                Some((metres, plan.geo.precision_at(metres), point))
            });
        }
        mark_terms(slots, |low, high| bits::clear_range(&mut terms, low, high));
        scratch.terms = terms;
    }
    details
}
