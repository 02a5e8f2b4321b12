//! Which rules of a model apply to a request for recommendations, and what do they do together (C§17.4)?
//!
//! Cost: each rule is looked at, a comparison for each of its contexts and a look-up for each of its filters; nothing where there
//! are no rules.

use super::act::{Effects, HIDDEN_MAX, PROMOTED_MAX, Promoted};
use crate::clock::Clock;
use crate::filter::is_declared;
use crate::filter::single::passes;
use crate::index::Segment;
use quorate_model::filter::AnyOf;
use quorate_model::limits::FILTERS_MAX;
use quorate_model::results::RuleResults;
use quorate_model::rule::{AutomaticFilter, RecommendCondition};
use quorate_model::settings::IndexSettings;
use quorate_model::{Atom, Filter, FilterAtom, ObjectId, RecommendModel, RecommendRule};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The rules of the models of an index, by id.
pub type RecommendRules = BTreeMap<RecommendModel, Arc<BTreeMap<ObjectId, Arc<RecommendRule>>>>;

/// What rules are asked about.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The settings of the index.
    pub settings: &'a IndexSettings,
    /// `ruleContexts` of the request.
    pub contexts: &'a [String],
    /// The source, if there is one: what filters of conditions are about, and where automatic filters take their values.
    pub source: Option<(&'a Segment, u32)>,
    /// Unix seconds.
    pub now_s: u64,
}

/// What the rules of a model do to recommendations.
#[derive(Debug, Default)]
pub struct RecommendEffects {
    /// What recommended records have to pass.
    pub filter: Filter,
    /// What makes them come first.
    pub optional_filter: Filter,
    /// The places of records, and what is not shown.
    pub of_records: Effects,
}

/// What those of the rules do that apply. Rules with a context come before general ones, then those with the smaller objectID.
pub fn recommend_effects(
    rules: &BTreeMap<ObjectId, Arc<RecommendRule>>,
    situation: &Situation<'_>,
    clock: &mut Clock,
) -> RecommendEffects {
    let mut complete = true;
    let mut applying: Vec<(bool, &RecommendRule)> = vec![];
    for rule in rules.values() {
        if clock.spend(1 + rule.conditions.len() as u32) {
            complete = false;
            break;
        }
        if let Some(precision) = applies(rule, situation) {
            applying.push((precision == Precision::General, rule));
        }
    }
    // stable: by id among their like
    applying.sort_by_key(|(is_general, _)| *is_general);
    let mut together = Together::default();
    for (_, rule) in applying {
        complete &= together.add(rule, situation);
    }
    together.effects(complete)
}

/// Whether what let a rule apply has a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Precision {
    Contextual,
    General,
}

fn applies(rule: &RecommendRule, situation: &Situation<'_>) -> Option<Precision> {
    if !rule.is_in_force(situation.now_s) {
        return None;
    }
    if rule.conditions.is_empty() {
        return Some(Precision::General);
    }
    let held = || rule.conditions.iter().filter(|condition| is_met(condition, situation));
    let is_contextual = held().any(|condition| condition.context.is_some());
    let precision = if is_contextual { Precision::Contextual } else { Precision::General };
    held().next().map(|_| precision)
}
fn is_met(condition: &RecommendCondition, situation: &Situation<'_>) -> bool {
    let Situation { settings, contexts, source, now_s: _ } = situation;
    condition.context.as_ref().is_none_or(|context| contexts.contains(context))
        && (condition.filter.is_empty()
            || source.is_some_and(|(segment, doc)| passes(segment, settings, &condition.filter, doc)))
}

/// What the rules do that were added.
#[derive(Default)]
struct Together<'a> {
    done: RecommendEffects,
    promoted: FxHashSet<&'a str>,
    hidden: FxHashSet<&'a str>,
}
impl<'a> Together<'a> {
    /// Whether there was room for the filters of the rule: it has no effect without them.
    fn add(&mut self, rule: &'a RecommendRule, situation: &Situation<'_>) -> bool {
        let consequence = &rule.consequence;
        let filter =
            consequence.filter.clone().and(automatic(&consequence.automatic_facet_filters, situation));
        let optional = automatic(&consequence.automatic_optional_facet_filters, situation);
        let optional = consequence.optional_filter.clone().and(optional);
        let done = &mut self.done;
        if done.filter.len() + done.optional_filter.len() + filter.len() + optional.len() > FILTERS_MAX {
            return false;
        }
        done.filter = std::mem::take(&mut done.filter).and(filter);
        done.optional_filter = std::mem::take(&mut done.optional_filter).and(optional);
        let Effects { promoted, hidden, results } = &mut done.of_records;
        for promotion in &consequence.promote {
            let left = PROMOTED_MAX.saturating_sub(self.promoted.len());
            let ids = promotion.object_ids.iter().take(left);
            promoted.push(Promoted {
                object_ids: ids.filter(|&id| self.promoted.insert(id)).cloned().collect(),
                position: promotion.position,
                filtered: false,
            });
        }
        let left = HIDDEN_MAX.saturating_sub(hidden.len());
        let new = consequence.hide.iter().take(left).filter(|&id| self.hidden.insert(id));
        hidden.extend(new.cloned());
        results.applied.push(rule.object_id.clone());
        results.user_data.extend(consequence.user_data.clone());
        true
    }
    fn effects(self, complete: bool) -> RecommendEffects {
        let mut done = self.done;
        for group in &mut done.of_records.promoted {
            // hiding beats promoting
            group.object_ids.retain(|object_id| !self.hidden.contains(object_id.as_str()));
        }
        done.of_records.results = RuleResults { complete: Some(complete), ..done.of_records.results };
        done
    }
}

/// Filters on the values that the source has: a group for each value, or one for all values of a disjunctive facet; excluded ones
/// each on their own. None where the source has no value.
fn automatic(automatic: &[AutomaticFilter], situation: &Situation<'_>) -> Filter {
    let mut filter = Filter::default();
    let Some((segment, doc)) = situation.source else { return filter };
    for AutomaticFilter { facet, score, disjunctive, negative } in automatic {
        let column = segment.facet(facet).filter(|_| is_declared(situation.settings, facet));
        let Some(column) = column else { continue };
        let atoms = column.ords_of(doc).map(|ordinal| FilterAtom {
            atom: Atom::Facet { attribute: facet.clone(), value: column.value(ordinal).to_owned() },
            negated: *negative,
            score: *score,
        });
        // more than there may be does not have to be counted
        let atoms: Vec<FilterAtom> = atoms.take(FILTERS_MAX + 1).collect();
        match *disjunctive && !negative {
            true if atoms.is_empty() => {}
            true => filter.all.push(AnyOf { any: atoms }),
            false => filter.all.extend(atoms.into_iter().map(|atom| AnyOf { any: vec![atom] })),
        }
    }
    filter
}
