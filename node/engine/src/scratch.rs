//! Where do searches keep their working memory between queries? In buffers that are handed out and taken back.

/// Working memory of one search thread.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Where one way of evaluating gives way to another.
    pub thresholds: Thresholds,
    free: Vec<Vec<u64>>,
    /// Bits of terms; all zero between queries.
    pub terms: Vec<u64>,
    /// A list of documents; any content between queries.
    pub docs: Vec<u32>,
}
/// Sizes at which one way of evaluating gives way to another; tests set them low so that small indices take every way.
/// Results depend on `growth` alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// Postings up to which candidates are a list instead of a set.
    pub list: u64,
    /// Postings up to which a single word is ranked from its lists alone.
    pub single: u64,
    /// Documents left after the first tier from which on tiers are computed as sets.
    pub tiers: u64,
    /// Documents of the first tier that are looked at before those with every word exactly are told from the others.
    pub first_look: u64,
    /// Results of a long optional query for which the words that a record must have stay the same (C§4.6).
    pub growth: u64,
    /// Documents whose set is made in the time of a look at one of them alone; 0: each is.
    pub set_of: u32,
}
impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds {
            list: 4_096,
            single: 400_000,
            tiers: 2_000,
            first_look: 256,
            growth: 1_000,
            set_of: 1_024,
        }
    }
}
/// Sets that are kept for the next query.
const KEPT: usize = 16;

impl Scratch {
    /// Empty working memory; it grows to what the widest query needs.
    pub fn new() -> Scratch {
        Scratch::default()
    }
    /// An empty set of `words` words.
    pub fn take(&mut self, words: usize) -> Vec<u64> {
        let mut set = self.free.pop().unwrap_or_default();
        set.clear();
        set.resize(words, 0);
        set
    }
    /// A set of `words` words with anything in it, to be overwritten.
    pub fn any(&mut self, words: usize) -> Vec<u64> {
        let mut set = self.free.pop().unwrap_or_default();
        set.resize(words, 0);
        set
    }
    /// A copy of `source`.
    pub fn copy(&mut self, source: &[u64]) -> Vec<u64> {
        let mut set = self.free.pop().unwrap_or_default();
        set.clear();
        set.extend_from_slice(source);
        set
    }
    /// Takes a set back.
    pub fn give(&mut self, set: Vec<u64>) {
        if self.free.len() < KEPT {
            self.free.push(set);
        }
    }
}
