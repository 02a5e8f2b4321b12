//! What do the records in a file of the log look like, and is one whole? The format of raft-engine 0.4, read without it.
//!
//! ```text
//! file    magic · version u64 · alignment u64 (from version 2 on) · records · zeros that were reserved
//! record  length u56 and compression u8 · footer offset u64 · entries with crc32 · items with crc32
//! ```
//! Numbers of the frame are big-endian, checksums little-endian; from version 2 on the last one is mixed with the file's number.

use std::ops::Range;

const MAGIC: &[u8] = b"RAFT-LOG-FILE-HEADER-9986AB3E47F320B394C8E84916EB0ED5";
/// Bytes before the entries of a record.
pub(crate) const HEADER: usize = 16;
const CHECKSUM: usize = 4;
const PLAIN: u8 = 0;
const LZ4: u8 = 1;

/// One thing that a record says of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// It has entries with these indices.
    Entries { region: u64, indices: Range<u64> },
    /// Entries below are given up.
    Compact { region: u64, index: u64 },
    /// Everything of the group is given up.
    Clean { region: u64 },
    /// A value; none: it is removed.
    Value { region: u64, key: Vec<u8>, value: Option<Vec<u8>> },
}

/// A record whose checksums are right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Where it is in its file.
    pub at: Range<usize>,
    /// What it says.
    pub items: Vec<Item>,
}

/// Why there is no whole record at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// Its frame or its items are not as they were written.
    Frame,
    /// Its items are whole, the entries they speak of are not.
    Entries(Record),
}

/// The header of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileHeader {
    /// What the last checksum of each record is mixed with.
    pub signature: u32,
    /// Bytes before the first record.
    pub bytes: usize,
}

impl FileHeader {
    /// The header of a new file.
    pub(crate) fn new_file() -> Vec<u8> {
        [MAGIC, &2u64.to_be_bytes(), &0u64.to_be_bytes()].concat()
    }
    /// The header of the file with this number; `None` when it is not as this program writes it.
    pub(crate) fn read(bytes: &[u8], seq: u64) -> Option<FileHeader> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let number = |at: usize| Some(u64::from_be_bytes(rest.get(at..at + 8)?.try_into().ok()?));
        match (number(0)?, number(8)) {
            (1, _) => Some(FileHeader { signature: 0, bytes: MAGIC.len() + 8 }),
            // reserved blocks are never aligned here
            (2, Some(0)) => Some(FileHeader { signature: seq as u32, bytes: MAGIC.len() + 16 }),
            _ => None,
        }
    }
    /// Bytes of the header that new files get.
    pub(crate) const BYTES: usize = MAGIC.len() + 16;
}

/// Where a record that begins at `at` says that its items and its end are; `None` when no record says that.
fn frame(bytes: &[u8], at: usize) -> Option<(u8, usize, usize)> {
    let header = bytes.get(at..at.checked_add(HEADER)?)?;
    let first = u64::from_be_bytes(header[..8].try_into().ok()?);
    let (compression, length) = (first as u8, usize::try_from(first >> 8).ok()?);
    let footer = usize::try_from(u64::from_be_bytes(header[8..].try_into().ok()?)).ok()?;
    let fits = compression <= LZ4 && (HEADER..=length).contains(&footer) && length <= bytes.len() - at;
    fits.then(|| (compression, at + footer, at + length))
}

/// The end that a record at `at` says it has, when it can be one.
pub(crate) fn said_end(bytes: &[u8], at: usize) -> Option<usize> {
    frame(bytes, at).map(|(_, _, end)| end)
}

fn is_checked(bytes: &[u8], signature: u32) -> bool {
    let Some(split) = bytes.len().checked_sub(CHECKSUM).filter(|&split| split > 0) else { return false };
    let expected = u32::from_le_bytes(bytes[split..].try_into().expect("four bytes")) ^ signature;
    crc32fast::hash(&bytes[..split]) == expected
}

/// The record at a place of a file.
pub(crate) fn record_at(bytes: &[u8], at: usize, signature: u32) -> Result<Record, Broken> {
    let (compression, footer, end) = frame(bytes, at).ok_or(Broken::Frame)?;
    let items = &bytes[footer..end];
    if !is_checked(items, signature) {
        return Err(Broken::Frame);
    }
    let (items, entry_bytes) = items_of(&items[..items.len() - CHECKSUM]).ok_or(Broken::Frame)?;
    let record = Record { at: at..end, items };
    match is_entries(&bytes[at + HEADER..footer], compression, entry_bytes) {
        true => Ok(record),
        false => Err(Broken::Entries(record)),
    }
}

/// Whether a block of entries is whole and as long as the items say. Nothing checks the byte of the compression but this.
fn is_entries(block: &[u8], compression: u8, entry_bytes: u64) -> bool {
    if block.is_empty() {
        return entry_bytes == 0 && compression == PLAIN;
    }
    if !is_checked(block, 0) {
        return false;
    }
    let held = (block.len() - CHECKSUM) as u64;
    match compression {
        PLAIN => held == entry_bytes,
        _ => block.get(..4).is_some_and(|length| {
            u64::from(u32::from_le_bytes(length.try_into().expect("four bytes"))) == entry_bytes
        }),
    }
}

struct Reader<'b>(&'b [u8]);
impl<'b> Reader<'b> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }
    fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
    fn bytes(&mut self) -> Option<&'b [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let bytes = self.0.get(..length)?;
        self.0 = &self.0[length..];
        Some(bytes)
    }
}

