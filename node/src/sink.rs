//! What does the sink of events get from a group of this node, and how far is it?

use crate::error::Result;
use crate::node::Node;
use quorate_insights::store::Batch;
use quorate_model::GroupId;
use std::sync::atomic::AtomicBool;

/// How far a sink is with the events of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SinkStanding {
    /// It has been given everything through this log index, as the group says.
    pub sent_through: u64,
    /// How many rows there are at most that it has not been given.
    pub rows: u64,
}

impl Node {
    /// From here on there is a sink: what is removed before it was given it is counted.
    pub fn has_sink(&self) {
        self.shared().events().has_sink();
    }
    /// Rows that were removed here before a sink was given them.
    pub fn lost_to_sink(&self) -> u64 {
        self.shared().events().lost_to_sink()
    }
    /// How far a sink is with a group, or as far as it was given more since the group said so; `None` when the group is not here.
    /// Cost: a lock, and a look at what is known of each file.
    pub fn sink_standing(&self, group: GroupId, given: u64) -> Option<SinkStanding> {
        let store = self.shared().events().store(group)?;
        let store = store.lock();
        let sent_through = store.sent_through().max(given);
        Some(SinkStanding { sent_through, rows: store.rows_after(sent_through) })
    }
    /// Through which log index a sink has everything, as the group says.
    pub fn sent_through(&self, group: GroupId) -> u64 {
        self.shared().events().store(group).map_or(0, |store| store.lock().sent_through())
    }
    /// The next rows behind a log index, in batches; none when it was stopped or the group is not here. Cost: files that may have them are
    /// read.
    pub fn unsent(&self, group: GroupId, after: u64, stop: &AtomicBool) -> Result<Vec<Batch>> {
        let Some(store) = self.shared().events().store(group) else { return Ok(vec![]) };
        let unsent = store.lock().unsent(after);
        Ok(unsent.read(stop)?.map_or_else(Vec::new, |pass| pass.batches))
    }
}
