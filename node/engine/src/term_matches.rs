//! A word of the query in one segment: what it matches, where it must stand, and the sets of its documents.

use crate::bits;
use crate::index::{Lists, Segment};
use crate::terms::{Counted, Expansion, Interval};
use std::ops::Deref;
use std::sync::Arc;

/// A query word with everything it matches in one segment.
#[derive(Clone, Debug, Default)]
pub struct TermMatches {
    /// Its terms; their fields are those of the query term.
    pub terms: Arc<Expansion>,
    /// Whether a document may lack the word.
    pub optional: bool,
    /// Where the word stands, seen from the one before.
    pub adjacency: Adjacency,
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
pub enum Adjacency {
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
impl Adjacency {
    /// Whether the word must stand directly after the one before.
    pub fn is_next(self) -> bool {
        match self {
            Adjacency::Follows | Adjacency::Inside => true,
            Adjacency::Apart | Adjacency::Loose => false,
        }
    }
    /// Whether the distance to the word before ranks.
    pub fn counts(self) -> bool {
        match self {
            Adjacency::Apart | Adjacency::Follows => true,
            Adjacency::Inside | Adjacency::Loose => false,
        }
    }
}
impl Deref for TermMatches {
    type Target = Expansion;
    fn deref(&self) -> &Expansion {
        &self.terms
    }
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
impl TermMatches {
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
    pub fn typo_free(&self) -> TermMatches {
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
        TermMatches { terms, only: self.only.clone(), ..*self }
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
