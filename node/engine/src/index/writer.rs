//! How the records of a shard change: operations gather, become segments, are published, and made durable.
//!
//! One owner, no locks; the only threads are those of a merge and a rebuild in progress.

use super::alive::{alive_file, all_alive};
use super::background::Waker;
use super::background_turn::BackgroundTurn;
use super::build::EXTENSION;
use super::bulk::Bulk;
use super::error::{IndexError, Result};
use super::extract::Extractor;
use super::form::{LevelInForce, SegmentForm};
use super::lists::ReadySizes;
use super::manifest::{Built, MANIFEST, Manifest, Payload, SegmentRow};
use super::merge::RunningMerge;
use super::overlay::{Overlay, SPILL_BYTES};
use super::rebuild::Rebuild;
use super::segment::{Origin, Segment, SegmentFile, Storage};
use super::view::{ShardView, form_of, open_segments};
use crate::analysis::Schema;
use crate::language::Dictionaries;
use bytes::Bytes;
use quorate_store::files::Files;
use quorate_store::space::Room;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::Arc;

/// Raw record bytes gather up to this part of the memory before a segment is made of them.
const MEMORY_PART: usize = 8;

/// What a writer may use.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// Bytes for gathering and indexing, about.
    pub memory_bytes: usize,
    /// Threads that index a large batch together.
    pub threads: usize,
    /// Bytes of a new file that are kept in memory until they are durable; a larger file goes to disk at once.
    pub spill_bytes: usize,
    /// Shared by the shards of a node.
    pub background_turn: BackgroundTurn,
    /// Called when a merge or a round of a rebuild has ended.
    pub waker: Waker,
    /// What segments hold ready for queries.
    pub ready: ReadySizes,
    /// The disk: merges wait while it is almost full.
    pub room: Room,
    /// Decides the form of new segments.
    pub level: LevelInForce,
}
impl Default for WriterOptions {
    fn default() -> Self {
        WriterOptions {
            memory_bytes: 256 << 20,
            threads: 2,
            spill_bytes: SPILL_BYTES,
            background_turn: BackgroundTurn::default(),
            waker: Waker::default(),
            ready: ReadySizes::default(),
            room: Room::boundless(),
            level: LevelInForce::default(),
        }
    }
}

/// The one writer of a shard.
pub struct ShardWriter {
    pub(super) overlay: Arc<Overlay>,
    pub(super) extractor: Arc<Extractor>,
    pub(super) options: WriterOptions,
    pub(super) built: Built,
    /// The dictionaries as of the last schema that it was given.
    pub(super) dictionaries: Arc<Dictionaries>,
    /// Whether all records have to be indexed again, because attributes have other numbers than new segments give them.
    pub(super) is_outdated: bool,
    /// Operations since the last segment; `None` = delete.
    buffer: FxHashMap<String, Option<Bytes>>,
    buffer_bytes: usize,
    /// Every segment, absorbed operations included.
    pub(super) segments: Vec<Segment>,
    view: Arc<ShardView>,
    durable: Option<Manifest>,
    pub(super) merge: Option<RunningMerge>,
    pub(super) rebuild: Option<Rebuild>,
    /// Files, durable already, of segments that no durable state has yet; by segment.
    pub(super) synced: FxHashMap<String, Vec<(String, u64)>>,
    /// Files of old commits that the running merge may still read.
    orphans: Vec<String>,
    /// Held until the writer is dropped: two writers would remove each other's new files.
    only_writer: File,
}

/// Segments below which a large batch is indexed on several threads.
const SEGMENTS_FEW: usize = 8;

