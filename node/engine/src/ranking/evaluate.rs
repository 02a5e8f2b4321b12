//! What do the criteria say about one document? Read from its line of the forward index.
//!
//! Hot path: 50 to 100 ns per document of ordinary length, half of it where its best place already tells that it comes too
//! late; no allocation but for a word that stands more often than any before.

use super::criteria::attribute::rank_of;
use super::criteria::exact::{below, counts_as_itself};
use super::criteria::matched::{Found, Nearest};
use super::criteria::proximity::{Sorted, UNREACHED, extend};
use super::criteria::typo::{NO_MATCH, typos_at};
use super::criteria::{CriterionScores, Tallies};
use super::rules::{Frame, PositionRules};
use crate::bits;
use crate::index::{Lists, position};
use crate::term_matches::TermMatches;
use multiversion::multiversion;
use quorate_model::limits::QUERY_WORDS_MAX;

/// Pairs of matches of two words that are looked at one by one; of more, only those that stand near each other.
const PAIRS_MAX: usize = 4_096;

/// Tokens of a document, for each word of the query, that are worth one document of ordinary length to a [`Clock`](crate::clock::Clock).
const TOKENS_PER_UNIT: u32 = 512;

/// Matches of one word: position and the best way to get there, distances above attribute.
type Chain = Vec<(u16, u32)>;
/// Intervals of all query terms up to which each is looked up in a document by itself.
const INTERVALS_MAX: usize = 3 * QUERY_WORDS_MAX;

/// Evaluates documents of one segment for one query.
pub struct Evaluator<'a> {
    lists: Lists<'a>,
    query_terms: &'a [TermMatches],
    rules: &'a PositionRules,
    frame: Frame,
    /// Bit of every term that some query term matches.
    terms: &'a [u64],
    by_interval: bool,
    /// Where the tokens of each interval begin in the document, when query terms have few intervals.
    starts: [u32; INTERVALS_MAX],
    chains: [Chain; 2],
    /// Tokens of the document that some query term matches.
    matching: Vec<(u32, u16)>,
    /// Typos with which each query term matched the last document; 255 = not at all.
    pub query_term_typos: [u8; QUERY_WORDS_MAX],
}
/// No end: every document is evaluated.
const ANY: (u32, u32) = (u32::MAX, u32::MAX);

