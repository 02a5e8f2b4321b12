//! How is a model written, list after list?
//!
//! ```text
//! 0    magic "QRTNEI01" · format version u32 · zeros up to 16
//! 16   neighbours: number of an item u32 · hundredths of the score u16, the best first
//!      for each item and the end: neighbours before u32
//!      for each item: users, or baskets, that had it u32
//!      for each item and the end: bytes of ids before u32
//!      ids, ascending
//!      report, as JSON
//! end  items u32 · neighbours u32 · bytes of ids u32 · bytes of the report u32 · crc32 of all between header and here u32 ·
//!      crc32 of header and the 20 bytes before u32 · magic "QRTNEIEN"
//! ```
//! Numbers are little-endian. What is known last stands last, so that a file is written from front to back.

use super::error::Result;
use super::report::Report;
use std::io::Write;

/// The format this build writes.
pub const FORMAT_VERSION: u32 = 1;
/// What the best neighbour of every list has, in hundredths.
pub const SCORE_BEST: u16 = 10_000;
pub(super) const MAGIC: &[u8; 8] = b"QRTNEI01";
pub(super) const END_MAGIC: &[u8; 8] = b"QRTNEIEN";
pub(super) const HEADER: usize = 16;
pub(super) const TRAILER: usize = 32;
pub(super) const ENTRY: usize = 6;
/// Bytes that are written at once.
const BUFFER: usize = 1 << 16;

/// Writes a model: the lists of all items in the order of their ids, then the ids.
///
/// Memory: 8 bytes an item.
pub struct ModelWriter<W: Write> {
    out: W,
    buffer: Vec<u8>,
    crc: crc32fast::Hasher,
    before: Vec<u32>,
    users: Vec<u32>,
    neighbours: u32,
}

impl<W: Write> ModelWriter<W> {
    /// Writes the header.
    pub fn new(mut out: W) -> Result<Self> {
        out.write_all(&header())?;
        Ok(ModelWriter {
            out,
            buffer: Vec::with_capacity(BUFFER + 1_024),
            crc: crc32fast::Hasher::new(),
            before: Vec::new(),
            users: Vec::new(),
            neighbours: 0,
        })
    }
    /// Writes the list of the next item: numbers of items, each with the hundredths of its score, the best first.
    pub fn list(&mut self, users: u32, list: impl IntoIterator<Item = (u32, u16)>) -> Result<()> {
        self.before.push(self.neighbours);
        self.users.push(users);
        for (item, score) in list {
            self.append(&item.to_le_bytes())?;
            self.append(&score.to_le_bytes())?;
            self.neighbours += 1;
        }
        Ok(())
    }
    /// Entries of the lists so far.
    pub fn neighbours(&self) -> u32 {
        self.neighbours
    }
    /// Writes the ids of the items, ascending, the report and the trailer, and hands the output back.
    pub fn finish<'a>(mut self, ids: impl Iterator<Item = &'a [u8]> + Clone, report: &Report) -> Result<W> {
        let (mut before, users) = (std::mem::take(&mut self.before), std::mem::take(&mut self.users));
        before.push(self.neighbours);
        self.numbers(before.into_iter())?;
        self.numbers(users.iter().copied())?;
        let mut id_bytes = 0u32;
        self.append(&id_bytes.to_le_bytes())?;
        for id in ids.clone() {
            id_bytes += id.len() as u32;
            self.append(&id_bytes.to_le_bytes())?;
        }
        for id in ids {
            self.append(id)?;
        }
        let report = serde_json::to_vec(report).expect("numbers and names become JSON");
        self.append(&report)?;
        self.flush()?;
        let mut trailer = Vec::with_capacity(TRAILER);
        let body = self.crc.clone().finalize();
        for number in [users.len() as u32, self.neighbours, id_bytes, report.len() as u32, body] {
            trailer.extend_from_slice(&number.to_le_bytes());
        }
        trailer.extend_from_slice(&frame_crc(&header(), &trailer).to_le_bytes());
        trailer.extend_from_slice(END_MAGIC);
        self.out.write_all(&trailer)?;
        Ok(self.out)
    }
    fn numbers(&mut self, numbers: impl Iterator<Item = u32>) -> Result<()> {
        for number in numbers {
            self.append(&number.to_le_bytes())?;
        }
        Ok(())
    }
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }
    fn flush(&mut self) -> Result<()> {
        self.crc.update(&self.buffer);
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

fn header() -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    header
}
/// The checksum of header and lengths.
pub(super) fn frame_crc(header: &[u8], lengths: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(header);
    crc.update(lengths);
    crc.finalize()
}
