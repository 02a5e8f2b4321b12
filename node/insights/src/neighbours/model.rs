//! Which neighbours has an item, by a model file?

use super::error::Result;
use super::lists::NEIGHBOURS_MAX;
use super::report::Report;
use super::shape::{Shape, damaged, number_at};
use super::writer::{ENTRY, HEADER, SCORE_BEST, TRAILER};
use std::cmp::Ordering;
use std::ops::Range;

/// A model file, in memory. Nothing of it is copied.
#[derive(Clone, Copy)]
pub struct Model<'a> {
    bytes: &'a [u8],
    shape: Shape,
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

impl<'a> Model<'a> {
    /// Checks header, trailer and lengths.
    ///
    /// Errors: `Version`; `Damaged` when the bytes do not end where a model does, or header or trailer are not as written.
    /// Cost: none that grows with the file. [`Model::check`] looks at all of it.
    pub fn open(bytes: &'a [u8]) -> Result<Self> {
        if bytes.len() < HEADER + TRAILER {
            return damaged("it is too short");
        }
        let header = bytes.first_chunk().expect("it is long enough");
        let trailer = bytes.last_chunk().expect("it is long enough");
        Ok(Model { bytes, shape: Shape::of(bytes.len(), header, trailer)? })
    }
    /// Compares the checksum of the whole file, and looks whether lists, ids and report are such as can be read.
    ///
    /// Errors: `Damaged`. Cost: one pass over the file.
    pub fn check(&self) -> Result<()> {
        let shape = &self.shape;
        if crc32fast::hash(&self.bytes[HEADER..shape.end]) != shape.crc {
            return damaged("its checksum differs");
        }
        if self.offset(shape.offsets(), 0) != 0
            || self.offset(shape.offsets(), shape.items) != shape.neighbours
            || self.offset(shape.id_offsets(), 0) != 0
            || self.offset(shape.id_offsets(), shape.items) != shape.id_bytes
        {
            return damaged("its lists do not cover it");
        }
        let mut before = None;
        for item in 0..shape.items {
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
        self.shape.items
    }
    /// Bytes of the report.
    pub(super) fn report_bytes(&self) -> usize {
        self.shape.report_bytes
    }
    /// What the build said of itself.
    ///
    /// Errors: `Damaged`.
    pub fn report(&self) -> Result<Report> {
        let report = serde_json::from_slice(&self.bytes[self.shape.report()..self.shape.end]);
        report.or_else(|_| damaged("its report"))
    }
    /// The neighbours of an item; nothing when the model does not know it.
    ///
    /// Errors: `Damaged` when the list is none that could have been written.
    /// Cost: some 20 comparisons of ids among a million, and one id a neighbour.
    pub fn lookup(&self, item: &str) -> Result<Option<Neighbours<'a>>> {
        let (mut low, mut high) = (0, self.shape.items);
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
        (0..model.shape.items).map(move |item| Ok((model.id(item)?, model.list(item)?)))
    }
    fn list(&self, item: usize) -> Result<Neighbours<'a>> {
        let Some(range) = self.range(self.shape.offsets(), item, self.shape.neighbours) else {
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
        let users = number_at(self.bytes, self.shape.users() + item * 4);
        Ok(Neighbours { users, list })
    }
    fn id(&self, item: usize) -> Result<&'a str> {
        if item >= self.shape.items {
            return damaged("an item that is none");
        }
        let Some(range) = self.range(self.shape.id_offsets(), item, self.shape.id_bytes) else {
            return damaged("an id lies outside");
        };
        std::str::from_utf8(&self.bytes[self.shape.ids()..][range]).or_else(|_| damaged("an id is not UTF-8"))
    }
    fn offset(&self, table: usize, item: usize) -> usize {
        number_at(self.bytes, table + item * 4) as usize
    }
    fn range(&self, table: usize, item: usize, end: usize) -> Option<Range<usize>> {
        let range = self.offset(table, item)..self.offset(table, item + 1);
        (range.start <= range.end && range.end <= end).then_some(range)
    }
}
