//! What a segment file looks like: a header, aligned sections, a table of them, a checked trailer.
//!
//! ```text
//! 0    magic "QRTSEG01" · format version u32 · zeros up to 64
//! 64   sections, each starting at a multiple of 64
//!      table: per section id u32 · crc32 u32 · offset u64 · length u64
//! end  table offset u64 · sections u32 · crc32 of header, table and the 12 bytes before u32 · magic "QRTSEGEN"
//! ```
//! Numbers are little-endian. The trailer's checksum is verified at open, the sections' own by [`Container::verify`].

use super::error::{IndexError, Result};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use tantivy::directory::OwnedBytes;

/// The format this build writes.
pub const FORMAT_VERSION: u32 = 1;
const MAGIC: &[u8; 8] = b"QRTSEG01";
const END_MAGIC: &[u8; 8] = b"QRTSEGEN";
const ALIGN: usize = 64;
const ENTRY: usize = 24;
const TRAILER: usize = 24;
/// Bytes between two pauses of a check.
const PACE_BYTES: usize = 1 << 20;

/// Writes sections one after another.
pub struct ContainerWriter<W: Write> {
    out: W,
    at: u64,
    table: Vec<u8>,
    sections: u32,
    crc: crc32fast::Hasher,
}

impl<W: Write> ContainerWriter<W> {
    /// Writes the header.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(&header())?;
        Ok(ContainerWriter {
            out,
            at: ALIGN as u64,
            table: Vec::new(),
            sections: 0,
            crc: crc32fast::Hasher::new(),
        })
    }
    /// Writes a whole section.
    pub fn section(&mut self, id: u32, bytes: &[u8]) -> io::Result<()> {
        self.begin(id);
        self.append(bytes)?;
        self.end()
    }
    /// Starts a section that [`Self::append`] fills.
    pub fn begin(&mut self, id: u32) {
        self.table.extend_from_slice(&id.to_le_bytes());
        self.table.extend_from_slice(&[0; 4]);
        self.table.extend_from_slice(&self.at.to_le_bytes());
        self.table.extend_from_slice(&[0; 8]);
        self.sections += 1;
        self.crc = crc32fast::Hasher::new();
    }
    /// Adds bytes to the section in progress.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.crc.update(bytes);
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }
    /// Ends the section in progress.
    pub fn end(&mut self) -> io::Result<()> {
        let entry = self.table.len() - ENTRY;
        let row = &mut self.table[entry..];
        let start = u64::from_le_bytes(row[8..16].try_into().expect("eight bytes"));
        row[4..8].copy_from_slice(&self.crc.clone().finalize().to_le_bytes());
        row[16..24].copy_from_slice(&(self.at - start).to_le_bytes());
        let rest = (ALIGN - self.at as usize % ALIGN) % ALIGN;
        self.out.write_all(&[0; ALIGN][..rest])?;
        self.at += rest as u64;
        Ok(())
    }
    /// Writes table and trailer and hands the output back.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&self.table)?;
        let mut trailer = Vec::with_capacity(TRAILER);
        trailer.extend_from_slice(&self.at.to_le_bytes());
        trailer.extend_from_slice(&self.sections.to_le_bytes());
        let crc = frame_crc(&header(), &self.table, &trailer);
        trailer.extend_from_slice(&crc.to_le_bytes());
        trailer.extend_from_slice(END_MAGIC);
        self.out.write_all(&trailer)?;
        Ok(self.out)
    }
}

fn header() -> [u8; ALIGN] {
    let mut header = [0; ALIGN];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    header
}
fn frame_crc(header: &[u8], table: &[u8], trailer: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(header);
    crc.update(table);
    crc.update(trailer);
    crc.finalize()
}

/// Whether the checksum fits a file of the known version: then another version in its header is damage, as the checksum of what
/// a later version writes has that version in it.
fn is_known_frame(bytes: &[u8], trailer: usize) -> bool {
    let table = usize::try_from(u64_at(bytes, trailer)).unwrap_or(usize::MAX);
    (ALIGN..=trailer).contains(&table)
        && frame_crc(&header(), &bytes[table..trailer], &bytes[trailer..trailer + 12])
            == u32_at(bytes, trailer + 12)
}