impl ShardWriter {
    /// Opens the durable state of a folder, or a new shard when there is none. Leftovers of a crash are removed.
    ///
    /// Files that were built with another schema stay as they are ([`Self::built`]): see [`Self::start_rebuild`].
    pub fn open(
        dir: &Path,
        schema: &Schema,
        files: Arc<dyn Files>,
        options: WriterOptions,
    ) -> Result<ShardWriter> {
        let spill_bytes = options.spill_bytes;
        Self::open_with(dir, schema, files, options, spill_bytes)
    }
    fn open_with(
        dir: &Path,
        schema: &Schema,
        files: Arc<dyn Files>,
        options: WriterOptions,
        spill_bytes: usize,
    ) -> Result<ShardWriter> {
        files.create_dir_durable(dir).map_err(|e| IndexError::io(dir, e))?;
        Self::open_locked(dir, schema, files, options, spill_bytes, lock(dir)?)
    }
    fn open_locked(
        dir: &Path,
        schema: &Schema,
        files: Arc<dyn Files>,
        options: WriterOptions,
        spill_bytes: usize,
        only_writer: File,
    ) -> Result<ShardWriter> {
        files.before_read(&dir.join(MANIFEST)).map_err(|e| IndexError::io(dir, e))?;
        let durable = Manifest::load(dir)?;
        remove_leftovers(dir, &*files, durable.as_ref())?;
        files.before_read(dir).map_err(|e| IndexError::io(dir, e))?;
        let segments = match &durable {
            Some(manifest) => open_segments(dir, manifest)?,
            None => Vec::new(),
        };
        let mut built =
            durable.as_ref().map_or_else(|| Built::with(schema), |manifest| manifest.built.clone());
        let schema = match built.fingerprint == schema.fingerprint() {
            true => schema.clone(),
            false => built.schema(dir, schema.dictionaries())?,
        };
        built.write_with(&schema);
        let form = options.level.form();
        let is_outdated = form == SegmentForm::Lettered
            && form_of(&segments) == SegmentForm::First
            && SegmentForm::numbers_differ(&schema.settings().index);
        let form = if is_outdated { SegmentForm::First } else { form };
        Ok(ShardWriter {
            overlay: Overlay::open(dir, files, spill_bytes)?,
            extractor: Arc::new(Extractor::new(&schema, form)),
            dictionaries: schema.dictionaries().clone(),
            built,
            is_outdated,
            options,
            buffer: FxHashMap::default(),
            buffer_bytes: 0,
            view: Arc::new(ShardView::new(segments.clone())),
            segments,
            durable,
            merge: None,
            rebuild: None,
            synced: FxHashMap::default(),
            orphans: Vec::new(),
            only_writer,
        })
    }
    /// Goes back to the durable state, as after a crash: for the time after an error.
    pub fn reopen(&mut self, schema: &Schema) -> Result<()> {
        self.end_background();
        let dir = self.overlay.dir().to_path_buf();
        let lock = self.only_writer.try_clone().map_err(|e| IndexError::io(&dir, e))?;
        let (files, spill) = (self.overlay.files().clone(), self.overlay.spill());
        *self = Self::open_locked(&dir, schema, files, self.options.clone(), spill, lock)?;
        Ok(())
    }
    fn end_background(&mut self) {
        self.overlay.close();
        self.cancel_rebuild();
        if let Some(merge) = self.merge.take() {
            merge.abandon();
        }
    }
    /// What the last durable commit says; `None` before the first.
    pub fn durable(&self) -> Option<Payload> {
        self.durable.as_ref().map(|manifest| manifest.payload)
    }
    /// How the records are analysed.
    pub fn built(&self) -> &Built {
        &self.built
    }
    /// Whether the files are as `schema` and the level in force want them; if not, see [`Self::start_rebuild`].
    pub fn fits(&self, schema: &Schema) -> bool {
        self.built.fingerprint == schema.fingerprint() && !self.is_outdated
    }
    /// Lets new segments have the newest form once nobody needs the first one any more. Where the two cannot stand side by side
    /// that has to wait until the shard is opened again and rebuilt.
    fn renew_form(&mut self) -> Result<()> {
        let may_change = !self.extractor.numbers_differ() || self.segments.is_empty();
        let form = self.options.level.form();
        if may_change && self.extractor.form() != form {
            let schema = self.built.schema(self.overlay.dir(), &self.dictionaries)?;
            self.extractor = Arc::new(Extractor::new(&schema, form));
            self.is_outdated = false;
        }
        Ok(())
    }
    /// Notes another schema with the same fingerprint; durable with the next flush.
    pub fn describe(&mut self, schema: &Schema) {
        self.built.settings.clone_from(&schema.settings().document);
        self.dictionaries = schema.dictionaries().clone();
    }
    /// Raw record bytes that are indexed at a time.
    pub(super) fn part_bytes(&self) -> usize {
        self.options.memory_bytes / MEMORY_PART
    }
    /// Adds or replaces a record. Errors: `Record` when it is no JSON object; others as [`Self::publish`].
    pub fn put(&mut self, object_id: &str, record: Bytes) -> Result<()> {
        check_object(object_id, &record)?;
        self.buffer_bytes += record.len() + object_id.len();
        self.buffer.insert(object_id.into(), Some(record));
        if self.buffer_bytes >= self.part_bytes() {
            self.absorb()?;
        }
        Ok(())
    }
    /// Removes a record; a missing one is no error.
    pub fn delete(&mut self, object_id: &str) {
        self.buffer_bytes += object_id.len();
        self.buffer.insert(object_id.into(), None);
    }
    /// Removes every record.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.buffer_bytes = 0;
        self.segments.clear();
    }
    /// A record as of now, unpublished operations included.
    pub fn get(&self, object_id: &str) -> Result<Option<Bytes>> {
        if let Some(operation) = self.buffer.get(object_id) {
            return Ok(operation.clone());
        }
        let found = self.segments.iter().find_map(|s| Some(s.record(s.doc_of(object_id)?)));
        Ok(found.map(Bytes::copy_from_slice))
    }
    /// Records as of the last segment, with the operations since then: at most so many.
    pub fn record_count(&self) -> u64 {
        let in_segments: u64 = self.segments.iter().map(|s| u64::from(s.alive_count())).sum();
        in_segments + self.buffer.len() as u64
    }
    /// Operations that are not in a segment yet.
    pub fn pending_ops(&self) -> usize {
        self.buffer.len()
    }
    /// Bytes a crash would lose (and the log replay).
    pub fn unflushed_bytes(&self) -> u64 {
        self.overlay.pending_bytes() + self.buffer_bytes as u64
    }
    /// Bytes of disk that the next durable commit takes, about: what is in memory so far.
    pub fn owed_bytes(&self) -> u64 {
        self.overlay.memory_bytes() + self.options.room.indexed_bytes(self.buffer_bytes as u64)
    }
    /// The view of the last [`Self::publish`] or [`Self::flush`].
    pub fn view(&self) -> Arc<ShardView> {
        self.view.clone()
    }

    /// Makes every operation so far searchable, without fsync.
    ///
    /// Errors: after one, drop the writer and open it again.
    pub fn publish(&mut self) -> Result<Arc<ShardView>> {
        self.absorb()?;
        self.sweep();
        self.view = Arc::new(ShardView::new(self.segments.clone()));
        Ok(self.view())
    }

    /// Makes a segment of the gathered operations.
    pub(super) fn absorb(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.renew_form()?;
        self.buffer_bytes = 0;
        let buffer = std::mem::take(&mut self.buffer);
        let mut dead: Vec<Vec<u32>> = vec![Vec::new(); self.segments.len()];
        for object_id in buffer.keys() {
            let found = self.segments.iter().enumerate().find_map(|(i, s)| Some((i, s.doc_of(object_id)?)));
            if let Some((segment, doc)) = found {
                dead[segment].push(doc);
            }
        }
        let puts: Vec<(String, Bytes)> =
            buffer.into_iter().filter_map(|(id, record)| Some((id, record?))).collect();
        // With many segments merging is behind, and the other processors are its own.
        let threads = if self.segments.len() < SEGMENTS_FEW { self.options.threads } else { 1 };
        let bulk = Bulk {
            overlay: self.overlay.clone(),
            extractor: self.extractor.clone(),
            threads,
            part_bytes: self.part_bytes(),
            ready: self.options.ready,
        };
        // of what is indexed alone: deletions and earlier versions of a record have been in the buffer, too
        let record_bytes = puts.iter().map(|(id, record)| (id.len() + record.len()) as u64).sum();
        let made = bulk.build(puts)?;
        self.options.room.note_indexed(record_bytes, made.iter().map(|file| file.origin().disk_bytes).sum());
        for (segment, docs) in self.segments.iter_mut().zip(dead) {
            kill(segment, &docs);
        }
        self.segments.retain(|segment| segment.alive_count() > 0);
        self.segments.extend(made.into_iter().map(|file| Segment::new(file, None)));
        Ok(())
    }

    /// Makes everything so far durable under `payload`, and searchable. A crash at any point leaves the commit before it or
    /// this one.
    pub fn flush(&mut self, payload: Payload) -> Result<()> {
        self.absorb()?;
        let dir = self.overlay.dir().to_path_buf();
        let mut manifest = Manifest { payload, built: self.built.clone(), segments: Vec::new() };
        for segment in &self.segments {
            manifest.segments.push(self.durable_row(segment)?);
        }
        let files = self.overlay.files().clone();
        files.sync_dir(&dir).map_err(|e| IndexError::io(&dir, e))?;
        manifest.store(&dir, &*files)?;
        let before = self.durable.replace(manifest);
        self.forget_synced();
        self.reopen_from_disk()?;
        self.publish()?;
        self.remove_unused(before);
        Ok(())
    }

    /// Syncs the files of a segment; names are durable after a sync of the folder.
    fn durable_row(&self, segment: &Segment) -> Result<SegmentRow> {
        let name = segment.file().name.clone();
        let prefix = format!("{name}.");
        let known = self.durable.as_ref().and_then(|m| m.segments.iter().find(|row| row.name == name));
        let mut row = match known {
            Some(row) => row.clone(),
            None => {
                let files = match self.synced.get(&name) {
                    Some(files) => files.clone(),
                    None => self.overlay.pending(&prefix),
                };
                self.overlay.make_durable(&prefix)?;
                SegmentRow {
                    name: name.clone(),
                    docs: segment.doc_count(),
                    dead: 0,
                    record_bytes: segment.record_bytes(),
                    files,
                    alive: None,
                }
            }
        };
        let Some(alive) = segment.alive() else { return Ok(row) };
        let dead = segment.doc_count() - segment.alive_count();
        let file = format!("{name}.{dead}.alive");
        if row.alive.as_ref() != Some(&file) {
            // documents only ever die, so their number names the set
            row.files.retain(|(name, _)| Some(name) != row.alive.as_ref());
            let path = self.overlay.dir().join(&file);
            let bytes = alive_file(alive);
            // an attempt that failed may have left one of this name
            self.overlay.remove(&file)?;
            self.overlay.write_durable(&path, &bytes).map_err(|e| IndexError::io(&path, e))?;
            row.files.push((file.clone(), bytes.len() as u64));
            row.alive = Some(file);
            row.dead = dead;
        }
        Ok(row)
    }

    /// Replaces copies in memory by mapped files.
    fn reopen_from_disk(&mut self) -> Result<()> {
        let dir = self.overlay.dir();
        for segment in &mut self.segments {
            let old = segment.file();
            match old.origin().place {
                Storage::Disk => continue,
                Storage::Memory => {}
            }
            let name = format!("{}.{EXTENSION}", old.name);
            let bytes = self.overlay.read(&name)?;
            let origin = Origin { place: Storage::Disk, ..old.origin() };
            let file = SegmentFile::open(&old.name, &dir.join(&name), bytes, origin)?;
            *segment = Segment::new(Arc::new(file), segment.alive_shared());
        }
        Ok(())
    }

    /// Removes the files that only the commit `before` had; what a merge may still read, when it has ended.
    fn remove_unused(&mut self, before: Option<Manifest>) {
        let kept: FxHashSet<&str> = self.durable.iter().flat_map(Manifest::file_names).collect();
        let unused = before.iter().flat_map(Manifest::file_names).filter(|name| !kept.contains(name));
        self.orphans.extend(unused.map(str::to_string));
        self.remove_orphans();
    }
    /// Removes what no commit has any more. What cannot be removed costs space and nothing else: it is tried again later.
    pub(super) fn remove_orphans(&mut self) {
        if self.merge.is_none() {
            let overlay = &self.overlay;
            self.orphans.retain(|name| match overlay.remove(name) {
                Ok(()) => false,
                Err(error) => {
                    tracing::warn!(%error, "an unused segment file cannot be removed");
                    true
                }
            });
        }
    }

    /// Forgets the pending files of segments that are gone.
    pub(super) fn sweep(&self) {
        if self.merge.is_some() {
            return;
        }
        let live: FxHashSet<&str> = self.segments.iter().map(|s| s.file().name.as_str()).collect();
        for (name, _) in self.overlay.pending("") {
            let stem = name.split('.').next().unwrap_or_default();
            if !live.contains(stem)
                && let Err(error) = self.overlay.remove(&name)
            {
                tracing::warn!(%error, "cannot remove an unused segment file");
            }
        }
    }

    /// Makes the durable state that of another folder, by hard links that need not survive a power cut. Call after
    /// [`Self::flush`].
    pub fn lend_to(&self, dir: &Path) -> Result<()> {
        self.flushed()?.lend_to(self.overlay.dir(), dir, &**self.overlay.files())
    }
    /// Makes the durable state that of another shard's folder, durably, by hard links. Call after [`Self::flush`]. It goes by another
    /// payload there: that of the command which gives the folder to that shard.
    pub fn link_as(&self, payload: Payload, dir: &Path) -> Result<()> {
        let manifest = Manifest { payload, ..self.flushed()?.clone() };
        manifest.link_into(self.overlay.dir(), dir, &**self.overlay.files())
    }
    fn flushed(&self) -> Result<&Manifest> {
        self.durable.as_ref().ok_or_else(|| IndexError::Absent { path: self.overlay.dir().into() })
    }

    /// Ends the writer; what is not flushed is left to the log. A merge or rebuild in progress is given up.
    pub fn close(self) {}
}

