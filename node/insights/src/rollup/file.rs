//! How does the rollup of a day lie in a file? Blocks one behind the other, then a directory of them, then how long that is.
//!
//! A file is written whole and then takes the place of the one before it. Nothing of it is trusted: what does not fit its checksum is
//! removed and derived anew.

use super::block::{Block, Built, Facts};
use crate::error::{Error, Result};
use quorate_store::codec::{self, Mark};
use quorate_store::files::Files;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const MARK: Mark = Mark { magic: *b"QERU", version: 2 };
/// Bytes of a directory at most, and of what is known of a block.
const DIRECTORY_MAX: usize = 64 << 20;
const FACTS_MAX: usize = 1 << 20;
/// Bytes that are read of the end of a file at first: small directories are in them.
const END_BYTES: u64 = 16 << 10;

/// What a file has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Directory {
    /// Digests of the files that it was made of, sorted.
    made_of: Vec<u64>,
    entries: Vec<BlockEntry>,
}

/// Where a block is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct BlockEntry {
    /// Hash of the name of the index.
    index: u64,
    begin: u64,
    /// What is known of the block stands before it: so many bytes with this checksum.
    facts_bytes: u64,
    facts_crc: u32,
}

/// Gives blocks; returns whether these are all.
pub(super) type Fill<'f> = &'f mut dyn FnMut(&mut dyn FnMut(Built) -> Result<()>) -> Result<bool>;

/// Writes a file, made of files with these digests. Returns whether it is there: not when `fill` was stopped.
pub(super) fn write(files: &dyn Files, path: &Path, made_of: Vec<u64>, fill: Fill<'_>) -> Result<bool> {
    let (mut failure, mut is_whole) = (None, true);
    let folder = path.parent().expect("a rollup lies in a folder");
    files.create_dir_durable(folder).map_err(|error| Error::io("create", folder, error))?;
    let written = files.write_atomic_with(path, &mut |out| {
        let (mut directory, mut next) = (Directory { made_of: made_of.clone(), entries: vec![] }, 0);
        let mut give = |built: Built| {
            put(out, &mut directory, &mut next, &built).map_err(|error| Error::io("write", path, error))
        };
        match fill(&mut give) {
            Ok(true) => {}
            Ok(false) => {
                is_whole = false;
                return Err(ErrorKind::Interrupted.into());
            }
            Err(error) => {
                failure = Some(error);
                return Err(ErrorKind::Other.into());
            }
        }
        let directory = codec::frame(MARK, &codec::encode(&directory));
        out.write_all(&directory)?;
        out.write_all(&(directory.len() as u64).to_le_bytes())
    });
    match (written, failure) {
        (Ok(()), _) => Ok(true),
        (Err(_), Some(failure)) => Err(failure),
        (Err(_), None) if !is_whole => Ok(false),
        (Err(error), None) => Err(Error::io("write", path, error)),
    }
}
fn put(out: &mut dyn Write, directory: &mut Directory, next: &mut u64, built: &Built) -> io::Result<()> {
    let facts = codec::encode(&built.facts);
    out.write_all(&facts)?;
    out.write_all(&built.bytes)?;
    let (facts_bytes, facts_crc) = (facts.len() as u64, crc32fast::hash(&facts));
    directory.entries.push(BlockEntry {
        index: super::fingerprint(&built.facts.index),
        begin: *next,
        facts_bytes,
        facts_crc,
    });
    *next += facts_bytes + built.bytes.len() as u64;
    Ok(())
}

/// A file that can be read.
pub(super) struct Opened {
    path: Arc<Path>,
    file: Arc<File>,
    /// Whether something of it could not be read.
    broken: Arc<AtomicBool>,
    directory: Directory,
}

impl Opened {
    /// Opens a file, if it is there. Cost: its directory is read. Errors: it is damaged, or cannot be read.
    pub fn open(files: &dyn Files, path: &Path) -> Result<Option<Opened>> {
        let io = |error| Error::io("open", path, error);
        files.before_read(path).map_err(io)?;
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(error)),
        };
        let length = file.metadata().map_err(io)?.len();
        let read = |from: u64| {
            let mut bytes = vec![0; (length - from) as usize];
            file.read_exact_at(&mut bytes, from).map_err(io)?;
            Ok::<_, Error>(bytes)
        };
        let mut end = read(length.saturating_sub(END_BYTES))?;
        let whole = end.last_chunk().map_or(u64::MAX, |length| u64::from_le_bytes(*length)).saturating_add(8);
        if whole > length || whole > DIRECTORY_MAX as u64 {
            return Err(Error::damaged(path, "it has no directory"));
        }
        if whole > end.len() as u64 {
            end = read(length - whole)?;
        }
        let frame = &end[end.len() - whole as usize..end.len() - 8];
        let framed = codec::unframe(MARK, frame).map_err(|error| Error::damaged(path, error))?;
        if framed.version != MARK.version {
            return Err(Error::damaged(path, "an earlier program wrote it"));
        }
        let directory = codec::decode(framed.payload, DIRECTORY_MAX);
        let directory = directory.map_err(|error| Error::damaged(path, error))?;
        Ok(Some(Opened { path: path.into(), file: Arc::new(file), broken: Arc::default(), directory }))
    }
    /// Digests of the files that it was made of, sorted.
    pub fn made_of(&self) -> &[u64] {
        &self.directory.made_of
    }
    /// Whether something of it could not be read.
    pub fn broken(&self) -> Arc<AtomicBool> {
        self.broken.clone()
    }
    /// The blocks of an index. Cost: what is known of each is read.
    pub fn blocks(&self, index: &str) -> Result<Vec<Block>> {
        let hash = super::fingerprint(index);
        let mut all = vec![];
        for entry in self.directory.entries.iter().filter(|entry| entry.index == hash) {
            let block = self.block(entry)?;
            if block.facts.index == index {
                all.push(block);
            }
        }
        Ok(all)
    }
    /// All blocks. Cost: what is known of each is read.
    pub fn all_blocks(&self) -> Result<Vec<Block>> {
        self.directory.entries.iter().map(|entry| self.block(entry)).collect()
    }
    fn block(&self, entry: &BlockEntry) -> Result<Block> {
        let facts = self.facts(entry)?;
        let (file, broken) = (self.file.clone(), self.broken.clone());
        let begin = entry.begin.saturating_add(entry.facts_bytes);
        Block::in_file(facts, file, self.path.clone(), broken, begin)
    }
    fn facts(&self, entry: &BlockEntry) -> Result<Facts> {
        let damaged = |why: &str| Error::damaged(&self.path, why);
        let length = usize::try_from(entry.facts_bytes).unwrap_or(usize::MAX);
        if length > FACTS_MAX {
            return Err(damaged("a block with a long description"));
        }
        let mut bytes = vec![0; length];
        let read = self.file.read_exact_at(&mut bytes, entry.begin);
        read.map_err(|error| Error::io("read", &self.path, error))?;
        match crc32fast::hash(&bytes) == entry.facts_crc {
            true => Ok(codec::decode(&bytes, FACTS_MAX)?),
            false => Err(damaged("the checksum of a description does not fit")),
        }
    }
}
