//! Which documents of one segment match a query, how many are they, and which come first?
//!
//! Hot path: sets decide membership and the count; scores are computed only for documents of the best tier (documents
//! with the same number of typos) that can still enter the page. No allocation per document.

use super::ahead::each_ahead;
use super::scan::{LookedAt, Tier, scan};
use super::union::Matches;
use crate::bits;
use crate::clock::Clock;
use crate::index::{Lists, Segment, position};
use crate::query::Plan;
use crate::ranking::context::SegmentContext;
use crate::ranking::criteria::exact::EXACT_WORD_CHARS_MIN;
use crate::ranking::criteria::row::Reach;
use crate::ranking::criteria::{CriterionScores, Field};
use crate::ranking::evaluate::Evaluator;
use crate::ranking::rules::Frame;
use crate::ranking::top::{Ranked, Top};
use crate::scratch::{Scratch, Thresholds};
use crate::term_matches::{TermMatches, add_documents, all_listed, each_document};
use quorate_model::params::ExactOnSingleWord;

/// Hits up to which a single word is ranked from its lists: a document may come up again, which costs a look at all.
const SINGLE_LIMIT_MAX: usize = 100;
/// Words of a set that the operations of one query pass over in the time of evaluating one document.
const WORDS_PER_DOCUMENT: u64 = 16;
/// Documents that are always few.
const FEW: u64 = 64;
/// Part of the budget that a way to read the query may take which counts as a typo, when positions decide.
const READ_OTHERWISE_PART: u64 = 10;

/// What one segment contributes to a search.
#[derive(Debug, Default)]
pub struct SegmentHits {
    /// The best documents, best first; all of them when the plan asks for all.
    pub ranked: Vec<Ranked>,
    /// Documents that match.
    pub count: u64,
    /// The documents that match, when the plan asks for the set.
    pub matched: Option<Vec<u64>>,
    /// The expanded words of each path.
    pub query_terms: Vec<Vec<TermMatches>>,
    /// Whether the count may be too low because time ran out.
    pub count_cut: bool,
    /// Whether the order is only that of the documents looked at: the budget or the time ran out.
    pub order_cut: bool,
}

/// Finds the documents of one way to read the query. Some document may match: no mandatory query term is empty.
pub fn search_path(
    segment: &Segment,
    plan: &Plan,
    frame: Frame,
    query_terms: &[TermMatches],
    matches: Matches,
    context: &mut SegmentContext<'_>,
    scratch: &mut Scratch,
) -> SegmentHits {
    let mut terms = std::mem::take(&mut scratch.terms);
    terms.resize(terms.len().max(segment.term_count() as usize / 64 + 1), 0);
    mark_terms(query_terms, |low, high| bits::insert_range(&mut terms, low, high));
    let lists = segment.lists();
    let evaluator = Evaluator::new(lists, query_terms, &plan.rules, frame, &terms);
    let run = Run {
        segment,
        lists,
        plan,
        frame,
        query_terms,
        terms: &terms,
        matches,
        evaluator,
        top: Top::new(plan.limit),
        count_cut: false,
        order_cut: false,
        thresholds: scratch.thresholds,
    };
    let hits = run.search(context, scratch);
    mark_terms(query_terms, |low, high| bits::clear_range(&mut terms, low, high));
    scratch.terms = terms;
    hits
}
/// Calls `mark` with every range of terms that some query term matches.
pub fn mark_terms(query_terms: &[TermMatches], mut mark: impl FnMut(u32, u32)) {
    for query_term in query_terms {
        for interval in query_term.intervals.iter().chain(&query_term.whole_words) {
            mark(interval.low, interval.high);
        }
    }
}

