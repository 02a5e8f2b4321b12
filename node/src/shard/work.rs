//! What there is to do for a shard, and how much of its queue each piece takes.

use super::options::WorkPosition;
use crate::error::{Error, Result};
use crossbeam_channel::Sender;
use quorate_engine::Schema;
use quorate_engine::index::{Payload, ShardView};
use quorate_model::{RecordOp, Settings};
use std::path::PathBuf;
use std::sync::Arc;

/// What a piece of work and each operation count beside their bytes.
const WORK_BYTES: usize = 64;
/// Operations as they came out: those that select records by a query have become deletions of what they selected.
pub(super) type Resolved = Result<Arc<Vec<RecordOp>>>;

/// Something to do, in log order.
pub(super) enum Work {
    /// Record operations of one command; with an asker they are made durable before it is answered.
    Apply { at: WorkPosition, ops: Arc<Vec<RecordOp>>, done: Option<Sender<Resolved>> },
    /// Other settings.
    Reconfigure { at: WorkPosition, schema: Schema },
    /// A durable commit, then the files become another shard's, too.
    Give { folder: PathBuf, payload: Payload, done: Sender<Result<()>> },
    /// A durable commit, then the files are linked into another folder; tried once.
    Export { folder: PathBuf, done: Sender<Result<()>> },
    /// A durable commit; tried once.
    Flush { done: Sender<Result<()>> },
    /// The records as of here; tried once.
    Pin { through: u64, done: Sender<Result<Arc<ShardView>>> },
}

impl Work {
    /// What it takes of the queue's bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Work::Apply { ops, .. } => ops_bytes(ops),
            Work::Reconfigure { schema, .. } => settings_bytes(schema.settings()),
            Work::Give { .. } | Work::Export { .. } | Work::Flush { .. } | Work::Pin { .. } => WORK_BYTES,
        }
    }
    /// What logs and statuses call it.
    pub fn name(&self) -> &'static str {
        match self {
            Work::Apply { .. } => "writing records",
            Work::Reconfigure { .. } => "changing settings",
            Work::Give { .. } => "copying the shard",
            Work::Export { .. } => "linking the shard's files",
            Work::Flush { .. } => "the durable commit",
            Work::Pin { .. } => "publishing",
        }
    }
    /// Whether it is refused rather than tried again.
    pub fn is_tried_once(&self) -> bool {
        match self {
            Work::Export { .. } | Work::Flush { .. } | Work::Pin { .. } => true,
            Work::Apply { .. } | Work::Reconfigure { .. } | Work::Give { .. } => false,
        }
    }
    /// Answers whoever asks for it that it is not done now.
    pub fn refuse(self) {
        match self {
            Work::Export { done, .. } | Work::Flush { done } => {
                let _asker_is_gone = done.send(Err(Error::Delayed));
            }
            Work::Pin { done, .. } => {
                let _asker_is_gone = done.send(Err(Error::Delayed));
            }
            Work::Apply { .. } | Work::Reconfigure { .. } | Work::Give { .. } => {}
        }
    }
}

/// What the operations of one command take of the queue's bytes.
pub(super) fn ops_bytes(ops: &[RecordOp]) -> usize {
    let each = |op: &RecordOp| match op {
        RecordOp::Put { object_id, record } => object_id.len() + record.len(),
        RecordOp::Partial { object_id, changes, .. } | RecordOp::PartialUpTo { object_id, changes, .. } => {
            object_id.len() + changes.len()
        }
        RecordOp::Delete { object_id } => object_id.len(),
        RecordOp::DeleteBy { params } => params.len(),
        RecordOp::Clear => 0,
    };
    WORK_BYTES + ops.iter().map(|op| each(op) + WORK_BYTES).sum::<usize>()
}

/// What a change of settings takes of the queue's bytes: as much as the document that is kept.
pub(super) fn settings_bytes(settings: &Settings) -> usize {
    WORK_BYTES + serde_json::to_vec(&settings.document).map_or(0, |document| document.len())
}
