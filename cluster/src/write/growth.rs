//! How large may a record become by partial updates?
//!
//! That is decided where an update is applied, on every node alike: one that would make its record too large changes nothing there.
//! Here it is foreseen, so that the caller hears of it: the operations of a request are worked out in their order on the records
//! of the moment, where they could come to too much. What others write at the same time is not foreseen.

use crate::context::NodeContext;
use crate::meta::IndexRow;
use crate::read::user_records;
use quorate_model::level;
use quorate_model::record::{PartialOutcome, apply_partial, too_large};
use quorate_model::user::owner_of;
use quorate_model::{Error, ErrorKind, RecordOp, Result};
use quorate_node::IndexView;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Records of one request that are looked at closely, and updates that are worked out, each of which may cost reading a whole record.
const CLOSELY_MAX: usize = 100;
const WORKED_OUT_MAX: usize = 1_000;

/// How long the updates of a call may wait for what was answered before them. Afterwards applying them decides.
const FORESEEN: Duration = Duration::from_secs(3);

/// When that ends for a call that begins now.
pub fn deadline() -> Instant {
    Instant::now() + FORESEEN
}

/// What records hold, by their stored ids; `None` = there is none.
type Records = HashMap<String, Option<Vec<u8>>>;

/// Gives operations on an index back as the nodes know them; `row` is `None` for one that begins without records.
///
/// Errors: `Invalid` with the number of an operation that would make a record too large. Cost: a lookup for each partial update, away
/// from the threads of calls; those that could come to too much are worked out, and if they do, again on records that everything
/// answered before is in. Without a copy of the index here, none.
pub async fn bounded(
    context: &NodeContext,
    row: Option<IndexRow>,
    ops: Vec<RecordOp>,
    deadline: Instant,
) -> Result<Vec<RecordOp>> {
    if !ops.iter().any(|op| matches!(op, RecordOp::PartialUpTo { .. })) {
        return Ok(ops);
    }
    if context.meta().level() < level::BOUNDED_GROWTH {
        return Ok(ops.into_iter().map(unbounded).collect());
    }
    let state = row.as_ref().map(|row| context.node().index(row.incarnation));
    // it stands elsewhere: applying it decides
    let Some(state) = state.map_or(Some(None), |state| state.map(Some)) else { return Ok(ops) };
    let ops = Arc::new(ops);
    let looked = ops.clone();
    // not as a reader does: nothing is published for it
    let shown = move || match state.map(|state| state.view()).transpose() {
        Ok(view) => closely(view.as_deref(), &looked),
        Err(_unreadable) => (None, BTreeSet::new()),
    };
    let (looked, closely) = away(shown).await?;
    if let (Some(_), Some(row)) = (&looked, &row) {
        let ids: Vec<String> = closely.into_iter().collect();
        let Ok(records) = user_records::records(context, row, &ids, deadline).await else {
            return Ok(taken_back(ops));
        };
        let again = ops.clone();
        let found = away(move || first_too_large(&again, ids.into_iter().zip(records).collect())).await?;
        return found?.map_or_else(|| Ok(taken_back(ops)), Err);
    }
    looked.map_or_else(|| Ok(taken_back(ops)), Err)
}

/// Nobody else has them any more.
fn taken_back(ops: Arc<Vec<RecordOp>>) -> Vec<RecordOp> {
    Arc::try_unwrap(ops).unwrap_or_else(|ops| (*ops).clone())
}

async fn away<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let broke_off =
        |error| Error::new(ErrorKind::Internal, format!("updates could not be worked out: {error}"));
    tokio::task::spawn_blocking(work).await.map_err(broke_off)
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

/// Which records could become too large, and what the first operation that makes one of them so on the records of a view would be refused with.
fn closely(view: Option<&IndexView>, ops: &[RecordOp]) -> (Option<Error>, BTreeSet<String>) {
    let ids = may_be_too_large(view, ops);
    let record = |id: &String| (id.clone(), view.and_then(|view| view.record(id)).map(<[u8]>::to_vec));
    let found = first_too_large(ops, ids.iter().map(record).collect());
    (found.ok().flatten(), ids)
}

/// The records that become too large if nothing that is set takes the place of something.
fn may_be_too_large(view: Option<&IndexView>, ops: &[RecordOp]) -> BTreeSet<String> {
    let (mut sizes, mut is_empty) = (HashMap::<&str, usize>::new(), false);
    let mut ids = BTreeSet::new();
    for op in ops {
        match op {
            RecordOp::Put { object_id, record } => drop(sizes.insert(object_id, record.len())),
            RecordOp::Delete { object_id } => drop(sizes.insert(object_id, 0)),
            RecordOp::Clear => (sizes, is_empty) = (HashMap::new(), true),
            RecordOp::PartialUpTo { object_id, changes, bytes_max, create: _ } => {
                let shown = || {
                    view.filter(|_| !is_empty).and_then(|view| view.record(object_id)).map_or(0, <[u8]>::len)
                };
                let size = sizes.entry(object_id).or_insert_with(shown);
                // a record that is made has its id, too
                *size += if *size == 0 { object_id.len() + "{\"objectID\":\"\",".len() } else { 0 };
                *size += changes.len();
                if *size as u64 > *bytes_max && ids.len() < CLOSELY_MAX {
                    ids.insert(object_id.clone());
                }
            }
            RecordOp::Partial { .. } | RecordOp::DeleteBy { .. } => {}
        }
    }
    ids
}

/// What the first operation is refused with that makes one of `records` too large. Behind a deletion by a query nobody knows.
fn first_too_large(ops: &[RecordOp], mut records: Records) -> Result<Option<Error>> {
    let mut worked_out = 0;
    for (number, op) in ops.iter().enumerate() {
        match op {
            RecordOp::DeleteBy { .. } => break,
            RecordOp::Clear => records.values_mut().for_each(|record| *record = None),
            RecordOp::Put { object_id, record } => {
                records.get_mut(object_id).into_iter().for_each(|it| *it = Some(record.clone()));
            }
            RecordOp::Delete { object_id } => {
                records.get_mut(object_id).into_iter().for_each(|it| *it = None)
            }
            RecordOp::Partial { object_id, .. } => drop(records.remove(object_id)),
            RecordOp::PartialUpTo { object_id, changes, create, bytes_max } => {
                let Some(record) = records.get_mut(object_id) else { continue };
                worked_out += 1;
                if worked_out > WORKED_OUT_MAX {
                    break;
                }
                match apply_partial(record.as_deref(), changes, *create, object_id, Some(*bytes_max))? {
                    PartialOutcome::Write(text) => *record = Some(text),
                    PartialOutcome::Ignore => {}
                    PartialOutcome::TooLarge(bytes) => {
                        let error = too_large(bytes, *bytes_max as usize, Some(owner_of(object_id).1));
                        return Ok(Some(Error { position: Some(number as u64), ..error }));
                    }
                }
            }
        }
    }
    Ok(None)
}
