//! What is searched instead of what was asked, and what happens to the results (C§10.3, C§10.4)?

use super::compile::RuleSet;
use super::edits::Rewrite;
use super::matching::{Match, matches};
use super::request::RuleRequest;
use crate::analysis::Analyzer;
use crate::clock::Clock;
use crate::index::ShardView;
use crate::limits::SearchLimits;
use crate::query::plan::unsearchable;
use quorate_model::filter::AnyOf;
use quorate_model::limits::FILTERS_MAX;
use quorate_model::params::put_over;
use quorate_model::results::RuleResults;
use quorate_model::rule::AutomaticFilter;
use quorate_model::{Atom, Filter, FilterAtom, ObjectId, Rule, SearchParams, Settings};
use rustc_hash::FxHashSet;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Records that all rules together promote; those of lower precedence beyond it are left out.
pub(super) const PROMOTED_MAX: usize = 1_000;
/// Records that all rules together hide; likewise.
pub(super) const HIDDEN_MAX: usize = 1_000;

/// Rules that are looked at in the time of adding up what one does.
const ADDED_RULE: u32 = 64;
/// Bytes of parameters that are read in the time of looking at a document, twice.
const READ_BYTES: usize = 64;

/// A request after the rules.
#[derive(Debug)]
pub struct Ruled<'a> {
    /// What is searched.
    pub params: Cow<'a, SearchParams>,
    /// What happens to the results.
    pub effects: Effects,
}
/// What rules do to results.
#[derive(Debug, Default)]
pub struct Effects {
    /// Records with a place, of better rules first; none of them is hidden, each is there once.
    pub promoted: Vec<Promoted>,
    /// Records that are not shown.
    pub hidden: Vec<ObjectId>,
    /// What the answer says.
    pub results: RuleResults,
}
/// Records with a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promoted {
    /// The records; those that do not exist leave no gap.
    pub object_ids: Vec<ObjectId>,
    /// The place of the first, from zero, in the whole list; the others follow.
    pub position: u64,
    /// Whether it shows only when it passes the filters of the search.
    pub filtered: bool,
}

/// Applies the rules of an index to a request.
///
/// Not for browsing and deletions, which know no rules. Cost: nothing where there are no rules.
/// Source: C§8.6 step 3; C§10.
pub fn act<'a>(
    view: &ShardView,
    set: &RuleSet,
    settings: &Settings,
    request: &'a SearchParams,
    limits: &SearchLimits,
) -> Ruled<'a> {
    let mut ruled = Ruled { params: Cow::Borrowed(request), effects: Effects::default() };
    let Some(analyzer) = &set.analyzer else { return ruled };
    if !request.enable_rules.or(settings.params.enable_rules).unwrap_or(true) {
        return ruled;
    }
    // half of the time is for the search
    let clock = Clock::new(&limits.deadline.half_way());
    let asked = RuleRequest::new(set, view, analyzer, settings, request, clock);
    let found = matches(&asked, limits.now_s);
    let mut kept = Kept { complete: true, ..Kept::default() };
    let mut adding = Clock::new(&limits.deadline);
    for found in &found {
        let given = set.rules[found.rule as usize].consequence.params.as_ref();
        let reading = given.map_or(0, |params| params.bytes_to_read() / READ_BYTES);
        if adding.spend(ADDED_RULE + reading as u32) {
            kept.complete = false;
            break;
        }
        kept.add(&asked, analyzer, found);
    }
    kept.complete &= !asked.is_late();
    if !kept.rules.is_empty() {
        ruled.params = Cow::Owned(kept.params(&asked, settings, request));
    }
    ruled.effects = kept.effects(&ruled.params);
    ruled
}

/// Whether some rule gives a parameter that the answer tells when a rule does.
#[derive(Clone, Copy, Default)]
struct Gives {
    content: bool,
    fields: bool,
    clicks: bool,
}
impl Gives {
    fn add(&mut self, given: &SearchParams) {
        self.content |= given.rendering_content.is_some();
        self.fields |= given.response_fields.is_some();
        self.clicks |= given.click_analytics.is_some();
    }
}

