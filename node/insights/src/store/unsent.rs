//! What has a sink of events not been given yet? Rows in the order of the log, a bounded number at a time.
//!
//! Files are sorted by user, so what is next in the log is looked for in all files that may have it; rows of memory are in the order
//! of the log. A file whose rows have all been given is not read.

use super::EventStore;
use crate::error::Result;
use crate::forgotten::Forgotten;
use crate::rows::Row;
use crate::segment::{Segment, Wanted};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rows of a batch at most, unless a single entry has more.
pub const BATCH_ROWS_MAX: usize = 10_000;
/// About how many bytes the rows of a batch take at most, unless a single entry has more.
const BATCH_BYTES_MAX: usize = 8 << 20;

/// Where the next rows are.
pub struct Unsent {
    after: u64,
    /// Everything through here is in these files, or was forgotten.
    position: u64,
    segments: Vec<Segment>,
    open: Batch,
    forgotten: Forgotten,
}

/// Rows of whole entries, in the order of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The rows.
    pub rows: Vec<Row>,
    /// The log index through which these rows, and those before them, are everything.
    pub through: u64,
}

impl EventStore {
    /// The log index through which the group says that a sink has everything.
    pub fn sent_through(&self) -> u64 {
        self.sent
    }
    /// Says that a sink has everything through a log index. Returns whether that is new.
    pub fn note_sent(&mut self, through: u64) -> bool {
        let is_new = through > self.sent;
        self.sent = self.sent.max(through);
        is_new
    }
    /// How many rows there are at most behind a log index. Cost: a look at what is known of each file.
    pub fn rows_after(&self, after: u64) -> u64 {
        let facts = self.segments.iter().map(Segment::facts);
        let in_files: u64 = facts.filter(|facts| facts.log_indices[1] > after).map(|facts| facts.rows).sum();
        in_files + self.open_entries_after(after).iter().map(|rows| rows.len() as u64).sum::<u64>()
    }
    /// What comes next behind a log index. No input or output.
    pub fn unsent(&self, after: u64) -> Unsent {
        let is_behind = |segment: &&Segment| segment.facts().log_indices[1] > after;
        let mut segments: Vec<Segment> = self.segments.iter().filter(is_behind).cloned().collect();
        segments.sort_by_key(|segment| segment.facts().log_indices[0]);
        let forgotten = self.forgotten();
        // what is in memory comes later in the log than what is in files
        let open = if segments.is_empty() { self.open_after(after, &forgotten) } else { Batch::default() };
        Unsent { after, position: self.manifest.position, segments, open, forgotten }
    }
    /// The rows in memory that entries behind a log index have, entry by entry.
    fn open_entries_after(&self, after: u64) -> &[Arc<[Row]>] {
        let is_given = |rows: &Arc<[Row]>| rows.last().is_none_or(|row| row.log_index <= after);
        &self.open.entries[self.open.entries.partition_point(is_given)..]
    }
    fn open_after(&self, after: u64, forgotten: &Forgotten) -> Batch {
        let mut next = Next::default();
        for row in self.open_entries_after(after).iter().flat_map(|rows| rows.iter()) {
            if next.is_beyond(row.log_index) {
                break;
            }
            if !forgotten.hides(row) {
                next.push(row.clone());
            }
        }
        next.batch(self.open.through.max(after))
    }
}

impl Unsent {
    /// Reads it; `None` when it was stopped. Cost: rows of files that may have some are read, a row group at a time.
    ///
    /// Errors: a file cannot be read, or is damaged.
    pub fn read(self, stop: &AtomicBool) -> Result<Option<Batch>> {
        let Unsent { after, position, segments, open, forgotten } = self;
        if segments.is_empty() {
            return Ok(Some(open));
        }
        let mut next = Next::default();
        for segment in segments {
            if next.is_beyond(segment.facts().log_indices[0]) {
                break;
            }
            for group in segment.groups(Wanted::ALL) {
                if stop.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                for row in segment.rows(group)? {
                    if row.log_index > after && !next.is_beyond(row.log_index) && !forgotten.hides(&row) {
                        next.push(row);
                    }
                }
            }
        }
        Ok(Some(next.batch(position.max(after))))
    }
}

/// The rows of the first entries among those that are shown to it.
#[derive(Default)]
struct Next {
    by_entry: BTreeMap<u64, (Vec<Row>, usize)>,
    rows: usize,
    bytes: usize,
    /// The first entry that has no room.
    end: Option<u64>,
}

impl Next {
    fn is_beyond(&self, log_index: u64) -> bool {
        self.end.is_some_and(|end| log_index >= end)
    }
    fn push(&mut self, row: Row) {
        let bytes = row.bytes();
        let (rows, of_entry) = self.by_entry.entry(row.log_index).or_default();
        rows.push(row);
        *of_entry += bytes;
        (self.rows, self.bytes) = (self.rows + 1, self.bytes + bytes);
        while (self.rows > BATCH_ROWS_MAX || self.bytes > BATCH_BYTES_MAX) && self.by_entry.len() > 1 {
            let (end, (rows, bytes)) = self.by_entry.pop_last().expect("there are several");
            (self.rows, self.bytes) = (self.rows - rows.len(), self.bytes - bytes);
            self.end = Some(end);
        }
    }
    /// What was kept; without an end it is everything through `all`.
    fn batch(self, all: u64) -> Batch {
        let through = self.end.map_or(all, |end| end - 1);
        let mut rows = vec![];
        for (mut of_entry, _) in self.by_entry.into_values() {
            of_entry.sort();
            rows.extend(of_entry);
        }
        Batch { rows, through }
    }
}

#[cfg(test)]
mod tests;
