//! What do rules do to the records that are recommended (C§17.4)?
//!
//! Their filters are those of the request, too; what they hide is left out before anything is cut; what they promote is put at its
//! place in what is left, whether or not the model recommends it.

use super::{Asker, Scored};
use crate::clock::Clock;
use crate::ranking::top::Entry;
use crate::response::hits::Shown;
use crate::rules::promote::{Promotion, located};
use crate::rules::recommend::{RecommendEffects, Situation, recommend_effects};
use quorate_model::SearchParams;
use quorate_model::results::RuleResults;
use rustc_hash::FxHashMap;

impl Asker<'_> {
    /// What the rules do that apply to the request.
    pub(super) fn effects(&self) -> RecommendEffects {
        let Asker { asked, configuration, limits, .. } = self;
        let enabled = asked.params.enable_rules.or(self.settings().params.enable_rules).unwrap_or(true);
        let Some(rules) = configuration.recommend_rules.get(&asked.model).filter(|_| enabled) else {
            return RecommendEffects::default();
        };
        let situation = Situation {
            settings: &self.settings().index,
            contexts: asked.params.rule_contexts.as_deref().unwrap_or_default(),
            source: self.source.map(|(segment, doc)| (&self.view.segments()[segment], doc)),
            now_s: limits.now_s,
        };
        // half of the time is for the records
        let mut clock = Clock::new(&limits.deadline.half_way());
        let mut effects = recommend_effects(rules, &situation, &mut clock);
        for group in &mut effects.of_records.promoted {
            // no record recommends itself
            group.object_ids.retain(|id| Some(id) != asked.object_id.as_ref());
        }
        effects
    }
    /// The records that are not shown.
    pub(super) fn hidden(&self) -> Vec<(usize, u32)> {
        located(self.view, &self.rules.of_records.hidden)
    }
    /// A request with the filters of the rules.
    pub(super) fn ruled(&self, request: &SearchParams) -> SearchParams {
        let mut request = request.clone();
        request.filter = request.filter.and(self.rules.filter.clone());
        request.optional_filter = request.optional_filter.and(self.rules.optional_filter.clone());
        request
    }
    /// The first of the list, with the promoted records at their places. Those that the model does not recommend have the score 0.
    pub(super) fn arranged(
        &self,
        list: Vec<Scored>,
        is_allowed: impl Fn(usize, u32) -> bool,
        most: u64,
    ) -> Vec<Shown> {
        let forced = self.asked.params.forced.as_deref();
        let promoted = &self.rules.of_records.promoted;
        let promotion = Promotion::new(self.view, self.settings(), promoted, is_allowed, forced);
        let key = |entry: &Entry| (entry.segment, entry.doc);
        let scores: FxHashMap<_, u16> =
            list.iter().map(|scored| (key(&scored.entry), scored.score)).collect();
        let ranked: Vec<Entry> = list.iter().map(|scored| scored.entry).collect();
        let all = promotion.before(&ranked).into_owned();
        let mut arranged = promotion.arrange(all, |entry| *entry);
        arranged.truncate(most as usize);
        let shown = |entry: Entry| Shown {
            score: Some(scores.get(&key(&entry)).copied().unwrap_or(0)),
            promoted: promotion.contains(&entry),
            ..Shown::found(entry)
        };
        arranged.into_iter().map(shown).collect()
    }
    /// What the answer says of the rules.
    pub(super) fn said(&self) -> RuleResults {
        let params = &self.asked.params;
        let explains = params.explain.as_ref().is_some_and(|names| !names.is_empty());
        let mut said = self.rules.of_records.results.clone();
        if !explains && params.get_ranking_info != Some(true) {
            said.applied.clear();
        }
        said
    }
}
