//! Do the files of a group's events still read as they were written?

use crate::error::{Error, Result};
use crate::node::Node;
use quorate_insights::store::files_of;
use quorate_model::GroupId;
use quorate_store::layout::Layout;
use std::path::PathBuf;

/// A file of events that does not read as it was written.
#[derive(Debug)]
pub struct UnreadableEvents {
    /// Why, with its path.
    pub error: Error,
    /// Rows that it had; `None`: nobody knows.
    pub rows: Option<u64>,
}

/// Each file of a group's events that a data folder should have, with its bytes and their CRC-32. Errors: their manifest is damaged.
pub fn event_files(data: &Layout, group: GroupId) -> Result<Vec<(PathBuf, u64, u32)>> {
    let folder = data.events_of(group);
    let files = files_of(&folder)?.into_iter();
    Ok(files.map(|(path, bytes, crc)| (folder.join(path), bytes, crc)).collect())
}

impl Node {
    /// Files of a group's events that could not be opened when the group was. Cost: a lock.
    pub fn lost_events(&self, group: GroupId) -> Vec<UnreadableEvents> {
        let Some(store) = self.shared().events().store(group) else { return vec![] };
        let store = store.lock();
        let lost = store.lost().iter();
        lost.map(|lost| UnreadableEvents { error: lost.error().into(), rows: lost.rows }).collect()
    }
    /// Compares every byte of the files that a group's events have now with what was written, as long as `goes_on`. `pace` is called
    /// with the bytes that were read and may take its time. Those of [`Self::lost_events`] are among what it finds. Cost: one pass
    /// over the files.
    pub fn verify_events(
        &self,
        group: GroupId,
        pace: &mut dyn FnMut(u64),
        goes_on: &dyn Fn() -> bool,
    ) -> Vec<UnreadableEvents> {
        let Some(store) = self.shared().events().store(group) else { return vec![] };
        let segments = store.lock().segments();
        let mut unreadable = self.lost_events(group);
        for segment in &*segments {
            if let Err(error) = segment.verify(pace, goes_on) {
                unreadable.push(UnreadableEvents { error: error.into(), rows: Some(segment.facts().rows) });
            }
        }
        unreadable
    }
}
