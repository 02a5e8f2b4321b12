//! Which entries does a start find that the log had cut off or replaced?
//!
//! The engine copies old live entries into files of their own. The word that such entries count no more stands in a newer file,
//! and is not copied when that goes: with the next start they are there again. What follows them is
//! no trouble to the engine while it opens. Without anything that follows they would be taken for the end of the log, and the next
//! entry would leave a gap, which the engine does not survive.

use crate::error::RaftError;
use crate::log::log_error;
use crate::log_batch::{EntryExt, KEY_TRUNCATED};
use crate::log_engine::RaftEngine;
use raft::eraftpb::SnapshotMetadata;
use raft_engine::{Command, LogBatch};

/// Cuts them off again, in memory at least. Errors: `Log`.
pub(crate) fn drop_dead(engine: &RaftEngine) -> Result<(), RaftError> {
    let mut batch = LogBatch::default();
    for region in engine.raft_groups() {
        if has_dead(engine, region).map_err(log_error)? {
            tracing::info!(group = region - 1, "entries are passed over that the log had cut off before");
            batch.add_command(region, Command::Compact { index: u64::MAX });
        }
    }
    // not for the disk, where they may come back with the next start
    engine.write(&mut batch, false).map_err(log_error).map(|_| ())
}

/// Whether none of the entries of a group counts.
fn has_dead(engine: &RaftEngine, region: u64) -> Result<bool, raft_engine::Error> {
    let (Some(first), Some(last)) = (engine.first_index(region), engine.last_index(region)) else {
        return Ok(false);
    };
    let Some(cut) = engine.get_message::<SnapshotMetadata>(region, KEY_TRUNCATED)? else {
        // a log that was never cut begins with its first entry: these are of a time before this member left the group
        return Ok(first > 1);
    };
    if last <= cut.index {
        return Ok(true);
    }
    // of what follows in one log the term is at least that of what comes before
    let next = engine.get_entry::<EntryExt>(region, cut.index + 1)?;
    Ok(next.is_some_and(|entry| entry.term < cut.term))
}
