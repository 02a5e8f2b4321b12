//! Which rows does a model of an index learn from?

use crate::neighbours::{Collector, Interaction, Interactions, Kind, NeighboursError, Result};
use crate::rows::{EventRow, RowKind};
use crate::segment::RowFilter;
use crate::store::EventView;
use quorate_model::event::EventKind;
use std::sync::atomic::{AtomicBool, Ordering};

/// Days that are enough where much happens.
const DAYS: u64 = 30;
/// Days that are looked at where little happens: as long as rows are kept.
const DAYS_MAX: u64 = 90;
/// Rows from which on much happens.
const ROWS_ENOUGH: u64 = 10_000;
/// Rows between two looks at whether to stop: far less than 100 ms.
const LOOK_ROWS: usize = 1_024;
const DAY_MS: u64 = 24 * 3_600_000;

/// Collects what users had to do with the records of an index, as of a moment (Unix milliseconds): 30 days, 90 while there are
/// fewer than 10,000 rows, the newest days of these when a build has no room for more. Forgotten users are not among them.
///
/// Errors: `Stopped`, `Events`. Cost: the rows of the window are read, a day at a time.
pub fn interactions_of(
    view: &EventView,
    index: &str,
    now_ms: u64,
    stop: &AtomicBool,
) -> Result<Interactions> {
    let wanted = RowFilter { index: Some(index), ..RowFilter::ALL };
    let mut collector = Collector::new();
    let mut taken = 0;
    let today = now_ms / DAY_MS;
    'days: for before in 0..=DAYS_MAX {
        if before > DAYS && taken >= ROWS_ENOUGH {
            break;
        }
        let Some(day) = today.checked_sub(before) else { break };
        for (number, row) in view.rows(wanted, day * DAY_MS..(day + 1) * DAY_MS)?.enumerate() {
            if number % LOOK_ROWS == 0 && stop.load(Ordering::Relaxed) {
                return Err(NeighboursError::Stopped);
            }
            let row = row?;
            let Some(interaction) = interaction_of(&row) else { continue };
            match collector.add(interaction) {
                Ok(()) => taken += 1,
                Err(NeighboursError::TooMany { .. }) => break 'days,
                Err(error) => return Err(error),
            }
        }
    }
    collector.finish(stop)
}

/// What a row says of a user and a record; nothing for searches and for events of filters.
pub(crate) fn interaction_of(row: &EventRow) -> Option<Interaction<'_>> {
    let RowKind::Event(kind) = row.kind else { return None };
    let kind = match kind {
        EventKind::View => Kind::View,
        EventKind::Click => Kind::Click,
        EventKind::AddToCart => Kind::Cart,
        EventKind::Conversion => Kind::Conversion,
        EventKind::Purchase => Kind::Purchase,
    };
    Some(Interaction { user: row.user_hash, item: row.object.as_deref()?, kind, time_ms: row.time_ms as i64 })
}
