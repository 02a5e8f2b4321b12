//! The events of a group: what is in files and durable, and what the log still has to keep.
//!
//! Entries of the group's log add rows in memory; [`EventStore::seal`] writes these as files and then says in the manifest through
//! which entry all is durable. Entries through there change nothing when they are replayed. A file that the manifest does not
//! name is what a crash left, and goes with the next start.

mod compaction;
mod lost;
mod manifest;
mod texts;
mod unsent;
mod view;

pub use self::compaction::{Compacted, Compaction};
pub use self::lost::{KeptRows, Lost};
pub use self::manifest::files_of;
use self::manifest::{FileMeta, Manifest, Period};
use self::texts::Texts;
pub use self::unsent::{Batch, Pass, Unsent};
pub use self::view::EventView;
use self::view::Waiting;
use crate::error::{Error, Result};
use crate::forgotten::Forgotten;
use crate::rollup::{Rolling, Rollups};
use crate::rows::{self, EventRow, Text};
use crate::segment::{Segment, SegmentWriter};
use quorate_model::Event;
use quorate_model::analytics::Day;
use quorate_model::event::CountedSearch;
use quorate_model::give_way::give_way;
use quorate_store::files::Files;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of rows in memory that ask for being sealed.
pub const OPEN_BYTES_MAX: usize = 32 << 20;
/// Rows in memory that ask for being sealed.
pub const OPEN_ROWS_MAX: usize = 100_000;

/// The events of a group.
pub struct EventStore {
    files: Arc<dyn Files>,
    folder: PathBuf,
    manifest: Manifest,
    /// Of the manifest, opened, in its order, without those that are lost.
    segments: Arc<[Segment]>,
    lost: Vec<Lost>,
    open: Open,
    /// The number of the next file: none has the number of another one, whatever becomes of that.
    next: u64,
    /// Files of a manifest that could not be written: it may be there all the same, until the next one is.
    doubtful: Vec<PathBuf>,
    /// Files that have nothing any more of users who are to be forgotten.
    swept: BTreeSet<u64>,
    /// Files that could not be read when they were to be swept.
    not_swept: BTreeSet<u64>,
    /// Those whom what is derived of files has nothing of.
    derived_without: Option<Forgotten>,
    /// The log index through which a sink has everything, as the group says.
    sent: u64,
    rollups: Arc<Rollups>,
}

/// What only memory and the log have.
#[derive(Default)]
struct Open {
    /// Of each entry that has some: a view shares these, so that whoever makes one neither copies nor sorts rows.
    entries: Vec<Arc<[EventRow]>>,
    /// How many rows these have.
    rows: usize,
    bytes: usize,
    /// Texts of rows, each once.
    texts: Texts,
    forgotten: Forgotten,
    /// The log index of the first entry that waits.
    first: Option<u64>,
    /// The log index of the last entry that was taken.
    through: u64,
}

/// Gives a text that is there already, or a new one.
type Share<'s> = &'s mut dyn FnMut(&str) -> Text;

impl Open {
    /// Takes the rows of an entry, unless it was taken before.
    fn take(&mut self, log_index: u64, rows: impl FnOnce(Share<'_>) -> Vec<EventRow>) {
        if log_index <= self.through {
            return;
        }
        self.first.get_or_insert(log_index);
        self.through = log_index;
        let texts = &mut self.texts;
        let new = rows(&mut |text: &str| texts.share(text));
        self.bytes += new.iter().map(EventRow::bytes).sum::<usize>();
        self.rows += new.len();
        if !new.is_empty() {
            self.entries.push(new.into());
        }
    }
    /// All rows, in the order of the log.
    fn iter(&self) -> impl Iterator<Item = &EventRow> {
        self.entries.iter().flat_map(|rows| rows.iter())
    }
}

impl EventStore {
    /// Opens what the last process left in a folder, which need not be there, and removes what it did not finish. What is damaged or gone
    /// is told by [`Self::lost`]. Errors: the disk refuses.
    pub fn open(files: Arc<dyn Files>, folder: &Path) -> Result<Self> {
        let manifest = Manifest::of_folder(&*files, folder)?;
        manifest::remove_unknown(&*files, folder, &manifest)?;
        let (segments, lost) = lost::open(&*files, folder, &manifest)?;
        let rollups = Arc::new(Rollups::new(files.clone(), folder));
        Ok(EventStore {
            files,
            folder: folder.to_owned(),
            segments: segments.into(),
            lost,
            open: Open { through: manifest.position, ..Open::default() },
            next: manifest.next,
            manifest,
            doubtful: vec![],
            swept: BTreeSet::new(),
            not_swept: BTreeSet::new(),
            derived_without: None,
            sent: 0,
            rollups,
        })
    }
    /// The log index through which all is durable, as far as this store knows: entries that have no events it is not told of.
    pub fn durable_through(&self) -> u64 {
        self.open.first.map_or(self.manifest.position, |first| first - 1)
    }
    /// The last log index through which something waits to be sealed, if anything does.
    pub fn waits_for(&self) -> Option<u64> {
        (self.open.through > self.manifest.position).then_some(self.open.through)
    }
    /// Bytes of memory that wait to be sealed.
    pub fn open_bytes(&self) -> usize {
        self.open.bytes
    }
    /// Whether so much waits that it is to be sealed at once.
    pub fn is_full(&self) -> bool {
        self.open.bytes >= OPEN_BYTES_MAX || self.open.rows >= OPEN_ROWS_MAX
    }
    /// Rows in files.
    pub fn rows(&self) -> u64 {
        self.segments.iter().map(|segment| segment.facts().rows).sum()
    }
    /// Bytes of files.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.facts().bytes()).sum()
    }
    /// Bytes of files that are derived of these.
    pub fn rollup_bytes(&self) -> u64 {
        self.rollups.file_bytes()
    }
    /// What is derived of its files.
    pub fn rollups(&self) -> Arc<Rollups> {
        self.rollups.clone()
    }
    /// Rows of each day, in files and in memory, repeated ones and those of forgotten users included.
    pub fn days(&self) -> BTreeMap<Day, u64> {
        let mut days = BTreeMap::new();
        for meta in self.metas() {
            *days.entry(Day(u32::try_from(meta.period.day).unwrap_or(u32::MAX))).or_default() +=
                meta.facts.rows;
        }
        for row in self.open.iter() {
            *days.entry(Day::of(row.time_ms)).or_default() += 1;
        }
        days
    }
    /// Rows that wait to be sealed.
    pub fn open_rows(&self) -> u64 {
        self.open.rows as u64
    }

