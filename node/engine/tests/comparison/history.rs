//! What has happened to a shard before it is asked: records come and go, segments are merged and built anew.

use super::shard::{Shard, WordLists};
use quorate_engine::index::{MergeGoal, MergeState, ReadySizes};
use quorate_model::Settings;
use serde_json::Value;
use std::slice::Iter;
use std::sync::Arc;

/// What happens to a shard, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The next so many records are put and published.
    Put(usize),
    /// Records are deleted; shown with the next publication.
    Delete(Vec<String>),
    /// Segments are merged.
    Merge,
    /// Everything is indexed again with the settings; before that there were none.
    Rebuild,
}
impl Shard {
    /// What is there after a history, which takes records as it needs them.
    pub fn after(
        settings: Settings,
        records: &mut Iter<'_, Value>,
        events: &[Event],
        word_lists: &WordLists,
        ready: ReadySizes,
    ) -> Shard {
        let is_rebuilt = events.contains(&Event::Rebuild);
        let at_first = if is_rebuilt { Settings::default() } else { settings.clone() };
        let mut shard = Shard::new(at_first, &[], &[], word_lists, ready);
        shard.configuration = word_lists.configuration(Arc::new(settings));
        shard.go_on(records, events);
        shard
    }
    /// Lets more happen.
    pub fn go_on(&mut self, records: &mut Iter<'_, Value>, events: &[Event]) {
        for event in events {
            match event {
                Event::Put(size) => self.put(records.by_ref().take(*size)),
                Event::Delete(ids) => ids.iter().for_each(|id| self.writer.delete(id)),
                Event::Merge => {
                    self.writer.publish().unwrap();
                    if self.writer.merge_step(MergeGoal::One).unwrap() == MergeState::Running {
                        self.writer.wait_for_merge().unwrap();
                    }
                }
                Event::Rebuild => {
                    self.writer.publish().unwrap();
                    self.writer.rebuild(&self.configuration.schema).unwrap();
                }
            }
        }
        self.view = self.writer.publish().unwrap();
    }
}
