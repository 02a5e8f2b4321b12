//! Where do searches keep their working memory between queries? In buffers that are handed out and taken back.

/// Working memory of one search thread.
#[derive(Debug, Default)]
pub struct Scratch {
    free: Vec<Vec<u64>>,
    /// Bits of terms; all zero between queries.
    pub terms: Vec<u64>,
    /// A list of documents; any content between queries.
    pub docs: Vec<u32>,
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
