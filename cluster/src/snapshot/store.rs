//! What this node offers to others: a few snapshots of each group, made of hard links, and the answers about them.

use super::bin::Bin;
use super::manifest::{
    FileRow, MANIFEST_AT_ONCE_BYTES, MANIFEST_FILE, Manifest, ManifestAnswer, is_written_once, path_text,
};
use super::model::piece_of;
use super::{CHUNK_BYTES, Description, ManifestId, PIECES_MAX, PieceName, SnapshotRequest, WantedManifest};
use crate::metrics;
use bytes::Bytes;
use parking_lot::Mutex;
use quorate_model::{Error, GroupId, Result};
use quorate_store::StoreError;
use quorate_store::files::Files;
use quorate_store::layout::Layout;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Snapshots of one group that are kept: the newest.
const KEPT: usize = 2;
/// How long a snapshot is kept after it was last read.
pub const LIFETIME: Duration = Duration::from_secs(30 * 60);

/// How snapshots are offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferOptions {
    /// How long one is kept after it was last read.
    pub lifetime: Duration,
    /// Bytes of a manifest that is sent in one answer; a longer one is fetched in pieces.
    pub manifest_bytes: usize,
}

impl Default for OfferOptions {
    fn default() -> Self {
        OfferOptions { lifetime: LIFETIME, manifest_bytes: MANIFEST_AT_ONCE_BYTES }
    }
}

/// Whether a group makes the snapshot that it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// It will be there after a while.
    Begun,
    /// It has not got that state itself: another node may.
    Not,
}

/// Asks the machine of a group for a new snapshot, which reflects at least this log index.
type Ask = Box<dyn Fn(u64) -> Making + Send + Sync>;

/// The snapshots that this node offers.
pub struct SnapshotStore {
    data: Layout,
    files: Arc<dyn Files>,
    bin: Bin,
    node: u64,
    /// Tells this start of the node from others.
    life: u64,
    options: OfferOptions,
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
        self.store.bin.throw(self.layout.root());
        self.store.groups.lock().entry(self.group).or_default().draft = DraftState::None;
    }
}

