//! How large may a record become by partial updates?
//!
//! That is decided where an update is applied, on every node alike: one that would make its record too large changes nothing there.
//! Here updates are compared with what the node shows of their records, so that their caller hears of it. That misses what came in
//! between, and what other updates of the same request add.

use crate::context::NodeContext;
use quorate_model::level;
use quorate_model::record::{PartialOutcome, apply_partial, too_large};
use quorate_model::user::owner_of;
use quorate_model::{Error, ErrorKind, RecordOp, Result};
use quorate_node::IndexView;
use quorate_node::ops::Incarnation;

/// Updates of one request that are worked out, each of which may cost reading a whole record.
const WORKED_OUT_MAX: usize = 1_000;

/// Gives operations on an index back as the nodes know them, `None` for one that is not there yet.
///
/// Errors: `Invalid` when one of them would make a record too large. Cost: a lookup for each partial update, away from the threads
/// of calls, and those that could be too large are worked out; without a copy of the index here, none.
pub async fn bounded(
    context: &NodeContext,
    index: Option<Incarnation>,
    ops: Vec<RecordOp>,
) -> Result<Vec<RecordOp>> {
    if !ops.iter().any(|op| matches!(op, RecordOp::PartialUpTo { .. })) {
        return Ok(ops);
    }
    if context.meta().level() < level::BOUNDED_GROWTH {
        return Ok(ops.into_iter().map(unbounded).collect());
    }
    let Some(view) = index.and_then(|index| context.node().view(index).ok()) else { return Ok(ops) };
    let checked = move || check(&view, &ops).map(|()| ops);
    let broke_off =
        |error| Error::new(ErrorKind::Internal, format!("updates could not be compared: {error}"));
    tokio::task::spawn_blocking(checked).await.map_err(broke_off)?
}

/// As earlier programs know it.
fn unbounded(op: RecordOp) -> RecordOp {
    match op {
        RecordOp::PartialUpTo { object_id, changes, create, bytes_max: _ } => {
            RecordOp::Partial { object_id, changes, create }
        }
        other => other,
    }
}

fn check(view: &IndexView, ops: &[RecordOp]) -> Result<()> {
    let mut worked_out = 0;
    for op in ops {
        let RecordOp::PartialUpTo { object_id, changes, create, bytes_max } = op else { continue };
        let Some(record) = view.record(object_id) else { continue };
        if ((record.len() + changes.len()) as u64) <= *bytes_max {
            continue;
        }
        worked_out += 1;
        if worked_out > WORKED_OUT_MAX {
            break;
        }
        let outcome = apply_partial(Some(record), changes, *create, object_id, Some(*bytes_max))?;
        if let PartialOutcome::TooLarge(bytes) = outcome {
            return Err(too_large(bytes, *bytes_max as usize, Some(owner_of(object_id).1)));
        }
    }
    Ok(())
}
