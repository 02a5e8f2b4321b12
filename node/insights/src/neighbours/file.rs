//! Which neighbours has an item, by a model file that stays on disk?
//!
//! The file is mapped: a list is some 240 places of it, which would be as many calls of the system to read.

#![allow(unsafe_code)]

use super::error::{Result, go_on};
use super::model::Model;
use super::report::Report;
use super::shape::damaged;
use memmap2::{Advice, Mmap};
use quorate_model::Candidates;
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
#[derive(Debug)]
pub struct ModelFile {
    file: File,
    mapped: Mmap,
}

impl ModelFile {
    /// Opens a file and looks at header, trailer and lengths. Errors: as [`Model::open`]; `Io`.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path)?;
        // SAFETY: a model is written under another name, then renamed, and never changed or cut; who removes it leaves it to those who have it
        let mapped = unsafe { Mmap::map(&file)? };
        Model::open(&mapped)?;
        // a list is spread over the file: what lies beside is of no use; where that cannot be said, more is read
        let _more_is_read = mapped.advise(Advice::Random);
        Ok(ModelFile { file, mapped })
    }
    /// Whether all bytes are those of a file with this length and checksum (CRC-32 of the whole file).
    ///
    /// Errors: `Damaged`, `Stopped`, `Io`. Cost: one pass over the file, which is not mapped for it.
    pub fn check(&self, length: u64, crc: u32, stop: &AtomicBool) -> Result<()> {
        let end = self.mapped.len();
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
    /// What the build said of itself. Errors: `Damaged`.
    pub fn report(&self) -> Result<Report> {
        let model = self.model()?;
        if model.report_bytes() > REPORT_BYTES_MAX {
            return damaged("its report is too long");
        }
        model.report()
    }
    /// The neighbours of an item; nothing when the model does not know it.
    ///
    /// Errors: `Damaged` when the list is none that could have been written.
    /// Cost: that of [`Model::lookup`]; places that are not in memory are read.
    pub fn lookup(&self, item: &str) -> Result<Option<Candidates>> {
        let Some(found) = self.model()?.lookup(item)? else { return Ok(None) };
        if found.list.iter().any(|neighbour| neighbour.item.len() > ID_BYTES_MAX) {
            return damaged("an id is too long");
        }
        let list = found.list.iter().map(|neighbour| (neighbour.item.to_owned(), neighbour.hundredths));
        Ok(Some(Candidates { users: found.users, list: list.collect() }))
    }
    /// Errors: `Damaged` when somebody has cut the file since it was opened: to look at what is gone would end the process.
    fn model(&self) -> Result<Model<'_>> {
        if self.file.metadata()?.len() != self.mapped.len() as u64 {
            return damaged("it has another length than when it was opened");
        }
        Model::open(&self.mapped)
    }
}
