//! Which rules apply to a request, and which of them go first (C§10.2, C§10.3)?

use super::compile::{RuleSet, Shape, Slot, filter_key};
use super::request::{Find, RuleRequest};
use quorate_model::Rule;
use quorate_model::rule::{Anchoring, Condition, Period};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;

/// A rule that applies.
#[derive(Debug)]
pub(super) struct Match {
    /// Its place in the set.
    pub rule: u32,
    /// What made it apply: the best of several.
    pub trigger: u32,
    /// Where it stands among the others.
    key: Key,
    /// The values that placeholders found, over all conditions that hold: facet and find.
    pub captured: Vec<(u16, Find)>,
}
/// Precedence: a smaller key goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// First matched word; conditions without a pattern come last.
    first: usize,
    /// Words and filters matched.
    length: Reverse<usize>,
    anchoring: u8,
    context: Reverse<bool>,
    filters: Reverse<bool>,
    placeholder: bool,
    temporary: Reverse<bool>,
}

/// Finds the rules that apply at `now_s` (Unix seconds), best first; of those that are looked at before the clock rings.
///
/// Cost: see the head of the folder.
pub(super) fn matches(asked: &RuleRequest<'_>, now_s: u64) -> Vec<Match> {
    let mut best: FxHashMap<u32, Match> = FxHashMap::default();
    // a pattern may be tried at every word
    let worth = 1 + asked.words.len() as u32;
    for number in candidates(asked) {
        if asked.spend(worth) {
            break;
        }
        let trigger = &asked.set.triggers[number as usize];
        let (rule, condition) = asked.set.parts(trigger);
        if !is_valid(rule, now_s) {
            continue;
        }
        let Some(found) = matched(asked, number, rule, condition) else { continue };
        match best.get_mut(&found.rule) {
            None => {
                best.insert(found.rule, found);
            }
            Some(known) => known.join(found),
        }
    }
    let mut all: Vec<Match> = best.into_values().collect();
    let id = |found: &Match| asked.set.rules[found.rule as usize].object_id.as_str();
    all.sort_by(|a, b| a.key.cmp(&b.key).then_with(|| id(a).cmp(id(b))));
    all
}
/// The triggers that may fire, each once.
fn candidates(asked: &RuleRequest<'_>) -> Vec<u32> {
    let RuleSet { places, facets, .. } = asked.set;
    let mut found = places.always.clone();
    let mut add = |numbers: Option<&Vec<u32>>| {
        if let Some(numbers) = numbers
            && !asked.spend(numbers.len() as u32)
        {
            found.extend(numbers);
        }
    };
    for word in asked.pattern_words() {
        add(places.by_word.get(&word));
    }
    if asked.words.is_empty() {
        add(Some(&places.empty));
    }
    for facet in 0..facets.len() as u16 {
        if let Some(numbers) = places.by_facet.get(&facet)
            && !asked.words.is_empty()
            && !asked.finds(facet).is_empty()
        {
            add(Some(numbers));
        }
    }
    for context in &asked.contexts {
        add(places.by_context.get(*context));
    }
    for (attribute, value) in &asked.filters {
        add(places.by_filter.get(&(Box::from(*attribute), value.clone())));
    }
    found.sort_unstable();
    found.dedup();
    found
}
fn is_valid(rule: &Rule, now_s: u64) -> bool {
    let within = |period: &Period| (period.from..=period.until).contains(&now_s);
    rule.validity.is_empty() || rule.validity.iter().any(within)
}
fn matched(
    asked: &RuleRequest<'_>,
    number: u32,
    rule: &Rule,
    condition: Option<&Condition>,
) -> Option<Match> {
    let trigger = &asked.set.triggers[number as usize];
    let mut found = Match {
        rule: trigger.rule,
        trigger: number,
        key: Key {
            first: usize::MAX,
            length: Reverse(0),
            anchoring: u8::MAX,
            context: Reverse(false),
            filters: Reverse(false),
            placeholder: false,
            temporary: Reverse(!rule.validity.is_empty()),
        },
        captured: vec![],
    };
    let Some(condition) = condition else { return Some(found) };
    if condition.context.as_deref().is_some_and(|context| !asked.contexts.contains(&context)) {
        return None;
    }
    let is_filtered = |filter| {
        let (attribute, value) = filter_key(filter);
        asked.filters.contains(&(&*attribute, value))
    };
    if !condition.filters.iter().all(is_filtered) {
        return None;
    }
    let mut length = condition.filters.len();
    if let Some(shape) = &trigger.shape {
        let stretches = stretches(asked, shape);
        let stretch = stretches.first()?;
        length += stretch.end - stretch.first;
        found.key.first = stretch.first;
        found.key.anchoring = rank(shape.anchoring);
        found.key.placeholder = shape.slots.iter().any(|slot| matches!(slot, Slot::Facet(_)));
        found.captured = stretches.into_iter().flat_map(|stretch| stretch.captured).collect();
    }
    found.key.length = Reverse(length);
    found.key.context = Reverse(condition.context.is_some());
    found.key.filters = Reverse(!condition.filters.is_empty());
    Some(found)
}
fn rank(anchoring: Anchoring) -> u8 {
    match anchoring {
        Anchoring::Is => 0,
        Anchoring::StartsWith => 1,
        Anchoring::EndsWith => 2,
        Anchoring::Contains => 3,
    }
}
impl Match {
    /// Another condition of the rule holds, too: the better one decides the place, both say what was found.
    fn join(&mut self, other: Match) {
        if other.key < self.key {
            (self.key, self.trigger) = (other.key, other.trigger);
        }
        for captured in other.captured {
            if !self.captured.contains(&captured) {
                self.captured.push(captured);
            }
        }
    }
}

