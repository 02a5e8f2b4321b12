//! Where a record, its objectID and its rank key lie in a segment, and which document has an objectID.

use super::container::{Container, ContainerWriter};
use super::error::{IndexError, Result};
use super::sections as s;
use std::io::{self, Write};
use std::ops::Range;

/// Places of the record sections of a segment.
pub(crate) struct StoredRecords {
    rec_off: Range<usize>,
    rec: Range<usize>,
    id_off: Range<usize>,
    ids: Range<usize>,
    rank_off: Range<usize>,
    ranks: Range<usize>,
    buckets: Range<usize>,
    slots: Range<usize>,
}

impl StoredRecords {
    /// Checks the lengths of the sections.
    pub fn open(container: &Container, docs: usize) -> Result<Self> {
        let stored = StoredRecords {
            rec_off: container.range(s::REC_OFF),
            rec: container.range(s::REC),
            id_off: container.range(s::ID_OFF),
            ids: container.range(s::IDS),
            rank_off: container.range(s::RANK_OFF),
            ranks: container.range(s::RANKS),
            buckets: container.range(s::ID_BUCKETS),
            slots: container.range(s::ID_SLOTS),
        };
        let last = |range: &Range<usize>| container.numbers::<u32>(range).last().map(|&end| end as usize);
        let whole = stored.rec_off.len() == (docs + 1) * 8
            && stored.id_off.len() == (docs + 1) * 4
            && stored.rank_off.len() == (docs + 1) * 4
            && stored.slots.len() == docs * 8
            && stored.buckets.len() >= 8
            && (stored.buckets.len() / 4 - 1).is_power_of_two()
            && container.numbers::<u64>(&stored.rec_off).last() == Some(&(stored.rec.len() as u64))
            && last(&stored.id_off) == Some(stored.ids.len())
            && last(&stored.rank_off) == Some(stored.ranks.len());
        if whole {
            Ok(stored)
        } else {
            Err(IndexError::damaged(container.path(), "record sections do not fit together"))
        }
    }
    /// Raw JSON of `doc`.
    pub fn record<'a>(&self, container: &'a Container, doc: u32) -> &'a [u8] {
        let off: &[u64] = container.numbers(&self.rec_off);
        &container.slice(&self.rec)[off[doc as usize] as usize..off[doc as usize + 1] as usize]
    }
    /// objectID of `doc`.
    pub fn object_id<'a>(&self, container: &'a Container, doc: u32) -> &'a str {
        std::str::from_utf8(self.id_bytes(container, doc)).unwrap_or_default()
    }
    fn id_bytes<'a>(&self, container: &'a Container, doc: u32) -> &'a [u8] {
        let off: &[u32] = container.numbers(&self.id_off);
        &container.slice(&self.ids)[off[doc as usize] as usize..off[doc as usize + 1] as usize]
    }
    /// Rank key of `doc`.
    pub fn rank<'a>(&self, container: &'a Container, doc: u32) -> &'a [u8] {
        let off: &[u32] = container.numbers(&self.rank_off);
        &container.slice(&self.ranks)[off[doc as usize] as usize..off[doc as usize + 1] as usize]
    }
    /// The document with an objectID, dead or alive; ids are unique in a segment.
    pub fn doc_of(&self, container: &Container, object_id: &str) -> Option<u32> {
        let buckets: &[u32] = container.numbers(&self.buckets);
        let slots: &[u32] = container.numbers(&self.slots);
        let hash = id_hash(object_id.as_bytes());
        let bucket = hash as usize & (buckets.len() - 2);
        let range = buckets[bucket] as usize * 2..buckets[bucket + 1] as usize * 2;
        slots
            .get(range)?
            .chunks_exact(2)
            .find(|slot| {
                slot[0] == (hash >> 32) as u32 && self.id_bytes(container, slot[1]) == object_id.as_bytes()
            })
            .map(|slot| slot[1])
    }
    /// Bytes of all records.
    pub fn record_bytes(&self) -> u64 {
        self.rec.len() as u64
    }
}

/// What the record sections need of each document, in document order.
pub(crate) trait RecordSource {
    /// Documents.
    fn len(&self) -> usize;
    /// Raw JSON of the `i`th.
    fn record(&self, i: usize) -> &[u8];
    /// objectID of the `i`th.
    fn object_id(&self, i: usize) -> &str;
    /// Rank key of the `i`th.
    fn rank(&self, i: usize) -> &[u8];
}

/// Writes the record sections. Cost: one copy of every record.
pub(crate) fn write_records<W: Write>(
    out: &mut ContainerWriter<W>,
    from: &dyn RecordSource,
) -> io::Result<()> {
    let n = from.len();
    let mut rec_off = Vec::with_capacity(n + 1);
    let (mut id_off, mut rank_off) = (Vec::with_capacity(n + 1), Vec::with_capacity(n + 1));
    let (mut ids, mut ranks) = (Vec::new(), Vec::new());
    rec_off.push(0u64);
    id_off.push(0u32);
    rank_off.push(0u32);
    out.begin(s::REC);
    for i in 0..n {
        out.append(from.record(i))?;
        rec_off.push(rec_off[i] + from.record(i).len() as u64);
        ids.extend_from_slice(from.object_id(i).as_bytes());
        id_off.push(offset(ids.len())?);
        ranks.extend_from_slice(from.rank(i));
        rank_off.push(offset(ranks.len())?);
    }
    out.end()?;
    out.section(s::REC_OFF, bytemuck::cast_slice(&rec_off))?;
    out.section(s::IDS, &ids)?;
    out.section(s::ID_OFF, bytemuck::cast_slice(&id_off))?;
    out.section(s::RANKS, &ranks)?;
    out.section(s::RANK_OFF, bytemuck::cast_slice(&rank_off))?;
    write_id_table(out, n, |i| id_hash(&ids[id_off[i] as usize..id_off[i + 1] as usize]))
}

/// A hash table frozen in the file: about four documents a bucket, so a look-up touches one cache line or two.
fn write_id_table<W: Write>(
    out: &mut ContainerWriter<W>,
    n: usize,
    hash: impl Fn(usize) -> u64,
) -> io::Result<()> {
    let buckets = (n / 4).next_power_of_two().max(1);
    let mut starts = vec![0u32; buckets + 1];
    let hashes: Vec<u64> = (0..n).map(hash).collect();
    for h in &hashes {
        starts[(*h as usize & (buckets - 1)) + 1] += 1;
    }
    for i in 0..buckets {
        starts[i + 1] += starts[i];
    }
    let mut next = starts.clone();
    let mut slots = vec![0u32; n * 2];
    for (doc, h) in hashes.iter().enumerate() {
        let at = &mut next[*h as usize & (buckets - 1)];
        slots[*at as usize * 2] = (*h >> 32) as u32;
        slots[*at as usize * 2 + 1] = doc as u32;
        *at += 1;
    }
    out.section(s::ID_BUCKETS, bytemuck::cast_slice(&starts))?;
    out.section(s::ID_SLOTS, bytemuck::cast_slice(&slots))
}

/// Offsets are 32 bits; a segment that needs more is refused rather than cut.
pub(crate) fn offset(len: usize) -> io::Result<u32> {
    u32::try_from(len).map_err(|_| io::Error::other("segment too large for its offsets"))
}

/// Part of the format: FNV-1a, then a mix so that low and high bits are both good.
fn id_hash(id: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for &b in id {
        hash = (hash ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ hash >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ hash >> 32
}
