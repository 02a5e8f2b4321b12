//! What is recommended, of the records as they are now (C§17)?
//!
//! The order of the steps: candidates of the model, those that are there, pass all filters and are not hidden, by what boosts them
//! and by score; the threshold; what is searched for when nothing is left; what is promoted; the cut. Nothing is shown that is gone,
//! filtered out, or the source.

mod allowed;
mod facets;
mod ranked;
mod ruled;
mod similar;

use crate::clock::Clock;
use crate::configuration::Configuration;
use crate::filter::single::passes;
use crate::index::ShardView;
use crate::limits::SearchLimits;
use crate::matching::find::{Prepared, QueryMatches};
use crate::matching::paths;
use crate::query::plan::plan;
use crate::query::words::words_of;
use crate::query::{Plan, strategy};
use crate::ranking::distinct;
use crate::ranking::top::Entry;
use crate::response::hits::{Rendered, Shown, render};
use crate::response::record::Selection;
use crate::rules::recommend::RecommendEffects;
use crate::scratch::Scratch;
use crate::search::{find, grouping, is_cut_by_typos, run, too_big};
use crate::term_matches::TermMatches;
use allowed::{Allowed, OneByOne};
use quorate_model::filter::AnyOf;
use quorate_model::settings::Effective;
use quorate_model::user::{owned_id, public_id};
use quorate_model::{
    Atom, Filter, FilterAtom, RecommendModel, Recommendation, Result, SearchParams, SearchResults, Settings,
};
use rustc_hash::FxHashSet;
use std::cell::Cell;

/// A record with its score in hundredths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scored {
    entry: Entry,
    score: u16,
}

/// One request on one shard.
struct Asker<'a> {
    view: &'a ShardView,
    configuration: &'a Configuration,
    asked: &'a Recommendation,
    limits: &'a SearchLimits,
    /// The source, when it is there and the caller may see it.
    source: Option<(usize, u32)>,
    /// Whether time ran out before everything was looked at.
    is_late: Cell<bool>,
    /// What the rules do that apply.
    rules: RecommendEffects,
}

/// Recommends records, or values of a facet.
///
/// A source that is not there, or that the caller may not see, has nothing that goes with it.
/// Errors: those of a search with the parameters.
/// Source: C§17.
pub fn recommend(
    view: &ShardView,
    configuration: &Configuration,
    asked: &Recommendation,
    limits: &SearchLimits,
    scratch: &mut Scratch,
) -> Result<SearchResults> {
    let rules = RecommendEffects::default();
    let mut asker =
        Asker { view, configuration, asked, limits, source: None, rules, is_late: Cell::new(false) };
    let source = asked.object_id.as_deref().filter(|_| asked.model.has_source());
    asker.source = source.and_then(|id| asker.seen(id));
    asker.rules = asker.effects();
    let fallback = asked.fallback.as_deref().filter(|_| asked.model != RecommendModel::TrendingFacets);
    let mut results = match (asker.by_score(fallback.is_some(), scratch)?, fallback) {
        (Some(results), _) => results,
        (None, Some(fallback)) => asker.by_search(fallback, scratch)?,
        (None, None) => SearchResults::default(),
    };
    results.rules = asker.said();
    results.nb_hits = results.hits.len() as u64;
    results.nb_pages = u64::from(results.nb_hits > 0);
    results.hits_per_page = asked.most;
    results.exhaustive_nb_hits = !asker.is_late.get();
    Ok(results)
}

/// A query with what filters and places select.
struct Selected<'a, 'p> {
    params: &'a Effective,
    plan: &'a mut Plan,
    prepared: Prepared<'p>,
    /// What is selected, when that is looked up document by document instead.
    one_by_one: Option<OneByOne<'a>>,
}
/// The words of a query in each segment, for marks.
type QueryTerms = Vec<Vec<Vec<TermMatches>>>;

