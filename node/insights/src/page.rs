//! Which rows of a day are handed out at a time? So many in their order that a page stays small, and where the next one begins.

use crate::error::{Error, Result};
use crate::merge::Merged;
use crate::rows::EventRow;
use crate::segment::{PlainWriter, RowFilter};
use crate::store::EventView;
use quorate_model::analytics::Day;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Rows of a page at most.
pub const ROWS_MAX: u64 = 65_536;
/// Bytes that rows of a page take in memory, about; one row may go beyond.
const BYTES_MAX: usize = 12 << 20;
/// Rows between two looks at whether to stop.
const LOOK_ROWS: u64 = 1_024;

/// A row that was handed out: its place in the order of rows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct After {
    /// The index.
    pub index: String,
    /// The hash of the user.
    pub user_hash: u64,
    /// The user.
    pub user: String,
    /// Unix milliseconds.
    pub time_ms: u64,
    /// What tells rows of one moment apart.
    pub fingerprint: u64,
    /// Where the log has it.
    pub log_index: u64,
}

impl After {
    fn of(row: &EventRow) -> After {
        After {
            index: row.index.to_string(),
            user_hash: row.user_hash,
            user: row.user.to_string(),
            time_ms: row.time_ms,
            fingerprint: row.fingerprint,
            log_index: row.log_index,
        }
    }
    fn is_before(&self, row: &EventRow) -> bool {
        let own = (&*self.index, self.user_hash, &*self.user, self.time_ms, self.fingerprint, self.log_index);
        own < row.order()
    }
}

/// Some rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// A Parquet file; nothing when there are no rows.
    pub parquet: Vec<u8>,
    /// How many.
    pub rows: u64,
    /// The last one, when others may follow.
    pub next: Option<After>,
}

impl EventView {
    /// The rows of a day that stand behind a row, of one index or all, each once and none of users who are forgotten. `None` when
    /// it was stopped. Cost: what the page has, and the rows of the user that the page before ended with.
    pub fn page(
        &self,
        day: Day,
        index: Option<&str>,
        after: Option<&After>,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Page>> {
        let from = after.map(|after| (after.index.as_str(), after.user_hash));
        let wanted = RowFilter { index, from, ..RowFilter::ALL };
        let times_ms = day.start_ms()..day.start_ms().saturating_add(quorate_model::analytics::DAY_MS);
        let rows: Merged<'_> = self.rows(wanted, times_ms)?;
        let failed = |error| Error::io("write", Path::new("rows for another program"), error);
        let mut writer = PlainWriter::new(vec![]).map_err(failed)?;
        let (mut bytes, mut seen, mut last) = (0, 0_u64, None);
        for row in rows {
            let row = row?;
            seen += 1;
            if seen.is_multiple_of(LOOK_ROWS) && is_over() {
                return Ok(None);
            }
            if after.is_some_and(|after| !after.is_before(&row)) {
                continue;
            }
            if writer.rows() >= ROWS_MAX || bytes >= BYTES_MAX {
                let (rows, next) = (writer.rows(), last);
                return Ok(Some(Page { parquet: writer.finish().map_err(failed)?, rows, next }));
            }
            bytes += row.bytes();
            last = Some(After::of(&row));
            writer.push(row).map_err(failed)?;
        }
        Ok(Some(match writer.rows() {
            0 => Page::default(),
            rows => Page { parquet: writer.finish().map_err(failed)?, rows, next: None },
        }))
    }
}

#[cfg(test)]
mod tests;
