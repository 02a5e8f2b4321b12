//! Which records of a whole shard match, in which order? The segments' answers put together.

use super::collect::SegmentHits;
use super::growth::{self, Growth};
use super::paths::query_terms_of;
use super::phrases;
use super::union::search_segment;
use crate::bits;
use crate::clock::Clock;
use crate::filter::filter_set_in_time;
use crate::filter::scores::{Scores, Summing};
use crate::index::{Segment, ShardView};
use crate::query::Plan;
use crate::ranking::context::SegmentContext;
use crate::ranking::criteria::Field;
use crate::ranking::distance::{self, AUTOMATIC_RECORDS, GeoQuery, NOWHERE};
use crate::ranking::groups::Groups;
use crate::ranking::nearby::{Nearby, metres_of};
use crate::ranking::top::Entry;
use crate::scratch::Scratch;
use crate::term_matches::TermMatches;
use quorate_model::limits::QUERY_WORDS_MAX;
use quorate_model::params::TypoTolerance;
use quorate_model::settings::Effective;
use quorate_model::{Filter, Settings};
use std::cmp::Ordering;

/// What a query found in a view.
#[derive(Debug, Default)]
pub struct QueryMatches {
    /// The best documents, best first.
    pub entries: Vec<Entry>,
    /// Documents that match.
    pub count: u64,
    /// The matching documents of each segment, when asked for.
    pub matched: Vec<Vec<u64>>,
    /// The expanded words of each path in each segment.
    pub query_terms: Vec<Vec<Vec<TermMatches>>>,
    /// Whether the count may be too low because time ran out.
    pub count_cut: bool,
    /// Whether the order is only that of the documents looked at.
    pub order_cut: bool,
}
/// A query's segments with what filters and places say about them.
pub struct Prepared<'a> {
    view: &'a ShardView,
    /// One for each segment of the view.
    pub contexts: Vec<SegmentContext<'a>>,
    /// Metres that were chosen as the radius, when they were.
    pub automatic_radius: Option<u64>,
    /// Whether places took all the time, so that some documents were left out unseen.
    is_late: bool,
    /// Words beyond those that rank, as far as they restrict the contexts by now.
    beyond: usize,
    /// What the contexts allowed before any of them did.
    without_beyond: Vec<Option<Vec<u64>>>,
}