/// The items of a footer, and the bytes of all entries they speak of.
fn items_of(footer: &[u8]) -> Option<(Vec<Item>, u64)> {
    let mut reader = Reader(footer);
    let (count, mut entry_bytes) = (reader.number()?, 0);
    let mut items = vec![];
    for _ in 0..count {
        let region = reader.number()?;
        items.push(match reader.byte()? {
            1 => {
                let entries = reader.number()?;
                let first = if entries > 0 { reader.number()? } else { 0 };
                for _ in 0..entries {
                    entry_bytes = reader.number()?;
                }
                Item::Entries { region, indices: first..first.checked_add(entries)? }
            }
            2 => match reader.byte()? {
                1 => Item::Clean { region },
                2 => Item::Compact { region, index: reader.number()? },
                _ => return None,
            },
            3 => {
                let kind = reader.byte()?;
                let key = reader.bytes()?.to_vec();
                let value = match kind {
                    1 => Some(reader.bytes()?.to_vec()),
                    2 => None,
                    _ => return None,
                };
                Item::Value { region, key, value }
            }
            _ => return None,
        });
    }
    Some((items, entry_bytes))
}

/// The first whole record at or behind `from`; its entries may be damaged.
pub(crate) fn next_record(bytes: &[u8], from: usize, signature: u32) -> Option<usize> {
    (from..bytes.len().saturating_sub(HEADER))
        .find(|&at| bytes[at] == 0 && !matches!(record_at(bytes, at, signature), Err(Broken::Frame)))
}

/// Whether changing a single byte of the 16 at `at` makes a whole record: then that byte was changed after it was written.
pub(crate) fn is_one_byte_off(bytes: &[u8], at: usize, signature: u32) -> bool {
    let Some(tail) = bytes.get(at..).filter(|tail| tail.len() >= HEADER) else { return false };
    let used = used(tail);
    let mut tail = tail.to_vec();
    (0..HEADER).any(|place| {
        let before = tail[place];
        let found = (0..=u8::MAX).any(|byte| {
            tail[place] = byte;
            // nothing stands behind it: it ends where the bytes do, give or take the zeros of its checksum
            said_end(&tail, 0).is_some_and(|end| (used..used + CHECKSUM).contains(&end))
                && record_at(&tail, 0, signature).is_ok()
        });
        tail[place] = before;
        found
    })
}

/// Bytes before the zeros at the end.
pub(crate) fn used(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)
}

/// A record in its written form that says the same as `items`, with entries that hold nothing but their index and the term
/// of their group.
pub(crate) fn without_data(items: &[Item], term_of: impl Fn(u64) -> u64, signature: u32) -> Vec<u8> {
    use protobuf::Message;
    let (mut entries, mut footer) = (vec![], vec![]);
    put_number(&mut footer, items.len() as u64);
    for item in items {
        match item {
            Item::Entries { region, indices } => {
                put_number(&mut footer, *region);
                footer.push(1);
                put_number(&mut footer, indices.end - indices.start);
                put_number(&mut footer, indices.start);
                for index in indices.clone() {
                    let mut entry = raft::eraftpb::Entry::default();
                    (entry.index, entry.term) = (index, term_of(*region));
                    entries.extend(entry.write_to_bytes().expect("an entry without data always serialises"));
                    put_number(&mut footer, entries.len() as u64);
                }
            }
            Item::Compact { region, index } => {
                put_number(&mut footer, *region);
                footer.extend([2, 2]);
                put_number(&mut footer, *index);
            }
            Item::Clean { region } => {
                put_number(&mut footer, *region);
                footer.extend([2, 1]);
            }
            Item::Value { region, key, value } => {
                put_number(&mut footer, *region);
                footer.extend([3, if value.is_some() { 1 } else { 2 }]);
                for bytes in [Some(key), value.as_ref()].into_iter().flatten() {
                    put_number(&mut footer, bytes.len() as u64);
                    footer.extend(bytes);
                }
            }
        }
    }
    if !entries.is_empty() {
        entries.extend(crc32fast::hash(&entries).to_le_bytes());
    }
    let at = HEADER + entries.len();
    let length = at + footer.len() + CHECKSUM;
    let mut record = Vec::with_capacity(length);
    record.extend((((length as u64) << 8) | u64::from(PLAIN)).to_be_bytes());
    record.extend((at as u64).to_be_bytes());
    record.extend(&entries);
    record.extend(&footer);
    record.extend((crc32fast::hash(&footer) ^ signature).to_le_bytes());
    record
}

fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_bit_of_a_record_is_found() {
        let items = [
            Item::Entries { region: 4, indices: 7..12 },
            Item::Compact { region: 4, index: 8 },
            Item::Value { region: 9, key: b"conf".to_vec(), value: None },
            Item::Entries { region: 9, indices: 300..302 },
            Item::Value { region: 9, key: b"conf".to_vec(), value: Some(vec![3; 200]) },
            Item::Clean { region: 300 },
        ];
        let record = without_data(&items, |region| region, 6);
        let whole = record_at(&record, 0, 6).unwrap();
        assert_eq!(whole.items, items);
        assert_eq!(record_at(&record, 0, 5), Err(Broken::Frame), "of another file");
        for bit in 0..record.len() * 8 {
            let mut broken = record.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            assert!(record_at(&broken, 0, 6).is_err(), "bit {bit}");
            if bit < HEADER * 8 || bit % 37 == 0 {
                assert_eq!(is_one_byte_off(&broken, 0, 6), bit < HEADER * 8, "bit {bit}");
            }
        }
        for length in 0..record.len() {
            assert!(record_at(&record[..length], 0, 6).is_err(), "{length} bytes");
            let mut torn = record.clone();
            torn[length..].fill(0);
            let is_whole = torn == record;
            assert_eq!(record_at(&torn, 0, 6).is_ok(), is_whole, "{length} bytes and zeros");
        }
    }
}
