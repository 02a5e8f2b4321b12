//! What of the metadata store survives everything: one checksummed file per group with all rows, replaced atomically.
//!
//! Shape: a frame with the head, then per row its length, CRC-32 and encoding, then an end mark with the number of rows
//! and a CRC-32 over all their bytes. The old dump stays until the new one is durable.

use crate::codec::{self, Mark};
use crate::error::{Result, StoreError};
use crate::files::Files;
use crate::kv::{Row, Tree};
use serde::{Deserialize, Serialize};
use serde_bytes::{ByteBuf, Bytes};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

const MARK: Mark = Mark { magic: *b"QDMP", version: 1 };
const HEAD_BYTES_MAX: usize = 64;
/// A length no row has.
const END: u32 = u32::MAX;
/// Bytes of a row at most; above it the length is damage.
const ROW_BYTES_MAX: usize = 1 << 30;

/// What a dump reflects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The group.
    pub group: u16,
    /// Log index of the last applied entry.
    pub applied_index: u64,
    /// Its term.
    pub term: u64,
}

/// Takes the rows of a dump that is being written.
pub struct DumpWriter<'w> {
    out: &'w mut dyn Write,
    rows: u64,
    all: crc32fast::Hasher,
}

impl DumpWriter<'_> {
    /// Adds a row.
    pub fn row(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        let bytes = codec::encode(&(Bytes::new(key), Bytes::new(value)));
        if bytes.len() > ROW_BYTES_MAX {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a row of the metadata store is over 1 GiB",
            ));
        }
        self.out.write_all(&(bytes.len() as u32).to_le_bytes())?;
        self.out.write_all(&crc32fast::hash(&bytes).to_le_bytes())?;
        self.out.write_all(&bytes)?;
        self.all.update(&bytes);
        self.rows += 1;
        Ok(())
    }

    fn finish(self) -> io::Result<()> {
        self.out.write_all(&END.to_le_bytes())?;
        self.out.write_all(&self.all.finalize().to_le_bytes())?;
        self.out.write_all(&self.rows.to_le_bytes())
    }
}

