//! Do the files of a group's events still read as they were written?

use crate::error::Error;
use crate::node::Node;
use quorate_model::GroupId;

/// A file of events that does not read as it was written.
#[derive(Debug)]
pub struct UnreadableEvents {
    /// Why, with its path.
    pub error: Error,
    /// Rows that it had.
    pub rows: u64,
}

impl Node {
    /// Compares every byte of the files that a group's events have now with what was written, as long as `goes_on`. `pace` is called
    /// with the bytes that were read and may take its time. Cost: one pass over the files.
    pub fn verify_events(
        &self,
        group: GroupId,
        pace: &mut dyn FnMut(u64),
        goes_on: &dyn Fn() -> bool,
    ) -> Vec<UnreadableEvents> {
        let Some(store) = self.shared().events().store(group) else { return vec![] };
        let segments = store.lock().segments();
        let mut unreadable = vec![];
        for segment in &*segments {
            if let Err(error) = segment.verify(pace, goes_on) {
                unreadable.push(UnreadableEvents { error: error.into(), rows: segment.facts().rows });
            }
        }
        unreadable
    }
}
