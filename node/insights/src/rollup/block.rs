//! What does a block of a rollup say? Searches that count in columns, those of one index, by user.
//!
//! A block has regions, each with a checksum, of which a reader takes those that it needs: sums of queries by fingerprint, texts of
//! queries, searches, and what only some reports look at. The same bytes lie in memory and in a file.

use super::bytes::{Reader, malformed};
use super::sums::Sums;
use super::without::Without;
use crate::error::{Error, Result};
use crate::segment::Region;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Parts into which sums are divided by the first bits of fingerprints, or of checksums of records, in blocks that have many.
pub(crate) const SHARDS: usize = 16;

/// The regions behind sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Texts of queries, in the order of their fingerprints.
    Texts,
    /// Searches by user.
    Searches,
    /// Tags, countries and filters that searches share.
    Labels,
    /// Hashes of users, in the order of searches.
    Users,
    /// Times and ids of searches that have ids.
    Tracked,
    /// Lists of records shown, and the list of each search.
    Shown,
    /// Sorted hashes of all tokens that events have.
    Tokens,
    /// Events on records that name searches.
    Events,
}

impl Part {
    pub const ALL: [Part; 8] = [
        Part::Texts,
        Part::Searches,
        Part::Labels,
        Part::Users,
        Part::Tracked,
        Part::Shown,
        Part::Tokens,
        Part::Events,
    ];
}

/// What is known of a block before any region is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// The name of the index.
    pub index: String,
    /// When the time begins that times are told from, Unix milliseconds.
    pub from_ms: u64,
    /// Of all searches.
    pub sums: Sums,
    /// Into how many parts sums are divided: one or [`SHARDS`].
    pub shards: usize,
    /// Sums of queries, then names and sums of records shown, each divided, then each [`Part`].
    pub regions: Vec<Region>,
}

/// A block that was just made.
pub(crate) struct Built {
    pub facts: Facts,
    pub bytes: Vec<u8>,
}

#[derive(Clone)]
enum Source {
    Memory(Bytes),
    File { file: Arc<File>, path: Arc<Path>, broken: Arc<AtomicBool>, begin: u64 },
}

/// A block that can be read.
#[derive(Clone)]
pub(crate) struct Block {
    pub facts: Arc<Facts>,
    source: Source,
    without: Option<Arc<Without>>,
}