impl Drop for ShardWriter {
    fn drop(&mut self) {
        self.end_background();
    }
}

/// Marks documents of a segment dead.
pub(super) fn kill(segment: &mut Segment, docs: &[u32]) {
    if docs.is_empty() {
        return;
    }
    let mut alive = match segment.alive() {
        Some(words) => words.to_vec(),
        None => all_alive(segment.doc_count()),
    };
    for &doc in docs {
        alive[doc as usize >> 6] &= !(1 << (doc & 63));
    }
    *segment = Segment::new(segment.file().clone(), Some(Arc::new(alive)));
}

fn check_object(object_id: &str, record: &[u8]) -> Result<()> {
    let wrong = |what: String| IndexError::Record { object_id: object_id.into(), what };
    if record.first() != Some(&b'{') {
        return Err(wrong("it is not a JSON object".into()));
    }
    let parsed: Result<serde::de::IgnoredAny, _> = serde_json::from_slice(record);
    parsed.map(|_| ()).map_err(|e| wrong(e.to_string()))
}

/// Locks a folder for one writer, by a lock that ends with the process. Errors: `InUse`.
fn lock(dir: &Path) -> Result<File> {
    let folder = File::open(dir).map_err(|e| IndexError::io(dir, e))?;
    match folder.try_lock() {
        Ok(()) => Ok(folder),
        Err(TryLockError::WouldBlock) => Err(IndexError::InUse { path: dir.into() }),
        Err(TryLockError::Error(e)) => Err(IndexError::io(dir, e)),
    }
}

