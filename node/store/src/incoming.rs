//! How a group's state that came from another member takes the place of the one here: a crash at any moment ends in one of the two.
//!
//! What arrived lies in `snapshots/in/G-N/`, laid out as a data folder is: the dump of the metadata store and the folders of the
//! indices. Once all of it is durable, the file `ready` is written. From then on the old state is given up, and a start
//! that finds the file goes on where the last process ended: every step may be done again.

use crate::codec::{self, Mark};
use crate::dump::{self, Dump};
use crate::error::{Result, StoreError};
use crate::files::{Files, folder_of, temporary_name};
use crate::kv::Tree;
use crate::layout::Layout;
use quorate_model::GroupId;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

const MARK: Mark = Mark { magic: *b"QINS", version: 1 };
const READY_BYTES_MAX: usize = 64 << 20;

/// A group's state on its way from another member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// The group.
    pub group: GroupId,
    /// The log index it reflects.
    pub index: u64,
    layout: Layout,
}

/// The content of `ready`.
#[derive(Debug, Serialize, Deserialize)]
struct Ready {
    /// Indices of the old state that the new one has no files of.
    dropped: Vec<u64>,
}

impl Incoming {
    /// The state of `group` as of log index `index` below the data folder `data`, whether anything of it is there or not.
    pub fn new(data: &Layout, group: GroupId, index: u64) -> Self {
        let layout = Layout::new(data.snapshots_in().join(format!("{group}-{index}")));
        Incoming { group, index, layout }
    }
    /// All of a group that have a folder, by log index.
    pub fn of_group(data: &Layout, group: GroupId) -> Result<Vec<Incoming>> {
        let folder = data.snapshots_in();
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            Err(e) => return Err(StoreError::io("list", &folder, e)),
        };
        let mut found = vec![];
        for entry in entries {
            let name = entry.map_err(|e| StoreError::io("list", &folder, e))?.file_name();
            let numbers = name.to_str().and_then(|name| name.split_once('-'));
            if let Some((of, index)) = numbers
                && *of == group.to_string()
                && let Ok(index) = index.parse()
            {
                found.push(Incoming::new(data, group, index));
            }
        }
        found.sort_by_key(|incoming| incoming.index);
        Ok(found)
    }
    /// Where things are in it.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
    /// Its folder.
    pub fn folder(&self) -> &Path {
        self.layout.root()
    }
    /// Removes it, finished or not.
    pub fn remove(&self, files: &dyn Files) -> Result<()> {
        let ready = self.ready();
        if exists(files, &ready)? {
            files.remove(&ready).map_err(|e| StoreError::io("remove", &ready, e))?;
            sync(files, self.folder())?;
        }
        remove_folder(files, self.folder())
    }
    /// Gives the old state up, whose indices are `old`. Everything that arrived must be durable.
    ///
    /// Errors: nothing has changed.
    pub fn commit(self, files: &dyn Files, old: &[u64]) -> Result<Replacement> {
        let new = self.layout.incarnations()?;
        let dropped = old.iter().filter(|index| new.binary_search(index).is_err()).copied().collect();
        // from here on a state without a folder of events is one whose folder has been moved
        let events = self.layout.events_of(self.group);
        files.create_dir_durable(&events).map_err(|e| StoreError::io("create", &events, e))?;
        let ready = Ready { dropped };
        let bytes = codec::frame(MARK, &codec::encode(&ready));
        let path = self.ready();
        files.write_atomic(&path, &bytes).map_err(|e| StoreError::io("write", &path, e))?;
        Ok(Replacement { incoming: self, dropped: ready.dropped })
    }
    /// The replacement that an earlier process has begun with it; `None` = it has not.
    fn begun(self) -> Result<Option<Replacement>> {
        let path = self.ready();
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(StoreError::io("read", &path, e)),
        };
        let Ready { dropped } = codec::decode(codec::unframe(MARK, &bytes)?.payload, READY_BYTES_MAX)?;
        Ok(Some(Replacement { incoming: self, dropped }))
    }
    fn ready(&self) -> PathBuf {
        self.folder().join("ready")
    }
}

/// A state that takes the place of the old one.
#[derive(Debug)]
pub struct Replacement {
    incoming: Incoming,
    dropped: Vec<u64>,
}

