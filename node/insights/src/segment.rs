//! How do rows lie in a file? Parquet, which other programs read as well, sorted, in row groups that are each checked on reading.
//!
//! A file has regions: one for each row group, and one for the footer behind them. Who keeps the file keeps a [`SegmentFacts`]
//! beside it, with the checksum of every region; nothing of a region is parsed before it fits.

mod encodings;
mod foreign;
mod plain;
mod regions;
mod sweep;

use self::encodings::Alike;
use self::regions::{Checked, Counting};
use crate::error::{Error, Result};
use crate::rows::{self, EventRow, Parts};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use quorate_store::files::Files;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

pub use self::foreign::foreign_rows;
pub use self::plain::{PlainWriter, plain_rows};
pub use self::regions::Region;
pub(crate) use self::sweep::{Swept, sweep, without_unreadable};

/// Rows of a row group: what a reader holds of a file at a time, some 2 MB.
pub const GROUP_ROWS: usize = 8_192;

/// First and last index name and hash of a user in a row group.
pub type Span = [(String, u64); 2];

/// What has to be known of a file to read it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentFacts {
    /// How many rows.
    pub rows: u64,
    /// The rows' earliest and latest time, Unix milliseconds.
    pub times_ms: [u64; 2],
    /// The first and the last log index that rows came from.
    pub log_indices: [u64; 2],
    /// The file in pieces: one for each row group, then the footer.
    pub regions: Vec<Region>,
    /// Of each row group.
    pub spans: Vec<Span>,
}

impl SegmentFacts {
    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.regions.last().map_or(0, |region| region.end)
    }
    /// CRC-32 of the file.
    pub fn crc(&self) -> u32 {
        let (mut whole, mut begin) = (crc32fast::Hasher::new(), 0);
        for region in &self.regions {
            whole.combine(&crc32fast::Hasher::new_with_initial_len(region.crc, region.end - begin));
            begin = region.end;
        }
        whole.finalize()
    }
    /// Of what is in the file: two files with the same digest have the same rows. Cost: a digest of some bytes for each row group.
    fn digest(&self) -> u64 {
        let mut digest = Sha256::new();
        for region in &self.regions {
            digest.update(region.end.to_le_bytes());
            digest.update(region.crc.to_le_bytes());
        }
        rows::first_eight(digest.finalize())
    }
}

/// A file on its way: how it is encoded its first rows say.
enum FileOf {
    Nothing(Option<Counting>),
    Rows(Box<SerializedFileWriter<Counting>>),
}

/// Writes a file row by row.
pub struct SegmentWriter<'f> {
    path: &'f Path,
    files: &'f dyn Files,
    columns: &'f str,
    file: FileOf,
    pending: Vec<EventRow>,
    facts: SegmentFacts,
}

impl<'f> SegmentWriter<'f> {
    /// Creates the file.
    pub fn create(files: &'f dyn Files, path: &'f Path) -> Result<Self> {
        SegmentWriter::with_columns(files, path, rows::SCHEMA)
    }
    /// Creates the file with these columns of the schema, which are its first ones.
    fn with_columns(files: &'f dyn Files, path: &'f Path, columns: &'f str) -> Result<Self> {
        let file = files.create(path).map_err(|error| Error::io("create", path, error))?;
        let facts = SegmentFacts {
            rows: 0,
            times_ms: [u64::MAX, 0],
            log_indices: [u64::MAX, 0],
            regions: vec![],
            spans: vec![],
        };
        let file = FileOf::Nothing(Some(Counting::new(file)));
        Ok(SegmentWriter { path, files, columns, file, pending: vec![], facts })
    }
    /// The file, which begins with rows like these.
    fn begun(&mut self, alike: impl FnOnce() -> Alike) -> Result<&mut SerializedFileWriter<Counting>> {
        if let FileOf::Nothing(file) = &mut self.file {
            let file = file.take().ok_or_else(|| Error::damaged(self.path, "it could not be begun"))?;
            let schema = parse_message_type(self.columns).expect("a test parses the schema");
            let writer =
                SerializedFileWriter::new(file, Arc::new(schema), Arc::new(encodings::of_files(alike())));
            self.file = FileOf::Rows(Box::new(writer.map_err(|error| failed(self.path, &error))?));
        }
        match &mut self.file {
            FileOf::Rows(writer) => Ok(writer),
            FileOf::Nothing(_) => unreachable!("it was begun"),
        }
    }
    /// Adds a row that is not before the one added last.
    pub fn push(&mut self, row: EventRow) -> Result<()> {
        let SegmentFacts { rows, times_ms, log_indices, .. } = &mut self.facts;
        *rows += 1;
        *times_ms = [times_ms[0].min(row.time_ms), times_ms[1].max(row.time_ms)];
        *log_indices = [log_indices[0].min(row.log_index), log_indices[1].max(row.log_index)];
        self.pending.push(row);
        if self.pending.len() == GROUP_ROWS { self.write_group() } else { Ok(()) }
    }
    /// Writes what is left and makes file and name durable.
    pub fn finish(mut self) -> Result<SegmentFacts> {
        self.write_group()?;
        self.begun(Alike::default)?;
        let path = self.path;
        let FileOf::Rows(writer) = self.file else { unreachable!("it was begun") };
        let counting = (*writer).into_inner().map_err(|error| failed(path, &error))?;
        self.facts.regions.push(counting.finish().map_err(|error| Error::io("write", path, error))?);
        let folder = path.parent().expect("a file of events lies in a folder");
        self.files.sync_dir(folder).map_err(|error| Error::io("sync", folder, error))?;
        Ok(self.facts)
    }
    fn write_group(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.pending);
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(()) };
        let span = [first, last].map(|row| (row.index.to_string(), row.user_hash));
        let write = |writer: &mut SerializedFileWriter<Counting>| {
            let mut group = writer.next_row_group()?;
            rows::write(&mut group, &rows)?;
            group.close()?;
            Ok(writer.flush()?)
        };
        let path = self.path;
        let writer = self.begun(|| Alike::of(&rows))?;
        write(writer).map_err(|error: ParquetError| failed(path, &error))?;
        let region = writer.inner_mut().end_region();
        self.facts.regions.push(region);
        self.facts.spans.push(span);
        Ok(())
    }
}