/// A file of sections, in memory or mapped.
#[derive(Clone)]
pub struct Container {
    path: PathBuf,
    bytes: OwnedBytes,
    sections: Vec<(u32, u32, Range<usize>)>,
}

impl Container {
    /// Checks header, table and trailer. `path` names the file in errors.
    pub fn open(path: &Path, bytes: OwnedBytes) -> Result<Container> {
        let damaged = |what: &str| IndexError::damaged(path, what);
        if bytes.len() < ALIGN + TRAILER || &bytes[..8] != MAGIC {
            return Err(damaged("not a segment file"));
        }
        let trailer = bytes.len() - TRAILER;
        let version = u32_at(&bytes, 8);
        if version > FORMAT_VERSION && !is_known_frame(&bytes, trailer) {
            return Err(IndexError::NewerFormat { path: path.into(), found: version, known: FORMAT_VERSION });
        }
        if &bytes[trailer + 16..] != END_MAGIC {
            return Err(damaged("its end is missing"));
        }
        let table = u64_at(&bytes, trailer) as usize;
        let count = u32_at(&bytes, trailer + 8) as usize;
        if table < ALIGN || count.checked_mul(ENTRY).and_then(|n| n.checked_add(table)) != Some(trailer) {
            return Err(damaged("its table has the wrong size"));
        }
        let crc = frame_crc(&bytes[..ALIGN], &bytes[table..trailer], &bytes[trailer..trailer + 12]);
        if crc != u32_at(&bytes, trailer + 12) {
            return Err(damaged("checksum of header and table"));
        }
        let mut sections = Vec::with_capacity(count);
        for row in bytes[table..trailer].chunks_exact(ENTRY) {
            let (start, len) = (u64_at(row, 8) as usize, u64_at(row, 16) as usize);
            let range = start..start.checked_add(len).ok_or_else(|| damaged("a section is too long"))?;
            if range.end > table || start % ALIGN != 0 {
                return Err(damaged("a section lies outside"));
            }
            sections.push((u32_at(row, 0), u32_at(row, 4), range));
        }
        Ok(Container { path: path.into(), bytes, sections })
    }
    /// Recomputes the checksum of every section. Cost: one pass over the file.
    pub fn verify(&self) -> Result<()> {
        for (id, crc, range) in &self.sections {
            if crc32fast::hash(&self.bytes[range.clone()]) != *crc {
                return Err(IndexError::damaged(&self.path, format!("checksum of section {id}")));
            }
        }
        Ok(())
    }
    /// As [`Self::verify_paced`], of the file as a read of it gives it: a sector that cannot be read is an error then, where a
    /// look at what is mapped would end the process. A file that was removed meanwhile is checked as it is mapped.
    pub fn verify_on_disk(&self, pace: &mut dyn FnMut(u64)) -> Result<()> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return self.verify_paced(pace),
            Err(e) => return Err(IndexError::io(&self.path, e)),
        };
        let unread = |e: io::Error| IndexError::damaged(&self.path, format!("it cannot be read: {e}"));
        let mut piece = vec![0; PACE_BYTES];
        for (id, crc, range) in &self.sections {
            let (mut found, mut left) = (crc32fast::Hasher::new(), range.len());
            file.seek(SeekFrom::Start(range.start as u64)).map_err(unread)?;
            while left > 0 {
                let piece = &mut piece[..left.min(PACE_BYTES)];
                file.read_exact(piece).map_err(unread)?;
                found.update(piece);
                pace(piece.len() as u64);
                left -= piece.len();
            }
            if found.finalize() != *crc {
                return Err(IndexError::damaged(&self.path, format!("checksum of section {id}")));
            }
        }
        Ok(())
    }
    /// As [`Self::verify`], and calls `pace` after each mebibyte or less, which may take its time.
    pub fn verify_paced(&self, pace: &mut dyn FnMut(u64)) -> Result<()> {
        for (id, crc, range) in &self.sections {
            let mut found = crc32fast::Hasher::new();
            for piece in self.bytes[range.clone()].chunks(PACE_BYTES) {
                found.update(piece);
                pace(piece.len() as u64);
            }
            if found.finalize() != *crc {
                return Err(IndexError::damaged(&self.path, format!("checksum of section {id}")));
            }
        }
        Ok(())
    }
    /// Where a section lies; an absent one is empty.
    pub fn range(&self, id: u32) -> Range<usize> {
        self.sections.iter().find(|s| s.0 == id).map_or(0..0, |s| s.2.clone())
    }
    /// The bytes of a range of [`Self::range`].
    pub fn slice(&self, range: &Range<usize>) -> &[u8] {
        &self.bytes[range.clone()]
    }
    /// A range as numbers. Sections start aligned, in files and in memory alike.
    pub fn numbers<T: bytemuck::Pod>(&self, range: &Range<usize>) -> &[T] {
        bytemuck::cast_slice(&self.bytes[range.clone()])
    }
    /// Length of the file.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }
    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Copies bytes to memory that starts at a multiple of 64, so that sections can be cast in place.
