//! The documents that match, as counting wants them: counted once, and listed when they are few.

use crate::bits;
use crate::index::Segment;

/// Documents are listed when there are so many words of the set for each: then to go through the words costs more.
const WORDS_PER_DOCUMENT: usize = 4;
/// Words that are looked at together when most are empty.
const WORDS_AT_ONCE: usize = 16;

/// A segment with the documents of it that match.
pub struct Matched<'a> {
    /// The segment.
    pub segment: &'a Segment,
    /// The documents.
    pub set: &'a [u64],
    /// How many they are.
    pub documents: usize,
    few: Option<Vec<u32>>,
}

/// Documents that can be gone through.
pub trait Documents {
    /// Calls `visit` with each, in order.
    fn each(&self, visit: impl FnMut(u32));
}

impl<'a> Matched<'a> {
    /// Cost: one pass through the set, two when few match.
    pub fn new(segment: &'a Segment, set: &'a [u64]) -> Matched<'a> {
        let documents = bits::count(set) as usize;
        let few = (documents * WORDS_PER_DOCUMENT < set.len()).then(|| listed(set, documents));
        Matched { segment, set, documents, few }
    }
}
impl Documents for Matched<'_> {
    #[inline]
    fn each(&self, visit: impl FnMut(u32)) {
        match &self.few {
            Some(few) => few.iter().copied().for_each(visit),
            None => self.set.each(visit),
        }
    }
}
impl Documents for [u64] {
    #[inline]
    fn each(&self, mut visit: impl FnMut(u32)) {
        bits::each(self, |doc| {
            visit(doc);
            true
        });
    }
}

fn listed(set: &[u64], documents: usize) -> Vec<u32> {
    let mut list = Vec::with_capacity(documents);
    for (number, words) in set.chunks(WORDS_AT_ONCE).enumerate() {
        if words.iter().fold(0, |all, word| all | word) != 0 {
            let base = (number * WORDS_AT_ONCE * 64) as u32;
            words.each(|doc| list.push(base + doc));
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn few_documents_are_listed_in_order() {
        let mut set = vec![0u64; 100];
        for doc in [0usize, 1, 63, 64, 1_023, 1_024, 5_000, 6_399] {
            set[doc / 64] |= 1 << (doc % 64);
        }
        assert_eq!(listed(&set, 8), [0, 1, 63, 64, 1_023, 1_024, 5_000, 6_399]);
        assert!(listed(&[], 0).is_empty());
    }
}
