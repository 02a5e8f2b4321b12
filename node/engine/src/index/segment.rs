//! What is in one segment: terms, postings, records and columns of some documents in their final order.
//!
//! Hot path: everything is read in place from one mapped file; no accessor allocates.

use super::columns::{FacetColumn, NumericColumn, StoredColumns};
use super::common::CommonValues;
use super::container::Container;
use super::error::{IndexError, Result};
use super::form::SegmentForm;
use super::geo_column::GeoColumn;
use super::phrases::FacetPhrases;
use super::records::StoredRecords;
use super::sections as s;
use super::trie::{StoredTerms, Terms};
use crate::terms::Expansions;
use rustc_hash::FxHashMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use tantivy::directory::OwnedBytes;

/// A segment as one view sees it: its immutable file and the documents that are alive.
///
/// Documents are numbered in rank order: a smaller number is a better rank. Across segments compare [`Segment::rank`].
#[derive(Clone)]
pub struct Segment {
    file: Arc<SegmentFile>,
    alive: Option<Arc<Vec<u64>>>,
    alive_count: u32,
}

/// Postings of a segment. A term is its ordinal; a prefix is an interval of ordinals.
#[derive(Clone, Copy)]
pub struct Lists<'a> {
    /// documents + 1: tokens of document `d` are `doc_off[d]..doc_off[d + 1]` of `ords` and `pos`.
    pub doc_off: &'a [u32],
    /// Term ordinals, ascending in each document.
    pub ords: &'a [u32],
    /// Packed positions (see [`super::position`]), ascending among equal ordinals of a document.
    pub pos: &'a [u16],
    /// terms + 1: postings of term `t` are `csr_off[t]..csr_off[t + 1]` of `csr` and `imp`; none for dense terms.
    pub csr_off: &'a [u32],
    /// Documents, ascending in each term.
    pub csr: &'a [u32],
    /// Best place of the term in the document as the attribute criterion counts it: priority instead of the attribute's
    /// number, word 0 where positions do not rank; the flag is set when any occurrence is a whole value.
    pub imp: &'a [u16],
    /// Per term the least `imp` with its flag cleared: a bound for early stops.
    pub best: &'a [u16],
    /// Terms that have a bitmap (`bitmap(t, t + 1)`) instead of a list, ascending.
    pub dense: &'a [u32],
    /// Their numbers of documents.
    pub dense_df: &'a [u32],
}