/// A stretch of query words that a pattern fits.
#[derive(Debug)]
pub(super) struct Stretch {
    pub first: usize,
    /// One past the last word.
    pub end: usize,
    pub captured: Vec<(u16, Find)>,
}
/// Where a pattern fits: for `contains` every place from left to right, without overlaps, else the one that counts.
fn stretches(asked: &RuleRequest<'_>, shape: &Shape) -> Vec<Stretch> {
    if shape.by_synonyms && !asked.has_synonyms {
        return vec![];
    }
    let words = asked.words.len();
    let fit = |first, end| Fitting { asked, end, failed: FxHashSet::default() }.fit(&shape.slots, first);
    let found = match shape.anchoring {
        Anchoring::Contains => return occurrences(asked, &shape.slots),
        Anchoring::Is => fit(0, Some(words)),
        Anchoring::StartsWith => fit(0, None),
        Anchoring::EndsWith => (0..words).find_map(|first| fit(first, Some(words))),
    };
    found.into_iter().collect()
}
/// Every place where the slots fit, from left to right, without overlaps.
fn occurrences(asked: &RuleRequest<'_>, slots: &[Slot]) -> Vec<Stretch> {
    let mut fitting = Fitting { asked, end: None, failed: FxHashSet::default() };
    let mut found = vec![];
    let mut first = 0;
    while first < asked.words.len() {
        match fitting.fit(slots, first) {
            Some(stretch) if stretch.end > first => {
                first = stretch.end;
                found.push(stretch);
            }
            Some(_) | None => first += 1,
        }
    }
    found
}
/// An attempt to lay slots over words.
struct Fitting<'a> {
    asked: &'a RuleRequest<'a>,
    /// Where the last slot has to end, when it matters.
    end: Option<usize>,
    /// Remaining slots and word from which they are known not to fit: values of several lengths make many ways.
    failed: FxHashSet<(usize, usize)>,
}
impl Fitting<'_> {
    /// Fits the slots to the words from `first` on; facet values as long as possible.
    fn fit(&mut self, slots: &[Slot], first: usize) -> Option<Stretch> {
        let Some((slot, rest)) = slots.split_first() else {
            let ends = self.end.is_none_or(|end| end == first);
            return ends.then(|| Stretch { first, end: first, captured: vec![] });
        };
        let asked = self.asked;
        if first >= asked.words.len() || self.failed.contains(&(slots.len(), first)) {
            return None;
        }
        let found = match slot {
            Slot::Word(word) if asked.is(first, std::slice::from_ref(word)) => self.fit(rest, first + 1),
            Slot::Like(likes) if asked.is_like(first, likes) => self.fit(rest, first + 1),
            Slot::Word(_) | Slot::Like(_) => None,
            Slot::Facet(facet) => {
                let finds = asked.finds(*facet);
                let from = finds.partition_point(|find| find.first < first);
                let finds = finds[from..].iter().take_while(|find| find.first == first);
                let found = finds.into_iter().find_map(|find| {
                    let mut found = self.fit(rest, first + find.words)?;
                    found.captured.insert(0, (*facet, find.clone()));
                    Some(found)
                });
                if found.is_none() {
                    self.failed.insert((slots.len(), first));
                }
                found
            }
        };
        found.map(|found| Stretch { first, ..found })
    }
}