/// The rules that apply and do not conflict, best first, and what they do together.
#[derive(Default)]
struct Kept<'a> {
    rules: Vec<&'a Rule>,
    gives: Gives,
    complete: bool,
    rewrite: Rewrite,
    filter: Filter,
    optional_filter: Filter,
    /// Filters of all kept rules.
    filters: usize,
    promoted: Vec<Promoted>,
    promoted_ids: FxHashSet<&'a str>,
    hidden: Vec<ObjectId>,
    hidden_ids: FxHashSet<&'a str>,
}
impl<'a> Kept<'a> {
    fn add(&mut self, asked: &RuleRequest<'a>, analyzer: &Analyzer, found: &Match) {
        let rule: &'a Rule = &asked.set.rules[found.rule as usize];
        let consequence = &rule.consequence;
        let filter = automatic(asked, found, &consequence.automatic_facet_filters);
        let optional = automatic(asked, found, &consequence.automatic_optional_facet_filters);
        let given = consequence.params.as_ref().map(|params| params.read(&rule.document));
        let given_filters =
            given.as_ref().map_or(0, |params| params.filter.len() + params.optional_filter.len());
        let filters = self.filters + filter.len() + optional.len() + given_filters;
        if filters > FILTERS_MAX {
            self.complete = false;
            return;
        }
        if let Some(change) = &consequence.query
            && self.rewrite.add(asked, analyzer, found, change).is_err()
        {
            return;
        }
        self.filters = filters;
        self.filter = std::mem::take(&mut self.filter).and(filter);
        self.optional_filter = std::mem::take(&mut self.optional_filter).and(optional);
        for promotion in &consequence.promote {
            let left = PROMOTED_MAX.saturating_sub(self.promoted_ids.len());
            let ids = promotion.object_ids.iter().take(left);
            self.promoted.push(Promoted {
                object_ids: ids.filter(|&id| self.promoted_ids.insert(id)).cloned().collect(),
                position: promotion.position,
                filtered: consequence.filter_promotes,
            });
        }
        let left = HIDDEN_MAX.saturating_sub(self.hidden.len());
        for object_id in consequence.hide.iter().take(left) {
            if self.hidden_ids.insert(object_id) {
                self.hidden.push(object_id.clone());
            }
        }
        self.rules.push(rule);
        if let Some(given) = given {
            self.gives.add(&given);
        }
    }
    /// The request with what the rules say: over request and settings, under what the key forces.
    fn params(
        &mut self,
        asked: &RuleRequest<'_>,
        settings: &Settings,
        request: &SearchParams,
    ) -> SearchParams {
        let mut params = request.clone();
        if params.rendering_content.is_none() {
            params.rendering_content.clone_from(&settings.params.rendering_content);
        }
        // one after another, as all of them read may be large
        for rule in self.rules.iter().rev() {
            let Some(given) = &rule.consequence.params else { continue };
            let given = given.read(&rule.document);
            let restriction = given.restrict_searchable_attributes.as_deref().unwrap_or_default();
            let before = params.restrict_searchable_attributes.clone();
            params = params.overridden_by(&given);
            // the settings may have changed since the rule was saved: that is not the searcher's mistake
            if unsearchable(&settings.index, restriction).is_some() {
                params.restrict_searchable_attributes = before;
            }
        }
        params.filter = params.filter.and(std::mem::take(&mut self.filter));
        params.optional_filter = params.optional_filter.and(std::mem::take(&mut self.optional_filter));
        if let Some(query) = std::mem::take(&mut self.rewrite).text(asked) {
            params.query = Some(query);
        }
        params.under_key()
    }
    fn effects(self, params: &SearchParams) -> Effects {
        let mut promoted = self.promoted;
        for group in &mut promoted {
            group.object_ids.retain(|object_id| !self.hidden_ids.contains(object_id.as_str()));
        }
        let consequences = || self.rules.iter().map(|rule| &rule.consequence);
        let explains = params.explain.as_ref().is_some_and(|names| !names.is_empty());
        let shows_applied = explains || params.get_ranking_info == Some(true);
        let Gives { content, fields, clicks } = self.gives;
        let results = RuleResults {
            applied: match shows_applied {
                true => self.rules.iter().map(|rule| rule.object_id.clone()).collect(),
                false => vec![],
            },
            user_data: consequences().filter_map(|c| c.user_data.clone()).collect(),
            rendering_content: params.rendering_content.clone().filter(|_| content),
            response_fields: params.response_fields.clone().filter(|_| fields),
            click_analytics: params.click_analytics.filter(|_| clicks),
            complete: Some(self.complete),
            params: explains.then(|| given_params(&self.rules)),
            query: params.query.clone().filter(|_| explains),
        };
        Effects { promoted, hidden: self.hidden, results }
    }
}
/// The parameters as written in the rules; of several that give the same one the best shows, and all of filters.
fn given_params(rules: &[&Rule]) -> Map<String, Value> {
    let mut all = Map::new();
    for rule in rules.iter().rev() {
        let document: Value = serde_json::from_str(&rule.document).unwrap_or_default();
        if let Some(Value::Object(params)) = document.pointer("/consequence/params") {
            put_over(&mut all, params);
        }
    }
    all
}
/// The filters on what placeholders found: a group for each value, or one for all values of a disjunctive facet. A value that was
/// found twice counts once.
fn automatic(asked: &RuleRequest<'_>, found: &Match, automatic: &[AutomaticFilter]) -> Filter {
    let mut filter = Filter::default();
    for AutomaticFilter { facet, score, disjunctive, negative } in automatic {
        let is_it = |captured: u16| *asked.set.facets[usize::from(captured)] == **facet;
        let finds = found.captured.iter().filter(|(captured, _)| is_it(*captured)).map(|(_, find)| find);
        let atom = |value: &String| FilterAtom {
            atom: Atom::Facet { attribute: facet.clone(), value: value.clone() },
            negated: *negative,
            score: *score,
        };
        let values = finds.map(|find| find.values.iter().map(atom).collect::<Vec<_>>());
        match (negative, disjunctive) {
            // none of them: each excluded on its own
            (true, _) => filter.all.extend(values.flatten().map(|atom| AnyOf { any: vec![atom] })),
            (false, true) => {
                let any = each_once(values.flatten().collect());
                filter.all.extend((!any.is_empty()).then_some(AnyOf { any }));
            }
            (false, false) => filter.all.extend(values.map(|any| AnyOf { any })),
        }
    }
    filter.all = each_once(filter.all);
    filter
}
fn each_once<T: PartialEq>(all: Vec<T>) -> Vec<T> {
    let mut once = Vec::with_capacity(all.len());
    for one in all {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}
