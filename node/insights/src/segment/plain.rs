//! How do rows become a Parquet file for others, and back? Without the facts that a store keeps beside its own files.

use super::{GROUP_ROWS, encodings};
use crate::rows::{self, EventRow};
use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::io::{self, Write};
use std::sync::Arc;

/// Writes rows as they come.
pub struct PlainWriter<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    pending: Vec<EventRow>,
    rows: u64,
}

impl<W: Write + Send> PlainWriter<W> {
    /// Begins a file.
    pub fn new(out: W) -> io::Result<Self> {
        let schema = parse_message_type(rows::SCHEMA).expect("a test parses the schema");
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(encodings::plain()));
        Ok(PlainWriter { writer: writer.map_err(told)?, pending: vec![], rows: 0 })
    }
    /// Adds a row.
    pub fn push(&mut self, row: EventRow) -> io::Result<()> {
        self.rows += 1;
        self.pending.push(row);
        if self.pending.len() == GROUP_ROWS { self.write_group() } else { Ok(()) }
    }
    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }
    /// Writes what is left and hands the output back.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_group()?;
        self.writer.into_inner().map_err(told)
    }
    fn write_group(&mut self) -> io::Result<()> {
        let rows = std::mem::take(&mut self.pending);
        if rows.is_empty() {
            return Ok(());
        }
        let write = |writer: &mut SerializedFileWriter<W>| -> Result<()> {
            let mut group = writer.next_row_group()?;
            rows::write(&mut group, &rows)?;
            group.close()?;
            Ok(writer.flush()?)
        };
        write(&mut self.writer).map_err(told)
    }
}

/// The rows of a file that [`PlainWriter`] wrote. Errors: `InvalidData`.
pub fn plain_rows(file: Vec<u8>) -> io::Result<Vec<EventRow>> {
    let read = || -> Result<Vec<EventRow>> {
        let reader = SerializedFileReader::new(Bytes::from(file))?;
        let mut all = vec![];
        for number in 0..reader.num_row_groups() {
            let group = reader.get_row_group(number)?;
            let count = usize::try_from(group.metadata().num_rows()).unwrap_or(usize::MAX);
            all.extend(rows::read(&*group, 0..count.min(GROUP_ROWS), rows::Parts::ALL)?);
        }
        Ok(all)
    };
    read().map_err(told)
}

/// As the file layer says it, and otherwise as what does not fit.
pub(super) fn told(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(source) => io::Error::new(io::ErrorKind::InvalidData, source),
        },
        error => io::Error::new(io::ErrorKind::InvalidData, error),
    }
}