impl Block {
    /// One of memory.
    pub fn held(built: Built) -> Block {
        Block { facts: Arc::new(built.facts), source: Source::Memory(built.bytes.into()), without: None }
    }
    /// One whose regions begin somewhere in a file; `broken` is told when one of them cannot be read.
    pub fn in_file(
        facts: Facts,
        file: Arc<File>,
        path: Arc<Path>,
        broken: Arc<AtomicBool>,
        begin: u64,
    ) -> Result<Block> {
        let is_whole = facts.regions.len() == 2 * facts.shards + Part::ALL.len()
            && (facts.shards == 1 || facts.shards == SHARDS)
            && facts.regions.is_sorted_by_key(|region| region.end);
        match is_whole {
            true => {
                let source = Source::File { file, path, broken, begin };
                Ok(Block { facts: Arc::new(facts), source, without: None })
            }
            false => Err(Error::damaged(&path, "a block without all regions")),
        }
    }
    /// About how many bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        let own = match &self.source {
            Source::Memory(bytes) => bytes.len(),
            Source::File { .. } => 0,
        };
        own + size_of::<Facts>()
            + self.facts.index.len()
            + self.facts.regions.len() * size_of::<Region>()
            + self.without.as_ref().map_or(0, |without| without.bytes())
            + 256
    }
    /// A region; nothing of it is given that does not fit its checksum.
    pub fn part(&self, part: Part) -> Result<Bytes> {
        self.region(2 * self.facts.shards + part as usize)
    }
    pub(super) fn region(&self, number: usize) -> Result<Bytes> {
        let regions = &self.facts.regions;
        let from = number.checked_sub(1).map_or(0, |before| regions[before].end);
        let Region { end, crc } = regions[number];
        match &self.source {
            Source::Memory(bytes) => Ok(bytes.slice(from as usize..end as usize)),
            Source::File { file, path, broken, begin } => {
                let read = || {
                    let mut bytes = vec![0; (end - from) as usize];
                    let read = file.read_exact_at(&mut bytes, begin + from);
                    read.map_err(|error| Error::io("read", path, error))?;
                    match crc32fast::hash(&bytes) == crc {
                        true => Ok(bytes.into()),
                        false => Err(Error::damaged(path, "the checksum does not fit")),
                    }
                };
                read().inspect_err(|_| broken.store(true, Ordering::Relaxed))
            }
        }
    }
    /// Gives the sums of queries whose fingerprints begin with these bits, in their order, each with the number of its query.
    pub fn sums(&self, shard: usize, give: &mut impl FnMut(u64, usize, &Sums)) -> Result<()> {
        let bytes = self.region(if self.facts.shards == 1 { 0 } else { shard })?;
        let mut reader = Reader(&bytes);
        if reader.is_empty() {
            return Ok(());
        }
        let mut query = reader.index()?;
        while !reader.is_empty() {
            let fingerprint = u64::from_le_bytes(reader.array()?);
            let sums = Sums::read(&mut reader)?;
            match shard_of(fingerprint).cmp(&shard) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => match self.without.as_ref().and_then(|it| it.of.get(&query)) {
                    None => give(fingerprint, query, &sums),
                    Some(gone) if gone.searches >= sums.searches => {}
                    Some(gone) => give(fingerprint, query, &sums.less(gone)),
                },
                std::cmp::Ordering::Greater => break,
            }
            query += 1;
        }
        Ok(())
    }
    /// Names and sums of records shown whose checksums begin with these bits, and maybe of others.
    pub fn records(&self, shard: usize) -> Result<Bytes> {
        let shards = self.facts.shards;
        self.region(shards + if shards == 1 { 0 } else { shard })
    }
    /// The same of all records.
    pub fn all_records(&self) -> Result<Vec<Bytes>> {
        (0..self.facts.shards).map(|shard| self.records(shard)).collect()
    }
    /// The number of a query.
    pub fn query(&self, text: &str) -> Result<Option<usize>> {
        let (asked, mut found) = (super::fingerprint(text), None);
        self.sums(shard_of(asked), &mut |fingerprint, query, _| {
            if fingerprint == asked {
                found = Some(query);
            }
        })?;
        Ok(found)
    }
    /// The texts of queries.
    pub fn texts(&self) -> Result<Texts> {
        Ok(Texts(self.part(Part::Texts)?))
    }
    /// Hashes of users who searched, in the order of searches, also of those who are left out.
    pub fn users(&self) -> Result<Vec<u64>> {
        Ok(hashes(&self.part(Part::Users)?))
    }
    /// Sums of all searches.
    pub fn totals(&self) -> Sums {
        let sums = &self.facts.sums;
        self.without.as_ref().map_or(*sums, |without| sums.less(&without.all))
    }
    /// Who is left out.
    pub(super) fn without(&self) -> Option<&Arc<Without>> {
        self.without.as_ref()
    }
    /// Whether a user is left out.
    pub fn leaves_out(&self, user: u64) -> bool {
        self.without.as_ref().is_some_and(|without| without.users.binary_search(&user).is_ok())
    }
    /// The same without some users, beside those that are left out already.
    pub(super) fn leaving_out(&self, without: Without) -> Block {
        Block { without: Some(Arc::new(without)), ..self.clone() }
    }
    /// All regions, also what is left out of them.
    pub(super) fn whole(&self) -> Result<Built> {
        let mut bytes = vec![];
        for number in 0..self.facts.regions.len() {
            bytes.extend_from_slice(&self.region(number)?);
        }
        Ok(Built { facts: (*self.facts).clone(), bytes })
    }
    /// Whether a token with one of these hashes, which are sorted, searched, or an event has one.
    pub(super) fn has_any(&self, tokens: &[u64]) -> Result<bool> {
        let is_in = |bytes: &Bytes| {
            let all = hashes(bytes);
            tokens.iter().any(|token| all.binary_search(token).is_ok())
        };
        Ok(!tokens.is_empty() && (is_in(&self.part(Part::Users)?) || is_in(&self.part(Part::Tokens)?)))
    }
}

