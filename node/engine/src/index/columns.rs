//! Which facet values, numbers and points the documents of a segment have, read in place.

use super::container::Container;
use super::error::{IndexError, Result};
use super::geo_column::{GeoColumn, StoredGeo};
use super::sections::{self as s, COLUMN_BASE, COLUMN_STEP};
use super::sparse_numbers::SparseNumbers;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::ops::Range;

/// The directory of columns, stored as JSON: element `i` describes column `i`.
#[derive(Serialize, Deserialize)]
pub(crate) struct ColumnRow {
    /// Dotted attribute path.
    pub path: String,
    /// What it holds.
    pub kind: ColumnKind,
}
/// Kinds of columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ColumnKind {
    /// Text values with a dictionary.
    Facet,
    /// f64 values.
    Numeric,
}

/// Places of a facet column's sections.
#[derive(Clone, Debug)]
struct FacetPlaces {
    values: Range<usize>,
    value_off: Range<usize>,
    ords: Range<usize>,
    doc_off: Range<usize>,
    inv_off: Range<usize>,
    inv: Range<usize>,
    dense: Range<usize>,
    dense_df: Range<usize>,
    bitmaps: Range<usize>,
    width: usize,
}
#[derive(Clone, Debug)]
struct NumericPlaces {
    values: Range<usize>,
    doc_off: Range<usize>,
    extents: Range<usize>,
}
impl NumericPlaces {
    fn fit(&self, c: &Container, docs: usize) -> bool {
        let extents = if self.doc_off.is_empty() { docs.div_ceil(EXTENT_DOCS) } else { 0 };
        self.extents.len() == extents * 16 && offsets_fit(c, &self.doc_off, docs, self.values.len() / 8)
    }
}
/// Documents whose least and greatest number are kept together.
pub const EXTENT_DOCS: usize = 1_024;
/// The extents of the numbers of all documents.
pub(crate) fn extents_of(values: &[f64]) -> Vec<[f64; 2]> {
    values.chunks(EXTENT_DOCS).map(extent).collect()
}
/// The least and the greatest of some numbers. Where one is missing the greatest is not a number, so that no range holds
/// them all.
fn extent(values: &[f64]) -> [f64; 2] {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, |greatest, x| {
        if greatest.is_nan() || x.is_nan() { f64::NAN } else { greatest.max(x) }
    });
    [least, greatest]
}

/// All columns of a segment.
pub(crate) struct StoredColumns {
    facets: FxHashMap<String, FacetPlaces>,
    numerics: FxHashMap<String, NumericPlaces>,
    sparse: SparseNumbers,
    geo: Option<StoredGeo>,
    docs: usize,
}

