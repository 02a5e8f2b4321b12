//! What a search sees of a shard: an immutable list of segments.

use super::alive::read_alive;
use super::build::EXTENSION;
use super::container::Container;
use super::error::{IndexError, Result};
use super::form::SegmentForm;
use super::manifest::{Built, MANIFEST, Manifest, Payload, SegmentRow, ShardFigures};
use super::segment::{Origin, Segment, SegmentFile, Storage, next_serial};
use quorate_store::files::Files;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tantivy::Directory;
use tantivy::directory::{MmapDirectory, OwnedBytes};

/// The published state of a shard. Cheap to clone behind its `Arc`, valid as long as it is held.
#[derive(Debug)]
pub struct ShardView {
    segments: Vec<Segment>,
    form: SegmentForm,
    generation: u64,
}

impl Default for ShardView {
    /// A shard without records.
    fn default() -> Self {
        ShardView::new(Vec::new())
    }
}

impl ShardView {
    /// Makes a view; largest segments first.
    pub(crate) fn new(mut segments: Vec<Segment>) -> ShardView {
        segments.retain(|segment| segment.alive_count() > 0);
        segments.sort_by_key(|segment| std::cmp::Reverse(segment.doc_count()));
        ShardView { form: form_of(&segments), segments, generation: next_serial() }
    }
    /// The form that says what the numbers of attributes mean. Where that makes a difference no other segments stand beside
    /// those of the first form.
    pub fn form(&self) -> SegmentForm {
        self.form
    }
    /// Opens the durable state of a folder for reading only; it costs no thread and no open file.
    ///
    /// Errors: `Absent` when there is no shard; `Damaged` when a file is not as it was written.
    pub fn open(dir: &Path) -> Result<ShardView> {
        Ok(Self::open_built(dir)?.0)
    }
    /// As [`Self::open`], with how the records were analysed.
    pub fn open_built(dir: &Path) -> Result<(ShardView, Built)> {
        let manifest = Manifest::load(dir)?.ok_or_else(|| IndexError::Absent { path: dir.into() })?;
        Ok((ShardView::new(open_segments(dir, &manifest)?), manifest.built))
    }
    /// How the records of a folder were analysed; `None` when there is no shard. Cost: one small file is read.
    pub fn built(dir: &Path) -> Result<Option<Built>> {
        Ok(Manifest::load(dir)?.map(|manifest| manifest.built))
    }
    /// What the last durable commit of a folder says about itself; `None` when there is no shard.
    pub fn durable(dir: &Path) -> Result<Option<Payload>> {
        Ok(Manifest::load(dir)?.map(|manifest| manifest.payload))
    }
    /// What the durable state of a folder holds and how it was analysed, from its manifest alone: one small file is read,
    /// nothing is opened. `None` when there is no shard. Errors: `Damaged`.
    pub fn durable_figures(dir: &Path) -> Result<Option<(ShardFigures, Built)>> {
        Ok(Manifest::load(dir)?.map(|manifest| (manifest.figures(), manifest.built)))
    }
    /// Makes the durable state of a folder that no writer has open also that of `into`, by hard links that need not survive a power
    /// cut. Nothing happens when there is no shard.
    pub fn lend_durable(dir: &Path, into: &Path, files: &dyn Files) -> Result<()> {
        match Manifest::load(dir)? {
            Some(manifest) => manifest.lend_to(dir, into, files),
            None => Ok(()),
        }
    }
    /// Whether a folder holds a shard. Errors: `Io`.
    pub fn is_there(dir: &Path, files: &dyn Files) -> Result<bool> {
        let path = dir.join(MANIFEST);
        files.exists(&path).map_err(|e| IndexError::io(&path, e))
    }
    /// Lets a folder hold no shard any more, before its files are removed one by one: a crash between two of them must not
    /// leave a shard that lacks some. Durable on return.
    pub fn forget(dir: &Path, files: &dyn Files) -> Result<()> {
        let path = dir.join(MANIFEST);
        match files.remove(&path) {
            Ok(()) => files.sync_dir(dir).map_err(|e| IndexError::io(dir, e)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(IndexError::io(&path, e)),
        }
    }
    /// How much the view holds.
    pub fn figures(&self) -> ShardFigures {
        let (records, data_bytes, file_bytes) = (self.record_count(), self.data_bytes(), self.file_bytes());
        ShardFigures { records, data_bytes, file_bytes }
    }
    /// Segments with live documents, largest first.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }
    /// A number that no other view of this process has, growing with time. For caches.
    pub fn generation(&self) -> u64 {
        self.generation
    }
    /// Live records.
    pub fn record_count(&self) -> u64 {
        self.segments.iter().map(|s| u64::from(s.alive_count())).sum()
    }
    /// Bytes of the raw records; dead ones count until they are merged away.
    pub fn data_bytes(&self) -> u64 {
        self.segments.iter().map(Segment::record_bytes).sum()
    }
    /// Bytes of all files of the segments.
    pub fn file_bytes(&self) -> u64 {
        self.segments.iter().map(|s| s.file().origin().disk_bytes).sum()
    }
    /// Bytes of the segment files that searches read.
    pub fn mapped_bytes(&self) -> u64 {
        self.segments.iter().map(|s| s.bytes() as u64).sum()
    }
    /// The raw JSON of a record.
    pub fn get(&self, object_id: &str) -> Option<&[u8]> {
        let (segment, doc) = self.find(object_id)?;
        Some(self.segments[segment].record(doc))
    }
    /// Where a record is: the place of its segment in [`Self::segments`], and its document there.
    pub fn find(&self, object_id: &str) -> Option<(usize, u32)> {
        self.segments.iter().enumerate().find_map(|(i, s)| Some((i, s.doc_of(object_id)?)))
    }
    /// As [`Self::verify`]; calls `pace` with the bytes that were read, which may take its time.
    pub fn verify_paced(&self, pace: &mut dyn FnMut(u64)) -> Result<()> {
        self.segments.iter().try_for_each(|segment| segment.verify_paced(pace))
    }
    /// Recomputes the checksums of every segment.
    pub fn verify(&self) -> Result<()> {
        self.segments.iter().try_for_each(Segment::verify)
    }
}

/// The first form when any of the segments has it.
pub(crate) fn form_of(segments: &[Segment]) -> SegmentForm {
    match segments.iter().any(|segment| segment.form() == SegmentForm::First) {
        true => SegmentForm::First,
        false => SegmentForm::Lettered,
    }
}

/// Reads a segment's file and recomputes its checksums; a file of another kind is not looked at.
///
/// Errors: `Damaged`; `Io`.
pub fn verify_file(path: &Path) -> Result<()> {
    if path.extension().is_none_or(|extension| extension != EXTENSION) {
        return Ok(());
    }
    let (dir, name) = (path.parent().unwrap_or(Path::new(".")), path.file_name().unwrap_or_default());
    let mapped =
        MmapDirectory::open(dir).map_err(|e| IndexError::io(dir, io::Error::other(e.to_string())))?;
    Container::open(path, map(dir, &mapped, &name.to_string_lossy())?)?.verify_on_disk(&mut |_| {})
}

/// Opens the segments of a durable state and checks that all their files have their lengths.
pub(crate) fn open_segments(dir: &Path, manifest: &Manifest) -> Result<Vec<Segment>> {
    let mapped =
        MmapDirectory::open(dir).map_err(|e| IndexError::io(dir, io::Error::other(e.to_string())))?;
    manifest.segments.iter().map(|row| open_segment(dir, &mapped, row)).collect()
}
fn open_segment(dir: &Path, mapped: &MmapDirectory, row: &SegmentRow) -> Result<Segment> {
    for (name, length) in &row.files {
        let path = dir.join(name);
        let found = std::fs::metadata(&path).map_err(|e| IndexError::damaged(&path, e.to_string()))?.len();
        if found != *length {
            return Err(IndexError::damaged(&path, format!("{found} bytes instead of {length}")));
        }
    }
    let name = format!("{}.{EXTENSION}", row.name);
    let path = dir.join(&name);
    let disk_bytes = row.files.iter().map(|(_, length)| length).sum();
    let origin = Origin { serial: next_serial(), disk_bytes, place: Storage::Disk };
    let file = SegmentFile::open(&row.name, &path, map(dir, mapped, &name)?, origin)?;
    if file.doc_count != row.docs {
        return Err(IndexError::damaged(
            &path,
            format!("{} documents instead of {}", file.doc_count, row.docs),
        ));
    }
    let alive = match &row.alive {
        None => None,
        Some(name) => Some(Arc::new(read_alive(&dir.join(name), map(dir, mapped, name)?, row.docs)?)),
    };
    Ok(Segment::new(Arc::new(file), alive))
}
fn map(dir: &Path, mapped: &MmapDirectory, name: &str) -> Result<OwnedBytes> {
    let path = dir.join(name);
    let file = mapped.open_read(Path::new(name)).map_err(|e| IndexError::damaged(&path, e.to_string()))?;
    file.read_bytes().map_err(|e| IndexError::io(&path, e))
}
