//! Which models do the groups of this node have, and which of their files are here?

use super::key::{Installed, ModelKey};
use super::mapped::Mapped;
use parking_lot::{Mutex, MutexGuard};
use quorate_model::GroupId;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Models of one group at most: more are not installed.
const MODELS_MAX: usize = 20_000;

/// A model, and what is here of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelState {
    /// Which.
    pub key: ModelKey,
    /// The one in force.
    pub installed: Installed,
    /// The one whose file is here, whole: the same, an earlier one, or none.
    pub present: Option<Installed>,
}

/// The models of all groups of a node.
#[derive(Debug, Default)]
pub(crate) struct NodeModels {
    pub(super) groups: Mutex<BTreeMap<GroupId, OfGroup>>,
    /// Those that are asked.
    pub(super) mapped: Mapped,
    /// Held by whoever changes which files and folders of models there are: folders of events move as a whole.
    folders: Mutex<()>,
}

#[derive(Debug, Default)]
pub(super) struct OfGroup {
    pub entries: BTreeMap<ModelKey, ModelEntry>,
    /// Files that are being made or fetched.
    pub making: BTreeSet<PathBuf>,
    /// Whether the folder may have files that nobody needs.
    pub has_changed: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ModelEntry {
    pub installed: Installed,
    pub present: Option<Installed>,
}

impl NodeModels {
    /// Has exactly these for a group from here on; which files are here is looked for.
    pub fn load(&self, group: GroupId, models: impl Iterator<Item = (ModelKey, Installed)>) {
        let entries = models.map(|(key, installed)| (key, ModelEntry { installed, present: None })).collect();
        let mut groups = self.groups.lock();
        let of_group = groups.entry(group).or_default();
        (of_group.entries, of_group.has_changed) = (entries, true);
    }
    /// Puts a model in force if it is later than the one that is; one without bytes takes away what there is. Returns whether it
    /// did, which follows from what was installed before.
    pub fn install(&self, group: GroupId, key: &ModelKey, installed: Installed) -> bool {
        let mut groups = self.groups.lock();
        let of_group = groups.entry(group).or_default();
        let known = of_group.entries.get(key).copied();
        let is_taken = match known {
            Some(known) => known.installed.seq < installed.seq,
            None => installed.length > 0 && of_group.entries.len() < MODELS_MAX,
        };
        if is_taken {
            of_group.has_changed = true;
            match installed.length {
                0 => {
                    of_group.entries.remove(key);
                    self.mapped.close(group, key);
                }
                _ => {
                    let present = known.and_then(|known| known.present);
                    of_group.entries.insert(key.clone(), ModelEntry { installed, present });
                }
            }
        }
        is_taken
    }
    /// While this is held no file of a model comes or goes.
    pub fn hold_folders(&self) -> MutexGuard<'_, ()> {
        self.folders.lock()
    }
    /// Forgets a group that this node has left.
    pub fn forget(&self, group: GroupId) {
        self.groups.lock().remove(&group);
        self.mapped.close_all(group);
    }
    pub fn states(&self, group: GroupId) -> Vec<ModelState> {
        let groups = self.groups.lock();
        let entries = groups.get(&group).into_iter().flat_map(|of_group| &of_group.entries);
        let state = |(key, entry): (&ModelKey, &ModelEntry)| ModelState {
            key: key.clone(),
            installed: entry.installed,
            present: entry.present,
        };
        entries.map(state).collect()
    }
    /// Whether a look at the disk can find nothing: no file is awaited, none is to be removed.
    pub(super) fn is_settled(&self, group: GroupId) -> bool {
        let groups = self.groups.lock();
        let is_settled = |of_group: &OfGroup| {
            !of_group.has_changed
                && of_group.entries.values().all(|entry| entry.present == Some(entry.installed))
        };
        groups.get(&group).is_none_or(is_settled)
    }
    pub(super) fn entry(&self, group: GroupId, key: &ModelKey) -> Option<ModelEntry> {
        self.groups.lock().get(&group)?.entries.get(key).copied()
    }
    /// Notes which file of a model is here, unless another model has come meanwhile that it does not belong to.
    pub(super) fn note_present(&self, group: GroupId, key: &ModelKey, present: Option<Installed>) {
        let mut groups = self.groups.lock();
        let Some(of_group) = groups.get_mut(&group) else { return };
        if let Some(entry) = of_group.entries.get_mut(key)
            && present.is_none_or(|present| present.seq <= entry.installed.seq)
        {
            entry.present = present;
            of_group.has_changed = true;
            // also when it is the same one, fetched again: what was open may be damaged
            self.mapped.close(group, key);
        }
    }
}