impl StoredColumns {
    /// Reads the directory and checks the lengths of the sections.
    pub fn open(container: &Container, docs: usize) -> Result<Self> {
        let damaged = |what: String| IndexError::damaged(container.path(), what);
        let rows: Vec<ColumnRow> = serde_json::from_slice(container.slice(&container.range(s::COLUMNS)))
            .map_err(|e| damaged(format!("column directory: {e}")))?;
        let (mut facets, mut numerics) = (FxHashMap::default(), FxHashMap::default());
        for (i, row) in rows.into_iter().enumerate() {
            let part = |part: u32| container.range(COLUMN_BASE + i as u32 * COLUMN_STEP + part);
            let fits = match row.kind {
                ColumnKind::Facet => {
                    let places = facet_places(part, docs);
                    let fits = places.fit(container, docs);
                    facets.insert(row.path.clone(), places);
                    fits
                }
                ColumnKind::Numeric => {
                    let places = NumericPlaces {
                        values: part(s::numeric::VALUES),
                        doc_off: part(s::numeric::DOC_OFF),
                        extents: part(s::numeric::EXTENTS),
                    };
                    let fits = places.fit(container, docs);
                    numerics.insert(row.path.clone(), places);
                    fits
                }
            };
            if !fits {
                return Err(damaged(format!("column {:?} does not fit together", row.path)));
            }
        }
        let fits = |offsets: &Range<usize>, points: usize| {
            !offsets.is_empty() && offsets_fit(container, offsets, docs, points)
        };
        let geo =
            StoredGeo::find(container, fits).map_err(|()| damaged("points do not fit together".into()))?;
        let sparse = SparseNumbers::open(container)?;
        Ok(StoredColumns { facets, numerics, sparse, geo, docs })
    }
    /// The facet column of a path.
    pub fn facet<'a>(&self, c: &'a Container, path: &str) -> Option<FacetColumn<'a>> {
        let p = self.facets.get(path)?;
        let ords = match p.width {
            1 => FacetOrdinals::U8(c.slice(&p.ords)),
            2 => FacetOrdinals::U16(c.numbers(&p.ords)),
            _ => FacetOrdinals::U32(c.numbers(&p.ords)),
        };
        Some(FacetColumn {
            values: c.slice(&p.values),
            value_off: c.numbers(&p.value_off),
            ords,
            doc_off: c.numbers(&p.doc_off),
            inv_off: c.numbers(&p.inv_off),
            inv: c.numbers(&p.inv),
            dense: c.numbers(&p.dense),
            dense_df: c.numbers(&p.dense_df),
            bitmaps: c.numbers(&p.bitmaps),
            words: self.docs.div_ceil(64),
            documents: self.docs,
        })
    }
    /// The numeric column of a path.
    pub fn numeric<'a>(&self, c: &'a Container, path: &str) -> Option<NumericColumn<'a>> {
        let Some(p) = self.numerics.get(path) else { return self.sparse.find(c, path) };
        Some(NumericColumn {
            values: c.numbers(&p.values),
            doc_off: c.numbers(&p.doc_off),
            docs: &[],
            extents: c.numbers(&p.extents),
        })
    }
    /// The points.
    pub fn geo<'a>(&'a self, c: &'a Container) -> Option<GeoColumn<'a>> {
        self.geo.as_ref().map(|geo| geo.column(c))
    }
    /// Paths of facet columns, in no order.
    pub fn facet_paths(&self) -> impl Iterator<Item = &str> {
        self.facets.keys().map(String::as_str)
    }
    /// Paths that have numbers, in no order.
    pub fn numeric_paths<'a>(&'a self, c: &'a Container) -> impl Iterator<Item = &'a str> {
        self.numerics.keys().map(String::as_str).chain(self.sparse.paths(c))
    }
}

fn facet_places(part: impl Fn(u32) -> Range<usize>, docs: usize) -> FacetPlaces {
    let value_off = part(s::facet::VALUE_OFF);
    let width = ordinal_width((value_off.len() / 4).saturating_sub(1));
    debug_assert!(docs > 0 || part(s::facet::ORDS).is_empty());
    FacetPlaces {
        values: part(s::facet::VALUES),
        value_off,
        ords: part(s::facet::ORDS),
        doc_off: part(s::facet::DOC_OFF),
        inv_off: part(s::facet::INV_OFF),
        inv: part(s::facet::INV),
        dense: part(s::facet::DENSE),
        dense_df: part(s::facet::DENSE_DF),
        bitmaps: part(s::facet::BITMAPS),
        width,
    }
}
impl FacetPlaces {
    fn fit(&self, c: &Container, docs: usize) -> bool {
        let values = self.value_off.len() / 4;
        values >= 1
            && c.numbers::<u32>(&self.value_off).last() == Some(&(self.values.len() as u32))
            && self.inv_off.len() == self.value_off.len()
            && c.numbers::<u32>(&self.inv_off).last() == Some(&((self.inv.len() / 4) as u32))
            && self.dense.len() == self.dense_df.len()
            && self.bitmaps.len() == self.dense.len() / 4 * docs.div_ceil(64) * 8
            && offsets_fit(c, &self.doc_off, docs, self.ords.len() / self.width)
    }
}
/// Whether `off` is empty and there is one value a document, or leads through all values.
fn offsets_fit(c: &Container, off: &Range<usize>, docs: usize, values: usize) -> bool {
    if off.is_empty() {
        return values == docs;
    }
    off.len() == (docs + 1) * 4 && c.numbers::<u32>(off).last() == Some(&(values as u32))
}
/// Bytes of an ordinal; the largest number of the width is kept for "none".
pub(crate) fn ordinal_width(values: usize) -> usize {
    match values {
        0..=0xfe => 1,
        0xff..=0xfffe => 2,
        _ => 4,
    }
}

