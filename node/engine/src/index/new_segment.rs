//! What work beside the writer hands over: a segment, its large files durable already.
//!
//! The owner's next durable commit then has little left to sync.

use super::build::EXTENSION;
use super::error::Result;
use super::overlay::Overlay;
use super::segment::{SegmentFile, Storage};
use std::sync::Arc;

/// A new segment. The names of its durable files are so only after a sync of their folder.
pub(crate) struct NewSegment {
    /// The segment.
    pub file: Arc<SegmentFile>,
    /// Its files with their lengths when they are durable; none when they are pending.
    pub files: Vec<(String, u64)>,
}

impl NewSegment {
    /// Makes the files durable.
    pub fn durable(overlay: &Overlay, file: Arc<SegmentFile>) -> Result<NewSegment> {
        let prefix = format!("{}.", file.name);
        let made = NewSegment { files: overlay.pending(&prefix), file };
        if let Err(error) = overlay.make_durable(&prefix) {
            made.remove(overlay);
            return Err(error);
        }
        Ok(made)
    }
    /// Makes the files durable when they are large; small ones may be merged away before it matters.
    pub fn durable_if_large(overlay: &Overlay, file: Arc<SegmentFile>) -> Result<NewSegment> {
        match overlay.place(&format!("{}.{EXTENSION}", file.name)) {
            Storage::Disk => NewSegment::durable(overlay, file),
            Storage::Memory => Ok(NewSegment { file, files: Vec::new() }),
        }
    }
    /// Removes the durable files: nobody wants the segment.
    pub fn remove(self, overlay: &Overlay) {
        remove(overlay, self.files.into_iter().map(|(name, _)| name));
    }
}

/// Removes files; one that cannot be removed stays until the next open.
pub(crate) fn remove(overlay: &Overlay, names: impl Iterator<Item = String>) {
    for name in names {
        if let Err(error) = overlay.remove(&name) {
            tracing::warn!(%error, "an unused segment file stays until the next start");
        }
    }
}
