//! What do filters, places and sort keys add to the tuple of a document?

use super::geo::{GeoQuery, NOWHERE};
use super::key::{Layout, Tuple};
use super::nearby::Nearby;
use crate::bits;
use crate::filter::scores::Scores;
use crate::index::Segment;

/// The part of a query that is known per segment before words are looked at.
pub struct SegmentContext<'a> {
    /// Documents that may be shown; `None` = all.
    pub allowed: Option<Vec<u64>>,
    /// Scores of the filters.
    pub scores: Scores,
    /// Distances to the centre, when there is one.
    pub nearby: Option<Nearby<'a>>,
    /// The geographic part of the query.
    pub geo: &'a GeoQuery,
    /// Groups of documents with equal leading sort keys, when there are such keys.
    pub groups: Option<Groups<'a>>,
}
/// Numbers groups of equal sort keys by their first document.
pub struct Groups<'a> {
    segment: &'a Segment,
    keys: usize,
    /// The documents of the group that was asked for last.
    last: std::ops::Range<u32>,
}
impl<'a> Groups<'a> {
    /// Groups by the first `keys` sort keys.
    pub fn new(segment: &'a Segment, keys: usize) -> Groups<'a> {
        Groups { segment, keys, last: 0..0 }
    }
    /// The leading part of a document's rank that holds the sort keys.
    pub fn prefix(segment: &'a Segment, keys: usize, doc: u32) -> &'a [u8] {
        let rank = segment.rank(doc);
        &rank[..sort_keys_length(rank, keys)]
    }
    fn of(&mut self, doc: u32) -> u32 {
        if !self.last.contains(&doc) {
            let own = Self::prefix(self.segment, self.keys, doc);
            let prefix = |other| Self::prefix(self.segment, self.keys, other);
            let first = partition(0, doc, |other| prefix(other) < own);
            let end = partition(doc, self.segment.doc_count(), |other| prefix(other) <= own);
            self.last = first..end;
        }
        self.last.start
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
impl SegmentContext<'_> {
    /// Whether something here differs between documents and acts in the ranking.
    pub fn ranks(&self, layout: &Layout) -> bool {
        (self.nearby.is_some() && layout.acts_on_geo())
            || (!self.scores.is_constant() && layout.acts_on_filters())
            || self.groups.is_some()
    }
    /// Whether documents without words differ by their distance and nothing else.
    pub fn ranks_by_distance_alone(&self, layout: &Layout) -> bool {
        let by_score = !self.scores.is_constant() && layout.acts_on_filters();
        self.nearby.is_some() && layout.acts_on_geo() && !by_score && self.groups.is_none()
    }
    /// Adds what is known here to the tuple of a document.
    #[inline]
    pub fn complete(&mut self, doc: u32, tuple: Tuple) -> Tuple {
        let geo = match &self.nearby {
            Some(nearby) => self.bucket_of(nearby.metres(doc)),
            None => 0,
        };
        let group = self.groups.as_mut().map_or(0, |groups| groups.of(doc));
        Tuple { geo, filters: self.scores.of(doc), group, ..tuple }
    }
    fn bucket_of(&self, metres: u32) -> u32 {
        if metres == NOWHERE { NOWHERE } else { self.geo.bucket(metres) }
    }
    /// Whether the document may be shown.
    #[inline]
    pub fn is_allowed(&self, doc: u32) -> bool {
        self.allowed.as_deref().is_none_or(|allowed| bits::contains(allowed, doc))
    }
    /// Keeps the documents that may be shown.
    pub fn restrict(&self, set: &mut [u64]) {
        if let Some(allowed) = &self.allowed {
            bits::and(set, allowed);
        }
    }
    /// The best score a document can have.
    pub fn score_max(&self) -> u32 {
        self.scores.max()
    }
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
