//! How do searches that count become a block?

use super::block::{Built, Facts, SHARDS, Texts, shard_of};
use super::bytes::{put, put_text};
use super::events::Events;
use super::sums::Sums;
use crate::chains::Typed;
use crate::rows::{EventRow, Text};
use crate::segment::Region;
use quorate_model::event::TextList;
use rustc_hash::FxHashMap;
use std::borrow::Borrow;
use std::hash::Hash;

/// Searches of a block at most, but for those of the chain that it ends with.
const SEARCHES_MAX: usize = 1 << 19;
/// Texts of a block at most, about.
const TEXTS_MAX: usize = 1 << 19;
/// About how many bytes of memory a block takes on its way at most.
const BYTES_MAX: usize = 64 << 20;
/// Searches from which on sums are divided.
const DIVIDED_FROM: usize = 4_096;
/// Records found by one search at most: more say nothing, and sums of these have room.
const HITS_MAX: u64 = 1 << 40;

/// Things by number, each once.
struct Numbered<T> {
    numbers: FxHashMap<T, usize>,
    all: Vec<T>,
}
impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Numbered { numbers: FxHashMap::default(), all: vec![] }
    }
}
impl<T: Clone + Eq + Hash> Numbered<T> {
    /// The number of a thing, and whether it is new.
    fn number(&mut self, thing: &T) -> (usize, bool) {
        self.number_of(thing, T::clone)
    }
    /// The same, of what it is made of.
    fn number_of<Q: Hash + Eq + ?Sized>(&mut self, thing: &Q, made: impl FnOnce(&Q) -> T) -> (usize, bool)
    where
        T: Borrow<Q>,
    {
        if let Some(number) = self.numbers.get(thing) {
            return (*number, false);
        }
        let (number, thing) = (self.all.len(), made(thing));
        self.numbers.insert(thing.clone(), number);
        self.all.push(thing);
        (number, true)
    }
}

#[derive(Clone, Copy)]
pub(super) struct Search {
    pub query: u32,
    pub hits: u64,
    pub label: u32,
    pub filters: Option<u32>,
    pub is_tracked: bool,
    pub list: u32,
}

/// All of a block, by number where others name it.
pub(super) struct Content<'c> {
    pub from_ms: u64,
    /// Hashes of users, and how many of the searches each has.
    pub users: Vec<(u64, u64)>,
    pub searches: Vec<Search>,
    /// Fingerprint, text and sums of each query.
    pub queries: Vec<(u64, &'c str, Sums)>,
    /// Countries and tags.
    pub labels: Vec<(Option<&'c str>, Vec<&'c str>)>,
    pub filters: Vec<Vec<&'c str>>,
    pub records: Vec<&'c str>,
    pub lists: Vec<&'c [u32]>,
    pub tracked: &'c [u8],
    pub events: Events,
}

/// A block on its way: searches of one index, by user.
#[derive(Default)]
pub(super) struct Builder {
    from_ms: u64,
    users: Vec<(u64, u64)>,
    searches: Vec<Search>,
    queries: Numbered<Text>,
    /// Of each query.
    sums: Vec<Sums>,
    labels: Numbered<(Option<Text>, TextList)>,
    filters: Numbered<TextList>,
    records: Numbered<Text>,
    lists: Numbered<Vec<u32>>,
    tracked: Vec<u8>,
    events: Events,
    bytes: usize,
}

