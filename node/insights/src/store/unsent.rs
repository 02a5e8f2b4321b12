//! What has a sink of events not been given yet? Rows in the order of the log, a bounded number at a time.
//!
//! Files are sorted by user, so what is next in the log is looked for in all files that may have it; rows of memory are in the order
//! of the log. A file whose rows have all been given is not read.

use super::EventStore;
use crate::error::Result;
use crate::forgotten::Forgotten;
use crate::rows::EventRow;
use crate::segment::{RowFilter, Segment};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rows of a batch at most, unless a single entry has more.
pub const BATCH_ROWS_MAX: usize = 10_000;
/// About how many bytes the rows of a batch take at most, unless a single entry has more.
const BATCH_BYTES_MAX: usize = 8 << 20;
/// Rows that are kept of one pass over files at most, unless a single entry has more: files are read anew for the next ones.
const PASS_ROWS_MAX: usize = 16 * BATCH_ROWS_MAX;
/// About how many bytes these take at most, unless a single entry has more.
const PASS_BYTES_MAX: usize = 64 << 20;

/// Where the next rows are.
pub struct Unsent {
    after: u64,
    /// Everything through here is in these files, or was forgotten.
    position: u64,
    segments: Vec<Segment>,
    open: Vec<Batch>,
    forgotten: Forgotten,
    pass_rows: usize,
}

/// What one pass over files has found.
#[derive(Debug, PartialEq, Eq)]
pub struct Pass {
    /// The next batches, one at least.
    pub batches: Vec<Batch>,
    /// How many row groups were read for them.
    pub groups_read: usize,
}

/// Rows of whole entries, in the order of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The rows.
    pub rows: Vec<EventRow>,
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
        let open = if segments.is_empty() { self.open_after(after, &forgotten) } else { vec![] };
        let position = self.manifest.position;
        Unsent { after, position, segments, open, forgotten, pass_rows: PASS_ROWS_MAX }
    }
    /// The rows in memory that entries behind a log index have, entry by entry.
    fn open_entries_after(&self, after: u64) -> &[Arc<[EventRow]>] {
        let is_given = |rows: &Arc<[EventRow]>| rows.last().is_none_or(|row| row.log_index <= after);
        &self.open.entries[self.open.entries.partition_point(is_given)..]
    }
    fn open_after(&self, after: u64, forgotten: &Forgotten) -> Vec<Batch> {
        let mut next = Next::of(PASS_ROWS_MAX);
        for row in self.open_entries_after(after).iter().flat_map(|rows| rows.iter()) {
            if next.is_beyond(row.log_index) {
                break;
            }
            if !forgotten.hides(row) {
                next.push(row.clone());
            }
        }
        next.batches(self.open.through.max(after))
    }
}

impl Unsent {
    /// Reads it; `None` when it was stopped. Cost: rows of files that may have some are read, a row group at a time, up to those that
    /// come behind what is kept. Sealed files follow each other in the log, so each is read twice at most; one that was merged of many
    /// is read once for each of the passes that it has rows of.
    ///
    /// Errors: a file cannot be read, or is damaged.
    pub fn read(self, stop: &AtomicBool) -> Result<Option<Pass>> {
        let Unsent { after, position, segments, open, forgotten, pass_rows } = self;
        if segments.is_empty() {
            return Ok(Some(Pass { batches: open, groups_read: 0 }));
        }
        let (mut next, mut groups_read) = (Next::of(pass_rows), 0);
        for segment in segments {
            if next.is_beyond(segment.facts().log_indices[0]) {
                break;
            }
            for group in segment.groups(RowFilter::ALL) {
                if stop.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                groups_read += 1;
                for row in segment.rows(group)? {
                    if row.log_index > after && !next.is_beyond(row.log_index) && !forgotten.hides(&row) {
                        next.push(row);
                    }
                }
            }
        }
        Ok(Some(Pass { batches: next.batches(position.max(after)), groups_read }))
    }
}

/// The rows of the first entries among those that are shown to it.
struct Next {
    rows_max: usize,
    by_entry: BTreeMap<u64, (Vec<EventRow>, usize)>,
    rows: usize,
    bytes: usize,
    /// The first entry that has no room.
    end: Option<u64>,
}

impl Next {
    fn of(rows_max: usize) -> Next {
        Next { rows_max, by_entry: BTreeMap::new(), rows: 0, bytes: 0, end: None }
    }
    fn is_beyond(&self, log_index: u64) -> bool {
        self.end.is_some_and(|end| log_index >= end)
    }
    fn push(&mut self, row: EventRow) {
        let bytes = row.bytes();
        let (rows, of_entry) = self.by_entry.entry(row.log_index).or_default();
        rows.push(row);
        *of_entry += bytes;
        (self.rows, self.bytes) = (self.rows + 1, self.bytes + bytes);
        while (self.rows > self.rows_max || self.bytes > PASS_BYTES_MAX) && self.by_entry.len() > 1 {
            let (end, (rows, bytes)) = self.by_entry.pop_last().expect("there are several");
            (self.rows, self.bytes) = (self.rows - rows.len(), self.bytes - bytes);
            self.end = Some(end);
        }
    }
    /// What was kept; without an end it is everything through `all`.
    fn batches(self, all: u64) -> Vec<Batch> {
        let through = self.end.map_or(all, |end| end - 1);
        let (mut batches, mut bytes) = (vec![Batch { rows: vec![], through }], 0);
        for (log_index, (mut of_entry, of_entry_bytes)) in self.by_entry {
            of_entry.sort();
            let last = batches.last_mut().expect("there is one");
            let is_full =
                last.rows.len() + of_entry.len() > BATCH_ROWS_MAX || bytes + of_entry_bytes > BATCH_BYTES_MAX;
            if is_full && !last.rows.is_empty() {
                last.through = log_index - 1;
                batches.push(Batch { rows: vec![], through });
                bytes = 0;
            }
            bytes += of_entry_bytes;
            batches.last_mut().expect("there is one").rows.append(&mut of_entry);
        }
        batches
    }
}

#[cfg(test)]
mod tests;
