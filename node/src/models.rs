//! Which models of recommendations do the groups of this node have, and what do they recommend?
//!
//! The log says which model is in force. Its file is made or fetched beside, so a node may have the file of the one before, or
//! none: then it answers by that, or not at all, and nothing else of the group waits for it.

mod build;
mod files;
pub mod key;
mod mapped;
pub(crate) mod registry;

pub use build::Made;
pub use files::{Making, path_of};
pub use key::{Installed, ModelKey};
pub use registry::ModelState;

use crate::error::Result;
use crate::node::Node;
use quorate_insights::neighbours::{ModelFile, Report};
use quorate_insights::trends::trending;
use quorate_model::{Candidates, GroupId};
use std::sync::atomic::AtomicBool;

impl Node {
    /// The models of a group with what is here of them.
    pub fn models(&self, group: GroupId) -> Vec<ModelState> {
        self.shared_models().states(group)
    }
    /// One of them.
    pub fn model(&self, group: GroupId, key: &ModelKey) -> Option<ModelState> {
        let entry = self.shared_models().entry(group, key)?;
        Some(ModelState { key: key.clone(), installed: entry.installed, present: entry.present })
    }
    /// What a model says of a record: of an unknown one nothing. `None` when there is no file of the model here.
    ///
    /// A file that is damaged or gone counts as none from here on. Cost: some 240 places of the file, which stays open.
    pub fn candidates(&self, group: GroupId, key: &ModelKey, object_id: &str) -> Option<Candidates> {
        self.ask_model(group, key, |file| Ok(file.lookup(object_id)?.unwrap_or_default()))
    }
    /// What trends in an index at a moment (Unix milliseconds). Nothing when this node has no replica of the group.
    ///
    /// Errors: files of events cannot be read. Cost: the rows of eight weeks are read.
    pub fn trending(&self, group: GroupId, index: &str, now_ms: u64) -> Result<Candidates> {
        let Some(view) = self.events(group) else { return Ok(Candidates::default()) };
        Ok(trending(&view, index, now_ms, &AtomicBool::new(false))?.unwrap_or_default())
    }
    /// What the build of a model said of itself. `None` when there is no file of the model here.
    pub fn model_report(&self, group: GroupId, key: &ModelKey) -> Option<Report> {
        self.ask_model(group, key, ModelFile::report)
    }
    fn ask_model<T>(
        &self,
        group: GroupId,
        key: &ModelKey,
        ask: impl Fn(&ModelFile) -> quorate_insights::neighbours::Result<T>,
    ) -> Option<T> {
        let entry = self.shared_models().entry(group, key)?;
        let present = entry.present?;
        let path = path_of(self.layout(), group, key, present.seq);
        match self.shared_models().mapped.file(group, key, present, &path).and_then(|file| ask(&file)) {
            Ok(answer) => Some(answer),
            Err(error) => {
                // its successor may have come between the two
                let is_current =
                    self.shared_models().entry(group, key).is_some_and(|now| now.present == Some(present));
                if is_current {
                    tracing::warn!(group = group.0, file = %path.display(), %error, "a model cannot be read");
                    self.shared_models().note_present(group, key, None);
                }
                None
            }
        }
    }
}