/// Which part of sums has a fingerprint.
pub(super) fn shard_of(fingerprint: u64) -> usize {
    (fingerprint >> 60) as usize
}
/// A record shown, with its number.
#[derive(Clone, Copy)]
pub(crate) struct Record<'b> {
    pub name: &'b str,
    pub number: usize,
    pub sums: Sums,
}
/// The records of a region, in the order of checksums of their names.
pub(crate) struct EachRecord<'b> {
    reader: Reader<'b>,
    number: usize,
    /// The one that comes next, with its part.
    ahead: Option<(usize, Record<'b>)>,
}

impl<'b> EachRecord<'b> {
    pub fn of(bytes: &'b [u8]) -> Result<EachRecord<'b>> {
        let mut reader = Reader(bytes);
        let number = reader.index()?;
        Ok(EachRecord { reader, number, ahead: None })
    }
    /// The next one.
    pub fn next(&mut self) -> Result<Option<Record<'b>>> {
        if self.reader.is_empty() {
            return Ok(None);
        }
        let (name, sums) = (self.reader.text()?, Sums::read(&mut self.reader)?);
        let number = self.number;
        self.number += 1;
        Ok(Some(Record { name, number, sums }))
    }
    /// The next one of a part, of which there are [`SHARDS`] in each shard; those of parts before it are passed over.
    pub fn next_of(&mut self, part: usize) -> Result<Option<Record<'b>>> {
        loop {
            let ahead = match self.ahead.take() {
                Some(ahead) => ahead,
                None => match self.next()? {
                    Some(record) => ((crc32fast::hash(record.name.as_bytes()) >> 24) as usize, record),
                    None => return Ok(None),
                },
            };
            match ahead.0.cmp(&part) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => return Ok(Some(ahead.1)),
                std::cmp::Ordering::Greater => {
                    self.ahead = Some(ahead);
                    return Ok(None);
                }
            }
        }
    }
}

pub(super) fn hashes(bytes: &[u8]) -> Vec<u64> {
    let (whole, _) = bytes.as_chunks();
    whole.iter().map(|hash| u64::from_le_bytes(*hash)).collect()
}

/// Texts by number.
pub(crate) struct Texts(Bytes);

impl Texts {
    /// How many.
    pub fn len(&self) -> usize {
        self.0.first_chunk().map_or(0, |count| u32::from_le_bytes(*count) as usize)
    }
    /// The text of a number.
    pub fn get(&self, number: usize) -> Result<&str> {
        let (words, _) = self.0.as_chunks::<4>();
        let at = |place: usize| words.get(place).map(|word| u32::from_le_bytes(*word) as usize);
        // how many, then where each ends
        let count = at(0).ok_or_else(|| malformed("no texts"))?;
        let texts = 4 * (count + 1);
        let (from, to) = match number {
            0 => (Some(0), at(1)),
            number => (at(number), at(number + 1)),
        };
        let (Some(from), Some(to), true) = (from, to, number < count) else {
            return Err(malformed("a text that is not there"));
        };
        let bytes = self.0.get(texts + from..texts + to).ok_or_else(|| malformed("a text behind the end"))?;
        std::str::from_utf8(bytes).map_err(|_| malformed("text that is none"))
    }
    /// How texts lie in their region.
    pub(super) fn put<'t>(out: &mut Vec<u8>, texts: impl ExactSizeIterator<Item = &'t str> + Clone) {
        out.extend_from_slice(&(texts.len() as u32).to_le_bytes());
        let mut end = 0;
        for text in texts.clone() {
            end += text.len() as u32;
            out.extend_from_slice(&end.to_le_bytes());
        }
        texts.for_each(|text| out.extend_from_slice(text.as_bytes()));
    }
}