impl Segment {
    /// Joins a file and its live documents; `None` = all.
    pub(crate) fn new(file: Arc<SegmentFile>, alive: Option<Arc<Vec<u64>>>) -> Segment {
        let alive_count = match &alive {
            None => file.doc_count,
            Some(words) => words.iter().map(|w| w.count_ones()).sum(),
        };
        Segment { file, alive, alive_count }
    }
    /// The immutable part.
    pub(crate) fn file(&self) -> &Arc<SegmentFile> {
        &self.file
    }
    /// The live documents, shared.
    pub(crate) fn alive_shared(&self) -> Option<Arc<Vec<u64>>> {
        self.alive.clone()
    }
    /// A number that no other segment of this process has; deletes do not change it. For caches.
    pub fn id(&self) -> u64 {
        self.file.serial()
    }
    /// Documents, dead ones included.
    pub fn doc_count(&self) -> u32 {
        self.file.doc_count
    }
    /// One bit per document, lowest first; `None` = all alive. Bits past the last document are 0.
    pub fn alive(&self) -> Option<&[u64]> {
        self.alive.as_ref().map(|words| words.as_slice())
    }
    /// Documents that are alive.
    pub fn alive_count(&self) -> u32 {
        self.alive_count
    }
    /// Whether `doc` is alive.
    pub fn is_alive(&self, doc: u32) -> bool {
        self.alive.as_ref().is_none_or(|words| words[doc as usize >> 6] >> (doc & 63) & 1 == 1)
    }
    /// The postings.
    pub fn lists(&self) -> Lists<'_> {
        self.file.lists()
    }
    /// The bitmap of an ordinal interval, when it is wide enough to have one. Dead documents are in it.
    pub fn bitmap(&self, lo: u32, hi: u32) -> Option<&[u64]> {
        let wide = self.file.wide.get(&(lo, hi))?;
        let words = self.file.words;
        let all: &[u64] = self.file.container.numbers(&self.file.bitmaps);
        let bitmap = wide.bitmap? as usize;
        Some(&all[bitmap * words..(bitmap + 1) * words])
    }
    /// The best 1,000 documents of an interval that has a bitmap, or 256 of one that is too long to go through, for the
    /// one-word query without typos; fewer when it has fewer. `exact` says whether the word that was typed is a term, the first
    /// of the interval.
    ///
    /// Shape: ordered by (least place of `imp`, whole-value flag of the exact word first, document). Dead documents are in it:
    /// when too few alive ones are left, scan the postings.
    pub fn top(&self, lo: u32, hi: u32, exact: bool) -> Option<&[u32]> {
        let wide = self.file.wide.get(&(lo, hi))?;
        let top = wide.tops[usize::from(exact)].as_ref()?;
        let all: &[u32] = self.file.container.numbers(&self.file.tops);
        Some(&all[top.start as usize..top.end as usize])
    }
    /// The terms: normalised words, in byte order.
    pub fn terms(&self) -> Terms<'_> {
        self.file.terms.terms(&self.file.container)
    }
    /// What words were expanded to: it belongs to the file, so it outlives commits that add other segments.
    pub(crate) fn expansions(&self) -> &Expansions {
        &self.file.expansions
    }
    /// The values of facets by their words, as far as somebody asked.
    pub(crate) fn facet_phrases(&self) -> &FacetPhrases {
        &self.file.facet_phrases
    }
    /// What facet values have in common, as far as somebody asked.
    pub(crate) fn common_values(&self) -> &CommonValues {
        &self.file.common_values
    }
    /// Number of terms.
    pub fn term_count(&self) -> u32 {
        self.file.term_count
    }
    /// The raw JSON of a record.
    pub fn record(&self, doc: u32) -> &[u8] {
        self.file.records.record(&self.file.container, doc)
    }
    /// The objectID of a record.
    pub fn object_id(&self, doc: u32) -> &str {
        self.file.records.object_id(&self.file.container, doc)
    }
    /// The rank key of a record: leading sort criteria, custom ranking, objectID descending; ascending bytes are better
    /// ranks. Unique among the live records of an index.
    pub fn rank(&self, doc: u32) -> &[u8] {
        self.file.records.rank(&self.file.container, doc)
    }
    /// The live document with this objectID.
    pub fn doc_of(&self, object_id: &str) -> Option<u32> {
        let doc = self.file.records.doc_of(&self.file.container, object_id)?;
        self.is_alive(doc).then_some(doc)
    }
    /// The values of a facet attribute (attributesForFaceting, `_tags`, attributeForDistinct); `None` when no document of
    /// the segment has one.
    pub fn facet(&self, path: &str) -> Option<FacetColumn<'_>> {
        self.file.columns.facet(&self.file.container, path)
    }
    /// The numbers of an attribute; `None` when no document of the segment has one.
    pub fn numeric(&self, path: &str) -> Option<NumericColumn<'_>> {
        self.file.columns.numeric(&self.file.container, path)
    }
    /// Paths that have a facet column here.
    pub fn facet_paths(&self) -> impl Iterator<Item = &str> {
        self.file.columns.facet_paths()
    }
    /// Paths that have a numeric column here.
    pub fn numeric_paths(&self) -> impl Iterator<Item = &str> {
        self.file.columns.numeric_paths(&self.file.container)
    }
    /// The points of `_geoloc`; `None` when no document of the segment has one.
    pub fn geo(&self) -> Option<GeoColumn<'_>> {
        self.file.columns.geo(&self.file.container)
    }
    /// How its file is laid out.
    pub fn form(&self) -> SegmentForm {
        SegmentForm::of(&self.file.container)
    }
    /// Bytes of the segment's mapped file.
    pub fn bytes(&self) -> usize {
        self.file.container.len()
    }
    /// Bytes of all raw records, dead ones included.
    pub fn record_bytes(&self) -> u64 {
        self.file.records.record_bytes()
    }
    /// As [`Self::verify`], at the pace of the caller.
    pub fn verify_paced(&self, pace: &mut dyn FnMut(u64)) -> Result<()> {
        match self.file.origin().place {
            Storage::Disk => self.file.container.verify_on_disk(pace),
            Storage::Memory => self.file.container.verify_paced(pace),
        }
    }
    /// Recomputes every checksum of the file.
    pub fn verify(&self) -> Result<()> {
        self.verify_paced(&mut |_| {})
    }
}
impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Segment({}, {} of {} alive)", self.file.name, self.alive_count, self.file.doc_count)
    }
}

#[derive(Default)]
struct Wide {
    bitmap: Option<u32>,
    /// For a word that is no term, and for one that is.
    tops: [Option<Range<u32>>; 2],
}

/// The immutable file of a segment.
pub(crate) struct SegmentFile {
    /// Stem of its file names.
    pub name: String,
    origin: Origin,
    /// Documents, dead ones included.
    pub doc_count: u32,
    term_count: u32,
    words: usize,
    container: Container,
    doc_off: Range<usize>,
    ords: Range<usize>,
    pos: Range<usize>,
    csr_off: Range<usize>,
    csr: Range<usize>,
    imp: Range<usize>,
    best: Range<usize>,
    dense: Range<usize>,
    dense_df: Range<usize>,
    bitmaps: Range<usize>,
    tops: Range<usize>,
    wide: FxHashMap<(u32, u32), Wide>,
    terms: StoredTerms,
    expansions: Expansions,
    facet_phrases: FacetPhrases,
    common_values: CommonValues,
    records: StoredRecords,
    columns: StoredColumns,
}

