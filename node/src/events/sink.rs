//! What does a node know of the sink of events, and what is lost to it?

use super::{NodeEvents, SharedStore};
use quorate_model::GroupId;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a node knows of a sink.
#[derive(Default)]
pub(super) struct OfSink {
    /// Whether there is one.
    is_there: AtomicBool,
    /// Rows that were removed before it was given them.
    lost: AtomicU64,
}

impl NodeEvents {
    /// The events of a group, if it is there.
    pub fn store(&self, group: GroupId) -> Option<SharedStore> {
        self.stores.lock().get(&group).map(|(store, _)| store.clone())
    }
    /// From here on there is a sink.
    pub fn has_sink(&self) {
        self.of_sink.is_there.store(true, Ordering::Relaxed);
    }
    /// Rows that were removed before a sink was given them.
    pub fn lost_to_sink(&self) -> u64 {
        self.of_sink.lost.load(Ordering::Relaxed)
    }
    /// Counts rows that were removed before a sink was given them, if there is one.
    pub(super) fn removed_unsent(&self, group: GroupId, rows: u64) {
        if rows > 0 && self.of_sink.is_there.load(Ordering::Relaxed) {
            self.of_sink.lost.fetch_add(rows, Ordering::Relaxed);
            tracing::error!(
                group = group.0,
                rows,
                "events have become too old and are lost to the sink, which has not been given them"
            );
        }
    }
}