impl Builder {
    /// An empty one; times are told from this moment on, Unix milliseconds.
    pub fn new(from_ms: u64) -> Builder {
        Builder { from_ms, events: Events::new(from_ms), ..Builder::default() }
    }
    pub fn is_empty(&self) -> bool {
        self.searches.is_empty() && self.events.is_empty()
    }
    /// Whether what comes next has to go into another one.
    pub fn is_full(&self) -> bool {
        self.searches.len() >= SEARCHES_MAX
            || self.queries.all.len() + self.records.all.len() + self.events.texts() >= TEXTS_MAX
            || self.bytes + self.tracked.len() + self.events.bytes() >= BYTES_MAX
    }
    /// Takes an event.
    pub fn event(&mut self, row: &EventRow) {
        self.events.take(row);
    }
    /// Takes a search of the user with this hash, who is not before the last one.
    pub fn search(&mut self, user: u64, typed: &Typed) {
        let (search, is_tracked) = (&typed.search, !typed.search.query_ids.is_empty());
        match self.users.last_mut() {
            Some((last, count)) if *last == user => *count += 1,
            _ => self.users.push((user, 1)),
        }
        let hits = search.hits.min(HITS_MAX);
        let (query, is_new) = self.queries.number(&search.query);
        if is_new {
            self.sums.push(Sums::default());
            self.bytes += search.query.len() + 96;
        }
        self.sums[query].add(&Sums::of(hits, !search.filters.is_empty(), is_tracked));
        let (label, is_new) = self.labels.number(&(search.country.clone(), search.tags.clone()));
        self.bytes += if is_new { 64 + length(&search.tags) } else { 0 };
        let filters = (!search.filters.is_empty()).then(|| self.filters.number(&search.filters));
        self.bytes +=
            if filters.is_some_and(|(_, is_new)| is_new) { 64 + length(&search.filters) } else { 0 };
        let list = self.list(&search.shown);
        if is_tracked {
            put(&mut self.tracked, typed.time_ms.saturating_sub(self.from_ms));
            put(&mut self.tracked, search.query_ids.len() as u64);
            search.query_ids.iter().for_each(|id| self.tracked.extend_from_slice(&id.0.to_le_bytes()));
        }
        self.bytes += size_of::<Search>();
        let filters = filters.map(|(number, _)| number as u32);
        self.searches.push(Search {
            query: query as u32,
            hits,
            label: label as u32,
            filters,
            is_tracked,
            list,
        });
    }
    fn list(&mut self, shown: &TextList) -> u32 {
        let mut record = |record: &str| {
            let (number, is_new) = self.records.number_of(record, |record| Text::from(record));
            self.bytes += if is_new { record.len() + 64 } else { 0 };
            number as u32
        };
        let list: Vec<u32> = shown.iter().map(&mut record).collect();
        let (number, is_new) = self.lists.number(&list);
        self.bytes += if is_new { 64 + 8 * list.len() } else { 0 };
        number as u32
    }

    /// Makes the block.
    pub fn finish(self, index: &str) -> Built {
        let queries = self.queries.all.iter().zip(&self.sums);
        let content = Content {
            from_ms: self.from_ms,
            users: self.users,
            searches: self.searches,
            queries: queries.map(|(text, sums)| (super::fingerprint(text), &**text, *sums)).collect(),
            labels: self
                .labels
                .all
                .iter()
                .map(|(country, tags)| (country.as_deref(), tags.iter().collect()))
                .collect(),
            filters: self.filters.all.iter().map(|set| set.iter().collect()).collect(),
            records: self.records.all.iter().map(|record| &**record).collect(),
            lists: self.lists.all.iter().map(|list| &**list).collect(),
            tracked: &self.tracked,
            events: self.events,
        };
        content.built(index)
    }
}

impl Content<'_> {
    /// Makes the block.
    pub fn built(self, index: &str) -> Built {
        let Content { from_ms, users, searches, queries, labels, filters, records, lists, tracked, events } =
            self;
        // queries stand in the order of their fingerprints
        let mut order: Vec<usize> = (0..queries.len()).collect();
        order.sort_unstable_by_key(|at| (queries[*at].0, *at));
        let mut places = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, at)| places[*at] = place as u64);
        let shards = if searches.len() >= DIVIDED_FROM { SHARDS } else { 1 };
        let mut out = Regions::default();
        let sums: Vec<(u64, &Sums)> = order.iter().map(|at| (queries[*at].0, &queries[*at].2)).collect();
        put_sums(&mut out, shards, &sums);
        let records = put_records(&mut out, shards, &records, &lists, &searches);
        out.region(|out| Texts::put(out, order.iter().map(|at| queries[*at].1)));
        out.region(|out| put_searches(out, &users, &searches, &places));
        out.region(|out| {
            put(out, labels.len() as u64);
            for (country, tags) in &labels {
                put(out, u64::from(country.is_some()));
                country.iter().for_each(|country| put_text(out, country));
                put_texts(out, tags);
            }
            put(out, filters.len() as u64);
            filters.iter().for_each(|filters| put_texts(out, filters));
        });
        out.region(|out| users.iter().for_each(|(user, _)| out.extend(user.to_le_bytes())));
        out.region(|out| out.extend_from_slice(tracked));
        out.region(|out| put_shown(out, &lists, &records, &searches));
        let [tokens, events] = events.finish();
        out.region(|out| out.extend_from_slice(&tokens));
        out.region(|out| out.extend_from_slice(&events));
        let mut all = Sums::default();
        queries.iter().for_each(|(_, _, sums)| all.add(sums));
        let facts = Facts { index: index.to_owned(), from_ms, sums: all, shards, regions: out.regions };
        Built { facts, bytes: out.bytes }
    }
}

