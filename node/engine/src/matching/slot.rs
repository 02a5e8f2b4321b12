//! Which terms of one segment does a query word stand for?

use super::bits;
use super::typo::{Interval, Tolerance, typo_intervals};
use super::widen;
use crate::index::{Lists, Segment};
use crate::query::Word;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// A query word with everything it matches in one segment.
#[derive(Clone, Debug, Default)]
pub struct Slot {
    /// Its terms; their fields are those of the slot.
    pub terms: Arc<Expansion>,
    /// Whether a document may lack the word.
    pub optional: bool,
    /// Where the word stands, seen from the one before.
    pub join: Join,
    /// Words of the query that the unit stands for which begins here; 0 = it began before.
    pub covers: u8,
    /// Whether a match can be exact at all.
    pub may_be_exact: bool,
    /// Whether it counts as a typo, so that attributes without typos do not match.
    pub is_typo: bool,
    /// The only documents in which it can match, when they are known beside its terms; ascending.
    pub only: Option<Arc<[u32]>>,
}
/// Where a word stands, seen from the word before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Join {
    /// Anywhere.
    #[default]
    Apart,
    /// Directly after it: a phrase. The distance counts.
    Follows,
    /// Directly after it, both being an alternative of the query's words. The distance does not count.
    Inside,
    /// Anywhere, both being parts of a word of the query. The distance does not count.
    Loose,
}
impl Join {
    /// Whether the word must stand directly after the one before.
    pub fn is_next(self) -> bool {
        match self {
            Join::Follows | Join::Inside => true,
            Join::Apart | Join::Loose => false,
        }
    }
    /// Whether the distance to the word before ranks.
    pub fn counts(self) -> bool {
        match self {
            Join::Apart | Join::Follows => true,
            Join::Inside | Join::Loose => false,
        }
    }
}
impl Deref for Slot {
    type Target = Expansion;
    fn deref(&self) -> &Expansion {
        &self.terms
    }
}
/// What a word stands for in one segment, whatever its place in the query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expansion {
    /// All intervals: the typo-free one first when there is one, then the others by ordinal.
    pub intervals: Vec<Interval>,
    /// Intervals when the word may not be a prefix; used where attributes switch prefixes off.
    pub whole_words: Vec<Interval>,
    /// The typo-free interval, empty when `low == high`.
    pub low: u32,
    /// End of the typo-free interval.
    pub high: u32,
    /// Ordinal of the term that is the word itself.
    pub exact: Option<u32>,
    /// Ordinals of other terms that count as the word itself, sorted.
    pub exact_too: Vec<u32>,
    /// Whether the terms are also those of other words, so that lists made for this word do not answer for it.
    pub is_widened: bool,
    /// Documents on all lists, repetitions counted.
    pub postings: u64,
    /// Lowest position of any matched term: the bound of the attribute criterion.
    pub best: u16,
    /// Lowest position of any typo-free term.
    pub best_typo_free: u16,
    /// Most typos of any interval.
    pub typos_max: u8,
    /// Characters of the word.
    pub characters: usize,
    /// Where the word can be cut in two, when that was looked for instead of terms.
    pub cuts: Vec<Cut>,
    /// Documents that have any of the terms, dead ones included, once somebody counted them.
    pub documents: Counted,
}
/// A number that follows from everything beside it.
#[derive(Clone, Debug, Default)]
pub struct Counted(OnceLock<u64>);
impl Counted {
    /// The number; `count` makes it the first time.
    pub fn get_or(&self, count: impl FnOnce() -> u64) -> u64 {
        *self.0.get_or_init(count)
    }
}
impl PartialEq for Counted {
    fn eq(&self, _: &Counted) -> bool {
        true
    }
}
impl Eq for Counted {}
/// A place where a word can be cut so that both parts stand next to each other in some documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Characters of the first part.
    pub at: usize,
    /// The documents, alive or not, ascending.
    pub docs: Arc<[u32]>,
    /// Whether they are all there are.
    pub complete: bool,
}
impl Expansion {
    /// Computes what follows from the intervals.
    pub(super) fn sum_up(&mut self, lists: &Lists<'_>) {
        let least = |least: u16, interval: &Interval| {
            let places = &lists.best[interval.low as usize..interval.high as usize];
            places.iter().copied().fold(least, u16::min)
        };
        let free = self.intervals.iter().filter(|interval| interval.typos == 0);
        self.best_typo_free = free.fold(u16::MAX, least);
        self.best = self.intervals.iter().fold(u16::MAX, least);
        self.typos_max = self.intervals.iter().map(|i| i.typos).max().unwrap_or(0);
        self.postings = self.intervals.iter().map(|i| postings(lists, i.low, i.high)).sum();
    }
    /// Bytes it takes in memory.
    pub fn bytes(&self) -> usize {
        let intervals = self.intervals.capacity() + self.whole_words.capacity();
        debug_assert!(self.exact_too.is_empty(), "what stands for a word is not kept with it");
        let docs: usize = self.cuts.iter().map(|cut| cut.docs.len()).sum();
        size_of::<Expansion>()
            + intervals * size_of::<Interval>()
            + self.cuts.capacity() * size_of::<Cut>()
            + docs * size_of::<u32>()
    }
}
/// Where a slot sends its terms with typos.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ExpandOptions {
    /// Two edits with one of them on the first letter are looked for as well.
    pub deep: bool,
    /// The intervals without prefixes are needed too.
    pub whole_words: bool,
}