/// Which rows a reader wants, and what of them.
#[derive(Clone, Copy, Debug)]
pub struct RowFilter<'w> {
    /// Of this index.
    pub index: Option<&'w str>,
    /// Of users with these hashes, which are sorted.
    pub users: Option<&'w [u64]>,
    /// From this index and hash of a user on.
    pub from: Option<(&'w str, u64)>,
    /// What of each row.
    pub parts: Parts,
    /// Whether row groups that do not read as they were written are passed over; they are told by [`Segment::unreadable`].
    pub passes_over_damage: bool,
}

impl RowFilter<'_> {
    /// Every row.
    pub const ALL: RowFilter<'static> =
        RowFilter { index: None, users: None, from: None, parts: Parts::ALL, passes_over_damage: false };

    fn may_be_in(self, [first, last]: &Span) -> bool {
        if self.from.is_some_and(|from| (last.0.as_str(), last.1) < from) {
            return false;
        }
        if self.index.is_some_and(|index| index < first.0.as_str() || last.0.as_str() < index) {
            return false;
        }
        let Some(users) = self.users else { return true };
        // of the index that is asked for, or of all, which hashes may be there
        let is_of = |index: &str| self.index.map_or(first.0 == last.0, |asked| asked == index);
        let least = if is_of(&first.0) { first.1 } else { 0 };
        let most = if is_of(&last.0) { last.1 } else { u64::MAX };
        users.get(users.partition_point(|user| *user < least)).is_some_and(|user| *user <= most)
    }
    /// Whether a row is wanted.
    pub fn takes(self, row: &EventRow) -> bool {
        self.index.is_none_or(|index| *row.index == *index)
            && self.users.is_none_or(|users| users.binary_search(&row.user_hash).is_ok())
            && self.from.is_none_or(|from| from <= (&*row.index, row.user_hash))
    }
}

/// A file that can be read.
#[derive(Clone)]
pub struct Segment {
    path: Arc<Path>,
    facts: Arc<SegmentFacts>,
    /// Of its facts.
    digest: u64,
    /// [`Self::origin`].
    origin: u64,
    bytes: Checked,
    reader: Arc<SerializedFileReader<Checked>>,
    /// Row groups that were not as they were written when they were read.
    unreadable: Arc<Mutex<BTreeSet<usize>>>,
}