impl SnapshotStore {
    /// Offers of node `node` in its data folder; those of earlier starts are removed.
    pub fn open(data: &Layout, files: Arc<dyn Files>, node: u64, options: OfferOptions) -> Result<Arc<Self>> {
        let mut life = [0; 8];
        getrandom::fill(&mut life).expect("the operating system has random numbers");
        let (data, life) = (data.clone(), u64::from_le_bytes(life));
        let bin = Bin::new(files.clone(), data.snapshots().join("gone"), life);
        bin.throw(&data.snapshots_out());
        files
            .create_dir_durable(&data.snapshots_out())
            .map_err(|e| Error::from(StoreError::io("create", &data.snapshots_out(), e)))?;
        Ok(Arc::new(SnapshotStore { data, files, bin, node, life, options, groups: Mutex::default() }))
    }
    /// Names what asks the machine of a group for a new snapshot. It must not block.
    pub fn serve(&self, group: GroupId, ask: impl Fn(u64) -> Making + Send + Sync + 'static) {
        self.groups.lock().entry(group).or_default().ask = Some(Box::new(ask));
    }
    /// Ends what [`Self::serve`] began and removes the group's snapshots: this node has no replica of it any more.
    pub fn forget(&self, group: GroupId) {
        if let Some(gone) = self.groups.lock().remove(&group) {
            gone.offers.iter().for_each(|offer| self.bin.throw(&offer.folder));
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
        self.bin.throw(layout.root());
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
        self.keep_manifest(&manifest, draft.layout.root())?;
        let folder = self.data.snapshots_out().join(format!("{group}-{index}"));
        self.bin.throw(&folder);
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
        old.iter().for_each(|offer| self.bin.throw(&offer.folder));
        metrics::snapshot_offered();
        Ok(Description { id, node: self.node, level })
    }
    /// Lays a manifest that does not fit into one answer beside its files. Errors: `TooLarge` when it can never be sent.
    fn keep_manifest(&self, manifest: &Manifest, root: &Path) -> Result<()> {
        let encoded = manifest.encode()?;
        if encoded.len() <= self.options.manifest_bytes {
            return Ok(());
        }
        let path = root.join(MANIFEST_FILE);
        let mut file = self.files.create(&path).map_err(|e| StoreError::io("create", &path, e))?;
        Ok(file.write_all(&encoded).map_err(|e| StoreError::io("write", &path, e))?)
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
    /// Removes the snapshots that nobody has read for long. To be called now and then, also where nothing may wait for the disk.
    pub fn expire(&self) {
        let mut old = vec![];
        for of_group in self.groups.lock().values_mut() {
            old.extend(of_group.offers.extract_if(.., |offer| offer.read.elapsed() >= self.options.lifetime));
        }
        old.iter().for_each(|offer| self.bin.throw(&offer.folder));
    }

    /// Answers another node. Reads a file; to be called on a thread that may wait for the disk.
    ///
    /// Errors: `NotFound` when there is no such snapshot or file, and none can be made here; `Unavailable` while the snapshot is being made.
    pub fn answer(&self, request: &SnapshotRequest) -> Result<Bytes> {
        match request {
            SnapshotRequest::Manifest(WantedManifest::This(id)) => self.manifest(id),
            SnapshotRequest::Manifest(WantedManifest::AtLeast { group, index }) => {
                match self.newest(*group, *index) {
                    Some(known) => self.manifest(&known.id),
                    None => Err(self.make(*group, *index)),
                }
            }
            SnapshotRequest::Chunk { id, file, offset, bytes } => self.chunk(id, file, *offset, *bytes),
            SnapshotRequest::Pieces { id, pieces } => self.pieces(id, pieces),
            SnapshotRequest::Model(piece) => {
                let path = quorate_node::models::path_of(&self.data, piece.group, &piece.key, piece.seq);
                piece_of(&path, piece)
            }
        }
    }
    fn manifest(&self, id: &ManifestId) -> Result<Bytes> {
        let (manifest, _) = self.offer(id)?;
        Ok(ManifestAnswer::encode(*id, manifest.encode()?, self.options.manifest_bytes))
    }
    fn offer(&self, id: &ManifestId) -> Result<(Arc<Manifest>, PathBuf)> {
        let mut groups = self.groups.lock();
        let offers = groups.get_mut(&id.group).map(|of_group| &mut of_group.offers);
        let offer = offers.and_then(|offers| offers.iter_mut().find(|offer| offer.manifest.id == *id));
        let offer = offer.ok_or_else(gone)?;
        offer.read = Instant::now();
        Ok((offer.manifest.clone(), offer.folder.clone()))
    }
    /// Lets a snapshot be made, and says so. An asker waits for one that is being made and goes elsewhere for others.
    fn make(&self, group: GroupId, at_least: u64) -> Error {
        let groups = self.groups.lock();
        let ask = groups.get(&group).and_then(|of_group| of_group.ask.as_ref());
        match ask.map(|ask| ask(at_least)) {
            Some(Making::Begun) => Error::unavailable("a snapshot is being made"),
            Some(Making::Not) => Error::not_found("this node has not got that state itself"),
            None => gone(),
        }
    }
    fn chunk(&self, id: &ManifestId, file: &str, offset: u64, bytes: u32) -> Result<Bytes> {
        let (manifest, folder) = self.offer(id)?;
        // only names that this node has listed itself: nothing outside can be named
        let length = match (manifest.file(file), file) {
            (Some(row), _) => row.bytes,
            (None, MANIFEST_FILE) => length_of(&folder.join(file))?,
            (None, _) => return Err(gone()),
        };
        let most = u64::from(bytes).min(CHUNK_BYTES as u64).min(length.saturating_sub(offset));
        let mut piece = Vec::with_capacity(most as usize);
        if most > 0 {
            read_piece(&folder.join(file), offset, most, &mut piece)?;
        }
        Ok(piece.into())
    }
    fn pieces(&self, id: &ManifestId, pieces: &[PieceName]) -> Result<Bytes> {
        let (manifest, folder) = self.offer(id)?;
        let total: u64 = pieces.iter().map(|piece| u64::from(piece.bytes)).sum();
        if pieces.len() > PIECES_MAX || total > CHUNK_BYTES as u64 {
            return Err(Error::invalid(format!("{} pieces of {total} bytes are too much", pieces.len())));
        }
        let mut all = Vec::with_capacity(total as usize);
        for piece in pieces {
            let row = manifest.files.get(piece.file as usize).ok_or_else(gone)?;
            let end = all.len() + piece.bytes as usize;
            if piece.bytes > 0 {
                read_piece(&folder.join(&row.path), piece.offset, piece.bytes.into(), &mut all)?;
            }
            if all.len() != end {
                return Err(Error::not_found(format!("{} ends early", row.path)));
            }
        }
        Ok(all.into())
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
        // damage must not spread: another member may have it whole
        for (path, bytes, crc) in quorate_node::event_files(&Layout::new(root), group)? {
            let relative = path.strip_prefix(root).ok().and_then(path_text).unwrap_or_default();
            let row = rows.binary_search_by(|row| row.path.as_str().cmp(&relative)).ok().map(|at| &rows[at]);
            if row.is_none_or(|row| (row.bytes, row.crc) != (bytes, crc)) {
                let why = "it is not as the manifest of events says";
                return Err(StoreError::damaged(path.display().to_string(), why).into());
            }
        }
        Ok(rows)
    }
}

fn gone() -> Error {
    Error::not_found("there is no such snapshot")
}

fn unreadable(path: &Path, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => gone(),
        _ => StoreError::io("read", path, error).into(),
    }
}

fn length_of(path: &Path) -> Result<u64> {
    Ok(std::fs::metadata(path).map_err(|e| unreadable(path, e))?.len())
}

/// Adds at most `most` bytes of a file from `offset` on.
fn read_piece(path: &Path, offset: u64, most: u64, into: &mut Vec<u8>) -> Result<()> {
    let mut read = || -> io::Result<()> {
        let mut opened = File::open(path)?;
        if offset > 0 {
            opened.seek(SeekFrom::Start(offset))?;
        }
        opened.take(most).read_to_end(into)?;
        Ok(())
    };
    read().map_err(|e| unreadable(path, e))
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
            0 => {
                // damage must not spread: another member may have it whole
                quorate_node::verify_file(path)?;
                return Ok(FileRow { path: relative, bytes, crc: crc.finalize() });
            }
            read => crc.update(&piece[..read]),
        }
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
