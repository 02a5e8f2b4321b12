//! Are the bytes of a piece of a file those that were written?

use bytes::{Buf, Bytes};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use quorate_store::files::FileWriter;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

/// A piece of a file, behind the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// Where it ends.
    pub end: u64,
    /// CRC-32 of its bytes.
    pub crc: u32,
}

/// A file on its way, with the checksum of what is behind the last region.
pub(super) struct Counting {
    file: Box<dyn FileWriter>,
    written: u64,
    crc: crc32fast::Hasher,
}

impl Counting {
    pub fn new(file: Box<dyn FileWriter>) -> Self {
        Counting { file, written: 0, crc: crc32fast::Hasher::new() }
    }
    /// Ends a region here.
    pub fn end_region(&mut self) -> Region {
        let crc = std::mem::take(&mut self.crc).finalize();
        Region { end: self.written, crc }
    }
    /// Ends the last region and makes the bytes durable.
    pub fn finish(mut self) -> io::Result<Region> {
        self.file.flush()?;
        self.file.sync()?;
        Ok(self.end_region())
    }
}
impl Write for Counting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.crc.update(&bytes[..count]);
        self.written += count as u64;
        Ok(count)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file of which nothing is given that does not fit its checksum.
#[derive(Clone)]
pub(super) struct Checked {
    file: Arc<File>,
    regions: Arc<[Region]>,
    /// The region that was read last, until it is let go: the columns of a row group are asked for one after another.
    last: Arc<Mutex<Option<(usize, Bytes)>>>,
}

impl Checked {
    pub fn new(file: File, regions: Vec<Region>) -> Self {
        Checked { file: Arc::new(file), regions: regions.into(), last: Arc::default() }
    }
    /// Reads a region from the file, whatever is in memory. Errors: it does not fit its checksum, or cannot be read.
    pub fn read(&self, number: usize) -> Result<Bytes> {
        let region = *self.regions.get(number).ok_or_else(|| outside("behind the end"))?;
        let begin = self.begin_of(number);
        let length = usize::try_from(region.end - begin).map_err(|_| outside("too long"))?;
        let mut bytes = vec![0; length];
        self.file
            .read_exact_at(&mut bytes, begin)
            .map_err(|error| ParquetError::External(Box::new(error)))?;
        if crc32fast::hash(&bytes) != region.crc {
            return Err(outside("the checksum does not fit"));
        }
        Ok(bytes.into())
    }
    /// Keeps nothing of the file in memory any more.
    pub fn let_go(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
    fn begin_of(&self, number: usize) -> u64 {
        if number == 0 { 0 } else { self.regions[number - 1].end }
    }
    /// The bytes from `start` to the end of its region.
    fn rest(&self, start: u64) -> Result<Bytes> {
        let number = self.regions.partition_point(|region| region.end <= start);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|(there, _)| *there != number) {
            *last = Some((number, self.read(number)?));
        }
        let bytes = last.as_ref().map(|(_, bytes)| bytes.clone()).unwrap_or_default();
        Ok(bytes.slice((start - self.begin_of(number)) as usize..))
    }
}
fn outside(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

impl Length for Checked {
    fn len(&self) -> u64 {
        self.regions.last().map_or(0, |region| region.end)
    }
}
impl ChunkReader for Checked {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(self.rest(start)?.reader())
    }
    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let rest = self.rest(start)?;
        match length <= rest.len() {
            true => Ok(rest.slice(..length)),
            false => Err(outside("a piece of two regions")),
        }
    }
}