/// Removes files of segments that the durable state does not have. One that cannot be removed stays until the next open.
///
/// Errors: the folder cannot be read, or it is not known whether its state would survive a power cut.
fn remove_leftovers(dir: &Path, files: &dyn Files, durable: Option<&Manifest>) -> Result<()> {
    let kept: FxHashSet<&str> = durable.into_iter().flat_map(Manifest::file_names).collect();
    let mut leftovers = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(|e| IndexError::io(dir, e))? {
        let entry = entry.map_err(|e| IndexError::io(dir, e))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let stem = name.split('.').next().unwrap_or_default();
        let ours = stem.len() == 32 && stem.bytes().all(|b| b.is_ascii_hexdigit());
        let temporary = name.strip_suffix(".tmp") == Some(MANIFEST);
        if temporary || ours && !kept.contains(name.as_ref()) {
            leftovers.push(entry.path());
        }
    }
    if leftovers.is_empty() {
        return Ok(());
    }
    // The name of the manifest may be new and not durable, after a commit that failed at its last step. The state before it
    // would need what is about to go.
    files.sync_dir(dir).map_err(|e| IndexError::io(dir, e))?;
    for path in leftovers {
        match files.remove(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(path = %path.display(), %error, "a leftover cannot be removed");
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "durability_tests.rs"]
mod durability_tests;
#[cfg(test)]
#[path = "writer_tests.rs"]
pub(super) mod tests;