impl<'a> Prepared<'a> {
    /// Evaluates filters, places and exclusions on every segment; the places of the plan are those that outlive it.
    pub fn new(
        view: &'a ShardView,
        settings: &Settings,
        params: &Effective,
        (plan, geo): (&Plan, &'a GeoQuery),
        scratch: &mut Scratch,
    ) -> Self {
        let mut clock = Clock::new(&plan.deadline);
        let of_segment = |number: usize, segment: &Segment, clock: &mut Clock| {
            let hidden = plan.hidden.iter().filter(|(at, _)| *at == number).map(|&(_, doc)| doc);
            without(allowed(segment, settings, &params.filter, plan, clock, scratch), segment, hidden)
        };
        let mut prepared = Prepared::with(view, settings, params, geo, &mut clock, of_segment);
        let polygons = !plan.geo.polygons.is_empty();
        prepared.is_late = clock.rang() || polygons && plan.deadline.is_over();
        if plan.geo.centre.is_some() {
            prepared.apply_radius(plan);
        }
        prepared
    }
    /// All documents of every segment, with the scores of the filters: whoever asks looks at what the filters select.
    pub fn unrestricted(
        view: &'a ShardView,
        settings: &Settings,
        params: &Effective,
        geo: &'a GeoQuery,
        clock: &mut Clock,
    ) -> Self {
        Prepared::with(view, settings, params, geo, clock, |_, _, _| None)
    }
    /// What `allowed` says of each segment, then the scores of its filters.
    fn with(
        view: &'a ShardView,
        settings: &Settings,
        params: &Effective,
        geo: &'a GeoQuery,
        clock: &mut Clock,
        mut allowed: impl FnMut(usize, &Segment, &mut Clock) -> Option<Vec<u64>>,
    ) -> Self {
        let summing = if params.sum_or_filters_scores { Summing::All } else { Summing::Highest };
        let Effective { filter, optional_filter, .. } = params;
        let context = |(number, segment)| SegmentContext {
            segment,
            allowed: allowed(number, segment, clock),
            scores: Scores::new(segment, &settings.index, filter, optional_filter, summing, clock),
            nearby: geo.centre.map(|centre| Nearby::new(segment, centre)),
            geo,
            groups: [None, None],
        };
        Prepared {
            view,
            contexts: view.segments().iter().enumerate().map(context).collect(),
            automatic_radius: None,
            is_late: false,
            beyond: 0,
            without_beyond: vec![],
        }
    }
    /// Whether filters and places select a document of a segment.
    pub fn allows(&self) -> impl Fn(usize, u32) -> bool {
        |segment, doc| self.contexts[segment].is_allowed(doc)
    }
    /// Restricts to the radius; records without a point are out (C§7.3).
    fn apply_radius(&mut self, plan: &Plan) {
        let radius = plan.geo.radius_asked().unwrap_or_else(|| self.automatic_radius(plan));
        for context in &mut self.contexts {
            let Some(nearby) = &context.nearby else { continue };
            let mut near = nearby.within(radius);
            context.restrict(&mut near);
            context.allowed = Some(near);
        }
    }
    /// Chooses the radius from the nearest of the documents that may be shown.
    fn automatic_radius(&mut self, plan: &Plan) -> u32 {
        let mut chords = vec![];
        for context in &self.contexts {
            let nearby = context.nearby.iter();
            let allowed = context.allowed.as_deref();
            nearby.for_each(|nearby| nearby.nearest_chords(allowed, AUTOMATIC_RECORDS, &mut chords));
        }
        let reach = metres_of(&mut chords, AUTOMATIC_RECORDS);
        let mut metres: Vec<u32> = vec![];
        for context in &self.contexts {
            let Some(nearby) = &context.nearby else { continue };
            let mut near = nearby.within(reach);
            context.restrict(&mut near);
            bits::each(&near, |doc| {
                metres.push(nearby.metres(doc));
                true
            });
        }
        metres.retain(|&m| m != NOWHERE);
        let radius = plan.geo.radius_chosen(&mut metres);
        self.automatic_radius = Some(u64::from(radius));
        radius
    }
    /// Leaves out what lacks a word beyond those that rank; some of them may have been given up since the last time.
    fn require_beyond(&mut self, plan: &Plan, scratch: &mut Scratch) {
        let words = plan.beyond.iter().map(Vec::len).sum();
        if words == self.beyond {
            return;
        }
        if self.beyond == 0 {
            self.without_beyond = self.contexts.iter().map(|context| context.allowed.clone()).collect();
        }
        self.beyond = words;
        let mut clock = Clock::new(&plan.deadline);
        let allowed = self.contexts.iter_mut().zip(&self.without_beyond);
        for (segment, (context, before)) in self.view.segments().iter().zip(allowed) {
            let mut set = before.clone().unwrap_or_else(|| all_of(segment));
            for phrase in &plan.beyond {
                let with = phrases::having(segment, phrase, &plan.rules, &mut clock, scratch);
                bits::and(&mut set, &with);
                scratch.give(with);
            }
            // what was not looked at is not shown
            if clock.rang() {
                set.fill(0);
            }
            context.allowed = Some(set);
        }
        self.is_late |= clock.rang();
    }
    /// Whether the plan's words stand for the very terms that an earlier run of it found.
    pub fn has_the_terms_of(&self, plan: &Plan, found: &QueryMatches) -> bool {
        let same = |segment, paths: &[Vec<TermMatches>]| {
            let (now, earlier) = (query_terms_of(segment, plan), paths);
            now.iter().flatten().zip(earlier.iter().flatten()).all(|(a, b)| a.terms == b.terms)
        };
        self.view
            .segments()
            .iter()
            .zip(&found.query_terms)
            .all(|(segment, query_terms)| same(segment, query_terms))
    }
    /// Leaves out what has too few of the words, when all of them are optional and many results have more (C§4.6);
    /// answers whether there was anything.
    pub fn require_more_words(&mut self, plan: &Plan, found: &QueryMatches, scratch: &mut Scratch) -> Growth {
        let results = scratch.thresholds.growth;
        if !growth::applies(plan, found.count, results) {
            return Growth::None;
        }
        let segments = self.view.segments().iter().zip(&found.query_terms);
        let matched: Option<Vec<Vec<u8>>> = segments
            .map(|(segment, query_terms)| growth::matched_words(segment, plan, query_terms, scratch))
            .collect();
        let Some(matched) = matched else { return Growth::Late };
        let mut with = [0u64; QUERY_WORDS_MAX + 1];
        for (context, matched) in self.contexts.iter().zip(&matched) {
            for (doc, words) in matched.iter().enumerate() {
                if context.is_allowed(doc as u32) {
                    with[usize::from(*words).min(QUERY_WORDS_MAX)] += 1;
                }
            }
        }
        let required = growth::required(plan.words.len(), &with, results);
        if required < 2 {
            return Growth::None;
        }
        for (context, matched) in self.contexts.iter_mut().zip(&matched) {
            let mut enough = vec![0; bits::words_for(matched.len() as u32)];
            for (doc, words) in matched.iter().enumerate() {
                if usize::from(*words) >= required {
                    bits::insert(&mut enough, doc as u32);
                }
            }
            context.restrict(&mut enough);
            context.allowed = Some(enough);
        }
        Growth::Some
    }
    /// Ends the search: what was evaluated before it is working memory again.
    pub fn end(self, scratch: &mut Scratch) {
        self.contexts.into_iter().filter_map(|context| context.allowed).for_each(|set| scratch.give(set));
    }
    /// Runs the plan. `min` and `strict` typo tolerance cut the result here (C§4.5).
    pub fn run(&mut self, plan: &Plan, tolerance: TypoTolerance, scratch: &mut Scratch) -> QueryMatches {
        self.require_beyond(plan, scratch);
        let mut found = QueryMatches { count_cut: self.is_late || plan.is_late, ..QueryMatches::default() };
        let view = self.view;
        for (number, (segment, context)) in view.segments().iter().zip(&mut self.contexts).enumerate() {
            context.groups = plan.groupings.keys().map(|keys| keys.map(Groups::new));
            let SegmentHits { ranked, count, matched, query_terms, count_cut, order_cut } =
                search_segment(segment, plan, context, scratch);
            found.entries.extend(ranked.into_iter().map(|(key, doc)| Entry { segment: number, doc, key }));
            found.count += count;
            found.matched.extend(matched);
            found.query_terms.push(query_terms);
            found.count_cut |= count_cut;
            found.order_cut |= order_cut;
        }
        if view.segments().len() > 1 {
            found.entries.sort_by(|a, b| compare(view, plan, a, b));
        }
        match tolerance {
            TypoTolerance::On | TypoTolerance::Off => {}
            TypoTolerance::Min => found.keep_typo_counts(view, plan, 1),
            TypoTolerance::Strict => found.keep_typo_counts(view, plan, 2),
        }
        found.entries.truncate(plan.limit);
        found
    }
}
impl QueryMatches {
    /// Keeps the hits with the `kept` lowest numbers of typos; typos rank first, so they lead.
    fn keep_typo_counts(&mut self, view: &ShardView, plan: &Plan, kept: usize) {
        let mut seen: Vec<u32> = vec![];
        let end = self.entries.iter().position(|entry| {
            let typos = plan.layout.shown(Field::Typo, entry.key);
            if !seen.contains(&typos) {
                seen.push(typos);
            }
            seen.len() > kept
        });
        let Some(end) = end else { return };
        self.entries.truncate(end);
        self.count = end as u64;
        if !self.matched.is_empty() {
            self.matched = sets_of(view, &self.entries);
        }
    }
}
/// The sets of documents that the entries name, one for each segment.
pub fn sets_of(view: &ShardView, entries: &[Entry]) -> Vec<Vec<u64>> {
    let empty = |segment: &Segment| vec![0; bits::words_for(segment.doc_count())];
    let mut sets: Vec<Vec<u64>> = view.segments().iter().map(empty).collect();
    for entry in entries {
        bits::insert(&mut sets[entry.segment], entry.doc);
    }
    sets
}
/// Compares documents of different segments: sort keys, criteria, then the custom order.
fn compare(view: &ShardView, plan: &Plan, a: &Entry, b: &Entry) -> Ordering {
    let (segment_a, segment_b) = (&view.segments()[a.segment], &view.segments()[b.segment]);
    let [first, later] = plan.groupings.keys();
    let by_group = |keys: Option<usize>| match keys {
        Some(keys) => Groups::prefix(segment_a, keys, a.doc).cmp(Groups::prefix(segment_b, keys, b.doc)),
        None => Ordering::Equal,
    };
    let [parts_a, parts_b] = [a, b].map(|entry| plan.layout.around_groups(entry.key));
    parts_a[0]
        .cmp(&parts_b[0])
        .then_with(|| by_group(first))
        .then_with(|| parts_a[1].cmp(&parts_b[1]))
        .then_with(|| by_group(later))
        .then_with(|| parts_a[2].cmp(&parts_b[2]))
        .then_with(|| segment_a.rank(a.doc).cmp(segment_b.rank(b.doc)))
}
/// The documents that may be shown; `None` = all.
fn allowed(
    segment: &Segment,
    settings: &Settings,
    filter: &Filter,
    plan: &Plan,
    clock: &mut Clock,
    scratch: &mut Scratch,
) -> Option<Vec<u64>> {
    let mut set = filter_set_in_time(segment, &settings.index, filter, clock, scratch);
    let mut restrict = |other: &[u64]| match &mut set {
        Some(set) => bits::and(set, other),
        None => set = Some(other.to_vec()),
    };
    if let Some(alive) = segment.alive() {
        restrict(alive);
    }
    if !plan.geo.boxes.is_empty() || !plan.geo.polygons.is_empty() {
        restrict(&distance::inside(segment, &plan.geo, &plan.deadline));
    }
    if plan.excluded.is_empty() {
        return set;
    }
    let mut set = set.unwrap_or_else(|| all_of(segment));
    for phrase in &plan.excluded {
        let with = phrases::having(segment, phrase, &phrases::ANYWHERE, clock, scratch);
        bits::and_not(&mut set, &with);
        scratch.give(with);
    }
    Some(set)
}
/// The set without some documents; `None` = all.
fn without(set: Option<Vec<u64>>, segment: &Segment, docs: impl Iterator<Item = u32>) -> Option<Vec<u64>> {
    let mut docs = docs.peekable();
    if docs.peek().is_none() {
        return set;
    }
    let mut set = set.unwrap_or_else(|| all_of(segment));
    docs.for_each(|doc| set[doc as usize >> 6] &= !(1 << (doc & 63)));
    Some(set)
}
fn all_of(segment: &Segment) -> Vec<u64> {
    let mut all = vec![0; bits::words_for(segment.doc_count())];
    bits::fill_all(&mut all, segment.doc_count());
    all
}
