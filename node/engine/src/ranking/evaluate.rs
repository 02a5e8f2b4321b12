//! What do the criteria say about one document? Read from its line of the forward index.
//!
//! Hot path: 50 to 100 ns per document of ordinary length, half of it where its best place already tells that it comes too
//! late; no allocation.

use super::key::Tuple;
use crate::bits;
use crate::index::position::AttributeNumbers;
use crate::index::{Lists, position};
use crate::slot::{Join, Slot};
use crate::terms::Interval;
use multiversion::multiversion;
use quorate_model::limits::QUERY_WORDS_MAX;
use quorate_model::params::ExactOnSingleWord;

/// Positions of one word that are looked at in one document.
pub const POSITIONS_MAX: usize = 64;
/// Characters a single word needs to count as exact by itself (C§7.8 `word`).
pub const EXACT_WORD_CHARS_MIN: usize = 3;
/// Distance of words that are not near each other (C§7.6).
pub const FAR: u32 = 8;

/// What the settings say about positions: sets of attribute numbers, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositionRules {
    /// Attributes that are searched at all.
    pub searched: u32,
    /// Attributes in which typos count as matches.
    pub typos: u32,
    /// Attributes in which beginnings of words count as matches.
    pub prefixes: u32,
    /// Attributes whose matches can be exact.
    pub exact: u32,
    /// What the numbers of attributes count.
    pub numbers: AttributeNumbers,
    /// Whether attributes rank at all (C§7.7: not when searchableAttributes is unset).
    pub attributes_rank: bool,
    /// Whether the attribute is the best of all matches, not of the nearest ones.
    pub attribute_of_all_matches: bool,
    /// Distances below it count as it.
    pub min_proximity: u32,
    /// What counts as exact when there is one word.
    pub exact_on_single_word: ExactOnSingleWord,
}
impl PositionRules {
    /// Whether sets of terms decide which documents match, without a look at positions.
    pub fn sets_decide(&self) -> bool {
        let PositionRules { searched, typos, prefixes, .. } = *self;
        searched == u32::MAX && typos == u32::MAX && prefixes == u32::MAX
    }
    /// The attribute criterion of a position.
    #[inline]
    fn rank_of(&self, p: u16) -> u32 {
        if !self.attributes_rank {
            return 0;
        }
        u32::from(self.numbers.rank(p))
    }
    #[inline]
    fn distance(&self, before: u16, after: u16) -> u32 {
        let (a, b) = (u32::from(position::word(before)), u32::from(position::word(after)));
        if position::attribute(before) != position::attribute(after)
            || a >= position::WORD_MAX
            || b >= position::WORD_MAX
        {
            return FAR;
        }
        let steps = if b > a { b - a } else { a - b + 1 };
        steps.max(self.min_proximity).min(FAR)
    }
}
/// What holds for every document that a way to read the query matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Words of the query, however many are looked for.
    pub words: usize,
    /// Typos of alternatives.
    pub typos: u32,
    /// Distances between words that an alternative stands for.
    pub proximity: u32,
}
/// Matches of one word: position and the best way to get there, distances above attribute.
struct Chain {
    links: [(u16, u32); POSITIONS_MAX],
    length: usize,
}
impl Chain {
    fn new() -> Chain {
        Chain { links: [(0, 0); POSITIONS_MAX], length: 0 }
    }
    #[inline]
    fn push(&mut self, p: u16) {
        if let Some(link) = self.links.get_mut(self.length) {
            *link = (p, 0);
            self.length += 1;
        }
    }
    fn links(&self) -> &[(u16, u32)] {
        &self.links[..self.length]
    }
}
/// Intervals of all slots up to which each is looked up in a document by itself.
const INTERVALS_MAX: usize = 3 * QUERY_WORDS_MAX;
/// A link that no way leads to.
const UNREACHED: u32 = u32::MAX;

/// Evaluates documents of one segment for one query.
pub struct Evaluator<'a> {
    lists: Lists<'a>,
    slots: &'a [Slot],
    rules: &'a PositionRules,
    frame: Frame,
    /// Bit of every term that some slot matches.
    terms: &'a [u64],
    by_interval: bool,
    /// Where the tokens of each interval begin in the document, when slots have few intervals.
    starts: [u32; INTERVALS_MAX],
    chains: [Chain; 2],
    /// Tokens of the document that some slot matches.
    matching: Vec<(u32, u16)>,
    /// Typos with which each slot matched the last document; 255 = not at all.
    pub slot_typos: [u8; QUERY_WORDS_MAX],
}
/// No end: every document is evaluated.
const ANY: (u32, u32) = (u32::MAX, u32::MAX);
/// A slot that did not match.
pub const NO_MATCH: u8 = 255;

