//! What this node offers to others: a few snapshots of each group, made of hard links, and the answers about them.

use super::manifest::{FileRow, Manifest, is_written_once, path_text};
use super::{CHUNK_BYTES, Description, ManifestId, SnapshotRequest, Wanted};
use crate::metrics;
use bytes::Bytes;
use parking_lot::Mutex;
use quorate_model::{Error, GroupId, Result};
use quorate_store::StoreError;
use quorate_store::files::Files;
use quorate_store::layout::Layout;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Snapshots of one group that are kept: the newest.
const KEPT: usize = 2;
/// How long a snapshot is kept after it was last read.
pub const LIFETIME: Duration = Duration::from_secs(30 * 60);

/// Asks the machine of a group for a new snapshot.
type Ask = Box<dyn Fn() + Send + Sync>;

/// The snapshots that this node offers.
pub struct SnapshotStore {
    data: Layout,
    files: Arc<dyn Files>,
    node: u64,
    /// Tells this start of the node from others.
    life: u64,
    lifetime: Duration,
    groups: Mutex<BTreeMap<GroupId, OfGroup>>,
}

#[derive(Default)]
struct OfGroup {
    /// The oldest first.
    offers: Vec<Offer>,
    draft: DraftState,
    ask: Option<Ask>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DraftState {
    #[default]
    None,
    Open,
}

struct Offer {
    manifest: Arc<Manifest>,
    folder: PathBuf,
    read: Instant,
}

/// A snapshot that is being made. Dropped before its end, it is removed.
pub struct Draft {
    store: Arc<SnapshotStore>,
    group: GroupId,
    layout: Layout,
}

impl Draft {
    /// Where its files go, laid out as a data folder.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        remove_folder(&*self.store.files, self.layout.root());
        self.store.groups.lock().entry(self.group).or_default().draft = DraftState::None;
    }
}

impl SnapshotStore {
    /// Offers of node `node` in its data folder; those of earlier starts are removed.
    pub fn open(data: &Layout, files: Arc<dyn Files>, node: u64, lifetime: Duration) -> Result<Arc<Self>> {
        let mut life = [0; 8];
        getrandom::fill(&mut life).expect("the operating system has random numbers");
        remove_folder(&*files, &data.snapshots_out());
        files
            .create_dir_durable(&data.snapshots_out())
            .map_err(|e| Error::from(StoreError::io("create", &data.snapshots_out(), e)))?;
        let (data, life) = (data.clone(), u64::from_le_bytes(life));
        Ok(Arc::new(SnapshotStore { data, files, node, life, lifetime, groups: Mutex::default() }))
    }
    /// Names what asks the machine of a group for a new snapshot. It must not block.
    pub fn serve(&self, group: GroupId, ask: impl Fn() + Send + Sync + 'static) {
        self.groups.lock().entry(group).or_default().ask = Some(Box::new(ask));
    }
    /// Ends what [`Self::serve`] began and removes the group's snapshots: this node has no replica of it any more.
    pub fn forget(&self, group: GroupId) {
        if let Some(gone) = self.groups.lock().remove(&group) {
            gone.offers.iter().for_each(|offer| remove_folder(&*self.files, &offer.folder));
        }
    }
    /// Begins a new snapshot of a group; `None` while another one is being made.
    pub fn begin(self: &Arc<Self>, group: GroupId) -> Option<Draft> {
        {
            let mut groups = self.groups.lock();
            let of_group = groups.entry(group).or_default();
            match of_group.draft {
                DraftState::Open => return None,
                DraftState::None => of_group.draft = DraftState::Open,
            }
        }
        let layout = Layout::new(self.data.snapshots_out().join(format!("{group}-next")));
        remove_folder(&*self.files, layout.root());
        Some(Draft { store: self.clone(), group, layout })
    }
    /// Offers a snapshot whose files are complete. Reads all of them that no other offer of the group has.
    pub fn finish(&self, draft: Draft, index: u64, level: u16) -> Result<Description> {
        let group = draft.group;
        if let Some(known) = self.newest(group, index) {
            return Ok(known);
        }
        let id = ManifestId { group, index, life: self.life };
        let manifest = Manifest { id, level, files: self.list(group, draft.layout.root())? };
        // whether it can be sent at all
        manifest.encode()?;
        let folder = self.data.snapshots_out().join(format!("{group}-{index}"));
        remove_folder(&*self.files, &folder);
        self.files
            .rename(draft.layout.root(), &folder)
            .map_err(|e| Error::from(StoreError::io("move", draft.layout.root(), e)))?;
        let mut groups = self.groups.lock();
        let of_group = groups.entry(group).or_default();
        of_group.offers.push(Offer { manifest: Arc::new(manifest), folder, read: Instant::now() });
        of_group.offers.sort_by_key(|offer| offer.manifest.id.index);
        let old = of_group.offers.len().saturating_sub(KEPT);
        let old: Vec<Offer> = of_group.offers.drain(..old).collect();
        drop(groups);
        old.iter().for_each(|offer| remove_folder(&*self.files, &offer.folder));
        metrics::snapshot_offered();
        Ok(Description { id, node: self.node, level })
    }
    /// The newest snapshot of a group, if it reflects at least this log index.
    pub fn newest(&self, group: GroupId, at_least: u64) -> Option<Description> {
        let mut groups = self.groups.lock();
        let offer = groups.get_mut(&group)?.offers.last_mut()?;
        let Manifest { id, level, .. } = *offer.manifest;
        (id.index >= at_least).then(|| {
            offer.read = Instant::now();
            Description { id, node: self.node, level }
        })
    }
    /// Removes the snapshots that nobody has read for long. To be called now and then.
    pub fn expire(&self) {
        let mut old = vec![];
        for of_group in self.groups.lock().values_mut() {
            old.extend(of_group.offers.extract_if(.., |offer| offer.read.elapsed() >= self.lifetime));
        }
        old.iter().for_each(|offer| remove_folder(&*self.files, &offer.folder));
    }

