//! How are the searches of a block read, one after another?

use super::block::{Block, EachRecord, Part};
use super::bytes::{Reader, malformed};
use super::without::Without;
use crate::error::Result;
use bytes::Bytes;
use quorate_model::event::QueryId;
use std::sync::Arc;

/// A search that counts. Texts are numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Search<'b> {
    /// The number of its user among those of the block.
    pub user: usize,
    /// Of its query.
    pub query: usize,
    /// Records found.
    pub hits: u64,
    /// Of its tags and country.
    pub label: usize,
    /// Of its filters, if it has any.
    pub filters: Option<usize>,
    /// Whether it has ids.
    pub is_tracked: bool,
    /// When it was searched last, Unix milliseconds, if it has ids and they are read.
    pub time_ms: u64,
    ids: &'b [u8],
    /// The number of the list of records that it has shown, if these are read.
    pub list: usize,
}

impl Search<'_> {
    /// Its ids, if they are read.
    pub fn ids(&self) -> impl Iterator<Item = QueryId> {
        let (ids, _) = self.ids.as_chunks();
        ids.iter().map(|id| QueryId(u128::from_le_bytes(*id)))
    }
}

/// What is read of searches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns {
    /// Times and ids of those that have some.
    pub ids: bool,
    /// Lists of records.
    pub shown: bool,
}

/// Regions that have the searches of a block.
pub(crate) struct Searches {
    from_ms: u64,
    searches: Bytes,
    ids: Option<Bytes>,
    /// Lists of records, and which of these each search has shown.
    shown: Option<(Bytes, Bytes)>,
    /// Names of records.
    names: Vec<Bytes>,
    without: Option<Arc<Without>>,
}

impl Searches {
    /// Reads the regions.
    pub fn of(block: &Block, columns: Columns) -> Result<Searches> {
        let ids = columns.ids.then(|| block.part(Part::Tracked)).transpose()?;
        let (mut shown, mut names) = (None, vec![]);
        if columns.shown {
            let whole = block.part(Part::Shown)?;
            let mut reader = Reader(&whole);
            let count = reader.count()?;
            let at = whole.len() - reader.0.len();
            shown = Some((whole.slice(at..at + count), whole.slice(at + count..)));
            names = block.all_records()?;
        }
        let searches = block.part(Part::Searches)?;
        let (from_ms, without) = (block.facts.from_ms, block.without().cloned());
        Ok(Searches { from_ms, searches, ids, shown, names, without })
    }
    /// All of them, but those of users who are left out.
    pub fn iter(&self) -> Iter<'_> {
        Iter {
            from_ms: self.from_ms,
            searches: Reader(&self.searches),
            ids: self.ids.as_deref().map(Reader),
            lists: self.shown.as_ref().map(|(_, of_searches)| Reader(of_searches)),
            users: 0,
            left: 0,
            without: self.without.as_deref().map_or(&[], |without| &without.numbers),
        }
    }
    /// Records that were shown, and lists of them.
    pub fn records(&self) -> Result<Records<'_>> {
        let mut names = vec![];
        for region in &self.names {
            let mut records = EachRecord::of(region)?;
            while let Some(record) = records.next()? {
                names.push(record.name);
            }
        }
        let lists = self.shown.as_ref().map_or_else(|| Ok(vec![]), |(lists, _)| Records::lists(lists))?;
        match lists.iter().flatten().all(|record| *record < names.len()) {
            true => Ok(Records { names, lists }),
            false => Err(malformed("a record that is not there")),
        }
    }
}

/// Records and lists of their numbers.
#[derive(Default)]
pub(crate) struct Records<'b> {
    pub names: Vec<&'b str>,
    pub lists: Vec<Vec<usize>>,
}

impl Records<'_> {
    fn lists(bytes: &[u8]) -> Result<Vec<Vec<usize>>> {
        let mut reader = Reader(bytes);
        let list = |reader: &mut Reader<'_>| (0..reader.count()?).map(|_| reader.index()).collect();
        (0..reader.count()?).map(|_| list(&mut reader)).collect()
    }
}

/// Searches one after another.
pub(crate) struct Iter<'b> {
    from_ms: u64,
    searches: Reader<'b>,
    ids: Option<Reader<'b>>,
    lists: Option<Reader<'b>>,
    users: usize,
    /// Searches of the user that are left.
    left: u64,
    /// Numbers of the next users who are left out.
    without: &'b [usize],
}

impl<'b> Iter<'b> {
    fn read(&mut self) -> Result<Search<'b>> {
        if self.left == 0 {
            self.left = self.searches.number()?;
            self.users += 1;
        }
        self.left = self.left.checked_sub(1).ok_or_else(|| malformed("a user without searches"))?;
        let mut search = Search {
            user: self.users - 1,
            query: self.searches.index()?,
            hits: self.searches.number()?,
            ..Search::default()
        };
        let label = self.searches.index()?;
        (search.label, search.is_tracked) = (label >> 2, label & 1 > 0);
        if label & 2 > 0 {
            search.filters = Some(self.searches.index()?);
        }
        if let Some(ids) = self.ids.as_mut().filter(|_| search.is_tracked) {
            search.time_ms = self.from_ms + ids.number()?;
            let count = ids.count()?;
            search.ids = ids.take(16 * count)?;
        }
        if let Some(lists) = &mut self.lists {
            search.list = lists.index()?;
        }
        Ok(search)
    }
}
impl Iter<'_> {
    /// Whether a user is left out, who is not before the last one that was asked for.
    fn is_left_out(&mut self, user: usize) -> bool {
        while let [first, rest @ ..] = self.without
            && *first < user
        {
            self.without = rest;
        }
        self.without.first() == Some(&user)
    }
}
impl<'b> Iterator for Iter<'b> {
    type Item = Result<Search<'b>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.searches.is_empty() {
                return None;
            }
            let read = self.read();
            if self.without.is_empty() {
                return Some(read);
            }
            match read {
                Ok(search) if self.is_left_out(search.user) => {}
                read => return Some(read),
            }
        }
    }
}

/// Tags and country of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Label<'b> {
    pub country: Option<&'b str>,
    pub tags: Vec<&'b str>,
}

/// What searches share, by number.
pub(crate) struct Labels<'b> {
    pub labels: Vec<Label<'b>>,
    /// Sets of filters.
    pub filters: Vec<Vec<&'b str>>,
}

impl<'b> Labels<'b> {
    /// Reads a region of [`Part::Labels`].
    pub fn parse(bytes: &'b [u8]) -> Result<Labels<'b>> {
        let mut reader = Reader(bytes);
        let label = |reader: &mut Reader<'b>| {
            let country = match reader.number()? {
                0 => None,
                _ => Some(reader.text()?),
            };
            Ok(Label { country, tags: reader.texts()? })
        };
        let labels = (0..reader.count()?).map(|_| label(&mut reader)).collect::<Result<_>>()?;
        let filters = (0..reader.count()?).map(|_| reader.texts()).collect::<Result<_>>()?;
        Ok(Labels { labels, filters })
    }
}
