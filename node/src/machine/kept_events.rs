//! Which files of events does a group have, so that a start knows of those that are gone? One row of the metadata store.
//!
//! A folder of events says itself what it has. The row tells a folder without anything from one that never had anything, and one of
//! an earlier day from the last one. Programs that do not know the row pass it over.

use crate::error::Result;
use quorate_insights::store::KeptRows;
use quorate_store::codec;
use quorate_store::kv::{Batch, Tree};
use quorate_store::layout::rows;

/// Placement group: what the files of events had at the last checkpoint.
pub(super) const KEPT_EVENTS: u8 = b'k';

/// The log index after which a restart of a group replays, as its tree says.
pub(super) fn replay_from(tree: &Tree) -> Result<Option<u64>> {
    let row = tree.get(&[rows::REPLAY])?;
    Ok(row.map(|bytes| codec::decode::<u64>(&bytes, 16)).transpose()?)
}
/// What the files of a group's events should have: what is behind the replay comes again.
pub(super) fn load(tree: &Tree) -> Result<KeptRows> {
    let Some(row) = tree.get(&[KEPT_EVENTS])? else { return Ok(KeptRows::default()) };
    let (through, rows) = codec::decode::<(u64, u64)>(&row, 32)?;
    Ok(KeptRows { through: through.min(replay_from(tree)?.unwrap_or(through)), rows })
}
/// Puts it down.
pub(super) fn keep(KeptRows { through, rows }: KeptRows, changes: &mut Batch) {
    changes.put([KEPT_EVENTS], codec::encode(&(through, rows)));
}