impl<'a> Evaluator<'a> {
    /// `terms` holds the bits of all intervals of all slots, others being allowed.
    pub fn new(
        lists: Lists<'a>,
        slots: &'a [Slot],
        rules: &'a PositionRules,
        frame: Frame,
        terms: &'a [u64],
    ) -> Self {
        let intervals: usize = slots.iter().map(|slot| slot.intervals.len()).sum();
        let by_interval = rules.sets_decide() && intervals <= (3 * slots.len()).min(INTERVALS_MAX);
        let chains = [Chain::new(), Chain::new()];
        let slot_typos = [NO_MATCH; QUERY_WORDS_MAX];
        let starts = [0; INTERVALS_MAX];
        Evaluator {
            lists,
            slots,
            rules,
            frame,
            terms,
            by_interval,
            starts,
            chains,
            matching: vec![],
            slot_typos,
        }
    }
    /// What it reads.
    pub fn lists(&self) -> Lists<'a> {
        self.lists
    }
    /// The tuple of the document, without geo, filters and group; `None` when it does not match.
    #[inline]
    pub fn evaluate(&mut self, doc: u32) -> Option<Tuple> {
        tuple_of(self, doc, ANY)
    }
    /// The same, or `None` when the attribute criterion and the document are surely not before `end`.
    #[inline]
    pub fn evaluate_before(&mut self, doc: u32, end: (u32, u32)) -> Option<Tuple> {
        tuple_of(self, doc, end)
    }
    /// Finds where the tokens of each interval begin; answers the best that the attribute criterion says of any of them.
    #[inline(always)]
    fn find_starts(&mut self, ordinals: &[u32], positions: &[u16]) -> u32 {
        let mut least = u32::MAX;
        let intervals = self.slots.iter().flat_map(|slot| &slot.intervals);
        for (start, interval) in self.starts.iter_mut().zip(intervals) {
            let from = below(ordinals, interval.low);
            *start = from as u32;
            // a document has few words of one interval: the end is near
            let tokens = ordinals[from..].iter().zip(&positions[from..]);
            for (_, &p) in tokens.take_while(|&(&ordinal, _)| ordinal < interval.high) {
                least = least.min(self.rules.rank_of(p));
            }
        }
        least
    }
    /// Keeps the tokens that some slot matches, so that each slot looks only at those; answers the same.
    #[inline]
    fn look_up(&mut self, ordinals: &[u32], positions: &[u16]) -> u32 {
        let mut least = u32::MAX;
        self.matching.clear();
        for (&ordinal, &p) in ordinals.iter().zip(positions) {
            if bits::contains(self.terms, ordinal) && self.rules.searched >> position::attribute(p) & 1 == 1 {
                self.matching.push((ordinal, p));
                least = least.min(self.rules.rank_of(p));
            }
        }
        least
    }
}
/// One document's tuple. Compiled once for every processor and once for those with wide vectors, as the machine has them.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2+popcnt+lzcnt"))]
fn tuple_of<'a>(evaluator: &mut Evaluator<'a>, doc: u32, before: (u32, u32)) -> Option<Tuple> {
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
    let mut tuple = Tuple { typos: evaluator.frame.typos, ..Tuple::default() };
    let mut lowest = u32::MAX;
    let mut reached = UNREACHED;
    let mut linked = false;
    // words of the query that the current unit stands for, unless it was found not to be exact
    let mut exact_words = 0;
    // swapped by reference: the buffers are large
    let [first, second] = &mut evaluator.chains;
    let (mut previous, mut current) = (first, second);
    for (i, slot) in evaluator.slots.iter().enumerate() {
        current.length = 0;
        let (typos, exact) = if evaluator.by_interval {
            let starts = &evaluator.starts[at..];
            at += slot.intervals.len();
            by_interval(slot, starts, ordinals, positions, current)
        } else {
            by_token(slot, evaluator.rules, &evaluator.matching, current)
        };
        evaluator.slot_typos[i] = typos;
        if typos == NO_MATCH {
            if !slot.optional {
                return None;
            }
            tuple.missing += 1;
            tuple.inexact += 1;
            continue;
        }
        tuple.typos += u32::from(typos);
        exact_words = if slot.covers > 0 { u32::from(slot.covers) } else { exact_words };
        if !counts_as_exact(slot, evaluator.rules, evaluator.frame.words, exact, ordinals, positions) {
            tuple.inexact += std::mem::take(&mut exact_words);
        }
        reached = UNREACHED;
        for link in &mut current.links[..current.length] {
            let rank = evaluator.rules.rank_of(link.0);
            lowest = lowest.min(rank);
            link.1 = if linked {
                extend(evaluator.rules, previous.links(), link.0, rank, slot.join)
            } else {
                rank
            };
            reached = reached.min(link.1);
        }
        if reached == UNREACHED {
            return None;
        }
        linked = true;
        std::mem::swap(&mut previous, &mut current);
    }
    if !linked {
        return None;
    }
    tuple.proximity = evaluator.frame.proximity + (reached >> 16);
    tuple.attribute = if evaluator.rules.attribute_of_all_matches { lowest } else { reached & 0xffff };
    Some(tuple)
}
/// Matches of a slot among the tokens that some slot matches; obeys the rules about attributes.
#[inline(always)]
fn by_token(slot: &Slot, rules: &PositionRules, matching: &[(u32, u16)], out: &mut Chain) -> (u8, bool) {
    let mut best = NO_MATCH;
    let mut exact = false;
    for &(ordinal, p) in matching {
        let attribute = 1u32 << position::attribute(p);
        let intervals = if rules.prefixes & attribute == 0 { &slot.whole_words } else { &slot.intervals };
        let typos = typos_at(intervals, ordinal);
        if typos == NO_MATCH || typos > best || ((typos > 0 || slot.is_typo) && rules.typos & attribute == 0)
        {
            continue;
        }
        if typos < best {
            best = typos;
            exact = false;
            out.length = 0;
        }
        exact |= slot.exact == Some(ordinal) || counts_as_itself(slot, ordinal);
        out.push(p);
    }
    (best, exact)
}
/// Whether a slot of a query of so many words counts for the exact criterion (C§7.8).
fn counts_as_exact(
    slot: &Slot,
    rules: &PositionRules,
    words: usize,
    found: bool,
    ordinals: &[u32],
    positions: &[u16],
) -> bool {
    if !found || !slot.may_be_exact {
        return false;
    }
    let whole = match (words, rules.exact_on_single_word) {
        (1, ExactOnSingleWord::None) => return false,
        (1, ExactOnSingleWord::Attribute) => true,
        (1, ExactOnSingleWord::Word) if slot.characters < EXACT_WORD_CHARS_MIN => return false,
        (_, ExactOnSingleWord::Word | ExactOnSingleWord::None | ExactOnSingleWord::Attribute) => false,
    };
    let allowed = rules.exact & rules.searched;
    if !whole && allowed == u32::MAX {
        return true;
    }
    let occurs = |exact: &u32| {
        let from = below(ordinals, *exact);
        let of_term = ordinals[from..].iter().zip(&positions[from..]);
        of_term
            .take_while(|(ordinal, _)| *ordinal == exact)
            .any(|(_, &p)| allowed >> position::attribute(p) & 1 == 1 && (!whole || position::whole_value(p)))
    };
    slot.exact.iter().chain(&slot.exact_too).any(occurs)
}
/// Matches of a slot with few intervals: each is found in the sorted tokens by counting.
#[inline(always)]
fn by_interval(
    slot: &Slot,
    starts: &[u32],
    ordinals: &[u32],
    positions: &[u16],
    out: &mut Chain,
) -> (u8, bool) {
    let mut best = NO_MATCH;
    let mut exact = false;
    for (interval, &from) in slot.intervals.iter().zip(starts) {
        if interval.typos > best {
            continue;
        }
        let from = from as usize;
        if ordinals.get(from).is_none_or(|&ordinal| ordinal >= interval.high) {
            continue;
        }
        if interval.typos < best {
            best = interval.typos;
            out.length = 0;
        }
        exact |= interval.typos == 0 && slot.exact == Some(ordinals[from]);
        for (&ordinal, &p) in ordinals[from..].iter().zip(&positions[from..]) {
            if ordinal >= interval.high {
                break;
            }
            exact |= interval.typos == 0 && counts_as_itself(slot, ordinal);
            out.push(p);
        }
    }
    (best, exact)
}
/// Whether the term is another word that counts as the slot's word.
#[inline]
fn counts_as_itself(slot: &Slot, ordinal: u32) -> bool {
    !slot.exact_too.is_empty() && slot.exact_too.binary_search(&ordinal).is_ok()
}
/// How many of the sorted ordinals are smaller; by counting where that is faster than halving.
#[inline(always)]
fn below(ordinals: &[u32], x: u32) -> usize {
    if ordinals.len() > 192 {
        return ordinals.partition_point(|&ordinal| ordinal < x);
    }
    ordinals.iter().map(|&ordinal| u32::from(ordinal < x)).sum::<u32>() as usize
}
/// Typos of the interval that holds the ordinal.
#[inline]
fn typos_at(intervals: &[Interval], ordinal: u32) -> u8 {
    let Some(first) = intervals.first() else { return NO_MATCH };
    if first.typos == 0 && ordinal >= first.low && ordinal < first.high {
        return 0;
    }
    let rest = &intervals[usize::from(first.typos == 0)..];
    let after = rest.partition_point(|interval| interval.low <= ordinal);
    match after.checked_sub(1).and_then(|i| rest.get(i)) {
        Some(interval) if ordinal < interval.high => interval.typos,
        Some(_) | None => NO_MATCH,
    }
}
/// The best way to a match at `p` from the matches of the previous word.
#[inline(always)]
fn extend(rules: &PositionRules, previous: &[(u16, u32)], p: u16, rank: u32, join: Join) -> u32 {
    let mut best = UNREACHED;
    for &(q, way) in previous {
        if way == UNREACHED || (join.is_next() && !directly_after(q, p)) {
            continue;
        }
        let own = if join.counts() { rules.distance(q, p) } else { 0 };
        let distance = (way >> 16) + own;
        best = best.min(distance << 16 | (way & 0xffff).min(rank));
    }
    best
}
/// Whether `p` is the place after `q` in the same attribute.
pub fn directly_after(q: u16, p: u16) -> bool {
    position::attribute(q) == position::attribute(p) && position::word(q) + 1 == position::word(p)
}
