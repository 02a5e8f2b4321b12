//! What becomes of folders that belong to no index?

use crate::error::{Error, Result};
use crate::node::Node;
use crate::ops::Incarnation;
use quorate_engine::index::ShardView;
use std::path::Path;

impl Node {
    /// Removes what lies on disk of an index that this node does not hold, and that nothing will ever ask for again: a power cut
    /// brings back what was removed and not synced yet. Returns whether there was anything.
    ///
    /// A replay may bring the index back meanwhile: the folder gets another name first, in one step, so that it is never found with a
    /// part of its files. What a command is filling or removing at this moment, on a node that is behind, is left to it.
    pub fn remove_dead(&self, incarnation: Incarnation) -> Result<bool> {
        let (shared, folder) = (self.shared(), self.layout().index(incarnation));
        let dead = shared.layout.dead_index(incarnation);
        let none_comes = shared.in_hand.lock();
        if none_comes.contains(&incarnation) || shared.index(incarnation).is_some() {
            return Ok(false);
        }
        let looked = shared.files.exists(&folder);
        let is_there = looked
            .map_err(|source| Error::Io { what: format!("looking for {}", folder.display()), source })?;
        if !is_there {
            return Ok(false);
        }
        let shard = shared.layout.shard(incarnation, 0);
        // the manifest goes first: a removal that is cut off leaves no shard that lacks some files
        ShardView::forget(&shard, &*shared.files)
            .map_err(|source| Error::Engine { folder: shard, source })?;
        let named = shared.files.rename(&folder, &dead);
        named.map_err(|source| Error::Io { what: format!("renaming {}", folder.display()), source })?;
        drop(none_comes);
        self.remove_folder(&dead)?;
        Ok(true)
    }
    /// Removes what [`Node::remove_dead`] began with and had no time to end. Cost: a look at the names in the folder of the indices.
    /// Errors: the first of those that could not be removed; the others are gone.
    pub fn remove_rests(&self) -> Result<()> {
        let layout = self.layout();
        let rests = layout.dead()?.into_iter();
        rests.map(|rest| self.remove_folder(&layout.dead_index(rest))).fold(Ok(()), Result::and)
    }
    fn remove_folder(&self, folder: &Path) -> Result<()> {
        let removed = match self.files().remove_dir_all(folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            other => other,
        };
        removed.map_err(|source| Error::Io { what: format!("removing {}", folder.display()), source })
    }
}
