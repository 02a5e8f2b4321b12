//! Which values of a facet are these words? For placeholders in rules (C§10.2).

use super::columns::FacetDocs;
use super::segment::Segment;
use crate::analysis::{Analyzer, normalised};
use crate::bits;
use crate::clock::Clock;
use parking_lot::Mutex;
use rustc_hash::FxHasher;
use std::fmt;
use std::hash::Hasher;
use std::sync::Arc;

/// Words of a value that can be found; longer values are no names that somebody types.
pub const PHRASE_WORDS_MAX: usize = 16;

/// The values of one facet of one segment, by their normalised words.
#[derive(Debug, Default)]
pub struct Phrases {
    /// Words of the longest value.
    pub longest: usize,
    /// (hash of the words, ordinal), ascending.
    entries: Vec<(u32, u32)>,
}
/// Bytes of a value that are taken apart in the time of ranking a document.
const BYTES_PER_UNIT: usize = 16;

/// What was asked of the facets of a segment so far. It belongs to the segment's file, whose values never change.
#[derive(Default)]
pub struct FacetPhrases {
    known: Mutex<Vec<(String, Known)>>,
}
/// What is known of a facet.
enum Known {
    /// Its values before this one, in no order.
    Begun(Phrases, u32),
    /// All of them.
    Whole(Arc<Phrases>),
}
impl fmt::Debug for FacetPhrases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FacetPhrases({})", self.known.lock().len())
    }
}
impl FacetPhrases {
    /// The values of a facet by their words; `None` when the clock rings before they are known. The next who asks goes on from
    /// there.
    ///
    /// Cost: the first time, one analysis of each distinct value (about 0.3 µs) and 8 bytes a value; then a look-up.
    pub fn of(
        &self,
        segment: &Segment,
        path: &str,
        analyzer: &Analyzer,
        clock: &mut Clock,
    ) -> Option<Arc<Phrases>> {
        let Some(mut known) = self.known.try_lock_until(clock.until()) else {
            // somebody else is at it
            clock.spend(u32::MAX);
            return None;
        };
        let place = known.iter().position(|(name, _)| name == path).unwrap_or_else(|| {
            known.push((path.to_owned(), Known::Begun(Phrases::default(), 0)));
            known.len() - 1
        });
        let (_, known) = &mut known[place];
        match known {
            Known::Whole(phrases) => Some(phrases.clone()),
            Known::Begun(phrases, next) => {
                if let Some(reached) = phrases.read(*next, segment, path, analyzer, clock) {
                    *next = reached;
                    return None;
                }
                let whole = Arc::new(std::mem::take(phrases));
                *known = Known::Whole(whole.clone());
                Some(whole)
            }
        }
    }
}
impl Phrases {
    /// Takes up the values from `first` on; those not reached when the clock rings begin with the answer, `None` when all are
    /// known.
    fn read(
        &mut self,
        first: u32,
        segment: &Segment,
        path: &str,
        analyzer: &Analyzer,
        clock: &mut Clock,
    ) -> Option<u32> {
        let column = segment.facet(path)?;
        for ordinal in first..column.value_count() {
            let value = column.value(ordinal);
            if clock.spend(1 + (value.len() / BYTES_PER_UNIT) as u32) {
                return Some(ordinal);
            }
            let words = normalised(analyzer, value);
            if !words.is_empty() && words.len() <= PHRASE_WORDS_MAX {
                self.longest = self.longest.max(words.len());
                self.entries.push((hash(words.iter().map(String::as_str)), ordinal));
            }
        }
        self.entries.sort_unstable();
        self.entries.shrink_to_fit();
        None
    }
    /// Calls `visit` with every value, as written, that consists of these words and that a live record has, until it answers
    /// `false` or the clock rings.
    ///
    /// Cost: one binary search, and a look at each such value.
    pub fn each<'a>(
        &self,
        segment: &'a Segment,
        path: &str,
        analyzer: &Analyzer,
        words: &[&str],
        clock: &mut Clock,
        mut visit: impl FnMut(&'a str) -> bool,
    ) {
        let wanted = hash(words.iter().copied());
        let from = self.entries.partition_point(|&(hash, _)| hash < wanted);
        let equal = self.entries[from..].iter().take_while(|&&(hash, _)| hash == wanted);
        let Some(column) = segment.facet(path) else { return };
        if clock.is_over() {
            return;
        }
        for &(_, ordinal) in equal.take_while(|_| !clock.is_over()) {
            let value = column.value(ordinal);
            let is_alive = || match segment.alive() {
                None => true,
                Some(alive) => match column.docs_of(ordinal) {
                    FacetDocs::List(docs) => docs.iter().any(|&doc| segment.is_alive(doc)),
                    FacetDocs::Bitmap(docs, _) => bits::count_both(docs, alive) > 0,
                },
            };
            if normalised(analyzer, value) == words && is_alive() && !visit(value) {
                return;
            }
        }
    }
}
fn hash<'a>(words: impl Iterator<Item = &'a str>) -> u32 {
    let mut hasher = FxHasher::default();
    for word in words {
        hasher.write(word.as_bytes());
        hasher.write_u8(0xff);
    }
    (hasher.finish() >> 32) as u32
}