/// Where the content of a segment's file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// Mapped.
    Disk,
    /// Only in memory, until the next durable commit.
    Memory,
}
/// What is known of a segment beside its content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// Its number in this process, the same when it is opened again from another place.
    pub serial: u64,
    /// Bytes of all its files.
    pub disk_bytes: u64,
    /// Where its own file is.
    pub place: Storage,
}

/// Numbers segments in this process.
pub(crate) fn next_serial() -> u64 {
    static SERIAL: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    SERIAL.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

impl SegmentFile {
    /// Opens a segment's file.
    pub fn open(name: &str, path: &Path, bytes: OwnedBytes, origin: Origin) -> Result<SegmentFile> {
        let container = Container::open(path, bytes)?;
        let damaged = |what: &str| IndexError::damaged(path, what);
        let counts = container.range(s::COUNTS);
        if counts.len() < 48 {
            return Err(damaged("counts are missing"));
        }
        let counts: Vec<u64> = container.numbers::<u64>(&counts).to_vec();
        let (docs, terms, tokens, postings, wides, words) = (
            counts[0] as usize,
            counts[1] as usize,
            counts[2] as usize,
            counts[3] as usize,
            counts[4] as usize,
            counts[5] as usize,
        );
        let want = |id: u32, bytes: usize| {
            let range = container.range(id);
            if range.len() == bytes {
                Ok(range)
            } else {
                Err(damaged(&format!("section {id} has the wrong length")))
            }
        };
        let wide_table = container.range(s::WIDE);
        if wide_table.len() % 12 != 0 || wide_table.len() < wides * 12 {
            return Err(damaged("the table of wide ranges has the wrong length"));
        }
        let tops = container.range(s::TOPS);
        let mut wide: FxHashMap<(u32, u32), Wide> = FxHashMap::default();
        let mut at = 0;
        for (i, row) in container.numbers::<u32>(&wide_table).chunks_exact(3).enumerate() {
            let interval = wide.entry((row[0], row[1])).or_default();
            if i < wides {
                interval.bitmap = Some(i as u32);
            }
            let length = row[2] & !(s::TOP_EXACT | s::TOP_INEXACT);
            interval.tops[usize::from(row[2] & s::TOP_INEXACT == 0)] = Some(at..at + length);
            at += length;
        }
        if at as usize * 4 != tops.len() {
            return Err(damaged("top lists have the wrong length"));
        }
        let dense = container.range(s::DENSE);
        let stored_terms =
            StoredTerms::open(&container, terms).ok_or_else(|| damaged("terms have the wrong length"))?;
        Ok(SegmentFile {
            name: name.into(),
            origin,
            doc_count: docs as u32,
            term_count: terms as u32,
            words,
            doc_off: want(s::DOC_OFF, (docs + 1) * 4)?,
            ords: want(s::ORDS, tokens * 4)?,
            pos: want(s::POS, tokens * 2)?,
            csr_off: want(s::CSR_OFF, (terms + 1) * 4)?,
            csr: want(s::CSR, postings * 4)?,
            imp: want(s::IMP, postings * 2)?,
            best: want(s::BEST, terms * 2)?,
            dense_df: want(s::DENSE_DF, dense.len())?,
            dense,
            bitmaps: want(s::BITMAPS, wides * words * 8)?,
            tops,
            wide,
            terms: stored_terms,
            expansions: Expansions::new(container.len()),
            facet_phrases: FacetPhrases::default(),
            common_values: CommonValues::new(container.len()),
            records: StoredRecords::open(&container, docs)?,
            columns: StoredColumns::open(&container, docs)?,
            container,
        })
    }
    /// The process-wide number.
    pub fn serial(&self) -> u64 {
        self.origin.serial
    }
    /// Where it came from.
    pub fn origin(&self) -> Origin {
        self.origin
    }
    fn lists(&self) -> Lists<'_> {
        let c = &self.container;
        Lists {
            doc_off: c.numbers(&self.doc_off),
            ords: c.numbers(&self.ords),
            pos: c.numbers(&self.pos),
            csr_off: c.numbers(&self.csr_off),
            csr: c.numbers(&self.csr),
            imp: c.numbers(&self.imp),
            best: c.numbers(&self.best),
            dense: c.numbers(&self.dense),
            dense_df: c.numbers(&self.dense_df),
        }
    }
}

#[cfg(test)]
#[path = "segment_tests.rs"]
mod tests;
