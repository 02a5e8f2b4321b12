//! What is to be read of the events of a group at one moment?

use crate::error::Result;
use crate::forgotten::Forgotten;
use crate::merge::Merged;
use crate::rollup::Rollups;
use crate::rows::EventRow;
use crate::segment::{RowFilter, Segment};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The events of a group as of one moment.
#[derive(Clone)]
pub struct EventView {
    pub(super) segments: Arc<[Segment]>,
    pub(super) open: Arc<Waiting>,
    pub(super) forgotten: Arc<Forgotten>,
    pub(super) rollups: Arc<Rollups>,
}

/// Rows that wait to be sealed, as of one moment.
#[derive(Default)]
pub(super) struct Waiting {
    entries: Vec<Arc<[EventRow]>>,
    sorted: OnceLock<Vec<EventRow>>,
}

impl Waiting {
    /// Of these entries. Cost: a pointer for each.
    pub fn of(entries: &[Arc<[EventRow]>]) -> Arc<Waiting> {
        Arc::new(Waiting { entries: entries.to_vec(), sorted: OnceLock::new() })
    }
    /// All, sorted. Cost: the first time they are copied and sorted.
    fn sorted(&self) -> &[EventRow] {
        self.sorted.get_or_init(|| {
            let mut rows = self.entries.concat();
            rows.sort();
            rows
        })
    }
}

impl EventView {
    /// Rows of some time (Unix milliseconds), in order, each once.
    pub fn rows<'v>(&'v self, wanted: RowFilter<'v>, times_ms: Range<u64>) -> Result<Merged<'v>> {
        Merged::new(&self.segments, self.open.sorted(), wanted, times_ms, &self.forgotten)
    }
    /// The same without rows in memory.
    pub(super) fn of_files(self) -> EventView {
        EventView { open: Arc::default(), ..self }
    }
    /// Its files.
    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }
    /// Rows that no file has, sorted.
    pub(crate) fn waiting(&self) -> &[EventRow] {
        self.open.sorted()
    }
    /// Users who are passed over.
    pub(crate) fn forgotten(&self) -> &Forgotten {
        &self.forgotten
    }
    /// What follows from its rows.
    pub(crate) fn rollups(&self) -> &Rollups {
        &self.rollups
    }
}