/// Regions one behind the other.
#[derive(Default)]
struct Regions {
    bytes: Vec<u8>,
    regions: Vec<Region>,
}

impl Regions {
    /// Writes a region: first those of sums, then those of records, then one for each `Part` in their order.
    fn region(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let from = self.bytes.len();
        write(&mut self.bytes);
        let crc = crc32fast::hash(&self.bytes[from..]);
        self.regions.push(Region { end: self.bytes.len() as u64, crc });
    }
}

fn put_sums(out: &mut Regions, shards: usize, sums: &[(u64, &Sums)]) {
    let mut next = 0;
    for shard in 0..shards {
        let rest = &sums[next..];
        let count = match shards {
            1 => rest.len(),
            _ => rest.partition_point(|(fingerprint, _)| shard_of(*fingerprint) <= shard),
        };
        out.region(|out| {
            put(out, next as u64);
            for (fingerprint, sums) in &rest[..count] {
                out.extend_from_slice(&fingerprint.to_le_bytes());
                sums.put(out);
            }
        });
        next += count;
    }
}
/// Returns the place of each record.
fn put_records(
    out: &mut Regions,
    shards: usize,
    names: &[&str],
    lists: &[&[u32]],
    searches: &[Search],
) -> Vec<u64> {
    let mut of_lists = vec![Sums::default(); lists.len()];
    for search in searches {
        let sums = Sums::of(search.hits, search.filters.is_some(), search.is_tracked);
        of_lists[search.list as usize].add(&sums);
    }
    let mut sums = vec![Sums::default(); names.len()];
    for (list, of_list) in lists.iter().zip(&of_lists) {
        list.iter().for_each(|record| sums[*record as usize].add(of_list));
    }
    let mut order: Vec<(u32, usize)> =
        names.iter().enumerate().map(|(at, name)| (crc32fast::hash(name.as_bytes()), at)).collect();
    order.sort_unstable();
    let (mut places, mut next) = (vec![0; order.len()], 0);
    for shard in 0..shards {
        let end = order.partition_point(|(crc, _)| (crc >> 28) as usize * shards / SHARDS <= shard);
        out.region(|out| {
            put(out, next as u64);
            for (place, (_, at)) in order.iter().enumerate().take(end).skip(next) {
                places[*at] = place as u64;
                put_text(out, names[*at]);
                sums[*at].put(out);
            }
        });
        next = end;
    }
    places
}
fn put_shown(out: &mut Vec<u8>, lists: &[&[u32]], places: &[u64], searches: &[Search]) {
    let mut all = vec![];
    put(&mut all, lists.len() as u64);
    for list in lists {
        put(&mut all, list.len() as u64);
        list.iter().for_each(|record| put(&mut all, places[*record as usize]));
    }
    put(out, all.len() as u64);
    out.append(&mut all);
    searches.iter().for_each(|search| put(out, u64::from(search.list)));
}
fn put_searches(out: &mut Vec<u8>, users: &[(u64, u64)], searches: &[Search], places: &[u64]) {
    let mut all = searches.iter();
    for (_, count) in users {
        put(out, *count);
        for search in all.by_ref().take(*count as usize) {
            put(out, places[search.query as usize]);
            put(out, search.hits);
            let has_filters = u64::from(search.filters.is_some());
            put(out, u64::from(search.label) << 2 | has_filters << 1 | u64::from(search.is_tracked));
            search.filters.iter().for_each(|filters| put(out, u64::from(*filters)));
        }
    }
}
fn put_texts(out: &mut Vec<u8>, texts: &[&str]) {
    put(out, texts.len() as u64);
    texts.iter().for_each(|text| put_text(out, text));
}
fn length(texts: &TextList) -> usize {
    texts.bytes() + 24 * texts.len()
}
