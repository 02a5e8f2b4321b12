//! The models that are asked, which stay open and mapped.

use super::key::{Installed, ModelKey};
use lru::LruCache;
use parking_lot::Mutex;
use quorate_insights::neighbours::{ModelFile, Result};
use quorate_model::GroupId;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

/// Models that stay open: each has a file, and its memory is the system's to take away.
const OPEN_MAX: NonZeroUsize = NonZeroUsize::new(64).expect("not zero");

/// The open models of a node. One that is open keeps its place on the disk.
#[derive(Debug)]
pub(crate) struct Mapped(Mutex<LruCache<(GroupId, ModelKey), Open>>);

#[derive(Debug)]
struct Open {
    of: Installed,
    file: Arc<ModelFile>,
}

impl Default for Mapped {
    fn default() -> Self {
        Mapped(Mutex::new(LruCache::new(OPEN_MAX)))
    }
}

impl Mapped {
    /// The open file of a model, which is at `path`. Errors: as of [`ModelFile::open`].
    pub fn file(&self, group: GroupId, key: &ModelKey, of: Installed, path: &Path) -> Result<Arc<ModelFile>> {
        let place = (group, key.clone());
        if let Some(open) = self.0.lock().get(&place).filter(|open| open.of == of) {
            return Ok(open.file.clone());
        }
        // outside of the lock: the disk may be slow
        let file = Arc::new(ModelFile::open(path)?);
        self.0.lock().put(place, Open { of, file: file.clone() });
        Ok(file)
    }
    /// Closes a model whose file is another one from now on, or none.
    pub fn close(&self, group: GroupId, key: &ModelKey) {
        self.0.lock().pop(&(group, key.clone()));
    }
    /// Closes all of a group that this node has left.
    pub fn close_all(&self, group: GroupId) {
        let mut open = self.0.lock();
        let of_group = open.iter().filter(|((of, _), _)| *of == group);
        let of_group: Vec<_> = of_group.map(|(place, _)| place.clone()).collect();
        for place in of_group {
            open.pop(&place);
        }
    }
}