impl Replacement {
    /// What arrived.
    pub fn incoming(&self) -> &Incoming {
        &self.incoming
    }
    /// Puts the metadata store into the working store. Errors: `Damaged` when the dump is not of this group and log index.
    pub fn restore(&self, tree: &Tree) -> Result<dump::Head> {
        let Incoming { group, index, layout } = &self.incoming;
        let path = layout.dump(*group);
        let damaged = |why: &str| StoreError::damaged(path.display().to_string(), why);
        let dump: Dump = dump::read_dump(&path)?.ok_or_else(|| damaged("it is missing"))?;
        if (dump.head.group, dump.head.applied_index) != (group.0, *index) {
            return Err(damaged("it is of another group or log index"));
        }
        dump.restore_into(tree)?;
        Ok(dump.head)
    }
    /// Puts the folder of one index in the place of the old one, if the new state has one that is not there yet.
    pub fn move_index(&self, files: &dyn Files, data: &Layout, index: u64) -> Result<()> {
        let (from, to) = (self.incoming.layout.index(index), data.index(index));
        if !exists(files, &from)? {
            return Ok(());
        }
        remove_folder(files, &to)?;
        files.rename(&from, &to).map_err(|e| StoreError::io("move", &from, e))
    }
    /// Puts the folder of events in the place of the old one, unless that was done.
    pub fn move_events(&self, files: &dyn Files, data: &Layout) -> Result<()> {
        let group = self.incoming.group;
        let (from, to) = (self.incoming.layout.events_of(group), data.events_of(group));
        if !exists(files, &from)? {
            return Ok(());
        }
        let parent = data.events();
        files.create_dir_durable(&parent).map_err(|e| StoreError::io("create", &parent, e))?;
        remove_folder(files, &to)?;
        files.rename(&from, &to).map_err(|e| StoreError::io("move", &from, e))
    }
    /// Indices of the old state that the new one has no files of.
    pub fn dropped(&self) -> &[u64] {
        &self.dropped
    }
    /// Removes the folder of an index that the new state has no files of.
    pub fn drop_index(&self, files: &dyn Files, data: &Layout, index: u64) -> Result<()> {
        remove_folder(files, &data.index(index))
    }
    /// Ends it, when the metadata store is restored and all folders are moved or removed.
    pub fn finish(self, files: &dyn Files, data: &Layout) -> Result<()> {
        let Incoming { group, layout, .. } = &self.incoming;
        sync(files, &data.indices())?;
        for folder in [data.events(), layout.indices(), layout.events()] {
            if exists(files, &folder)? {
                sync(files, &folder)?;
            }
        }
        let (from, to) = (layout.dump(*group), data.dump(*group));
        let beside = temporary_name(&to);
        match files.remove(&beside) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::io("remove", &beside, e));
            }
            _ => {}
        }
        files.hard_link(&from, &beside).map_err(|e| StoreError::io("link", &from, e))?;
        files.rename(&beside, &to).map_err(|e| StoreError::io("replace", &to, e))?;
        sync(files, folder_of(&to))?;
        self.incoming.remove(files)
    }
}

/// Ends the replacement of a group's state that a crash has cut off, before anything else uses the state. Returns the log
/// index of the new state; `None` = there was nothing to end.
pub fn resume(files: &dyn Files, data: &Layout, group: GroupId, tree: &Tree) -> Result<Option<u64>> {
    let mut ended = None;
    for incoming in Incoming::of_group(data, group)? {
        let index = incoming.index;
        let Some(replacement) = incoming.begun()? else { continue };
        replacement.restore(tree)?;
        for moved in replacement.incoming.layout.incarnations()? {
            replacement.move_index(files, data, moved)?;
        }
        replacement.move_events(files, data)?;
        for &dropped in replacement.dropped() {
            replacement.drop_index(files, data, dropped)?;
        }
        replacement.finish(files, data)?;
        ended = Some(index);
    }
    Ok(ended)
}

/// Removes what arrived of states that are no news for a group that has applied its log through `applied`.
pub fn forget(files: &dyn Files, data: &Layout, group: GroupId, applied: u64) -> Result<()> {
    let known = Incoming::of_group(data, group)?;
    known.iter().filter(|incoming| incoming.index <= applied).try_for_each(|old| old.remove(files))
}

fn remove_folder(files: &dyn Files, folder: &Path) -> Result<()> {
    match files.remove_dir_all(folder) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(StoreError::io("remove", folder, e)),
        _ => Ok(()),
    }
}

/// A disk that does not say is no disk without the file: the new state would lack it.
fn exists(files: &dyn Files, path: &Path) -> Result<bool> {
    files.exists(path).map_err(|e| StoreError::io("look for", path, e))
}

fn sync(files: &dyn Files, folder: &Path) -> Result<()> {
    files.sync_dir(folder).map_err(|e| StoreError::io("sync", folder, e))
}