/// Finds the terms of `word` in the segment.
pub fn expand(segment: &Segment, word: &Word, options: ExpandOptions) -> Slot {
    // with fewer edits there is nothing deeper to find
    let options = ExpandOptions { deep: options.deep && word.edits > 1, ..options };
    let key = key(word, options);
    let mut terms = segment.expansions().get_or(&key, || expansion(segment, word, options));
    if !word.others.is_empty()
        && let Some(wider) = widen::with_others(segment, &terms, &word.others, options)
    {
        terms = Arc::new(wider);
    }
    let join = if word.follows { Join::Follows } else { Join::Apart };
    Slot { terms, optional: word.optional, join, covers: 1, may_be_exact: true, is_typo: false, only: None }
}
/// Everything that decides about the terms of a word, as text.
fn key(word: &Word, options: ExpandOptions) -> String {
    let bit = |flag: bool, number: u8| u8::from(flag) << number;
    let how =
        bit(word.prefix, 0) | bit(options.deep, 1) | bit(options.whole_words, 2) | word.edits.min(2) << 3;
    let mut key = String::with_capacity(word.text.len() + 1);
    key.push(char::from(how));
    key.push_str(&word.text);
    key
}
fn expansion(segment: &Segment, word: &Word, options: ExpandOptions) -> Expansion {
    let lists = segment.lists();
    let mut made = Expansion { characters: word.chars.len(), ..Expansion::default() };
    let found = segment.terms().starting_with(&word.text);
    if let Some((low, high, is_term)) = found {
        made.exact = is_term.then_some(low);
        (made.low, made.high) = match (word.prefix, is_term) {
            (true, _) => (low, high),
            (false, true) => (low, low + 1),
            (false, false) => (0, 0),
        };
    }
    let tolerance = Tolerance { edits: word.edits, prefix: word.prefix, deep: options.deep };
    made.intervals = with_typos(segment, word, (made.low, made.high), tolerance);
    if options.whole_words {
        let exact = made.exact.map_or((0, 0), |ordinal| (ordinal, ordinal + 1));
        made.whole_words = with_typos(segment, word, exact, Tolerance { prefix: false, ..tolerance });
    }
    made.sum_up(&lists);
    made.intervals.shrink_to_fit();
    made.whole_words.shrink_to_fit();
    made
}
fn with_typos(segment: &Segment, word: &Word, free: (u32, u32), tolerance: Tolerance) -> Vec<Interval> {
    let (low, high) = free;
    let mut out = vec![];
    if low < high {
        out.push(Interval { low, high, typos: 0 });
    }
    if tolerance.edits == 0 {
        return out;
    }
    let mut near = vec![];
    typo_intervals(&segment.terms(), &word.chars, tolerance, &mut near);
    for interval in near {
        if low >= high || interval.high <= low || interval.low >= high {
            out.push(interval);
            continue;
        }
        if interval.low < low {
            out.push(Interval { high: low, ..interval });
        }
        if interval.high > high {
            out.push(Interval { low: high, ..interval });
        }
    }
    out
}
/// Positions of the terms with a bitmap among `low..high`, as a range of `lists.dense`.
fn dense_within(lists: &Lists<'_>, low: u32, high: u32) -> std::ops::Range<usize> {
    let start = lists.dense.partition_point(|&ordinal| ordinal < low);
    let length = lists.dense[start..].partition_point(|&ordinal| ordinal < high);
    start..start + length
}
/// Documents on the lists and bitmaps of the terms `low..high`, repetitions counted.
pub fn postings(lists: &Lists<'_>, low: u32, high: u32) -> u64 {
    let listed = u64::from(lists.csr_off[high as usize] - lists.csr_off[low as usize]);
    listed + dense_within(lists, low, high).map(|i| u64::from(lists.dense_df[i])).sum::<u64>()
}
/// Whether every term of `low..high` has a plain list.
pub fn all_listed(lists: &Lists<'_>, low: u32, high: u32) -> bool {
    dense_within(lists, low, high).is_empty()
}
/// Adds the documents of the terms `low..high` to `set`.
pub fn add_documents(segment: &Segment, lists: &Lists<'_>, low: u32, high: u32, set: &mut [u64]) {
    if low >= high {
        return;
    }
    if let Some(bitmap) = segment.bitmap(low, high) {
        bits::or(set, bitmap);
        return;
    }
    let range = lists.csr_off[low as usize] as usize..lists.csr_off[high as usize] as usize;
    for &doc in &lists.csr[range] {
        bits::insert(set, doc);
    }
    for i in dense_within(lists, low, high) {
        let ordinal = lists.dense[i];
        if let Some(bitmap) = segment.bitmap(ordinal, ordinal + 1) {
            bits::or(set, bitmap);
        }
    }
}
/// Calls `visit` with the documents of the terms `low..high`, repetitions included, in no particular order.
pub fn each_document(segment: &Segment, lists: &Lists<'_>, low: u32, high: u32, mut visit: impl FnMut(u32)) {
    let range = lists.csr_off[low as usize] as usize..lists.csr_off[high as usize] as usize;
    lists.csr[range].iter().for_each(|&doc| visit(doc));
    for i in dense_within(lists, low, high) {
        let ordinal = lists.dense[i];
        if let Some(bitmap) = segment.bitmap(ordinal, ordinal + 1) {
            bits::each(bitmap, |doc| {
                visit(doc);
                true
            });
        }
    }
}
impl Slot {
    /// Makes `set` the documents that contain the word with at most `typos` typos.
    pub fn fill(&self, segment: &Segment, lists: &Lists<'_>, typos: u8, set: &mut [u64]) {
        let counts = |interval: &&Interval| interval.typos <= typos;
        let bitmap_of = |interval: &Interval| segment.bitmap(interval.low, interval.high);
        // to copy a bitmap costs half of clearing the set and adding it
        let first = self.intervals.iter().position(|it| counts(&it) && bitmap_of(it).is_some());
        match first.and_then(|first| bitmap_of(&self.intervals[first])) {
            Some(bitmap) => set.copy_from_slice(bitmap),
            None => set.fill(0),
        }
        for (place, interval) in self.intervals.iter().enumerate() {
            if counts(&interval) && Some(place) != first {
                add_documents(segment, lists, interval.low, interval.high, set);
            }
        }
    }
    /// The same word without its terms with typos.
    pub fn typo_free(&self) -> Slot {
        if self.typos_max == 0 {
            return self.clone();
        }
        let intervals = self.intervals.iter().filter(|interval| interval.typos == 0).copied().collect();
        let (whole_words, low, high, exact) = (self.whole_words.clone(), self.low, self.high, self.exact);
        let (cuts, exact_too) = (vec![], self.exact_too.clone());
        let documents = Counted::default();
        let terms = Expansion {
            intervals,
            whole_words,
            low,
            high,
            exact,
            exact_too,
            cuts,
            documents,
            ..(*self.terms)
        };
        let terms = Arc::new(terms);
        Slot { terms, only: self.only.clone(), ..*self }
    }
    /// Documents to look at to find the matches, repetitions counted.
    pub fn candidates(&self) -> u64 {
        self.only.as_ref().map_or(self.postings, |docs| docs.len() as u64)
    }
    /// Whether the segment has any term for the word.
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }
    /// Whether some term of the segment makes a match exact.
    pub fn has_exact_terms(&self) -> bool {
        self.may_be_exact && (self.exact.is_some() || !self.exact_too.is_empty())
    }
    /// Whether the word has typo-free terms.
    pub fn has_typo_free(&self) -> bool {
        self.low < self.high || self.intervals.iter().any(|interval| interval.typos == 0)
    }
    /// The ready bitmap of its typo-free terms, when there is one for all of them.
    pub fn typo_free_bitmap<'s>(&self, segment: &'s Segment) -> Option<&'s [u64]> {
        if self.is_widened { None } else { segment.bitmap(self.low, self.high) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_match_differently_are_kept_apart() {
        let mut keys = std::collections::HashSet::new();
        for text in ["a", "ab", "b"] {
            for (prefix, edits) in [(false, 0), (false, 1), (false, 2), (true, 0), (true, 1), (true, 2)] {
                let word = Word { prefix, edits, ..Word::written(text) };
                for (deep, whole_words) in [(false, false), (false, true), (true, false), (true, true)] {
                    assert!(keys.insert(key(&word, ExpandOptions { deep, whole_words })));
                }
            }
        }
    }
}