/// Replaces the dump at `path` by the rows that `rows` hands over. On an error, and after a power cut before the end, the
/// old dump is still there.
pub fn write_dump(
    files: &dyn Files,
    path: &Path,
    head: Head,
    rows: &mut dyn FnMut(&mut DumpWriter<'_>) -> Result<()>,
) -> Result<()> {
    let mut failed = None;
    let written = files.write_atomic_with(path, &mut |file| {
        let mut out = BufWriter::with_capacity(256 << 10, file);
        out.write_all(&codec::frame(MARK, &codec::encode(&head)))?;
        let mut writer = DumpWriter { out: &mut out, rows: 0, all: crc32fast::Hasher::new() };
        if let Err(e) = rows(&mut writer) {
            failed = Some(e);
            return Err(io::Error::other("the rows ended with an error"));
        }
        writer.finish()?;
        out.flush()
    });
    match failed {
        Some(e) => Err(e),
        None => written.map_err(|e| StoreError::io("write", path, e)),
    }
}

/// Dumps all rows of a tree as of one batch. `term_of` gives the term of the log index the rows reflect.
pub fn write_tree(
    files: &dyn Files,
    path: &Path,
    group: u16,
    tree: &Tree,
    term_of: &mut dyn FnMut(u64) -> u64,
) -> Result<Head> {
    // The log may be cut behind a dump, so the store must not be the only one that lacks what is in it.
    tree.write_out()?;
    // The head comes first in the file, so the rows are taken as of the index read here; a writer in between is seen.
    loop {
        let applied_index = tree.applied();
        let head = Head { group, applied_index, term: term_of(applied_index) };
        let mut reached = applied_index;
        let result = write_dump(files, path, head, &mut |out| {
            reached = tree.visit(b"", |key, value| {
                out.row(key, &value).map_err(|e| StoreError::io("write", path, e))
            })?;
            match reached == applied_index {
                true => Ok(()),
                false => Err(StoreError::damaged("a dump", "the tree changed before its rows were read")),
            }
        });
        if reached == applied_index {
            return result.map(|()| head);
        }
    }
}

/// A dump whose every byte has been checked.
#[derive(Clone, Debug)]
pub struct Dump {
    /// What it reflects.
    pub head: Head,
    /// How many rows it has.
    pub rows: u64,
    path: PathBuf,
}

/// Checks the dump at `path`. `None` when there is none. Errors: `Damaged`, `Io`.
pub fn read_dump(path: &Path) -> Result<Option<Dump>> {
    let Some(mut rows) = Rows::open(path)? else { return Ok(None) };
    for row in &mut rows {
        row?;
    }
    Ok(Some(Dump { head: rows.head, rows: rows.seen, path: path.to_path_buf() }))
}

impl Dump {
    /// Reads the rows again, in key order.
    pub fn rows(&self) -> Result<Rows> {
        match Rows::open(&self.path)? {
            Some(rows) if rows.head == self.head => Ok(rows),
            Some(_) | None => {
                Err(StoreError::damaged(self.path.display().to_string(), "it was replaced while it was read"))
            }
        }
    }
    /// Replaces the rows of `tree` by those of the dump.
    pub fn restore_into(&self, tree: &Tree) -> Result<()> {
        tree.restore(self.head.applied_index, &mut self.rows()?)
    }
}

/// The rows of a dump, checked as they are read; the last step checks the whole.
pub struct Rows {
    head: Head,
    input: BufReader<File>,
    path: PathBuf,
    all: crc32fast::Hasher,
    seen: u64,
    is_done: bool,
}

impl Rows {
    fn open(path: &Path) -> Result<Option<Rows>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(StoreError::io("open", path, e)),
        };
        let mut input = BufReader::with_capacity(256 << 10, file);
        let mut frame = vec![0; codec::FRAME_HEADER_BYTES];
        read(&mut input, &mut frame, path)?;
        let length = u64::from_le_bytes(frame[8..16].try_into().expect("eight bytes"));
        if length > HEAD_BYTES_MAX as u64 {
            return Err(StoreError::damaged(path.display().to_string(), "its head is too long"));
        }
        frame.resize(codec::FRAME_HEADER_BYTES + length as usize, 0);
        read(&mut input, &mut frame[codec::FRAME_HEADER_BYTES..], path)?;
        let name = |e: StoreError| StoreError::damaged(path.display().to_string(), e.to_string());
        let framed = codec::unframe(MARK, &frame).map_err(name)?;
        let head = codec::decode(framed.payload, HEAD_BYTES_MAX).map_err(name)?;
        let all = crc32fast::Hasher::new();
        Ok(Some(Rows { head, input, path: path.to_path_buf(), all, seen: 0, is_done: false }))
    }

    fn step(&mut self) -> Result<Option<Row>> {
        let mut word = [0; 4];
        self.read(&mut word)?;
        let length = u32::from_le_bytes(word);
        self.read(&mut word)?;
        let checksum = u32::from_le_bytes(word);
        if length == END {
            let mut rows = [0; 8];
            self.read(&mut rows)?;
            let whole = checksum == self.all.clone().finalize() && u64::from_le_bytes(rows) == self.seen;
            let is_end = self.input.read(&mut word).map_err(|e| StoreError::io("read", &self.path, e))? == 0;
            return match whole && is_end {
                true => Ok(None),
                false => Err(self.damaged("its end does not fit its rows")),
            };
        }
        if length as usize > ROW_BYTES_MAX {
            return Err(self.damaged("a row has an impossible length"));
        }
        let mut bytes = Vec::new();
        let got = (&mut self.input).take(u64::from(length)).read_to_end(&mut bytes);
        if got.map_err(|e| StoreError::io("read", &self.path, e))? != length as usize {
            return Err(self.damaged("it ends early"));
        }
        if crc32fast::hash(&bytes) != checksum {
            return Err(self.damaged("wrong checksum of a row"));
        }
        self.all.update(&bytes);
        self.seen += 1;
        let (key, value) = codec::decode::<(ByteBuf, ByteBuf)>(&bytes, ROW_BYTES_MAX)?;
        Ok(Some((key.into_vec(), value.into_vec())))
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<()> {
        read(&mut self.input, bytes, &self.path)
    }
    fn damaged(&self, why: &str) -> StoreError {
        StoreError::damaged(self.path.display().to_string(), why)
    }
}

fn read(input: &mut BufReader<File>, bytes: &mut [u8], path: &Path) -> Result<()> {
    input.read_exact(bytes).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof => StoreError::damaged(path.display().to_string(), "it ends early"),
        _ => StoreError::io("read", path, e),
    })
}

impl Iterator for Rows {
    type Item = Result<Row>;
    fn next(&mut self) -> Option<Result<Row>> {
        if self.is_done {
            return None;
        }
        let step = self.step();
        self.is_done = !matches!(step, Ok(Some(_)));
        step.transpose()
    }
}