    /// Answers another node. Reads a file; to be called on a thread that may wait for the disk.
    ///
    /// Errors: `NotFound` when there is no such snapshot or file; `Unavailable` while the snapshot is being made.
    pub fn answer(&self, request: &SnapshotRequest) -> Result<Bytes> {
        match request {
            SnapshotRequest::Manifest(Wanted::This(id)) => self.offer(id)?.0.encode(),
            SnapshotRequest::Manifest(Wanted::AtLeast { group, index }) => {
                match self.newest(*group, *index) {
                    Some(known) => self.offer(&known.id)?.0.encode(),
                    None => Err(self.make(*group)),
                }
            }
            SnapshotRequest::Chunk { id, file, offset, bytes } => self.chunk(id, file, *offset, *bytes),
        }
    }
    fn offer(&self, id: &ManifestId) -> Result<(Arc<Manifest>, PathBuf)> {
        let mut groups = self.groups.lock();
        let offers = groups.get_mut(&id.group).map(|of_group| &mut of_group.offers);
        let offer = offers.and_then(|offers| offers.iter_mut().find(|offer| offer.manifest.id == *id));
        let offer = offer.ok_or_else(gone)?;
        offer.read = Instant::now();
        Ok((offer.manifest.clone(), offer.folder.clone()))
    }
    /// Lets a snapshot be made, and says so.
    fn make(&self, group: GroupId) -> Error {
        match self.groups.lock().get(&group).and_then(|of_group| of_group.ask.as_ref()) {
            Some(ask) => {
                ask();
                Error::unavailable("a snapshot is being made")
            }
            None => gone(),
        }
    }
    fn chunk(&self, id: &ManifestId, file: &str, offset: u64, bytes: u32) -> Result<Bytes> {
        let (manifest, folder) = self.offer(id)?;
        // only names that this node has listed itself: nothing outside can be named
        let row = manifest.file(file).ok_or_else(gone)?;
        let most = u64::from(bytes).min(CHUNK_BYTES as u64).min(row.bytes.saturating_sub(offset));
        if most == 0 {
            return Ok(Bytes::new());
        }
        let path = folder.join(file);
        let read = || -> io::Result<Vec<u8>> {
            let mut opened = File::open(&path)?;
            opened.seek(SeekFrom::Start(offset))?;
            let mut piece = Vec::with_capacity(most as usize);
            opened.take(most).read_to_end(&mut piece)?;
            Ok(piece)
        };
        match read() {
            Ok(piece) => Ok(piece.into()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Err(gone()),
            Err(e) => Err(StoreError::io("read", &path, e).into()),
        }
    }

    /// The files below a folder, sorted.
    fn list(&self, group: GroupId, root: &Path) -> Result<Vec<FileRow>> {
        let known: Vec<Arc<Manifest>> = {
            let groups = self.groups.lock();
            let offers = groups.get(&group).into_iter().flat_map(|of_group| &of_group.offers);
            offers.map(|offer| offer.manifest.clone()).collect()
        };
        let mut rows = vec![];
        let mut folders = vec![root.to_path_buf()];
        while let Some(folder) = folders.pop() {
            let listed = |e| Error::from(StoreError::io("list", &folder, e));
            for entry in std::fs::read_dir(&folder).map_err(listed)? {
                let path = entry.map_err(listed)?.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let relative = path.strip_prefix(root).ok().and_then(path_text);
                let relative = relative.ok_or_else(|| {
                    Error::internal(format!("{} is no name of a snapshot's file", path.display()))
                })?;
                rows.push(row_of(&path, relative, &known)?);
            }
        }
        rows.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(rows)
    }
}

fn gone() -> Error {
    Error::not_found("there is no such snapshot")
}

/// The row of a file. One that is written once and is known with this length is not read again.
fn row_of(path: &Path, relative: String, known: &[Arc<Manifest>]) -> Result<FileRow> {
    let error = |e| Error::from(StoreError::io("read", path, e));
    let mut file = File::open(path).map_err(error)?;
    let bytes = file.metadata().map_err(error)?.len();
    if is_written_once(&relative)
        && let Some(row) = known.iter().find_map(|manifest| manifest.file(&relative))
        && row.bytes == bytes
    {
        return Ok(row.clone());
    }
    let mut crc = crc32fast::Hasher::new();
    let mut piece = vec![0; 256 << 10];
    loop {
        match file.read(&mut piece).map_err(error)? {
            0 => return Ok(FileRow { path: relative, bytes, crc: crc.finalize() }),
            read => crc.update(&piece[..read]),
        }
    }
}

/// Removes a folder of links. What cannot be removed is left to the next start.
fn remove_folder(files: &dyn Files, folder: &Path) {
    match files.remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(%error, folder = %folder.display(), "cannot remove an old snapshot");
        }
        _ => {}
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
