//! How the columns of a new segment are put together, from records or from the columns of merged segments.

use super::columns::{ColumnKind, ColumnRow, extents_of, fold, ordinal_width};
use super::container::ContainerWriter;
use super::form::SegmentForm;
use super::geo_column::GeoBuilder;
use super::records::offset;
use super::sections::{self as s, COLUMN_BASE, COLUMN_STEP};
use super::sparse_numbers;
use rustc_hash::FxHashMap;
use std::io::{self, Write};

/// A facet value gets a bitmap when more than 1 / this of the documents have it.
const DENSE_FRACTION: usize = 64;
/// Below this number of documents no value gets one.
const DENSE_MIN: usize = 16;
/// Attributes of a segment that have a numeric column of their own at most, those with the most numbers first.
pub(crate) const NUMERIC_COLUMNS_MAX: usize = 512;
/// An attribute gets one when there are at least the segment's documents / this numbers in it.
const NUMERIC_FRACTION: usize = 32;

/// Columns in the making. Call [`ColumnsBuilder::next_document`] after the values of each document.
pub(crate) struct ColumnsBuilder {
    facets: Vec<FacetBuilder>,
    numeric_of: FxHashMap<String, usize>,
    numerics: Vec<NumericBuilder>,
    geo: GeoBuilder,
    docs: u32,
}

struct FacetBuilder {
    path: String,
    ids: FxHashMap<String, u32>,
    texts: Vec<String>,
    /// The document that each value was added to last: a document has a value once.
    last_docs: Vec<u32>,
    /// Documents with values, ascending: a facet that few documents have takes no room for the others.
    docs: Vec<u32>,
    /// Values of these documents, one document after the other; the first of each is marked with [`FIRST`] until they are written.
    entries: Vec<u32>,
}
/// Marks the first value of a document.
const FIRST: u32 = 1 << 31;
/// What stands for no document: a segment has fewer.
const NO_DOC: u32 = u32::MAX;
#[derive(Default)]
pub(crate) struct NumericBuilder {
    /// Attribute.
    pub path: String,
    /// Document of each number; ascending once they are put in order for writing.
    pub docs: Vec<u32>,
    /// The numbers.
    pub values: Vec<f64>,
}

impl ColumnsBuilder {
    /// No documents yet; facet columns by their paths.
    pub fn new(facet_paths: &[String]) -> Self {
        let facets = facet_paths
            .iter()
            .map(|path| FacetBuilder {
                path: path.clone(),
                ids: FxHashMap::default(),
                texts: Vec::new(),
                last_docs: Vec::new(),
                docs: Vec::new(),
                entries: Vec::new(),
            })
            .collect();
        ColumnsBuilder {
            facets,
            numeric_of: FxHashMap::default(),
            numerics: Vec::new(),
            geo: GeoBuilder::new(),
            docs: 0,
        }
    }
    /// The number of a value in a facet column, for [`Self::facet_id`].
    pub fn intern(&mut self, column: usize, value: &str) -> u32 {
        let facet = &mut self.facets[column];
        if let Some(&id) = facet.ids.get(value) {
            return id;
        }
        let id = facet.texts.len() as u32;
        facet.ids.insert(value.into(), id);
        facet.texts.push(value.into());
        facet.last_docs.push(NO_DOC);
        id
    }
    /// Adds a facet value to the current document.
    pub fn facet_id(&mut self, column: usize, id: u32) {
        let facet = &mut self.facets[column];
        if std::mem::replace(&mut facet.last_docs[id as usize], self.docs) == self.docs {
            return;
        }
        if facet.docs.last() == Some(&self.docs) {
            facet.entries.push(id);
        } else {
            facet.docs.push(self.docs);
            facet.entries.push(id | FIRST);
        }
    }
    /// The numeric column of a path.
    pub fn numeric_column(&mut self, path: &str) -> usize {
        if let Some(&column) = self.numeric_of.get(path) {
            return column;
        }
        self.numeric_of.insert(path.into(), self.numerics.len());
        self.numerics.push(NumericBuilder { path: path.into(), ..NumericBuilder::default() });
        self.numerics.len() - 1
    }
    /// Adds a number to the current document.
    pub fn number(&mut self, column: usize, value: f64) {
        self.number_of(column, self.docs, value);
    }
    /// Adds a number to any document, after those it already has there.
    pub fn number_of(&mut self, column: usize, doc: u32, value: f64) {
        self.numerics[column].docs.push(doc);
        self.numerics[column].values.push(value);
    }
    /// Adds a point to the current document.
    pub fn point(&mut self, point: [f64; 2]) {
        self.geo.point(point);
    }
    /// Ends the current document.
    pub fn next_document(&mut self) {
        self.geo.next_document();
        self.docs += 1;
    }
    /// Writes the column sections.
    pub fn write<W: Write>(mut self, out: &mut ContainerWriter<W>, form: SegmentForm) -> io::Result<()> {
        let mut rows = Vec::new();
        self.facets.retain(|facet| !facet.texts.is_empty());
        let docs = self.docs as usize;
        for facet in self.facets {
            let base = COLUMN_BASE + rows.len() as u32 * COLUMN_STEP;
            rows.push(ColumnRow { path: facet.path.clone(), kind: ColumnKind::Facet });
            facet.write(out, base, docs)?;
        }
        let (dense, sparse) = by_density(self.numerics, docs);
        for numeric in dense {
            let base = COLUMN_BASE + rows.len() as u32 * COLUMN_STEP;
            rows.push(ColumnRow { path: numeric.path.clone(), kind: ColumnKind::Numeric });
            numeric.write(out, base, docs)?;
        }
        sparse_numbers::write(sparse, out)?;
        self.geo.build().write(out, form)?;
        let directory = serde_json::to_vec(&rows).map_err(io::Error::other)?;
        out.section(s::COLUMNS, &directory)
    }
}

