//! Which applied batches came in several chunks: a replay must begin before the first chunk or behind the last one.

use super::Failure;
use quorate_store::StoreError;
use quorate_store::codec;
use quorate_store::kv::{Batch, Tree};

/// Row of a group's tree with the ranges, as first and last log index.
const ROW: &[u8] = b"f";
/// Bytes of that row at most; a range takes at most 18.
const ROW_BYTES_MAX: usize = 1 << 20;

/// Ranges of the log that hold the chunks of one applied batch each, ascending.
#[derive(Debug, Default, PartialEq)]
pub struct CutBatches {
    ranges: Vec<(u64, u64)>,
    changed: bool,
}

impl CutBatches {
    /// Reads the ranges from their row.
    pub fn load(tree: &Tree) -> Result<Self, Failure> {
        let ranges = match tree.get(ROW)? {
            Some(bytes) => codec::decode(&bytes, ROW_BYTES_MAX)?,
            None => vec![],
        };
        Ok(CutBatches { ranges, changed: false })
    }
    /// Notes an applied batch whose chunks stand from `first` to `last`.
    pub fn note(&mut self, first: u64, last: u64) {
        if first < last && self.ranges.last().is_none_or(|&(_, end)| end < first) {
            self.ranges.push((first, last));
            self.changed = true;
        }
    }
    /// Forgets what is durable through `durable`, and writes the row when it changed.
    pub fn keep(&mut self, durable: u64, tree: &Tree) -> Result<(), StoreError> {
        let before = self.ranges.len();
        self.ranges.retain(|&(_, last)| last > durable);
        if !self.changed && self.ranges.len() == before {
            return Ok(());
        }
        let mut batch = Batch::new(tree.applied());
        match self.ranges.is_empty() {
            true => batch.delete(ROW),
            false => batch.put(ROW, codec::encode(&self.ranges)),
        }
        tree.apply(&batch)?;
        self.changed = false;
        Ok(())
    }
    /// The largest log index up to `position` after which no batch is cut in two.
    pub fn whole(&self, position: u64) -> u64 {
        let cut = self.ranges.iter().find(|&&(first, last)| first <= position && position < last);
        cut.map_or(position, |&(first, _)| first - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_position_divides_a_batch() {
        let mut cut = CutBatches::default();
        for (first, last) in [(3, 3), (5, 8), (9, 10), (5, 8)] {
            cut.note(first, last);
        }
        for (position, expected) in
            [(0, 0), (3, 3), (4, 4), (5, 4), (7, 4), (8, 8), (9, 8), (10, 10), (11, 11)]
        {
            assert_eq!(cut.whole(position), expected, "{position}");
        }
    }
}
