//! Which files of models lie on this disk, are they whole, and which does nobody need?

use super::key::{Installed, ModelKey};
use crate::error::{Error, Result};
use crate::node::Node;
use crate::shared::Shared;
use quorate_insights::neighbours::{ModelFile, NeighboursError};
use quorate_model::GroupId;
use quorate_store::files::{FileWriter, Files, folder_of, temporary_name};
use quorate_store::layout::Layout;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Where the file of a model is in a data folder.
pub fn path_of(layout: &Layout, group: GroupId, key: &ModelKey, seq: u64) -> PathBuf {
    let hash = Sha256::digest(key.index.as_str());
    let folder: String = hash[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    layout.models_of(group).join(folder).join(format!("{}-{seq}.mdl", key.model))
}

/// A file of a model on its way. While this lives nobody removes the file as one that is not needed.
pub struct Making {
    node: Arc<Shared>,
    group: GroupId,
    path: PathBuf,
}

impl Making {
    /// Begins the file anew. Errors: `Stopped` when this node has left the group; the disk.
    pub fn create(&self) -> Result<Box<dyn FileWriter>> {
        self.change(|files, path| files.create(path))
    }
    /// Goes on with the file that an earlier attempt left. Errors: as [`Self::create`].
    pub fn append(&self) -> Result<Box<dyn FileWriter>> {
        self.change(|files, path| files.append(path))
    }
    fn change<T>(&self, act: impl FnOnce(&dyn Files, &Path) -> std::io::Result<T>) -> Result<T> {
        let _no_folder_moves = self.node.models.hold_folders();
        if !self.node.models.groups.lock().contains_key(&self.group) {
            return Err(Error::Stopped);
        }
        let (files, path) = (&*self.node.files, self.temporary());
        let folder = folder_of(&path);
        files.create_dir_durable(folder).map_err(|source| io("creating", folder, source))?;
        act(files, &path).map_err(|source| io("writing", &path, source))
    }
    /// Where it is written.
    pub fn temporary(&self) -> PathBuf {
        temporary_name(&self.path)
    }
    /// Puts the file, which is durable, in its place. Errors: the disk.
    pub fn finish(&self) -> Result<()> {
        let _no_folder_moves = self.node.models.hold_folders();
        let (files, path, folder) = (&*self.node.files, &self.path, folder_of(&self.path));
        files.rename(&self.temporary(), path).map_err(|source| io("moving", path, source))?;
        files.sync_dir(folder).map_err(|source| io("syncing", folder, source))
    }
    /// Removes what was written. What stays goes later, as a file that nobody needs.
    pub fn discard(&self) {
        let _no_folder_moves = self.node.models.hold_folders();
        drop(self.node.files.remove(&self.temporary()));
    }
}
impl Drop for Making {
    fn drop(&mut self) {
        if let Some(of_group) = self.node.models.groups.lock().get_mut(&self.group) {
            of_group.making.remove(&self.path);
            of_group.has_changed = true;
        }
    }
}

impl Node {
    /// Says that a file of a model is going to be made or fetched.
    pub fn begin_model(&self, group: GroupId, key: &ModelKey, seq: u64) -> Making {
        let path = path_of(self.layout(), group, key, seq);
        if let Some(of_group) = self.shared_models().groups.lock().get_mut(&group) {
            of_group.making.insert(path.clone());
        }
        Making { node: self.shared(), group, path }
    }
    /// Looks whether the files of a group's models are here, and removes those that nobody needs. Returns the models whose file is
    /// missing or damaged. To be called now and then, on a thread that may wait for the disk.
    ///
    /// Cost: files that came since the last call are read once. Errors: `Stopped`; the disk.
    pub fn look_at_models(&self, group: GroupId, stop: &AtomicBool) -> Result<Vec<(ModelKey, Installed)>> {
        let models = self.shared_models();
        let mut missing = vec![];
        if models.is_settled(group) {
            return Ok(missing);
        }
        for state in models.states(group) {
            if state.present == Some(state.installed) {
                continue;
            }
            let path = path_of(self.layout(), group, &state.key, state.installed.seq);
            let Installed { length, crc, .. } = state.installed;
            match ModelFile::open(&path).and_then(|file| file.check(length, crc, stop)) {
                Ok(()) => models.note_present(group, &state.key, Some(state.installed)),
                Err(NeighboursError::Stopped) => return Err(NeighboursError::Stopped.into()),
                Err(NeighboursError::Io(error)) if error.kind() == ErrorKind::NotFound => {
                    missing.push((state.key, state.installed));
                }
                Err(error) => {
                    tracing::warn!(group = group.0, file = %path.display(), %error, "a model is not whole");
                    let _no_folder_moves = models.hold_folders();
                    remove(self.files(), &path)?;
                    missing.push((state.key, state.installed));
                }
            }
        }
        self.tidy_models(group)?;
        Ok(missing)
    }
    /// Compares every byte of the files of a group's models with what was installed, as long as `goes_on`. A damaged one, or one that is
    /// gone, counts as none from here on, so that [`Self::look_at_models`] has it fetched or made again. `pace` is called with the bytes that
    /// were read and may take its time. Returns which they are. Cost: one pass over the files.
    pub fn verify_models(
        &self,
        group: GroupId,
        pace: &mut dyn FnMut(u64),
        goes_on: &dyn Fn() -> bool,
    ) -> Vec<PathBuf> {
        let models = self.shared_models();
        let mut damaged = vec![];
        for state in models.states(group) {
            let Some(present) = state.present.filter(|_| goes_on()) else { continue };
            let path = path_of(self.layout(), group, &state.key, present.seq);
            let checked = ModelFile::open(&path)
                .and_then(|file| file.check(present.length, present.crc, &AtomicBool::new(false)));
            pace(present.length);
            // its successor may have come between the two
            let is_current =
                || models.entry(group, &state.key).is_some_and(|now| now.present == Some(present));
            match checked {
                Ok(()) => {}
                Err(NeighboursError::Io(error)) if error.kind() != ErrorKind::NotFound => {
                    tracing::warn!(group = group.0, file = %path.display(), %error, "a model cannot be checked");
                }
                Err(error) if is_current() => {
                    tracing::error!(group = group.0, file = %path.display(), %error, "a model is damaged: it is fetched or made again");
                    models.note_present(group, &state.key, None);
                    damaged.push(path);
                }
                Err(_) => {}
            }
        }
        damaged
    }
    /// Removes files that are neither in use nor on their way.
    fn tidy_models(&self, group: GroupId) -> Result<()> {
        let _no_folder_moves = self.shared_models().hold_folders();
        let needed: BTreeSet<PathBuf> = {
            let mut groups = self.shared_models().groups.lock();
            let Some(of_group) = groups.get_mut(&group).filter(|of_group| of_group.has_changed) else {
                return Ok(());
            };
            of_group.has_changed = false;
            let entries = of_group.entries.iter().flat_map(|(key, entry)| {
                let seqs = [Some(entry.installed), entry.present].into_iter().flatten().map(|it| it.seq);
                seqs.map(move |seq| path_of(self.layout(), group, key, seq))
            });
            let making = of_group.making.iter().flat_map(|path| [path.clone(), temporary_name(path)]);
            entries.chain(making).collect()
        };
        for folder in list(&self.layout().models_of(group))? {
            let files = list(&folder)?;
            let unneeded: Vec<&PathBuf> = files.iter().filter(|file| !needed.contains(*file)).collect();
            for file in &unneeded {
                remove(self.files(), file)?;
            }
            let is_awaited = needed.iter().any(|path| path.starts_with(&folder));
            if unneeded.len() == files.len() && !is_awaited {
                let removed = self.files().remove_dir_all(&folder);
                removed.map_err(|source| io("removing", &folder, source))?;
            }
        }
        Ok(())
    }
}

impl Shared {
    /// Links the files of a group's models that are in force into another data folder.
    pub(crate) fn export_models(&self, group: GroupId, into: &Layout) -> Result<()> {
        for state in self.models.states(group) {
            if state.present != Some(state.installed) {
                continue;
            }
            let [from, to] =
                [&self.layout, into].map(|at| path_of(at, group, &state.key, state.installed.seq));
            let folder = to.parent().expect("a model lies in a folder");
            self.files.create_dir_durable(folder).map_err(|source| io("creating", folder, source))?;
            match self.files.hard_link(&from, &to) {
                Err(source) if source.kind() != ErrorKind::NotFound => {
                    return Err(io("linking", &to, source));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
}

fn io(action: &str, path: &Path, source: std::io::Error) -> Error {
    Error::Io { what: format!("{action} {}", path.display()), source }
}
fn remove(files: &dyn Files, path: &Path) -> Result<()> {
    match files.remove(path) {
        Err(source) if source.kind() != ErrorKind::NotFound => Err(io("removing", path, source)),
        Ok(()) | Err(_) => Ok(()),
    }
}
fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    match std::fs::read_dir(folder) {
        Ok(entries) => {
            let path = |entry: std::io::Result<std::fs::DirEntry>| Ok(entry?.path());
            entries.map(path).collect::<std::io::Result<_>>().map_err(|source| io("listing", folder, source))
        }
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(vec![]),
        Err(source) => Err(io("listing", folder, source)),
    }
}
