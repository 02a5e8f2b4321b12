//! Which records does a model recommend, in which order?

use super::similar::similar;
use super::{Allowed, Asker, Scored};
use crate::clock::Clock;
use crate::ranking::context::SegmentContext;
use crate::ranking::top::Entry;
use quorate_model::RecommendModel;
use quorate_model::limits::CANDIDATES_MAX;
use quorate_model::recommend::SCORE_MAX;
use rustc_hash::FxHashSet;

/// Records that are found by likeness at most: the longest answer, and what a threshold or a rule takes away from it.
const SIMILAR_MAX: usize = 200;
/// Users from which on what they did is enough to go by.
const USERS_ENOUGH: u32 = 3;

impl Asker<'_> {
    /// The records that the model recommends and that may be shown: first by what the optional filters say, then by score, then
    /// in the order of the index. Values of facets are made of them in any order.
    pub(super) fn ranked(
        &self,
        allowed: &Allowed<'_, '_>,
        contexts: &[SegmentContext<'_>],
        clock: &mut Clock,
    ) -> Vec<Scored> {
        let mut list = match self.asked.model {
            RecommendModel::RelatedProducts => match self.source {
                Some(source) if self.asked.candidates.users < USERS_ENOUGH => {
                    let candidates = self.candidates(allowed);
                    beneath(candidates, self.alike(source, allowed, clock), self.least_score())
                }
                Some(_) => self.candidates(allowed),
                None => vec![],
            },
            RecommendModel::BoughtTogether if self.source.is_none() => vec![],
            RecommendModel::BoughtTogether
            | RecommendModel::TrendingItems
            | RecommendModel::TrendingFacets => self.candidates(allowed),
            RecommendModel::LookingSimilar => {
                self.source.map_or(vec![], |source| self.alike(source, allowed, clock))
            }
        };
        let boost = |entry: &Entry| contexts[entry.segment].scores.of(entry.doc);
        let rank = |entry: &Entry| self.view.segments()[entry.segment].rank(entry.doc);
        list.sort_by(|a, b| {
            let boosted = boost(&b.entry).cmp(&boost(&a.entry));
            let by_score = || b.score.cmp(&a.score);
            boosted.then_with(by_score).then_with(|| rank(&a.entry).cmp(rank(&b.entry)))
        });
        list
    }
    /// Those of the model, as far as they are there and may be shown.
    fn candidates(&self, allowed: &Allowed<'_, '_>) -> Vec<Scored> {
        let named = self.asked.candidates.list.iter().take(CANDIDATES_MAX);
        let placed = named.filter_map(|(object_id, score)| {
            let (segment, doc) = self.find(object_id)?;
            let scored = Scored { entry: Entry { segment, doc, key: 0 }, score: (*score).min(SCORE_MAX) };
            allowed.holds(segment, doc).then_some(scored)
        });
        let mut seen = FxHashSet::default();
        placed.filter(|scored| seen.insert((scored.entry.segment, scored.entry.doc))).collect()
    }
    /// The least score of the model's list, whatever may be shown of it: so a filter lifts nothing over the threshold.
    fn least_score(&self) -> u16 {
        let named = self.asked.candidates.list.iter().take(CANDIDATES_MAX);
        named.map(|(_, score)| (*score).min(SCORE_MAX)).min().unwrap_or(SCORE_MAX)
    }
    /// Those that have the words and values of the source.
    fn alike(&self, source: (usize, u32), allowed: &Allowed<'_, '_>, clock: &mut Clock) -> Vec<Scored> {
        let holds = |segment, doc| allowed.holds(segment, doc);
        let found = similar(self.view, self.settings(), source, holds, SIMILAR_MAX, clock);
        found.into_iter().map(|(entry, score)| Scored { entry, score }).collect()
    }
}
/// The first list, and beneath its least score what only the second one has, in its own order.
fn beneath(mut first: Vec<Scored>, second: Vec<Scored>, least: u16) -> Vec<Scored> {
    let seen: FxHashSet<(usize, u32)> =
        first.iter().map(|scored| (scored.entry.segment, scored.entry.doc)).collect();
    let below = |score: u16| (u32::from(score) * u32::from(least) / u32::from(SCORE_MAX)).max(1) as u16;
    let others =
        second.into_iter().filter(|scored| !seen.contains(&(scored.entry.segment, scored.entry.doc)));
    first.extend(others.map(|scored| Scored { score: below(scored.score), ..scored }));
    first
}