/// The attributes that get a column of their own, and the others.
fn by_density(mut columns: Vec<NumericBuilder>, docs: usize) -> (Vec<NumericBuilder>, Vec<NumericBuilder>) {
    // a merge leaves attributes without numbers when all their documents are dead
    columns.retain(|column| !column.values.is_empty());
    columns.iter_mut().for_each(NumericBuilder::put_in_order);
    columns.sort_by_key(|column| std::cmp::Reverse(column.values.len()));
    let dense = columns.partition_point(|column| column.values.len() * NUMERIC_FRACTION >= docs);
    let sparse = columns.split_off(dense.min(NUMERIC_COLUMNS_MAX));
    (columns, sparse)
}

impl FacetBuilder {
    fn write<W: Write>(mut self, out: &mut ContainerWriter<W>, base: u32, docs: usize) -> io::Result<()> {
        let ends = self.take_ends(docs);
        self.sort_values(&ends);
        let values: Vec<u8> = self.texts.iter().flat_map(|text| text.bytes()).collect();
        let mut value_off = vec![0u32];
        for text in &self.texts {
            value_off.push(offset(value_off[value_off.len() - 1] as usize + text.len())?);
        }
        out.section(base + s::facet::VALUES, &values)?;
        out.section(base + s::facet::VALUE_OFF, bytemuck::cast_slice(&value_off))?;
        self.write_forward(out, base, &ends)?;
        self.write_inverted(out, base, &ends)
    }

    /// Where the values of each of so many documents end among all, whose marks go.
    fn take_ends(&mut self, docs: usize) -> Vec<u32> {
        let mut ends = Vec::with_capacity(docs);
        let mut with_values = self.docs.iter();
        for (at, entry) in self.entries.iter_mut().enumerate() {
            if *entry & FIRST != 0 {
                *entry &= !FIRST;
                let before = with_values.next().map_or(0, |&doc| doc as usize);
                ends.resize(before, at as u32);
            }
        }
        ends.resize(docs, self.entries.len() as u32);
        ends
    }

    /// Renumbers the values in (case-folded, original) order and sorts those of each document.
    fn sort_values(&mut self, ends: &[u32]) {
        let folded: Vec<String> = self.texts.iter().map(|text| fold(text)).collect();
        let mut order: Vec<u32> = (0..self.texts.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| {
            let key = |i: u32| (&folded[i as usize], &self.texts[i as usize]);
            key(a).cmp(&key(b))
        });
        let mut rank = vec![0u32; order.len()];
        for (new, &old) in order.iter().enumerate() {
            rank[old as usize] = new as u32;
        }
        self.texts = order.iter().map(|&old| std::mem::take(&mut self.texts[old as usize])).collect();
        self.entries.iter_mut().for_each(|id| *id = rank[*id as usize]);
        let mut start = 0;
        for &end in ends {
            self.entries[start..end as usize].sort_unstable();
            start = end as usize;
        }
    }

