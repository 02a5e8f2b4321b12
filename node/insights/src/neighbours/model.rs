//! Which neighbours has an item, by a model file?

use super::error::{NeighboursError, Result};
use super::lists::NEIGHBOURS_MAX;
use super::report::Report;
use super::writer::{END_MAGIC, ENTRY, FORMAT_VERSION, HEADER, MAGIC, SCORE_BEST, TRAILER, frame_crc};
use std::cmp::Ordering;
use std::ops::Range;

/// A model file, in memory or mapped. Nothing of it is copied.
#[derive(Clone, Copy)]
pub struct Model<'a> {
    bytes: &'a [u8],
    items: usize,
    neighbours: usize,
    id_bytes: usize,
    report_bytes: usize,
}

/// What a model says of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbours<'a> {
    /// Users, or baskets, that had the item. Of few not much follows.
    pub users: u32,
    /// The best first.
    pub list: Vec<Neighbour<'a>>,
}

/// One neighbour of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbour<'a> {
    /// Its objectID.
    pub item: &'a str,
    /// Hundredths of its score, from 1 to [`SCORE_BEST`].
    pub hundredths: u16,
}

impl Neighbour<'_> {
    /// Its score, up to 100, which the best of every list has.
    pub fn score(&self) -> f64 {
        f64::from(self.hundredths) / 100.0
    }
}

fn damaged<T>(what: &'static str) -> Result<T> {
    Err(NeighboursError::Damaged(what))
}

impl<'a> Model<'a> {
    /// Checks header, trailer and lengths.
    ///
    /// Errors: `Version`; `Damaged` when the bytes do not end where a model does, or header or trailer are not as written.
    /// Cost: none that grows with the file. [`Model::check`] looks at all of it.
    pub fn open(bytes: &'a [u8]) -> Result<Self> {
        let Some(trailer) = bytes.len().checked_sub(TRAILER).filter(|trailer| *trailer >= HEADER) else {
            return damaged("it is too short");
        };
        if !bytes.starts_with(MAGIC) || !bytes.ends_with(END_MAGIC) {
            return damaged("it does not begin and end as a model");
        }
        if frame_crc(&bytes[..HEADER], &bytes[trailer..trailer + 20]) != number_at(bytes, trailer + 20) {
            return damaged("header or trailer");
        }
        let version = number_at(bytes, 8);
        if version != FORMAT_VERSION {
            return Err(NeighboursError::Version(version));
        }
        let [items, neighbours, id_bytes, report_bytes] =
            [0, 4, 8, 12].map(|at| number_at(bytes, trailer + at) as usize);
        let model = Model { bytes, items, neighbours, id_bytes, report_bytes };
        // as u64: lengths of an unknown origin may be more than a machine can address
        let length = [(neighbours, ENTRY), (3 * items + 2, 4), (id_bytes, 1), (report_bytes, 1)]
            .iter()
            .map(|(count, size)| *count as u64 * *size as u64)
            .sum::<u64>();
        if length != (trailer - HEADER) as u64 {
            return damaged("its lengths do not fit together");
        }
        Ok(model)
    }
    /// Compares the checksum of the whole file, and looks whether lists, ids and report are such as can be read.
    ///
    /// Errors: `Damaged`. Cost: one pass over the file.
    pub fn check(&self) -> Result<()> {
        let trailer = self.bytes.len() - TRAILER;
        if crc32fast::hash(&self.bytes[HEADER..trailer]) != number_at(self.bytes, trailer + 16) {
            return damaged("its checksum differs");
        }
        if self.offset(self.offsets(), 0) != 0
            || self.offset(self.offsets(), self.items) != self.neighbours
            || self.offset(self.id_offsets(), 0) != 0
            || self.offset(self.id_offsets(), self.items) != self.id_bytes
        {
            return damaged("its lists do not cover it");
        }
        let mut before = None;
        for item in 0..self.items {
            let id = self.id(item)?;
            if before.is_some_and(|before| before >= id) {
                return damaged("ids do not ascend");
            }
            before = Some(id);
            self.list(item)?;
        }
        self.report().map(|_| ())
    }
    /// How many items there are.
    pub fn items(&self) -> usize {
        self.items
    }
    /// What the build said of itself.
    ///
    /// Errors: `Damaged`.
    pub fn report(&self) -> Result<Report> {
        let end = self.bytes.len() - TRAILER;
        let report = serde_json::from_slice(&self.bytes[end - self.report_bytes..end]);
        report.or_else(|_| damaged("its report"))
    }
    /// The neighbours of an item; nothing when the model does not know it.
    ///
    /// Errors: `Damaged` when the list is none that could have been written.
    /// Cost: some 20 comparisons of ids among a million, and one id a neighbour.
    pub fn lookup(&self, item: &str) -> Result<Option<Neighbours<'a>>> {
        let (mut low, mut high) = (0, self.items);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.id(middle)?.cmp(item) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return self.list(middle).map(Some),
            }
        }
        Ok(None)
    }
    /// The id and the neighbours of each item, in the order of ids.
    pub fn iter(&self) -> impl Iterator<Item = Result<(&'a str, Neighbours<'a>)>> {
        let model = *self;
        (0..model.items).map(move |item| Ok((model.id(item)?, model.list(item)?)))
    }
    fn list(&self, item: usize) -> Result<Neighbours<'a>> {
        let Some(range) = self.range(self.offsets(), item, self.neighbours) else {
            return damaged("a list lies outside");
        };
        if range.len() > NEIGHBOURS_MAX {
            return damaged("a list is too long");
        }
        let mut list = Vec::with_capacity(range.len());
        let mut least = SCORE_BEST;
        for entry in range.map(|entry| &self.bytes[HEADER + entry * ENTRY..][..ENTRY]) {
            let hundredths = u16::from_le_bytes([entry[4], entry[5]]);
            if hundredths == 0 || hundredths > least {
                return damaged("scores of a list");
            }
            least = hundredths;
            list.push(Neighbour { item: self.id(number_at(entry, 0) as usize)?, hundredths });
        }
        let users = number_at(self.bytes, self.offsets() + (self.items + 1 + item) * 4);
        Ok(Neighbours { users, list })
    }
    fn id(&self, item: usize) -> Result<&'a str> {
        if item >= self.items {
            return damaged("an item that is none");
        }
        let Some(range) = self.range(self.id_offsets(), item, self.id_bytes) else {
            return damaged("an id lies outside");
        };
        let ids = self.id_offsets() + (self.items + 1) * 4;
        std::str::from_utf8(&self.bytes[ids..][range]).or_else(|_| damaged("an id is not UTF-8"))
    }
    /// Where the numbers of neighbours before each list begin.
    fn offsets(&self) -> usize {
        HEADER + self.neighbours * ENTRY
    }
    /// Where the numbers of bytes before each id begin.
    fn id_offsets(&self) -> usize {
        self.offsets() + (2 * self.items + 1) * 4
    }
    fn offset(&self, table: usize, item: usize) -> usize {
        number_at(self.bytes, table + item * 4) as usize
    }
    fn range(&self, table: usize, item: usize, end: usize) -> Option<Range<usize>> {
        let range = self.offset(table, item)..self.offset(table, item + 1);
        (range.start <= range.end && range.end <= end).then_some(range)
    }
}

fn number_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}
