//! Which values of a facet are these words? For placeholders in rules (C§10.2).

use super::columns::FacetDocs;
use super::segment::Segment;
use crate::analysis::{Analyzer, normalised};
use crate::bits;
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
/// What was asked of the facets of a segment so far. It belongs to the segment's file, whose values never change.
#[derive(Default)]
pub struct FacetPhrases {
    known: Mutex<Vec<(String, Arc<Phrases>)>>,
}
impl fmt::Debug for FacetPhrases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FacetPhrases({})", self.known.lock().len())
    }
}
impl FacetPhrases {
    /// The values of a facet by their words.
    ///
    /// Cost: the first time, one analysis of each distinct value (about 0.3 µs) and 8 bytes a value; then a look-up.
    pub fn of(&self, segment: &Segment, path: &str, analyzer: &Analyzer) -> Arc<Phrases> {
        let mut known = self.known.lock();
        if let Some((_, phrases)) = known.iter().find(|(name, _)| name == path) {
            return phrases.clone();
        }
        let made = Arc::new(Phrases::new(segment, path, analyzer));
        known.push((path.to_owned(), made.clone()));
        made
    }
}
impl Phrases {
    fn new(segment: &Segment, path: &str, analyzer: &Analyzer) -> Phrases {
        let mut phrases = Phrases::default();
        let Some(column) = segment.facet(path) else { return phrases };
        for ordinal in 0..column.value_count() {
            let words = normalised(analyzer, column.value(ordinal));
            if !words.is_empty() && words.len() <= PHRASE_WORDS_MAX {
                phrases.longest = phrases.longest.max(words.len());
                phrases.entries.push((hash(words.iter().map(String::as_str)), ordinal));
            }
        }
        phrases.entries.sort_unstable();
        phrases.entries.shrink_to_fit();
        phrases
    }
    /// Calls `visit` with every value, as written, that consists of these words and that a live record has.
    ///
    /// Cost: one binary search.
    pub fn each<'a>(
        &self,
        segment: &'a Segment,
        path: &str,
        analyzer: &Analyzer,
        words: &[&str],
        mut visit: impl FnMut(&'a str),
    ) {
        let wanted = hash(words.iter().copied());
        let from = self.entries.partition_point(|&(hash, _)| hash < wanted);
        let equal = self.entries[from..].iter().take_while(|&&(hash, _)| hash == wanted);
        let Some(column) = segment.facet(path) else { return };
        for &(_, ordinal) in equal {
            let value = column.value(ordinal);
            let is_alive = || match segment.alive() {
                None => true,
                Some(alive) => match column.docs_of(ordinal) {
                    FacetDocs::List(docs) => docs.iter().any(|&doc| segment.is_alive(doc)),
                    FacetDocs::Bitmap(docs, _) => bits::count_both(docs, alive) > 0,
                },
            };
            if normalised(analyzer, value) == words && is_alive() {
                visit(value);
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