impl Segment {
    /// Opens a file. Cost: its footer is read. Errors: it is not as these facts say.
    pub fn open(files: &dyn Files, path: &Path, facts: Arc<SegmentFacts>) -> Result<Segment> {
        let io = |error| Error::io("open", path, error);
        files.before_read(path).map_err(io)?;
        let file = std::fs::File::open(path).map_err(io)?;
        let found = file.metadata().map_err(io)?.len();
        if found != facts.bytes() || facts.regions.len() != facts.spans.len() + 1 {
            return Err(Error::damaged(path, format!("{found} bytes, expected {}", facts.bytes())));
        }
        let bytes = Checked::new(file, facts.regions.clone());
        let reader = SerializedFileReader::new(bytes.clone());
        bytes.let_go();
        let reader = reader.map_err(|error| failed(path, &error))?;
        let groups = reader.metadata().row_groups();
        let rows: i64 = groups.iter().map(|group| group.num_rows()).sum();
        if groups.len() != facts.spans.len() || u64::try_from(rows) != Ok(facts.rows) {
            return Err(Error::damaged(path, format!("{rows} rows, expected {}", facts.rows)));
        }
        let digest = facts.digest();
        let origin = sweep::origin_of(&reader).unwrap_or(digest);
        let (reader, unreadable) = (Arc::new(reader), Arc::default());
        Ok(Segment { path: path.into(), facts, digest, origin, bytes, reader, unreadable })
    }
    /// Two files with the same one have the same rows.
    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }
    /// Of what the file that it comes from had when it was first written: of files that forgotten users have left it stays the same.
    pub(crate) fn origin(&self) -> u64 {
        self.origin
    }
    /// What is known of it.
    pub fn facts(&self) -> &SegmentFacts {
        &self.facts
    }
    /// The numbers of the row groups that may have wanted rows.
    pub fn groups(&self, wanted: RowFilter<'_>) -> Vec<usize> {
        let spans = self.facts.spans.iter().enumerate();
        spans.filter(|(_, span)| wanted.may_be_in(span)).map(|(number, _)| number).collect()
    }
    /// Whether it may have wanted rows.
    pub(crate) fn may_have(&self, wanted: RowFilter<'_>) -> bool {
        self.facts.spans.iter().any(|span| wanted.may_be_in(span))
    }
    /// The rows of a row group, in order.
    pub fn rows(&self, group: usize) -> Result<Vec<EventRow>> {
        self.parts(group, Parts::ALL)
    }
    /// The rows of a row group, in order, with some of their members. All of the row group is compared with what was written.
    pub fn parts(&self, group: usize, parts: Parts) -> Result<Vec<EventRow>> {
        self.read(group, |group, count| rows::read(group, 0..count, parts))
    }
    /// Rows of a row group, in order, with all that are wanted among them. Cost: of others no more than a look at hashes, when users are
    /// wanted.
    pub fn wanted(&self, group: usize, wanted: RowFilter<'_>) -> Result<Vec<EventRow>> {
        let Some(users) = wanted.users else { return self.parts(group, wanted.parts) };
        self.read(group, |group, count| {
            let hashes = rows::user_hashes(group, count)?;
            let is_one = |hash: &u64| users.binary_search(hash).is_ok();
            let first = hashes.iter().position(is_one).unwrap_or_default();
            let end = hashes.iter().rposition(is_one).map_or(0, |last| last + 1);
            if first == end { Ok(vec![]) } else { rows::read(group, first..end, wanted.parts) }
        })
    }
    /// Reads something of the rows of a row group, given how many there are.
    fn read<T>(
        &self,
        number: usize,
        read: impl FnOnce(&dyn RowGroupReader, usize) -> Result<T, ParquetError>,
    ) -> Result<T> {
        let found = self.reader.get_row_group(number).and_then(|group| {
            let count = usize::try_from(group.metadata().num_rows()).unwrap_or(usize::MAX);
            read(&*group, count.min(GROUP_ROWS))
        });
        // files are open for long, and many of them
        self.bytes.let_go();
        found.map_err(|error| self.noted(number, &error))
    }
    /// Notes that a region is not as it was written, if it is that.
    fn noted(&self, number: usize, error: &ParquetError) -> Error {
        let error = failed(&self.path, error);
        if error.is_damage() && number < self.facts.spans.len() {
            self.unreadable.lock().unwrap_or_else(PoisonError::into_inner).insert(number);
        }
        error
    }
    /// Row groups that were not as they were written when somebody read them.
    pub fn unreadable(&self) -> BTreeSet<usize> {
        self.unreadable.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    /// How many rows these have.
    pub fn unreadable_rows(&self) -> u64 {
        let groups = self.unreadable().into_iter().map(|group| self.reader.metadata().row_group(group));
        groups.filter_map(|group| u64::try_from(group.num_rows()).ok()).sum()
    }
    /// Compares every byte of the file with what was written, a region at a time, as long as `goes_on`. `pace` is called with the bytes
    /// that were read and may take its time. Errors: the first one, when all of it was read.
    pub fn verify(&self, pace: &mut dyn FnMut(u64), goes_on: &dyn Fn() -> bool) -> Result<()> {
        let mut first = Ok(());
        for number in 0..self.facts.regions.len() {
            if !goes_on() {
                break;
            }
            match self.bytes.read(number) {
                Ok(read) => pace(read.len() as u64),
                Err(error) => first = first.and(Err(self.noted(number, &error))),
            }
        }
        first
    }
}

/// What the file layer refused is told from bytes that are not as they should be.
fn failed(path: &Path, error: &ParquetError) -> Error {
    if let ParquetError::External(source) = error
        && let Some(io) = source.downcast_ref::<std::io::Error>()
        // a file that ends early is not as it was written
        && !matches!(io.kind(), std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof)
    {
        let error = io.raw_os_error().map_or_else(|| io.kind().into(), std::io::Error::from_raw_os_error);
        return Error::io("use", path, error);
    }
    Error::damaged(path, error)
}

#[cfg(test)]
mod tests;