impl<'a> Evaluator<'a> {
    /// `terms` holds the bits of all intervals of all query terms, others being allowed.
    pub fn new(
        lists: Lists<'a>,
        query_terms: &'a [TermMatches],
        rules: &'a PositionRules,
        frame: Frame,
        terms: &'a [u64],
    ) -> Self {
        let intervals: usize = query_terms.iter().map(|query_term| query_term.intervals.len()).sum();
        let by_interval = rules.sets_decide() && intervals <= (3 * query_terms.len()).min(INTERVALS_MAX);
        let chains = [Chain::new(), Chain::new()];
        let query_term_typos = [NO_MATCH; QUERY_WORDS_MAX];
        let starts = [0; INTERVALS_MAX];
        Evaluator {
            lists,
            query_terms,
            rules,
            frame,
            terms,
            by_interval,
            starts,
            chains,
            matching: vec![],
            query_term_typos,
        }
    }
    /// What evaluating a document is worth to a [`Clock`](crate::clock::Clock): 1 for one of ordinary length.
    #[inline]
    pub fn worth(&self, doc: u32) -> u32 {
        let offsets = &self.lists.doc_off;
        let tokens = offsets[doc as usize + 1] - offsets[doc as usize];
        1 + tokens.saturating_mul(self.query_terms.len() as u32) / TOKENS_PER_UNIT
    }
    /// What it reads.
    pub fn lists(&self) -> Lists<'a> {
        self.lists
    }
    /// What the matches of the document score, see [`SegmentContext::complete`](super::context::SegmentContext::complete) for the rest; `None` when it does not match.
    #[inline]
    pub fn evaluate(&mut self, doc: u32) -> Option<CriterionScores> {
        scores_of(self, doc, ANY)
    }
    /// The same, or `None` when the attribute criterion and the document are surely not before `end`.
    #[inline]
    pub fn evaluate_before(&mut self, doc: u32, end: (u32, u32)) -> Option<CriterionScores> {
        scores_of(self, doc, end)
    }
    /// Finds where the tokens of each interval begin; answers the best that the attribute criterion says of any of them.
    #[inline(always)]
    fn find_starts(&mut self, ordinals: &[u32], positions: &[u16]) -> u32 {
        let mut least = u32::MAX;
        let intervals = self.query_terms.iter().flat_map(|query_term| &query_term.intervals);
        for (start, interval) in self.starts.iter_mut().zip(intervals) {
            let from = below(ordinals, interval.low);
            *start = from as u32;
            // a document has few words of one interval: the end is near
            let tokens = ordinals[from..].iter().zip(&positions[from..]);
            for (_, &p) in tokens.take_while(|&(&ordinal, _)| ordinal < interval.high) {
                least = least.min(rank_of(self.rules, p));
            }
        }
        least
    }
    /// Keeps the tokens that some query term matches, so that each query term looks only at those; answers the same.
    #[inline]
    fn look_up(&mut self, ordinals: &[u32], positions: &[u16]) -> u32 {
        let mut least = u32::MAX;
        self.matching.clear();
        for (&ordinal, &p) in ordinals.iter().zip(positions) {
            if bits::contains(self.terms, ordinal) && self.rules.searched >> position::attribute(p) & 1 == 1 {
                self.matching.push((ordinal, p));
                least = least.min(rank_of(self.rules, p));
            }
        }
        least
    }
}
/// What the matches of one document score. Compiled once for every processor and once for those with wide vectors, as the machine has them.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2+popcnt+lzcnt"))]
fn scores_of<'a>(evaluator: &mut Evaluator<'a>, doc: u32, before: (u32, u32)) -> Option<CriterionScores> {
    let start = evaluator.lists.doc_off[doc as usize] as usize;
    let end = evaluator.lists.doc_off[doc as usize + 1] as usize;
    let (ordinals, positions) = (&evaluator.lists.ords[start..end], &evaluator.lists.pos[start..end]);
    let least = if evaluator.by_interval {
        evaluator.find_starts(ordinals, positions)
    } else {
        evaluator.look_up(ordinals, positions)
    };
    if before != ANY && (least, doc) >= before {
        return None;
    }
    let mut at = 0;
    let mut tallies = Tallies::begin(&evaluator.frame);
    let mut way = UNREACHED;
    let mut linked = false;
    let [first, second] = &mut evaluator.chains;
    let (mut previous, mut current) = (first, second);
    let (rules, words) = (evaluator.rules, evaluator.frame.words);
    for (i, query_term) in evaluator.query_terms.iter().enumerate() {
        current.clear();
        let (typos, exact) = if evaluator.by_interval {
            let starts = &evaluator.starts[at..];
            at += query_term.intervals.len();
            by_interval(query_term, starts, ordinals, positions, current)
        } else {
            by_token(query_term, rules, &evaluator.matching, current)
        };
        evaluator.query_term_typos[i] = typos;
        let found = |links| Found { query_term, rules, words, typos, exact, links, ordinals, positions };
        if typos == NO_MATCH {
            if !query_term.optional {
                return None;
            }
            tallies.count(&found(&[]));
            continue;
        }
        let are_many = linked && previous.len() * current.len() > PAIRS_MAX;
        if are_many {
            // all words from the last number on share it: of those in one place the best way counts
            previous.sort_unstable();
            previous.dedup_by_key(|link| link.0);
            current.sort_unstable();
            current.dedup();
        }
        let sorted = are_many.then(|| Sorted::of(previous));
        way = UNREACHED;
        for link in &mut *current {
            let rank = rank_of(rules, link.0);
            link.1 = match &sorted {
                _ if !linked => rank,
                None => extend(rules, previous, link.0, rank, query_term.adjacency),
                Some(sorted) => sorted.extend(rules, link.0, rank, query_term.adjacency),
            };
            way = way.min(link.1);
        }
        if way == UNREACHED {
            return None;
        }
        tallies.count(&found(current));
        linked = true;
        std::mem::swap(&mut previous, &mut current);
    }
    let nearest = Nearest { frame: &evaluator.frame, rules, way };
    linked.then(|| tallies.scores(&nearest))
}
/// Matches of a query term among the tokens that some query term matches; obeys the rules about attributes.
#[inline(always)]
fn by_token(
    query_term: &TermMatches,
    rules: &PositionRules,
    matching: &[(u32, u16)],
    out: &mut Chain,
) -> (u8, bool) {
    let mut best = NO_MATCH;
    let mut exact = false;
    for &(ordinal, p) in matching {
        let attribute = 1u32 << position::attribute(p);
        let intervals =
            if rules.prefixes & attribute == 0 { &query_term.whole_words } else { &query_term.intervals };
        let typos = typos_at(intervals, ordinal);
        if typos == NO_MATCH
            || typos > best
            || ((typos > 0 || query_term.is_typo) && rules.typos & attribute == 0)
        {
            continue;
        }
        if typos < best {
            best = typos;
            exact = false;
            out.clear();
        }
        exact |= query_term.exact == Some(ordinal) || counts_as_itself(query_term, ordinal);
        out.push((p, 0));
    }
    (best, exact)
}
/// Matches of a query term with few intervals: each is found in the sorted tokens by counting.
#[inline(always)]
fn by_interval(
    query_term: &TermMatches,
    starts: &[u32],
    ordinals: &[u32],
    positions: &[u16],
    out: &mut Chain,
) -> (u8, bool) {
    let mut best = NO_MATCH;
    let mut exact = false;
    for (interval, &from) in query_term.intervals.iter().zip(starts) {
        if interval.typos > best {
            continue;
        }
        let from = from as usize;
        if ordinals.get(from).is_none_or(|&ordinal| ordinal >= interval.high) {
            continue;
        }
        if interval.typos < best {
            best = interval.typos;
            out.clear();
        }
        exact |= interval.typos == 0 && query_term.exact == Some(ordinals[from]);
        for (&ordinal, &p) in ordinals[from..].iter().zip(&positions[from..]) {
            if ordinal >= interval.high {
                break;
            }
            exact |= interval.typos == 0 && counts_as_itself(query_term, ordinal);
            out.push((p, 0));
        }
    }
    (best, exact)
}
