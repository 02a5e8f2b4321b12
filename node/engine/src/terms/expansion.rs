//! Which terms of one segment does a query word stand for? What was found, without the way to find it.

use std::sync::{Arc, OnceLock};

/// Terms `low..high` (ordinals) that match a word with `typos` typos.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// First ordinal.
    pub low: u32,
    /// One past the last ordinal.
    pub high: u32,
    /// Typos as the ranking counts them: a wrong first letter counts one more (C§7.2).
    pub typos: u8,
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