pub fn aligned(bytes: &[u8]) -> OwnedBytes {
    let mut copy = vec![0; bytes.len() + ALIGN];
    let shift = copy.as_ptr().align_offset(ALIGN).min(ALIGN);
    copy[shift..shift + bytes.len()].copy_from_slice(bytes);
    OwnedBytes::new(copy).slice(shift..shift + bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let mut out = ContainerWriter::new(Vec::new()).unwrap();
        out.section(7, b"abc").unwrap();
        out.section(9, bytemuck::cast_slice(&[1u64, 2])).unwrap();
        out.finish().unwrap()
    }
    fn open(bytes: &[u8]) -> Result<Container> {
        Container::open(Path::new("sample"), aligned(bytes))
    }

    #[test]
    fn the_format_is_frozen() {
        let bytes = sample();
        assert_eq!(&bytes[..16], b"QRTSEG01\x01\0\0\0\0\0\0\0");
        assert_eq!((&bytes[64..67], bytes[128], bytes[136]), (&b"abc"[..], 1, 2));
        let crc = crc32fast::hash(b"abc").to_le_bytes();
        assert_eq!(
            &bytes[192..216],
            [&[7, 0, 0, 0][..], &crc, &64u64.to_le_bytes(), &3u64.to_le_bytes()].concat()
        );
        assert_eq!(&bytes[240..252], [&192u64.to_le_bytes()[..], &2u32.to_le_bytes()].concat());
        assert_eq!((&bytes[256..], bytes.len()), (&b"QRTSEGEN"[..], 264));
        let file = open(&bytes).unwrap();
        file.verify().unwrap();
        assert_eq!(file.slice(&file.range(7)), b"abc");
        assert_eq!(file.numbers::<u64>(&file.range(9)), [1, 2]);
        assert!(file.range(8).is_empty());
    }

    #[test]
    fn every_changed_byte_of_the_frame_is_found_at_open_and_of_the_content_by_verify() {
        let bytes = sample();
        for at in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[at] ^= 0x10;
            let padding = (67..128).contains(&at) || (144..192).contains(&at);
            let found = match open(&broken) {
                Err(_) => true,
                Ok(file) => (64..192).contains(&at) && file.verify().is_err(),
            };
            assert!(found || padding, "byte {at}");
        }
        for length in 0..bytes.len() {
            assert!(open(&bytes[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn a_newer_version_is_refused_by_name_and_a_changed_one_is_damage() {
        let mut bytes = sample();
        bytes[8] = 2;
        assert!(matches!(open(&bytes), Err(IndexError::Damaged { .. })));
        let trailer = bytes.len() - TRAILER;
        let crc = frame_crc(&bytes[..ALIGN], &bytes[192..trailer], &bytes[trailer..trailer + 12]);
        bytes[trailer + 12..trailer + 16].copy_from_slice(&crc.to_le_bytes());
        assert!(matches!(open(&bytes), Err(IndexError::NewerFormat { found: 2, known: 1, .. })));
    }
}