impl Asker<'_> {
    fn settings(&self) -> &Settings {
        self.configuration.settings()
    }
    /// Where a record is that callers name so.
    fn find(&self, object_id: &str) -> Option<(usize, u32)> {
        match &self.asked.user {
            None => self.view.find(object_id),
            Some(user) => {
                self.view.find(&owned_id(user, object_id)).or_else(|| self.view.find(&public_id(object_id)))
            }
        }
    }
    /// The same, if what the caller's key forces lets it be seen, and it has the value of the facet that the list is of.
    fn seen(&self, object_id: &str) -> Option<(usize, u32)> {
        let (number, doc) = self.find(object_id)?;
        let segment = &self.view.segments()[number];
        let forced = self.asked.params.forced.as_deref().map(|forced| &forced.filter);
        let is_shown = |filter: &Filter| passes(segment, &self.settings().index, filter, doc);
        let is_of_list = self.of_list().is_none_or(|filter| is_shown(&filter));
        (is_of_list && forced.is_none_or(is_shown)).then_some((number, doc))
    }
    /// What every record of a list has that is of one value of a facet, whatever rules promote.
    fn of_list(&self) -> Option<Filter> {
        match (self.asked.model, &self.asked.facet_name, &self.asked.facet_value) {
            (RecommendModel::TrendingItems, Some(name), Some(value)) => Some(has_value(name, value)),
            _ => None,
        }
    }

    /// What the model recommends. With `or_nothing` that is nothing when none of it is left, whatever is promoted.
    fn by_score(&self, or_nothing: bool, scratch: &mut Scratch) -> Result<Option<SearchResults>> {
        let mut request = self.ruled(&self.asked.params);
        if let Some(filter) = self.of_list() {
            request.filter = request.filter.and(filter);
        }
        self.with_query(&request, true, scratch, |selected, scratch| {
            let Selected { params, plan, prepared, one_by_one } = selected;
            let one_by_one = one_by_one.as_ref();
            let has_words = !plan.words.is_empty() || !plan.beyond.is_empty();
            let found = match has_words {
                true => {
                    plan.wants_set = true;
                    // what is left out with more typos is known by the order
                    plan.limit = if is_cut_by_typos(params) { usize::MAX } else { 0 };
                    find(plan, params, |plan| run(prepared, plan, params, scratch)).0
                }
                false => QueryMatches::default(),
            };
            let allowed = match one_by_one {
                Some(one_by_one) => Allowed::OneByOne(one_by_one),
                None if has_words => Allowed::Found(&found.matched),
                None => Allowed::Filtered(prepared),
            };
            let mut clock = Clock::new(&self.limits.deadline);
            let list = self.ranked(&allowed, &prepared.contexts, &mut clock);
            let facets = (self.asked.model == RecommendModel::TrendingFacets)
                .then(|| self.facets(&request, &list, &mut clock));
            let is_cut = found.count_cut || one_by_one.is_some_and(OneByOne::is_late);
            self.is_late.set(clock.rang() || is_cut);
            if let Some(facets) = facets {
                return Ok(Listed::Facets(facets));
            }
            let query_terms = match has_words {
                true => found.query_terms,
                false => vec![vec![]; self.view.segments().len()],
            };
            let list: Vec<Scored> =
                list.into_iter().filter(|scored| scored.score >= self.asked.threshold).collect();
            if or_nothing && list.is_empty() {
                return Ok(Listed::Nothing);
            }
            let list = self.grouped(params, list);
            let is_allowed = |segment: usize, doc| match one_by_one {
                Some(_) => allowed.holds(segment, doc),
                None => prepared.contexts[segment].is_allowed(doc),
            };
            let arranged = self.arranged(list, is_allowed, self.asked.most);
            self.is_late.set(self.is_late.get() || one_by_one.is_some_and(OneByOne::is_late));
            Ok(Listed::Records(arranged, query_terms))
        })
    }
    /// What a search finds instead. Its hits have the score 0.
    fn by_search(&self, request: &SearchParams, scratch: &mut Scratch) -> Result<SearchResults> {
        let most = request.hits_per_page.map_or(self.asked.most, |most| most.min(self.asked.most));
        let results = self.with_query(&self.ruled(request), false, scratch, |selected, scratch| {
            let Selected { params, plan, prepared, .. } = selected;
            let grouped = grouping(self.settings(), params).is_some();
            plan.limit = if grouped { usize::MAX } else { most as usize };
            plan.budget = (plan.budget / self.view.segments().len().max(1) as u64).max(1);
            let (found, _) = find(plan, params, |plan| run(prepared, plan, params, scratch));
            self.is_late.set(self.is_late.get() || found.count_cut);
            let list = found.entries.iter().map(|&entry| Scored { entry, score: 0 }).collect();
            let list = self.grouped(params, list);
            Ok(Listed::Records(self.arranged(list, prepared.allows(), most), found.query_terms))
        })?;
        Ok(results.unwrap_or_default())
    }
    /// Those of the list that distinct leaves.
    fn grouped(&self, params: &Effective, mut list: Vec<Scored>) -> Vec<Scored> {
        if let Some((attribute, each)) = grouping(self.settings(), params) {
            let entries: Vec<Entry> = list.iter().map(|scored| scored.entry).collect();
            let mut clock = Clock::new(&self.limits.deadline);
            let groups = distinct::groups(self.view, &entries, attribute, each, &mut clock);
            self.is_late.set(self.is_late.get() || clock.rang());
            let key = |entry: &Entry| (entry.segment, entry.doc);
            let kept: FxHashSet<_> = groups.iter().flat_map(|group| &group.members).map(key).collect();
            list.retain(|scored| kept.contains(&key(&scored.entry)));
        }
        list
    }

    /// Prepares a query, without the source, what is hidden and what the index's rules for searches say, and renders what `choose`
    /// lists, which asks about few documents or about any.
    fn with_query(
        &self,
        request: &SearchParams,
        asks_few: bool,
        scratch: &mut Scratch,
        choose: impl FnOnce(&mut Selected<'_, '_>, &mut Scratch) -> Result<Listed>,
    ) -> Result<Option<SearchResults>> {
        let Asker { view, configuration, limits, .. } = *self;
        let settings = self.settings();
        let mut params = settings.effective(request);
        strategy::apply(&mut params);
        let words = words_of(&configuration.schema, &configuration.synonyms, &params, &params.query);
        let mut plan = plan(view, settings, &params, words, limits.deadline.clone())?;
        plan.hidden.extend(self.source);
        plan.hidden.extend(self.hidden());
        let fixed = plan.clone();
        paths::lay(view, &mut plan);
        let one_by_one = (asks_few && OneByOne::is_enough(&fixed)).then(|| {
            let set_of = scratch.thresholds.set_of;
            OneByOne::new(view, settings, &params.filter, &fixed.hidden, &limits.deadline, set_of)
        });
        let prepared = match one_by_one {
            Some(_) => {
                Prepared::unrestricted(view, settings, &params, &fixed.geo, &mut Clock::new(&limits.deadline))
            }
            None => Prepared::new(view, settings, &params, (&fixed, &fixed.geo), scratch),
        };
        let mut selected = Selected { params: &params, plan: &mut plan, prepared, one_by_one };
        let listed = choose(&mut selected, scratch)?;
        let prepared = selected.prepared;
        let mut results =
            SearchResults { query: request.query.clone().unwrap_or_default(), ..SearchResults::default() };
        results.hits = match listed {
            Listed::Nothing => {
                prepared.end(scratch);
                return Ok(None);
            }
            Listed::Facets(hits) => hits,
            Listed::Records(shown, query_terms) => {
                let visible = Selection::visible(settings, request, limits.sees_unretrievable);
                let analyzer = configuration.schema.analyzer();
                match render(
                    view,
                    settings,
                    &params,
                    limits,
                    &visible,
                    analyzer,
                    &plan,
                    &prepared,
                    &query_terms,
                    &shown,
                    scratch,
                ) {
                    Rendered::All(hits) => hits,
                    Rendered::Cut(_) => return Err(too_big(limits.bytes_max)),
                }
            }
        };
        prepared.end(scratch);
        Ok(Some(results))
    }
}
/// What a query comes to.
enum Listed {
    /// Nothing that is worth an answer.
    Nothing,
    /// Records in their order, with the words of the query in each segment.
    Records(Vec<Shown>, QueryTerms),
    /// Values of a facet, rendered.
    Facets(quorate_model::Hits),
}
fn has_value(attribute: &str, value: &str) -> Filter {
    let atom = Atom::Facet { attribute: attribute.to_owned(), value: value.to_owned() };
    Filter { all: vec![AnyOf { any: vec![FilterAtom { atom, negated: false, score: 1 }] }] }
}
