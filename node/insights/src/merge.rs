//! In which order are rows of many files read, and which of them count?
//!
//! All files are sorted alike, so that what belongs together stands next to each other: what a user did with an index, in time, and
//! an event beside its repetition. A row is passed over when it is of a forgotten user, or repeats an earlier one: a batch that was
//! sent twice counts once. Events with a time of their own repeat when they are equal; events without one when they are equal
//! within two minutes, in which clients send a batch again that nobody has answered.

use crate::error::Result;
use crate::forgotten::Forgotten;
use crate::rows::EventRow;
use crate::segment::{RowFilter, Segment};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;

/// How long after an event without a time the same one repeats it.
pub const REPEATED_WITHIN_MS: u64 = 120_000;
/// Events of one user that are remembered before old ones are let go.
const RECENT_MAX: usize = 1_024;

/// Rows of some files, and of memory, in their order.
pub(crate) struct Sorted<'m> {
    sources: Vec<Source<'m>>,
    /// The next row of each source that has one.
    heads: BinaryHeap<Reverse<(EventRow, usize)>>,
    is_kept: Box<dyn Fn(&EventRow) -> bool + 'm>,
}

/// Where rows come from.
enum Source<'m> {
    File {
        segment: &'m Segment,
        wanted: RowFilter<'m>,
        groups: std::vec::IntoIter<usize>,
        rows: std::vec::IntoIter<EventRow>,
    },
    Memory(std::slice::Iter<'m, EventRow>),
}

impl Source<'_> {
    /// The next kept row.
    fn next(&mut self, is_kept: &dyn Fn(&EventRow) -> bool) -> Result<Option<EventRow>> {
        match self {
            Source::Memory(rows) => Ok(rows.find(|row| is_kept(row)).cloned()),
            Source::File { segment, wanted, groups, rows } => loop {
                if let Some(row) = rows.next() {
                    return Ok(Some(row));
                }
                let Some(group) = groups.next() else { return Ok(None) };
                // many files are open at once: of what nobody wants nothing stays in memory
                let mut read = match segment.wanted(group, *wanted) {
                    Err(error) if wanted.passes_over_damage && error.is_damage() => continue,
                    read => read?,
                };
                read.retain(is_kept);
                read.shrink_to_fit();
                *rows = read.into_iter();
            },
        }
    }
}

impl<'m> Sorted<'m> {
    /// Reads what is wanted and kept of files, and of rows in memory, which have to be sorted.
    pub fn new(
        segments: impl Iterator<Item = &'m Segment>,
        memory: &'m [EventRow],
        wanted: RowFilter<'m>,
        is_kept: impl Fn(&EventRow) -> bool + 'm,
    ) -> Result<Self> {
        let files = segments.map(|segment| Source::File {
            segment,
            wanted,
            groups: segment.groups(wanted).into_iter(),
            rows: vec![].into_iter(),
        });
        let sources = files.chain([Source::Memory(memory.iter())]).collect();
        let is_kept = Box::new(move |row: &EventRow| wanted.takes(row) && is_kept(row));
        let mut sorted = Sorted { sources, heads: BinaryHeap::new(), is_kept };
        (0..sorted.sources.len()).try_for_each(|source| sorted.advance(source))?;
        Ok(sorted)
    }
    /// Puts the next kept row of a source among the heads.
    fn advance(&mut self, source: usize) -> Result<()> {
        if let Some(row) = self.sources[source].next(&*self.is_kept)? {
            self.heads.push(Reverse((row, source)));
        }
        Ok(())
    }
    /// The next row.
    pub fn step(&mut self) -> Result<Option<EventRow>> {
        let Some(mut head) = self.heads.peek_mut() else { return Ok(None) };
        let source = head.0.1;
        // most often the next one of the same source takes the place, and goes down no further than it has to
        let Reverse((row, _)) = match self.sources[source].next(&*self.is_kept)? {
            Some(next) => std::mem::replace(&mut *head, Reverse((next, source))),
            None => PeekMut::pop(head),
        };
        Ok(Some(row))
    }
}

/// Rows of some files in their order, each once.
pub struct Merged<'m> {
    sorted: Sorted<'m>,
    from_ms: u64,
    repeated: Repeated,
}

impl<'m> Merged<'m> {
    /// Reads what is wanted of files, and of rows in memory, which have to be sorted. Cost: of each file a row group at a time.
    pub fn new(
        segments: &'m [Segment],
        memory: &'m [EventRow],
        wanted: RowFilter<'m>,
        times_ms: Range<u64>,
        forgotten: &'m Forgotten,
    ) -> Result<Self> {
        // what is repeated in the range may begin before it
        let near = times_ms.start.saturating_sub(REPEATED_WITHIN_MS)..times_ms.end;
        let is_near = |segment: &&Segment| {
            let [first, last] = segment.facts().times_ms;
            first < near.end && last >= near.start
        };
        let is_kept = {
            let near = near.clone();
            move |row: &EventRow| near.contains(&row.time_ms) && !forgotten.hides(row)
        };
        let sorted = Sorted::new(segments.iter().filter(is_near), memory, wanted, is_kept)?;
        Ok(Merged { sorted, from_ms: times_ms.start, repeated: Repeated::default() })
    }
}
impl Iterator for Merged<'_> {
    type Item = Result<EventRow>;

    fn next(&mut self) -> Option<Result<EventRow>> {
        loop {
            match self.sorted.step() {
                Ok(Some(row)) if self.repeated.repeats(&row) || row.time_ms < self.from_ms => {}
                other => return other.transpose(),
            }
        }
    }
}

/// What a user has just done.
#[derive(Default)]
struct Repeated {
    of: Option<EventRow>,
    /// When each was there last, Unix milliseconds.
    recent: FxHashMap<u64, u64>,
}

impl Repeated {
    /// Whether a row, which is not before the last one, repeats another one.
    fn repeats(&mut self, row: &EventRow) -> bool {
        if !self.of.as_ref().is_some_and(|of| of.is_of_same_user(row)) {
            self.of = Some(row.clone());
            self.recent.clear();
        }
        let is_near = |time_ms: u64| time_ms.saturating_add(REPEATED_WITHIN_MS) >= row.time_ms;
        if self.recent.len() >= RECENT_MAX {
            self.recent.retain(|_, time_ms| is_near(*time_ms));
        }
        self.recent.insert(row.fingerprint, row.time_ms).is_some_and(is_near)
    }
}

#[cfg(test)]
mod tests;
