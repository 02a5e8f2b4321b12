//! How do forgotten users leave a file? Row groups that have nothing of them are copied byte by byte; others are read, and written anew.

use super::encodings::Alike;
use super::regions::Checked;
use super::{RowFilter, Segment, SegmentFacts, SegmentWriter, failed};
use crate::error::{Error, Result};
use crate::forgotten::Forgotten;
use crate::rows::{self, Parts};
use parquet::basic::Encoding;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::reader::{FileReader, SerializedFileReader};
use quorate_store::files::Files;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the footer of a swept file calls its origin.
const ORIGIN: &str = "quorate.origin";

/// The origin that a file names.
pub(super) fn origin_of(reader: &SerializedFileReader<Checked>) -> Option<u64> {
    let named = reader.metadata().file_metadata().key_value_metadata()?;
    let value = named.iter().find(|named| named.key == ORIGIN)?.value.as_deref()?;
    u64::from_str_radix(value, 16).ok()
}

/// What is to become of a file.
pub(crate) enum Swept {
    /// It has nothing of them.
    Same,
    /// It has nothing else.
    Nothing,
    /// What is known of the new one.
    File(SegmentFacts),
}

/// Writes a file anew without the rows of forgotten users. `None` when it was stopped. Cost: of each row group that may have one a
/// look at hashes and pseudonyms, of those that have one some microseconds a row, and of a file that has one a copy.
pub(crate) fn sweep(
    segment: &Segment,
    forgotten: &Forgotten,
    files: &dyn Files,
    path: &Path,
    stop: &AtomicBool,
) -> Result<Option<Swept>> {
    let hashes = forgotten.hashes();
    let mut has = vec![];
    for group in 0..segment.facts.spans.len() {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        has.push(segment.has_forgotten(group, forgotten, &hashes)?);
    }
    if !has.contains(&true) {
        return Ok(Some(Swept::Same));
    }
    let mut writer: Option<SegmentWriter<'_>> = None;
    for (group, has) in has.into_iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut left = vec![];
        if has || !segment.can_be_copied(group) {
            left = segment.rows(group)?;
            left.retain(|row| !forgotten.hides(row));
            if left.is_empty() {
                continue;
            }
        }
        let to = match &mut writer {
            Some(writer) => writer,
            None => writer.insert(segment.successor(files, path)?),
        };
        match left.is_empty() {
            true => to.copy(segment, group)?,
            false => {
                left.into_iter().try_for_each(|row| to.push(row))?;
                to.write_group()?;
            }
        }
    }
    match writer {
        None => Ok(Some(Swept::Nothing)),
        Some(writer) => writer.finish().map(Swept::File).map(Some),
    }
}

/// Writes a file anew without the row groups that are known to be damaged, as another one. `None`: nothing is left.
pub(crate) fn without_unreadable(
    segment: &Segment,
    files: &dyn Files,
    path: &Path,
) -> Result<Option<SegmentFacts>> {
    let unreadable = segment.unreadable();
    let mut left = (0..segment.facts.spans.len()).filter(|group| !unreadable.contains(group)).peekable();
    if left.peek().is_none() {
        return Ok(None);
    }
    let mut writer = SegmentWriter::create(files, path)?;
    writer.begun(|| segment.alike())?;
    for group in left {
        if segment.can_be_copied(group) {
            writer.copy(segment, group)?;
        } else {
            segment.rows(group)?.into_iter().try_for_each(|row| writer.push(row))?;
            writer.write_group()?;
        }
    }
    writer.finish().map(Some)
}

impl Segment {
    /// Whether a row group has rows of users who are to be forgotten, whose sorted hashes these are.
    fn has_forgotten(&self, group: usize, forgotten: &Forgotten, hashes: &[u64]) -> Result<bool> {
        let wanted = RowFilter { users: Some(hashes), ..RowFilter::ALL };
        let may_have = wanted.may_be_in(&self.facts.spans[group]);
        let is_one = |hash: &u64| hashes.binary_search(hash).is_ok();
        let is_near = self.read(group, |group, count| {
            Ok((may_have && rows::user_hashes(group, count)?.iter().any(is_one))
                || rows::has_pseudonym(group, count, |token| forgotten.has(token))?)
        })?;
        // what they did since stays
        Ok(is_near && self.parts(group, Parts::NONE)?.iter().any(|row| forgotten.hides(row)))
    }
    /// Whether a row group can be a part of a new file as it is.
    fn can_be_copied(&self, group: usize) -> bool {
        let metadata = self.reader.metadata();
        metadata.file_metadata().schema_descr().num_columns() == rows::COLUMNS
            && rows::bounds(metadata.row_group(group)).is_some()
    }
    /// Which texts it has differences of.
    fn alike(&self) -> Alike {
        let first = self.reader.metadata().row_groups().first();
        let has = |name: &str| {
            let mut columns = first.iter().flat_map(|group| group.columns());
            columns.any(|column| {
                let mut encodings = column.encodings();
                column.column_path().string() == name && encodings.any(|it| it == Encoding::DELTA_BYTE_ARRAY)
            })
        };
        let [queries, shown] = Alike::COLUMNS.map(has);
        Alike { queries, shown }
    }
    /// A new file that has the same origin.
    fn successor<'f>(&self, files: &'f dyn Files, path: &'f Path) -> Result<SegmentWriter<'f>> {
        let mut writer = SegmentWriter::create(files, path)?;
        let value = format!("{:016x}", self.origin);
        let to = writer.begun(|| self.alike())?;
        to.append_key_value_metadata(KeyValue::new(ORIGIN.to_owned(), value));
        Ok(writer)
    }
}

impl SegmentWriter<'_> {
    /// Adds a row group of another file as it is, behind a whole one.
    fn copy(&mut self, from: &Segment, number: usize) -> Result<()> {
        let group = from.reader.metadata().row_group(number);
        let Some([times_ms, log_indices]) = rows::bounds(group) else {
            return Err(Error::damaged(&from.path, "a row group without statistics"));
        };
        let path = self.path;
        let writer = self.begun(Alike::default)?;
        let copied = (|| {
            let mut to = writer.next_row_group()?;
            for column in group.columns() {
                let close = ColumnCloseResult {
                    bytes_written: u64::try_from(column.compressed_size()).unwrap_or_default(),
                    rows_written: u64::try_from(group.num_rows()).unwrap_or_default(),
                    metadata: column.clone(),
                    bloom_filter: None,
                    column_index: None,
                    offset_index: None,
                };
                to.append_column(&from.bytes, close)?;
            }
            to.close()?;
            Ok(writer.flush()?)
        })();
        from.bytes.let_go();
        copied.map_err(|error: ParquetError| failed(path, &error))?;
        let region = writer.inner_mut().end_region();
        let facts = &mut self.facts;
        facts.rows += u64::try_from(group.num_rows()).unwrap_or_default();
        for (all, of) in [(&mut facts.times_ms, times_ms), (&mut facts.log_indices, log_indices)] {
            *all = [all[0].min(of[0]), all[1].max(of[1])];
        }
        facts.regions.push(region);
        facts.spans.push(from.facts.spans[number].clone());
        Ok(())
    }
}