    fn write_forward<W: Write>(
        &self,
        out: &mut ContainerWriter<W>,
        base: u32,
        ends: &[u32],
    ) -> io::Result<()> {
        let mut start = 0;
        let single = ends.iter().all(|&end| {
            let few = end - start <= 1;
            start = end;
            few
        });
        let mut ords = self.entries.clone();
        if single {
            ords.clear();
            let mut start = 0;
            for &end in ends {
                ords.push(if end > start { self.entries[start as usize] } else { u32::MAX });
                start = end;
            }
        } else {
            let off: Vec<u32> = std::iter::once(0).chain(ends.iter().copied()).collect();
            out.section(base + s::facet::DOC_OFF, bytemuck::cast_slice(&off))?;
        }
        // cutting u32::MAX gives the largest number of the width, which stands for none
        match ordinal_width(self.texts.len()) {
            1 => out.section(base + s::facet::ORDS, &ords.iter().map(|&o| o as u8).collect::<Vec<_>>()),
            2 => {
                let ords: Vec<u16> = ords.iter().map(|&o| o as u16).collect();
                out.section(base + s::facet::ORDS, bytemuck::cast_slice(&ords))
            }
            _ => out.section(base + s::facet::ORDS, bytemuck::cast_slice(&ords)),
        }
    }

    fn write_inverted<W: Write>(
        &self,
        out: &mut ContainerWriter<W>,
        base: u32,
        ends: &[u32],
    ) -> io::Result<()> {
        let docs = ends.len();
        let mut counts = vec![0u32; self.texts.len()];
        self.entries.iter().for_each(|&id| counts[id as usize] += 1);
        let limit = (docs / DENSE_FRACTION).max(DENSE_MIN);
        let dense: Vec<u32> =
            (0..counts.len() as u32).filter(|&v| counts[v as usize] as usize > limit).collect();
        let dense_df: Vec<u32> = dense.iter().map(|&v| counts[v as usize]).collect();
        let words = docs.div_ceil(64);
        let mut bitmaps = vec![0u64; dense.len() * words];
        let mut bitmap_of = vec![u32::MAX; counts.len()];
        for (i, &value) in dense.iter().enumerate() {
            bitmap_of[value as usize] = i as u32;
            counts[value as usize] = 0;
        }
        let mut off = vec![0u32];
        for &count in &counts {
            off.push(off[off.len() - 1] + count);
        }
        let mut next = off.clone();
        let mut inv = vec![0u32; off[off.len() - 1] as usize];
        let mut start = 0;
        for (doc, &end) in ends.iter().enumerate() {
            for &value in &self.entries[start..end as usize] {
                match bitmap_of[value as usize] {
                    u32::MAX => {
                        inv[next[value as usize] as usize] = doc as u32;
                        next[value as usize] += 1;
                    }
                    i => bitmaps[i as usize * words + doc / 64] |= 1 << (doc % 64),
                }
            }
            start = end as usize;
        }
        out.section(base + s::facet::INV_OFF, bytemuck::cast_slice(&off))?;
        out.section(base + s::facet::INV, bytemuck::cast_slice(&inv))?;
        out.section(base + s::facet::DENSE, bytemuck::cast_slice(&dense))?;
        out.section(base + s::facet::DENSE_DF, bytemuck::cast_slice(&dense_df))?;
        out.section(base + s::facet::BITMAPS, bytemuck::cast_slice(&bitmaps))
    }
}

impl NumericBuilder {
    fn put_in_order(&mut self) {
        if self.docs.is_sorted() {
            return;
        }
        let mut pairs: Vec<(u32, f64)> = self.docs.drain(..).zip(self.values.drain(..)).collect();
        // the documents of each merged segment are a sorted run, which a stable sort merges in linear passes
        pairs.sort_by_key(|&(doc, _)| doc);
        (self.docs, self.values) = pairs.into_iter().unzip();
    }
    fn write<W: Write>(self, out: &mut ContainerWriter<W>, base: u32, docs: usize) -> io::Result<()> {
        if self.docs.windows(2).all(|pair| pair[0] < pair[1]) {
            let mut values = vec![f64::NAN; docs];
            for (&doc, &value) in self.docs.iter().zip(&self.values) {
                values[doc as usize] = value;
            }
            let extents = extents_of(&values);
            out.section(base + s::numeric::EXTENTS, bytemuck::cast_slice(&extents))?;
            return out.section(base + s::numeric::VALUES, bytemuck::cast_slice(&values));
        }
        let mut off = vec![0u32; docs + 1];
        self.docs.iter().for_each(|&doc| off[doc as usize + 1] += 1);
        for i in 0..docs {
            off[i + 1] += off[i];
        }
        out.section(base + s::numeric::DOC_OFF, bytemuck::cast_slice(&off))?;
        out.section(base + s::numeric::VALUES, bytemuck::cast_slice(&self.values))
    }
}
