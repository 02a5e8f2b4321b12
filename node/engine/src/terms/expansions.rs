//! Has this word been looked up in the segment before? What the most recent words expanded to, up to some bytes.
//!
//! Hot path: one hash and one uncontended lock. A search never waits: when another one is in the way, it computes.

use super::Expansion;
use lru::LruCache;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// Parts with a lock of their own.
const PARTS: usize = 8;
/// Most bytes kept for a segment.
const BYTES_MAX: usize = 8 << 20;
/// A segment's file may have one byte kept for so many of its own.
const FILE_FRACTION: usize = 2;
/// A cache smaller than this is not worth its tables: such a segment's terms are walked in no time.
const BYTES_MIN: usize = 16 << 10;
/// Of a part, what a single expansion may take.
const PART_FRACTION: usize = 4;
/// Bytes of an entry beside key and value: links, table slot, counters of the shared value.
const ENTRY_BYTES: usize = 96;

/// The expansions of one segment's words, shared by all searches.
pub struct Expansions {
    parts: Vec<Mutex<Part>>,
    part_bytes_max: usize,
}
struct Part {
    entries: LruCache<Box<str>, Arc<Expansion>>,
    bytes: usize,
}
impl Expansions {
    /// An empty cache for a segment whose file has `file_bytes`.
    pub fn new(file_bytes: usize) -> Expansions {
        let bytes = (file_bytes / FILE_FRACTION).min(BYTES_MAX);
        let parts = if bytes < BYTES_MIN { 0 } else { PARTS };
        let part = |_| Mutex::new(Part { entries: LruCache::unbounded(), bytes: 0 });
        Expansions { parts: (0..parts).map(part).collect(), part_bytes_max: bytes / PARTS }
    }
    /// The expansion kept under `key`, or what `expand` makes.
    pub fn get_or(&self, key: &str, expand: impl FnOnce() -> Expansion) -> Arc<Expansion> {
        let spread = key.bytes().fold(0usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let Some(part) = self.parts.get(spread % PARTS) else { return Arc::new(expand()) };
        if let Some(mut part) = part.try_lock()
            && let Some(kept) = part.entries.get(key)
        {
            return kept.clone();
        }
        let made = Arc::new(expand());
        if let Some(mut part) = part.try_lock() {
            part.keep(key, &made, self.part_bytes_max);
        }
        made
    }
}
impl Part {
    fn keep(&mut self, key: &str, made: &Arc<Expansion>, bytes_max: usize) {
        let bytes = entry_bytes(key, made);
        if bytes > bytes_max / PART_FRACTION {
            return;
        }
        self.bytes += bytes;
        if let Some(old) = self.entries.put(key.into(), made.clone()) {
            self.bytes -= entry_bytes(key, &old);
        }
        while self.bytes > bytes_max {
            let Some((key, old)) = self.entries.pop_lru() else { return };
            self.bytes -= entry_bytes(&key, &old);
        }
    }
}
fn entry_bytes(key: &str, expansion: &Expansion) -> usize {
    ENTRY_BYTES + key.len() + expansion.bytes()
}
impl fmt::Debug for Expansions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expansions(at most {} bytes)", self.part_bytes_max * self.parts.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::Interval;

    fn expansion(intervals: usize) -> Expansion {
        let interval = Interval { low: 0, high: 1, typos: 0 };
        Expansion { intervals: vec![interval; intervals], ..Expansion::default() }
    }
    #[test]
    fn what_was_used_last_is_kept_within_the_bytes() {
        let cache = Expansions::new(1 << 20);
        let made = |key: &str, intervals| {
            let mut made = false;
            let found = cache.get_or(key, || {
                made = true;
                expansion(intervals)
            });
            assert_eq!(found.intervals.len(), intervals);
            made
        };
        assert!(made("often", 3));
        assert!(!made("often", 3));
        for i in 0..20_000 {
            made(&format!("word{i}"), 5);
            assert!(!made("often", 3), "after {i} others");
        }
        assert!(made("word0", 5));
        assert!(!made("word19999", 5));
        let bytes: usize = cache.parts.iter().map(|part| part.lock().bytes).sum();
        let counted: usize = cache
            .parts
            .iter()
            .map(|part| part.lock().entries.iter().map(|(key, kept)| entry_bytes(key, kept)).sum::<usize>())
            .sum();
        assert_eq!(bytes, counted);
        assert!(bytes <= (1 << 20) / FILE_FRACTION, "{bytes}");
        assert!(made("long", 5_000) && made("long", 5_000), "too long to keep");
    }
    #[test]
    fn small_segments_keep_nothing() {
        let cache = Expansions::new(30_000);
        assert_eq!(cache.get_or("a", || expansion(1)).intervals.len(), 1);
        assert_eq!(cache.get_or("a", || expansion(2)).intervals.len(), 2);
    }
    #[test]
    fn a_search_that_finds_the_lock_taken_computes() {
        let cache = Expansions::new(1 << 20);
        let held: Vec<_> = cache.parts.iter().map(|part| part.lock()).collect();
        assert_eq!(cache.get_or("a", || expansion(1)).intervals.len(), 1);
        drop(held);
        assert_eq!(cache.get_or("a", || expansion(2)).intervals.len(), 2);
    }
}