/// Ordinals in the width they are stored in, for loops over all documents.
#[derive(Clone, Copy, Debug)]
pub enum FacetOrdinals<'a> {
    /// Up to 254 values.
    U8(&'a [u8]),
    /// Up to 65,534 values.
    U16(&'a [u16]),
    /// More.
    U32(&'a [u32]),
}
/// Documents of a facet value, dead ones included.
#[derive(Clone, Copy, Debug)]
pub enum FacetDocs<'a> {
    /// Ascending documents.
    List(&'a [u32]),
    /// One bit per document, and how many are set.
    Bitmap(&'a [u64], u32),
}
impl FacetDocs<'_> {
    /// How many there are.
    pub fn count(&self) -> u64 {
        match self {
            FacetDocs::List(docs) => docs.len() as u64,
            FacetDocs::Bitmap(_, count) => u64::from(*count),
        }
    }
}
/// The values of one attribute in one segment. A value is its ordinal in (case-folded, original) order.
#[derive(Clone, Copy)]
pub struct FacetColumn<'a> {
    values: &'a [u8],
    value_off: &'a [u32],
    ords: FacetOrdinals<'a>,
    doc_off: &'a [u32],
    inv_off: &'a [u32],
    inv: &'a [u32],
    dense: &'a [u32],
    dense_df: &'a [u32],
    bitmaps: &'a [u64],
    words: usize,
    documents: usize,
}
impl<'a> FacetColumn<'a> {
    /// Number of distinct values.
    pub fn value_count(&self) -> u32 {
        self.value_off.len() as u32 - 1
    }
    /// The text of a value, in its original case.
    pub fn value(&self, ord: u32) -> &'a str {
        std::str::from_utf8(self.value_bytes(ord)).unwrap_or_default()
    }
    /// Ordinals of a document's values, ascending, each once.
    pub fn ords_of(&self, doc: u32) -> impl Iterator<Item = u32> + 'a {
        let range = match self.doc_off {
            [] => doc as usize..doc as usize + 1,
            off => off[doc as usize] as usize..off[doc as usize + 1] as usize,
        };
        let ords = self.ords;
        range.filter_map(move |i| ords.get(i))
    }
    /// The documents that have a value.
    pub fn docs_of(&self, ord: u32) -> FacetDocs<'a> {
        match self.dense.binary_search(&ord) {
            Ok(i) => FacetDocs::Bitmap(&self.bitmaps[i * self.words..(i + 1) * self.words], self.dense_df[i]),
            Err(_) => FacetDocs::List(
                &self.inv[self.inv_off[ord as usize] as usize..self.inv_off[ord as usize + 1] as usize],
            ),
        }
    }
    /// Calls `visit` with every value and the documents that have it until it answers `false`.
    pub fn each_value(&self, mut visit: impl FnMut(u32, FacetDocs<'a>) -> bool) {
        let mut dense = self.dense.iter().enumerate().peekable();
        for (ord, range) in self.inv_off.windows(2).enumerate() {
            let docs = match dense.next_if(|(_, wide)| **wide == ord as u32) {
                Some((i, _)) => {
                    FacetDocs::Bitmap(&self.bitmaps[i * self.words..(i + 1) * self.words], self.dense_df[i])
                }
                None => FacetDocs::List(&self.inv[range[0] as usize..range[1] as usize]),
            };
            if !visit(ord as u32, docs) {
                return;
            }
        }
    }
    /// Documents of the segment.
    pub fn documents(&self) -> usize {
        self.documents
    }
    /// How many documents have a value, dead ones included.
    pub fn doc_count_of(&self, ord: u32) -> u32 {
        self.docs_of(ord).count() as u32
    }
    /// Values that have a bitmap, ascending.
    pub fn dense_values(&self) -> &'a [u32] {
        self.dense
    }
    /// Entries in all lists of values without bitmap.
    pub fn listed(&self) -> usize {
        self.inv.len()
    }
    /// Stored ordinals: one a document, or with [`Self::offsets`] several. The largest number of the width is "none".
    pub fn ordinals(&self) -> FacetOrdinals<'a> {
        self.ords
    }
    /// documents + 1 offsets into [`Self::ordinals`]; `None` when every document has at most one value.
    pub fn offsets(&self) -> Option<&'a [u32]> {
        (!self.doc_off.is_empty()).then_some(self.doc_off)
    }
    /// The ordinals of the values equal to `lowercased` when case is ignored.
    pub fn fold_range(&self, lowercased: &str) -> Range<u32> {
        let compare = |ord| compare_folded(self.value_bytes(ord), lowercased);
        let lo = self.partition(0, |ord| compare(ord).is_lt());
        // values that differ in case only are few and next to each other
        let mut hi = lo;
        while hi < self.value_count() && compare(hi).is_eq() {
            hi += 1;
        }
        lo..hi
    }
    /// The ordinals of the values that start with `lowercased` when case is ignored.
    pub fn fold_prefix_range(&self, lowercased: &str) -> Range<u32> {
        let folded = |ord| fold(self.value(ord));
        let lo = self.partition(0, |ord| *folded(ord) < *lowercased);
        let hi = self.partition(lo, |ord| folded(ord).starts_with(lowercased));
        lo..hi
    }
    /// The ordinal of exactly this value.
    pub fn find(&self, value: &str) -> Option<u32> {
        self.fold_range(&fold(value)).find(|&ord| self.value(ord) == value)
    }
    /// The first ordinal from `lo` on for which `before` does not hold.
    fn partition(&self, mut lo: u32, before: impl Fn(u32) -> bool) -> u32 {
        let mut hi = self.value_count();
        while lo < hi {
            let mid = lo + (hi - lo) / 2;
            if before(mid) {
                lo = mid + 1;
            } else {
                hi = mid;
            }
        }
        lo
    }
    fn value_bytes(&self, ord: u32) -> &'a [u8] {
        &self.values[self.value_off[ord as usize] as usize..self.value_off[ord as usize + 1] as usize]
    }
}
/// Compares a value, folded, with a folded text.
fn compare_folded(value: &[u8], lowercased: &str) -> Ordering {
    if value.is_ascii() {
        return value.iter().map(u8::to_ascii_lowercase).cmp(lowercased.bytes());
    }
    fold(std::str::from_utf8(value).unwrap_or_default()).as_str().cmp(lowercased)
}
/// How facet values are compared when case does not matter (C§5.3).
pub fn fold(value: &str) -> String {
    value.to_lowercase()
}
impl FacetOrdinals<'_> {
    /// The `i`th ordinal; `None` for the mark of no value.
    pub fn get(&self, i: usize) -> Option<u32> {
        match self {
            FacetOrdinals::U8(o) => (o[i] != u8::MAX).then(|| u32::from(o[i])),
            FacetOrdinals::U16(o) => (o[i] != u16::MAX).then(|| u32::from(o[i])),
            FacetOrdinals::U32(o) => (o[i] != u32::MAX).then(|| o[i]),
        }
    }
}

