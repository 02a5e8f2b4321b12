//! The documents that match, as counting wants them: counted once, and listed when they are few.

use crate::bits;
use crate::clock::Clock;
use crate::index::Segment;

/// Documents are listed when there are so many words of the set for each: then to go through the words costs more.
const WORDS_PER_DOCUMENT: usize = 4;
/// Words that are looked at together, and between two thoughts of the time.
const WORDS_AT_ONCE: usize = 16;
/// Documents that are listed for as many words.
const DOCUMENTS_AT_ONCE: usize = WORDS_AT_ONCE * 64;
/// Documents, or values of theirs, that are counted in the time of ranking one.
const COUNTED_PER_UNIT: u32 = 64;

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
    /// Calls `visit` with each, in order, until the clock rings. `offsets` are those of the values that are looked at where
    /// documents have several.
    fn each(&self, offsets: Option<&[u32]>, clock: &mut Clock, visit: impl FnMut(u32));
}
/// What the values of the documents from `from` to the one before `end` are worth, as documents that are ranked.
fn worth(offsets: Option<&[u32]>, from: u32, end: u32) -> u32 {
    let at = |offsets: &[u32], doc: u32| offsets.get(doc as usize).or(offsets.last()).copied().unwrap_or(0);
    let values = offsets.map_or(0, |offsets| at(offsets, end) - at(offsets, from));
    1 + (end - from) / COUNTED_PER_UNIT + values / COUNTED_PER_UNIT
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
    fn each(&self, offsets: Option<&[u32]>, clock: &mut Clock, visit: impl FnMut(u32)) {
        match &self.few {
            Some(few) => few.as_slice().each(offsets, clock, visit),
            None => self.set.each(offsets, clock, visit),
        }
    }
}
/// One bit for each document.
impl Documents for [u64] {
    #[inline]
    fn each(&self, offsets: Option<&[u32]>, clock: &mut Clock, mut visit: impl FnMut(u32)) {
        for (number, words) in self.chunks(WORDS_AT_ONCE).enumerate() {
            let base = (number * DOCUMENTS_AT_ONCE) as u32;
            if clock.spend(worth(offsets, base, base + DOCUMENTS_AT_ONCE as u32)) {
                return;
            }
            each_of(words, base, &mut visit);
        }
    }
}
/// A list, ascending.
impl Documents for [u32] {
    #[inline]
    fn each(&self, offsets: Option<&[u32]>, clock: &mut Clock, mut visit: impl FnMut(u32)) {
        for few in self.chunks(DOCUMENTS_AT_ONCE) {
            // the values of those between them, too: one look more at the time does not matter
            if clock.spend(worth(offsets, few[0], few[few.len() - 1] + 1)) {
                return;
            }
            few.iter().copied().for_each(&mut visit);
        }
    }
}
#[inline]
fn each_of(words: &[u64], base: u32, mut visit: impl FnMut(u32)) {
    bits::each(words, |doc| {
        visit(base + doc);
        true
    });
}

fn listed(set: &[u64], documents: usize) -> Vec<u32> {
    let mut list = Vec::with_capacity(documents);
    for (number, words) in set.chunks(WORDS_AT_ONCE).enumerate() {
        if words.iter().fold(0, |all, word| all | word) != 0 {
            let base = (number * DOCUMENTS_AT_ONCE) as u32;
            each_of(words, base, |doc| list.push(doc));
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
