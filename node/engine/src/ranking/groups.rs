//! Which documents of a segment have equal leading sort keys?

use crate::index::Segment;
use std::cell::Cell;

/// Numbers groups of equal sort keys by their first document.
pub struct Groups {
    keys: usize,
    /// The documents of the group that was asked for last.
    last: Cell<(u32, u32)>,
}
impl Groups {
    /// Groups by the first `keys` sort keys.
    pub fn new(keys: usize) -> Groups {
        Groups { keys, last: Cell::default() }
    }
    /// The leading part of a document's rank that holds the sort keys.
    pub fn prefix(segment: &Segment, keys: usize, doc: u32) -> &[u8] {
        let rank = segment.rank(doc);
        &rank[..sort_keys_length(rank, keys)]
    }
    /// The number of a document's group; always ask for documents of the same segment.
    pub fn of(&self, segment: &Segment, doc: u32) -> u32 {
        let (first, end) = self.last.get();
        if (first..end).contains(&doc) {
            return first;
        }
        let own = Self::prefix(segment, self.keys, doc);
        let prefix = |other| Self::prefix(segment, self.keys, other);
        let first = partition(0, doc, |other| prefix(other) < own);
        let end = partition(doc, segment.doc_count(), |other| prefix(other) <= own);
        self.last.set((first, end));
        first
    }
}
/// The first document of the range for which `before` no longer holds.
fn partition(mut low: u32, mut high: u32, before: impl Fn(u32) -> bool) -> u32 {
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
/// Length of the first `keys` sort keys in rank bytes: each is 1 (missing), or 0, a type byte and the value, the last two
/// inverted when descending.
fn sort_keys_length(rank: &[u8], keys: usize) -> usize {
    let mut at = 0;
    for _ in 0..keys {
        let (presence, kind) = (rank.get(at), rank.get(at + 1).copied().unwrap_or_default());
        let length = match (presence, kind) {
            (Some(0), 1 | 0xfe) => 3,
            (Some(0), 2 | 0xfd) => 10,
            (Some(0), _) => {
                let end = if kind > 0x7f { 0xff } else { 0 };
                let text = rank.get(at + 2..).unwrap_or_default();
                3 + text.iter().position(|&byte| byte == end).unwrap_or(text.len())
            }
            (Some(_) | None, _) => 1,
        };
        at = (at + length).min(rank.len());
    }
    at
}

#[cfg(test)]
mod tests {
    use super::sort_keys_length;

    #[test]
    fn sort_keys_end_where_the_object_id_begins() {
        let text = [0, 3, b'a', b'b', 0];
        let text_down = [0, 0xfc, !b'a', 0xff];
        let number = [0, 2, 1, 2, 3, 4, 5, 6, 7, 8];
        for (keys, length) in [
            (vec![&text[..]], 5),
            (vec![&text_down[..]], 4),
            (vec![&number[..], &[1], &text_down[..]], 15),
            (vec![&[0, 1, 1][..], &[0, 0xfe, 0xff]], 6),
        ] {
            let mut rank = keys.concat();
            rank.extend([!b'x', 0xff]);
            assert_eq!(sort_keys_length(&rank, keys.len()), length);
        }
    }
}