    /// The last entry that was taken: one through here changes nothing.
    pub fn taken_through(&self) -> u64 {
        self.open.through
    }
    /// Names of indices that files have rows of: not all of those whose rows lie among others' in the middle of a row group.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let spans = self.segments.iter().flat_map(|segment| &segment.facts().spans);
        spans.flat_map(|[first, last]| [first.0.as_str(), last.0.as_str()])
    }

    /// Takes the events of an entry that was received at `received_ms`, which one through [`Self::durable_through`] changes nothing.
    /// No input or output. Cost: some microseconds an event.
    pub fn append(&mut self, log_index: u64, received_ms: u64, events: &[Event]) {
        self.open.take(log_index, |share| {
            let mut rows = Vec::with_capacity(events.len());
            for (number, event) in events.iter().enumerate() {
                // who waits for the store meanwhile are reports, and work on files
                give_way(number);
                rows.extend(rows::of_event(event, log_index, received_ms, share));
            }
            rows
        });
    }
    /// Takes the searches of an entry, as [`Self::append`] takes events.
    pub fn append_searches(&mut self, log_index: u64, searches: &[CountedSearch]) {
        self.open.take(log_index, |share| {
            searches.iter().map(|search| rows::of_search(search, log_index, share)).collect()
        });
    }
    /// Forgets a user as of an entry: from here on nothing from before it is read.
    pub fn forget(&mut self, log_index: u64, token: &str) {
        if log_index > self.open.through {
            self.open.first.get_or_insert(log_index);
            self.open.through = log_index;
            self.open.forgotten.add(token, log_index);
        }
    }

    /// Makes durable what waits. When it fails everything is as it was, and may be tried again.
    pub fn seal(&mut self) -> Result<()> {
        if self.waits_for().is_none() {
            return Ok(());
        }
        let mut manifest = self.manifest.clone();
        manifest.position = self.open.through;
        manifest.forgotten = self.forgotten();
        let newest_ms = self.open.iter().map(|row| row.time_ms).max().unwrap_or_default();
        let mut periods: BTreeMap<Period, Vec<EventRow>> = BTreeMap::new();
        for row in self.open.iter().filter(|row| !manifest.forgotten.hides(row)) {
            periods.entry(Period::of(row.time_ms, newest_ms)).or_default().push(row.clone());
        }
        let mut written = Written::new(&*self.files, &self.folder);
        for (period, mut rows) in periods {
            rows.sort();
            let meta = FileMeta { period, number: self.next, facts: Arc::default() };
            self.next += 1;
            manifest.metas.push(written.write(meta, &mut rows.into_iter().map(Ok))?);
        }
        if self.manifest.metas.is_empty() {
            // new files have nothing of them
            manifest.forgotten = Forgotten::default();
        }
        let paths = written.keep();
        self.put_in_force(manifest, paths)?;
        self.open = Open { through: self.open.through, ..Open::default() };
        Ok(())
    }
    /// Its files at this moment. They can be read also when they are removed.
    pub fn segments(&self) -> Arc<[Segment]> {
        self.segments.clone()
    }
    /// All that is to be read at this moment. Cost: a pointer for each entry that waits, since others wait for this; the view copies
    /// and sorts the rows of these when it is read first.
    pub fn view(&self) -> EventView {
        EventView {
            segments: self.segments.clone(),
            open: Waiting::of(&self.open.entries),
            forgotten: Arc::new(self.forgotten()),
            rollups: self.rollups.clone(),
        }
    }
    /// Days that may have to be derived anew at a moment (Unix milliseconds), if there are any.
    pub fn rolling(&self, now_ms: u64) -> Option<Rolling> {
        let view = self.view().of_files();
        self.rollups.rolling(view, now_ms, (self.next, self.manifest.metas.len()))
    }
    /// Links everything into an empty folder, which [`Self::open`] reads. Nothing may wait to be sealed. Errors: something is lost, which is
    /// not to spread.
    pub fn export(&self, into: &Path) -> Result<()> {
        let io = |action, path: &Path, error| Error::io(action, path, error);
        if let Some(lost) = self.lost().first() {
            return Err(lost.error());
        }
        for meta in &self.manifest.metas {
            let (from, to) = (self.folder.join(meta.path()), into.join(meta.path()));
            let folder = to.parent().expect("a file lies in the folder of its day");
            self.files.create_dir_durable(folder).map_err(|error| io("create", folder, error))?;
            self.files.hard_link(&from, &to).map_err(|error| io("link", &to, error))?;
            self.files.sync_dir(folder).map_err(|error| io("sync", folder, error))?;
        }
        self.manifest.write_new(&*self.files, into)
    }
    /// Removes days that ended before a moment (Unix milliseconds). Returns how many rows at most went that no sink has been given.
    pub fn remove_before(&mut self, time_ms: u64) -> Result<u64> {
        let mut manifest = self.manifest.clone();
        manifest.metas.retain(|meta| meta.period.end_ms() > time_ms);
        let goes =
            |meta: &&FileMeta| meta.period.end_ms() <= time_ms && meta.facts.log_indices[1] > self.sent;
        let unsent = self.manifest.metas.iter().filter(goes).map(|meta| meta.facts.rows).sum();
        if manifest.metas.is_empty() {
            manifest.forgotten = Forgotten::default();
        }
        if manifest.metas.len() != self.manifest.metas.len() {
            self.put_in_force(manifest, vec![])?;
        }
        Ok(unsent)
    }

    /// Users of whom there is still something.
    fn forgotten(&self) -> Forgotten {
        let mut forgotten = self.manifest.forgotten.clone();
        forgotten.merge(&self.open.forgotten);
        forgotten
    }
    /// Makes another manifest durable, and removes the files that it does not name. Its new files, which have to be durable, are these.
    fn put_in_force(&mut self, mut manifest: Manifest, new: Vec<PathBuf>) -> Result<()> {
        manifest.next = self.next;
        let written = self.opened(&manifest, &self.by_number()).and_then(|segments| {
            manifest.write(&*self.files, &self.folder)?;
            Ok(segments)
        });
        let segments = match written {
            Ok(segments) => segments,
            Err(error) => {
                self.doubtful.extend(new);
                return Err(error);
            }
        };
        let gone = self.manifest.metas.iter().filter(|meta| !manifest.has(meta.number));
        let gone: Vec<PathBuf> = gone.map(|meta| self.folder.join(meta.path())).collect();
        if manifest.forgotten != self.manifest.forgotten {
            // files were looked through for others
            self.swept.clear();
            self.not_swept.clear();
        }
        (self.manifest, self.segments) = (manifest, segments);
        self.swept.retain(|number| self.manifest.has(*number));
        self.not_swept.retain(|number| self.manifest.has(*number));
        self.forget_lost();
        for path in gone.into_iter().chain(std::mem::take(&mut self.doubtful)) {
            // what stays goes with the next start
            drop(self.files.remove(&path));
        }
        Ok(())
    }
}