/// The numbers of one attribute in one segment; booleans are 0 and 1.
#[derive(Clone, Copy)]
pub struct NumericColumn<'a> {
    values: &'a [f64],
    doc_off: &'a [u32],
    /// The document of each value; empty when the documents have their places.
    docs: &'a [u32],
    extents: &'a [[f64; 2]],
}
impl<'a> NumericColumn<'a> {
    /// Values with their documents, ascending.
    pub(super) fn sparse(docs: &'a [u32], values: &'a [f64]) -> Self {
        NumericColumn { values, doc_off: &[], docs, extents: &[] }
    }
    /// The documents that have numbers, each once, ascending; `None` when the column has a place for every document.
    pub fn documents(&self) -> Option<impl Iterator<Item = u32> + 'a> {
        let runs = self.docs.chunk_by(|a, b| a == b).map(|run| run[0]);
        (!self.docs.is_empty()).then_some(runs)
    }
    /// The numbers of a document, in record order. Cost: a binary search when [`Self::documents`] has a list.
    pub fn values_of(&self, doc: u32) -> &'a [f64] {
        if !self.docs.is_empty() {
            let start = self.docs.partition_point(|&d| d < doc);
            let count = self.docs[start..].iter().take_while(|&&d| d == doc).count();
            return &self.values[start..start + count];
        }
        match self.doc_off {
            [] => {
                let value = &self.values[doc as usize..doc as usize + 1];
                if value[0].is_nan() { &[] } else { value }
            }
            off => &self.values[off[doc as usize] as usize..off[doc as usize + 1] as usize],
        }
    }
    /// One number a document, not a number for none; `None` when some document has several.
    pub fn singles(&self) -> Option<&'a [f64]> {
        (self.doc_off.is_empty() && self.docs.is_empty()).then_some(self.values)
    }
    /// documents + 1 offsets into the values; `None` when every document has at most one number, or few have any.
    pub fn offsets(&self) -> Option<&'a [u32]> {
        (!self.doc_off.is_empty()).then_some(self.doc_off)
    }
    /// The least and the greatest number of each [`EXTENT_DOCS`] documents; the greatest is not a number where some
    /// document has none. Empty without [`Self::singles`].
    pub fn extents(&self) -> &'a [[f64; 2]] {
        self.extents
    }
    /// All numbers, document after document.
    pub fn values(&self) -> &'a [f64] {
        self.values
    }
}