struct Run<'a> {
    segment: &'a Segment,
    lists: Lists<'a>,
    plan: &'a Plan,
    frame: Frame,
    query_terms: &'a [TermMatches],
    /// Bits of the terms of all query terms.
    terms: &'a [u64],
    matches: Matches,
    evaluator: Evaluator<'a>,
    top: Top,
    count_cut: bool,
    order_cut: bool,
    thresholds: Thresholds,
}
impl<'a> Run<'a> {
    fn search(mut self, context: &mut SegmentContext<'_>, scratch: &mut Scratch) -> SegmentHits {
        let words = bits::words_for(self.segment.doc_count());
        let (count, matched) = if self.take_ready_list(context) {
            self.count_single(&self.query_terms[0], context, scratch)
        } else if self.is_plain_single_word(context) {
            self.single(context, scratch)
        } else {
            let driver = self
                .query_terms
                .iter()
                .filter(|query_term| !query_term.optional)
                .min_by_key(|query_term| query_term.candidates());
            match driver {
                Some(driver) if driver.only.is_some() || driver.postings <= self.list_max() => {
                    self.by_list(driver, context, scratch)
                }
                Some(_) | None => self.by_sets(context, scratch),
            }
        };
        debug_assert!(matched.as_ref().is_none_or(|set| set.len() == words));
        let ranked = self.top.into_sorted();
        let (count_cut, order_cut) = (self.count_cut, self.order_cut);
        SegmentHits { ranked, count, matched, query_terms: vec![], count_cut, order_cut }
    }
    /// Postings up to which a list of candidates costs less than sets: a set costs some ns for each of its words.
    fn list_max(&self) -> u64 {
        let words = bits::words_for(self.segment.doc_count()) as u64;
        self.thresholds.list.min((words / WORDS_PER_DOCUMENT).max(FEW))
    }
    /// Documents above which computing tiers costs less than evaluating all.
    fn tiers_min(&self) -> u64 {
        let words = bits::words_for(self.segment.doc_count()) as u64;
        self.thresholds.tiers.min((words / WORDS_PER_DOCUMENT * 2).max(FEW))
    }
    /// Whether membership follows from sets of terms.
    fn sets_decide(&self) -> bool {
        self.plan.rules.sets_decide()
            && !self.query_terms.iter().any(|query_term| query_term.adjacency.is_next())
    }
    /// The query term of a query of one word, read as typed.
    fn only_word(&self) -> Option<&'a TermMatches> {
        let [query_term] = self.query_terms else { return None };
        (self.frame.words == 1 && query_term.may_be_exact && !query_term.is_widened && self.sets_decide())
            .then_some(query_term)
    }
    fn is_plain_single_word(&self, context: &SegmentContext<'_>) -> bool {
        let Some(query_term) = self.only_word() else { return false };
        self.plan.limit <= SINGLE_LIMIT_MAX
            && self.plan.rules.exact == u32::MAX
            // a document counts with its fewest typos, whatever a match with more would rank
            && (self.plan.typos_rank_first || query_term.typos_max == 0)
            && !self.plan.layout.orders(context, true)
            && query_term.postings < self.thresholds.single
            && query_term.intervals.iter().all(|i| all_listed(&self.lists, i.low, i.high))
    }
    /// Takes the best documents of one wide word from its ready list; `false` when the list does not answer the query.
    fn take_ready_list(&mut self, context: &mut SegmentContext<'_>) -> bool {
        let (rules, layout) = (&self.plan.rules, &self.plan.layout);
        let Some(query_term) = self.only_word() else { return false };
        if layout.orders(context, true)
            || !self.plan.typos_rank_first
            || !layout.is_before(Field::Attribute, Field::Exact)
            || rules.exact != u32::MAX
            || rules.exact_on_single_word != ExactOnSingleWord::Attribute
        {
            return false;
        }
        let Some(list) = self.segment.top(query_term.low, query_term.high, query_term.exact.is_some()) else {
            return false;
        };
        let allowed = list.iter().filter(|&&doc| context.is_allowed(doc));
        let best: Vec<u32> = allowed.take(self.plan.limit).copied().collect();
        if best.len() < self.plan.limit {
            return false;
        }
        for doc in best {
            if let Some(scores) = self.evaluator.evaluate(doc) {
                self.top.push((layout.key(&context.complete(doc, scores)), doc));
            }
        }
        true
    }
    /// One word: the lists carry the best position of each term in each document.
    fn single(&mut self, context: &mut SegmentContext<'_>, scratch: &mut Scratch) -> (u64, Option<Vec<u64>>) {
        let (lists, query_term) = (self.lists, &self.query_terms[0]);
        let exact_range = query_term.exact.filter(|_| query_term.has_typo_free()).map_or(0..0, |ordinal| {
            lists.csr_off[ordinal as usize] as usize..lists.csr_off[ordinal as usize + 1] as usize
        });
        let mut intervals = query_term.intervals.clone();
        intervals.sort_unstable_by_key(|interval| interval.typos);
        let layout = self.plan.layout;
        let best_place = match self.plan.rules.attributes_rank {
            true => u32::from(position::place(query_term.best_typo_free)),
            false => 0,
        };
        for interval in &intervals {
            let matched = CriterionScores::default().with(Field::Typo, interval.typos.into());
            let scores = context.complete(0, matched.with(Field::Exact, 1));
            let base = layout.key(&scores);
            let base_exact = layout.key(&scores.with(Field::Exact, 0));
            if self.top.beats(base_exact) {
                continue;
            }
            let range =
                lists.csr_off[interval.low as usize] as usize..lists.csr_off[interval.high as usize] as usize;
            let mut bound = self.top.end_of_places(&layout, base);
            for i in range {
                let (doc, place) = (lists.csr[i], lists.imp[i]);
                let attribute = if self.plan.rules.attributes_rank { position::place(place) } else { 0 };
                if (u32::from(attribute), doc) >= bound && !exact_range.contains(&i) {
                    continue;
                }
                let mut entry = (base | layout.part(Field::Attribute, attribute.into()), doc);
                if exact_range.contains(&i) && self.single_is_exact(place) {
                    // another word may give the document a better place: the whole document decides
                    let best = (base_exact | layout.part(Field::Attribute, best_place), doc);
                    if !self.top.would_enter(best) || !context.is_allowed(doc) {
                        continue;
                    }
                    let Some(scores) = self.evaluator.evaluate(doc) else { continue };
                    entry.0 = layout.key(&context.complete(doc, scores));
                }
                if self.top.would_enter(entry) && context.is_allowed(doc) {
                    self.top.push_again(entry);
                    bound = self.top.end_of_places(&layout, base);
                }
            }
        }
        self.count_single(query_term, context, scratch)
    }
    /// Whether an occurrence of the word itself counts as exact; `place` carries the whole-value flag.
    fn single_is_exact(&self, place: u16) -> bool {
        match self.plan.rules.exact_on_single_word {
            ExactOnSingleWord::Attribute => position::whole_value(place),
            ExactOnSingleWord::None => false,
            ExactOnSingleWord::Word => self.plan.words[0].chars.len() >= EXACT_WORD_CHARS_MIN,
        }
    }
    fn count_single(
        &self,
        query_term: &TermMatches,
        context: &SegmentContext<'_>,
        scratch: &mut Scratch,
    ) -> (u64, Option<Vec<u64>>) {
        if query_term.postings > self.list_max() || self.matches == Matches::Listed {
            let filled = |scratch: &mut Scratch| {
                let mut set = scratch.any(bits::words_for(self.segment.doc_count()));
                query_term.fill(self.segment, &self.lists, u8::MAX, &mut set);
                context.restrict(&mut set);
                (bits::count(&set), set)
            };
            if self.matches == Matches::Listed {
                let (count, set) = filled(scratch);
                return (count, Some(set));
            }
            let mut counted = || {
                let (count, set) = filled(scratch);
                scratch.give(set);
                count
            };
            let count = match &context.allowed {
                None => query_term.documents.get_or(counted),
                Some(_) => counted(),
            };
            return (count, None);
        }
        let mut listed = || {
            let docs = &mut scratch.docs;
            docs.clear();
            for interval in &query_term.intervals {
                each_document(self.segment, &self.lists, interval.low, interval.high, |doc| docs.push(doc));
            }
            docs.sort_unstable();
            docs.dedup();
            docs.iter().filter(|&&doc| context.is_allowed(doc)).count() as u64
        };
        let count = match &context.allowed {
            None => query_term.documents.get_or(listed),
            Some(_) => listed(),
        };
        (count, None)
    }
    /// Few candidates: every one is evaluated, which also decides whether it matches.
    fn by_list(
        &mut self,
        driver: &TermMatches,
        context: &mut SegmentContext<'_>,
        scratch: &mut Scratch,
    ) -> (u64, Option<Vec<u64>>) {
        let mut docs = std::mem::take(&mut scratch.docs);
        docs.clear();
        if let Some(only) = &driver.only {
            docs.extend_from_slice(only);
        } else {
            for interval in &driver.intervals {
                each_document(self.segment, &self.lists, interval.low, interval.high, |doc| docs.push(doc));
            }
            docs.sort_unstable();
            docs.dedup();
        }
        docs.retain(|&doc| context.is_allowed(doc));
        let mut set = (self.matches == Matches::Listed)
            .then(|| scratch.take(bits::words_for(self.segment.doc_count())));
        let mut count = 0;
        let mut clock = Clock::new(&self.plan.deadline);
        each_ahead(&self.lists, docs.iter().copied(), |doc| {
            if let Some(scores) = self.evaluator.evaluate(doc) {
                count += 1;
                let key = self.plan.layout.key(&context.complete(doc, scores));
                self.top.push((key, doc));
                if let Some(set) = &mut set {
                    bits::insert(set, doc);
                }
            }
            self.count_cut |= clock.spend(self.evaluator.worth(doc));
            !self.count_cut
        });
        scratch.docs = docs;
        (count, set)
    }
    /// The documents that have every mandatory word, or any word when all are optional.
    fn candidates(&self, context: &SegmentContext<'_>, scratch: &mut Scratch) -> Vec<u64> {
        let words = bits::words_for(self.segment.doc_count());
        let mut mandatory: Vec<&TermMatches> =
            self.query_terms.iter().filter(|query_term| !query_term.optional).collect();
        mandatory.sort_by_key(|query_term| query_term.postings);
        let mut set;
        match mandatory.split_first() {
            Some((first, rest)) => {
                set = scratch.any(words);
                first.fill(self.segment, &self.lists, u8::MAX, &mut set);
                let mut other = if rest.is_empty() { vec![] } else { scratch.any(words) };
                for query_term in rest {
                    match query_term.typo_free_bitmap(self.segment) {
                        Some(bitmap) if query_term.typos_max == 0 => bits::and(&mut set, bitmap),
                        Some(_) | None => {
                            query_term.fill(self.segment, &self.lists, u8::MAX, &mut other);
                            bits::and(&mut set, &other);
                        }
                    }
                }
                scratch.give(other);
            }
            None => {
                set = scratch.take(words);
                for interval in self.query_terms.iter().flat_map(|query_term| &query_term.intervals) {
                    add_documents(self.segment, &self.lists, interval.low, interval.high, &mut set);
                }
            }
        }
        context.restrict(&mut set);
        set
    }
    fn by_sets(
        &mut self,
        context: &mut SegmentContext<'_>,
        scratch: &mut Scratch,
    ) -> (u64, Option<Vec<u64>>) {
        let candidates = self.candidates(context, scratch);
        if !self.sets_decide() {
            return self.evaluated_set(candidates, context, scratch);
        }
        let count = bits::count(&candidates);
        let any_typo = self.query_terms.iter().any(|query_term| query_term.typos_max > 0);
        let tiered = self.plan.typos_rank_first
            && any_typo
            && !self.query_terms.iter().any(|query_term| query_term.optional);
        if !tiered {
            let any_optional = self.query_terms.iter().any(|query_term| query_term.optional);
            if any_typo || any_optional {
                let bound = self.bound(0, context);
                self.scan(Tier { set: &candidates, bound }, context);
            } else {
                self.scan_typo_free(&candidates, context, scratch);
            }
        } else {
            self.by_tiers(&candidates, context, scratch);
        }
        if self.matches == Matches::Listed {
            return (count, Some(candidates));
        }
        scratch.give(candidates);
        (count, None)
    }
    /// Positions decide membership: every candidate is evaluated.
    fn evaluated_set(
        &mut self,
        mut candidates: Vec<u64>,
        context: &mut SegmentContext<'_>,
        scratch: &mut Scratch,
    ) -> (u64, Option<Vec<u64>>) {
        let mut matched = scratch.take(candidates.len());
        let mut clock = Clock::new(&self.plan.deadline);
        let mut left = if self.frame.typos > 0 { self.plan.budget / READ_OTHERWISE_PART } else { u64::MAX };
        each_ahead(&self.lists, bits::documents(&candidates), |doc| {
            if left == 0 {
                self.count_cut = true;
                return false;
            }
            left -= 1;
            if let Some(scores) = self.evaluator.evaluate(doc) {
                bits::insert(&mut matched, doc);
                self.top.push((self.plan.layout.key(&context.complete(doc, scores)), doc));
            }
            self.count_cut |= clock.spend(self.evaluator.worth(doc));
            !self.count_cut
        });
        std::mem::swap(&mut candidates, &mut matched);
        scratch.give(matched);
        let count = bits::count(&candidates);
        if self.matches == Matches::Listed {
            return (count, Some(candidates));
        }
        scratch.give(candidates);
        (count, None)
    }
    /// The best that a document with `typos` typos can have.
    fn bound(&self, typos: u32, context: &SegmentContext<'_>) -> CriterionScores {
        CriterionScores::best(&Reach {
            frame: self.frame,
            typos,
            query_terms: self.query_terms,
            rules: &self.plan.rules,
            typos_rank_first: self.plan.typos_rank_first,
            context,
        })
    }
    /// Evaluates documents until none that follows can enter the page.
    fn scan(&mut self, tier: Tier<'_>, context: &mut SegmentContext<'_>) {
        let looked_at = scan(self.plan, &mut self.evaluator, &mut self.top, tier, u64::MAX, context);
        self.order_cut |= looked_at.is_cut();
    }
    /// The same for documents that have every word without typos: nothing else is looked for in them.
    fn scan_typo_free(&mut self, set: &[u64], context: &mut SegmentContext<'_>, scratch: &mut Scratch) {
        let query_terms: Vec<TermMatches> = self.query_terms.iter().map(TermMatches::typo_free).collect();
        let mut evaluator =
            Evaluator::new(self.lists, &query_terms, &self.plan.rules, self.frame, self.terms);
        let bound = self.bound(0, context);
        let first_look = self.thresholds.first_look;
        let most = if query_terms.iter().any(TermMatches::has_exact_terms) { first_look } else { u64::MAX };
        let mut scan = |tier: Tier<'_>, most, context: &mut SegmentContext<'_>| {
            scan(self.plan, &mut evaluator, &mut self.top, tier, most, context)
        };
        let doc = match scan(Tier { set, bound }, most, context) {
            LookedAt::All => return,
            LookedAt::Cut => {
                self.order_cut = true;
                return;
            }
            LookedAt::Before(doc) => doc,
        };
        // what has every word exactly may still come; without it the page is full much sooner
        let mut rest = scratch.copy(set);
        bits::clear_before(&mut rest, doc);
        let mut exact = scratch.copy(set);
        let mut other = scratch.any(set.len());
        for query_term in query_terms.iter().filter(|query_term| query_term.has_exact_terms()) {
            other.fill(0);
            for &term in query_term.exact.iter().chain(&query_term.exact_too) {
                add_documents(self.segment, &self.lists, term, term + 1, &mut other);
            }
            bits::and(&mut exact, &other);
        }
        let inexact = bound.with(Field::Exact, bound[Field::Exact] + 1);
        bits::and(&mut exact, &rest);
        bits::and_not(&mut rest, &exact);
        let both = [Tier { set: &exact, bound }, Tier { set: &rest, bound: inexact }];
        let cut = both.map(|tier| scan(tier, u64::MAX, context).is_cut());
        self.order_cut |= cut.contains(&true);
        [rest, exact, other].into_iter().for_each(|set| scratch.give(set));
    }
    /// Documents by the number of their typos, fewest first, until the page is full.
    fn by_tiers(&mut self, candidates: &[u64], context: &mut SegmentContext<'_>, scratch: &mut Scratch) {
        let mut rest = scratch.copy(candidates);
        let mut other = scratch.any(candidates.len());
        if self.query_terms.iter().all(TermMatches::has_typo_free) {
            let mut set = scratch.copy(candidates);
            for query_term in self.query_terms.iter().filter(|query_term| query_term.typos_max > 0) {
                match query_term.typo_free_bitmap(self.segment) {
                    Some(bitmap) => bits::and(&mut set, bitmap),
                    None => {
                        query_term.fill(self.segment, &self.lists, 0, &mut other);
                        bits::and(&mut set, &other);
                    }
                }
            }
            self.scan_typo_free(&set, context, scratch);
            bits::and_not(&mut rest, &set);
            scratch.give(set);
        }
        if !self.top.is_full() && bits::count(&rest) > self.tiers_min() {
            for typos in 1..=2u8 {
                let set = self.at_most(typos, &rest, scratch);
                let bound = self.bound(typos.into(), context);
                self.scan(Tier { set: &set, bound }, context);
                bits::and_not(&mut rest, &set);
                scratch.give(set);
                if self.top.is_full() {
                    break;
                }
            }
        }
        if !self.top.is_full() {
            let bound = self.bound(1, context);
            self.scan(Tier { set: &rest, bound }, context);
        }
        scratch.give(rest);
        scratch.give(other);
    }
    /// The documents of `within` with at most `typos` typos over all words.
    fn at_most(&self, typos: u8, within: &[u64], scratch: &mut Scratch) -> Vec<u64> {
        let tiers = usize::from(typos) + 1;
        let mut reached: Vec<Vec<u64>> = (0..tiers).map(|_| scratch.copy(within)).collect();
        for query_term in self.query_terms {
            let of_query_term: Vec<Vec<u64>> = (0..typos + 1)
                .map(|t| {
                    let mut set = scratch.any(within.len());
                    query_term.fill(self.segment, &self.lists, t, &mut set);
                    set
                })
                .collect();
            // from the most typos down, so that smaller totals are still those of the words before
            for total in (0..tiers).rev() {
                let mut sum = scratch.take(within.len());
                for own in 0..=total {
                    for ((x, a), b) in sum.iter_mut().zip(&reached[total - own]).zip(&of_query_term[own]) {
                        *x |= a & b;
                    }
                }
                let old = std::mem::replace(&mut reached[total], sum);
                scratch.give(old);
            }
            of_query_term.into_iter().for_each(|set| scratch.give(set));
        }
        let last = reached.pop().unwrap_or_default();
        reached.into_iter().for_each(|set| scratch.give(set));
        last
    }
}