/// Files on their way, which go again unless they are kept.
struct Written<'s> {
    files: &'s dyn Files,
    folder: &'s Path,
    paths: Vec<PathBuf>,
}

impl<'s> Written<'s> {
    fn new(files: &'s dyn Files, folder: &'s Path) -> Self {
        Written { files, folder, paths: vec![] }
    }
    /// Writes sorted rows as a file.
    fn write(
        &mut self,
        mut meta: FileMeta,
        rows: &mut dyn Iterator<Item = Result<EventRow>>,
    ) -> Result<FileMeta> {
        let path = self.path(&meta)?;
        meta.facts = Arc::new(write_file(self.files, &path, rows)?);
        Ok(meta)
    }
    /// Where a file comes whose folder is there.
    fn path(&mut self, meta: &FileMeta) -> Result<PathBuf> {
        let path = self.folder.join(meta.path());
        let folder = path.parent().expect("a file lies in the folder of its day");
        self.files.create_dir_durable(folder).map_err(|error| Error::io("create", folder, error))?;
        self.paths.push(path.clone());
        Ok(path)
    }
    fn keep(mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.paths)
    }
}
impl Drop for Written<'_> {
    fn drop(&mut self) {
        self.paths.iter().for_each(|path| drop(self.files.remove(path)));
    }
}

/// Writes rows as a file that is durable with its name.
fn write_file(
    files: &dyn Files,
    path: &Path,
    rows: &mut dyn Iterator<Item = Result<EventRow>>,
) -> Result<crate::segment::SegmentFacts> {
    let mut writer = SegmentWriter::create(files, path)?;
    for row in rows {
        writer.push(row?)?;
    }
    writer.finish()
}

#[cfg(test)]
mod tests;
