//! Through where does the log of a group name users that are forgotten? One row of the metadata store, so that a process that is
//! killed before such entries have left the disk is not the last one to know.
//!
//! Programs that do not know the row pass it over.

use crate::error::Result;
use quorate_store::codec;
use quorate_store::kv::{Batch, Tree};

/// Placement group: the log index of the last entry that told to forget a user.
pub(super) const FORGETS: u8 = b'g';

/// That log index; 0 when there was none.
pub(super) fn load(tree: &Tree) -> Result<u64> {
    let row = tree.get(&[FORGETS])?;
    Ok(row.map(|bytes| codec::decode::<u64>(&bytes, 16)).transpose()?.unwrap_or(0))
}
/// Puts it down.
pub(super) fn keep(through: u64, changes: &mut Batch) {
    changes.put([FORGETS], codec::encode(&through));
}
