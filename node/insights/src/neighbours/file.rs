//! Which neighbours has an item, by a model file that stays on disk?

use super::error::{NeighboursError, Result, go_on};
use super::lists::NEIGHBOURS_MAX;
use super::report::Report;
use super::shape::{Shape, damaged, number_at};
use super::writer::{ENTRY, HEADER, SCORE_BEST, TRAILER};
use quorate_model::Candidates;
use std::cmp::Ordering;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Bytes that are read at once when the whole file is looked at.
const PIECE: usize = 256 << 10;
/// Bytes of an id that no record has: more tell of damage.
const ID_BYTES_MAX: usize = 4_096;
/// Bytes of a report at most.
const REPORT_BYTES_MAX: usize = 64 << 10;

/// An open model file. Only what is asked for is read of it.
pub struct ModelFile {
    file: File,
    shape: Shape,
}

impl ModelFile {
    /// Opens a file and looks at header, trailer and lengths. Errors: as [`super::Model::open`]; `Io`.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len() as usize;
        if length < HEADER + TRAILER {
            return damaged("it is too short");
        }
        let (mut header, mut trailer) = ([0; HEADER], [0; TRAILER]);
        file.read_exact_at(&mut header, 0)?;
        file.read_exact_at(&mut trailer, (length - TRAILER) as u64)?;
        Ok(ModelFile { shape: Shape::of(length, &header, &trailer)?, file })
    }
    /// Whether all bytes are those of a file with this length and checksum (CRC-32 of the whole file).
    ///
    /// Errors: `Damaged`, `Stopped`, `Io`. Cost: one pass over the file.
    pub fn check(&self, length: u64, crc: u32, stop: &AtomicBool) -> Result<()> {
        let end = self.shape.end + TRAILER;
        if end as u64 != length {
            return damaged("it has another length");
        }
        let (mut hasher, mut piece, mut at) = (crc32fast::Hasher::new(), vec![0; PIECE], 0);
        while at < end {
            go_on(stop)?;
            let most = PIECE.min(end - at);
            self.file.read_exact_at(&mut piece[..most], at as u64)?;
            hasher.update(&piece[..most]);
            at += most;
        }
        if hasher.finalize() == crc { Ok(()) } else { damaged("its checksum differs") }
    }
    /// What the build said of itself. Errors: `Damaged`, `Io`.
    pub fn report(&self) -> Result<Report> {
        if self.shape.report_bytes > REPORT_BYTES_MAX {
            return damaged("its report is too long");
        }
        let report = self.read(self.shape.report(), self.shape.report_bytes)?;
        serde_json::from_slice(&report).or_else(|_| damaged("its report"))
    }
    /// The neighbours of an item; nothing when the model does not know it.
    ///
    /// Errors: `Damaged` when the list is none that could have been written; `Io`.
    /// Cost: some 20 ids among a million are read, and one for each neighbour.
    pub fn lookup(&self, item: &str) -> Result<Option<Candidates>> {
        let (mut low, mut high) = (0, self.shape.items);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.id(middle)?.as_str().cmp(item) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return self.list(middle).map(Some),
            }
        }
        Ok(None)
    }
    fn list(&self, item: usize) -> Result<Candidates> {
        let (start, end) = self.range(self.shape.offsets(), item, self.shape.neighbours)?;
        if end - start > NEIGHBOURS_MAX {
            return damaged("a list is too long");
        }
        let entries = self.read(HEADER + start * ENTRY, (end - start) * ENTRY)?;
        let mut list = Vec::with_capacity(end - start);
        let mut least = SCORE_BEST;
        for entry in entries.chunks_exact(ENTRY) {
            let hundredths = u16::from_le_bytes([entry[4], entry[5]]);
            if hundredths == 0 || hundredths > least {
                return damaged("scores of a list");
            }
            least = hundredths;
            list.push((self.id(number_at(entry, 0) as usize)?, hundredths));
        }
        let users = number_at(&self.read(self.shape.users() + item * 4, 4)?, 0);
        Ok(Candidates { users, list })
    }
    fn id(&self, item: usize) -> Result<String> {
        if item >= self.shape.items {
            return damaged("an item that is none");
        }
        let (start, end) = self.range(self.shape.id_offsets(), item, self.shape.id_bytes)?;
        if end - start > ID_BYTES_MAX {
            return damaged("an id is too long");
        }
        let id = self.read(self.shape.ids() + start, end - start)?;
        String::from_utf8(id).or_else(|_| damaged("an id is not UTF-8"))
    }
    /// Two numbers of a table, one after another, which are at most `most`.
    fn range(&self, table: usize, item: usize, most: usize) -> Result<(usize, usize)> {
        let pair = self.read(table + item * 4, 8)?;
        let (start, end) = (number_at(&pair, 0) as usize, number_at(&pair, 4) as usize);
        if start <= end && end <= most { Ok((start, end)) } else { damaged("a list or an id lies outside") }
    }
    fn read(&self, at: usize, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, at as u64).map_err(NeighboursError::Io)?;
        Ok(bytes)
    }
}
