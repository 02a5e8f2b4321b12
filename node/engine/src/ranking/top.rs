//! Which are the best `limit` documents of a segment so far?

use super::criteria::Field;
use super::key::Layout;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A ranked document: smaller is better, document order breaks ties.
pub type Ranked = (u128, u32);

/// A document of a view and the key that ranked it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Number of the segment in the view.
    pub segment: usize,
    /// Document of the segment.
    pub doc: u32,
    /// Its key, the group number included.
    pub key: u128,
}

/// A bounded heap with the worst kept entry at hand.
pub struct Top {
    limit: usize,
    heap: BinaryHeap<Ranked>,
}
impl Top {
    /// Keeps at most `limit` entries.
    pub fn new(limit: usize) -> Top {
        Top { limit, heap: BinaryHeap::with_capacity(limit.min(4096) + 1) }
    }
    /// Offers an entry.
    #[inline]
    pub fn push(&mut self, entry: Ranked) {
        if self.heap.len() < self.limit {
            self.heap.push(entry);
            return;
        }
        if let Some(mut worst) = self.heap.peek_mut()
            && entry < *worst
        {
            *worst = entry;
        }
    }
    /// Offers an entry whose document may have been offered before; its better key stays.
    pub fn push_again(&mut self, entry: Ranked) {
        if !self.would_enter(entry) {
            return;
        }
        if let Some(&old) = self.heap.iter().find(|old| old.1 == entry.1) {
            if old <= entry {
                return;
            }
            self.heap.retain(|kept| *kept != old);
        }
        self.push(entry);
    }
    /// The entry that the next better one replaces; `None` while there is room.
    #[inline]
    pub fn worst(&self) -> Option<Ranked> {
        if self.is_full() { self.heap.peek().copied() } else { None }
    }
    /// Whether the entry is better than the worst kept one.
    #[inline]
    pub fn would_enter(&self, entry: Ranked) -> bool {
        self.heap.len() < self.limit || self.heap.peek().is_some_and(|worst| entry < *worst)
    }
    /// Whether no entry with the key of `entry` or a worse one, of a later document, can enter.
    #[inline]
    pub fn closed_to(&self, entry: Ranked) -> bool {
        self.is_full() && self.heap.peek().is_none_or(|worst| *worst <= entry)
    }
    /// Whether no entry with `key` or a worse one can enter, whatever its document.
    pub fn beats(&self, key: u128) -> bool {
        self.is_full() && self.heap.peek().is_none_or(|worst| worst.0 < key)
    }
    /// The first place, and document there, that cannot enter any more with a key that is `base` but for the place.
    pub fn end_of_places(&self, layout: &Layout, base: u128) -> (u32, u32) {
        let Some((worst, doc)) = self.worst() else { return (u32::MAX, u32::MAX) };
        let key = |place: u32| base | layout.part(Field::Attribute, place);
        let (mut low, mut high) = (0, u32::from(u16::MAX));
        while low < high {
            let middle = (low + high).div_ceil(2);
            if key(middle) <= worst {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        match key(low).cmp(&worst) {
            Ordering::Less => (low + 1, 0),
            Ordering::Equal => (low, doc),
            Ordering::Greater => (0, 0),
        }
    }
    /// Whether `limit` entries are kept.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.heap.len() >= self.limit
    }
    /// The kept entries, best first.
    pub fn into_sorted(self) -> Vec<Ranked> {
        self.heap.into_sorted_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_smallest() {
        let mut top = Top::new(3);
        for key in [9u128, 4, 7, 1, 8, 2] {
            top.push((key, key as u32));
        }
        assert!(
            top.closed_to((4, 4))
                && top.closed_to((5, 0))
                && !top.closed_to((4, 3))
                && !top.closed_to((3, 9))
        );
        assert_eq!(top.into_sorted().iter().map(|x| x.0).collect::<Vec<_>>(), [1, 2, 4]);
    }
    #[test]
    fn a_document_offered_twice_keeps_its_better_key() {
        let mut top = Top::new(2);
        for entry in [(5u128, 1u32), (3, 1), (4, 1), (6, 2), (7, 3), (2, 3)] {
            top.push_again(entry);
        }
        assert_eq!(top.into_sorted(), [(2, 3), (3, 1)]);
    }
}
