//! How many documents that have one facet value have another one, too? Kept for the values that somebody filtered by.
//!
//! Cost: the first time a walk of the value's documents, then a look-up. It belongs to the segment's file, so that deletes
//! do not change it: they are counted in.

use super::walk;
use crate::index::{FacetColumn, FacetDocs};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::fmt;
use std::sync::Arc;

/// Values that occur together with one value, and in how many documents.
type Row = Arc<[(u32, u32)]>;
/// Rows take at most the bytes of the file / this.
const FILE_PART: usize = 64;
/// And at most this many.
const BYTES_MAX: usize = 4 << 20;
/// A row is kept when documents / this have its value: others are walked as quickly.
const DOCUMENTS_PART: u64 = 1_024;
/// Bytes of a row beside its entries.
const ROW_BYTES: usize = 64;

/// What was asked of the facets of a segment so far.
pub struct CommonValues {
    known: Mutex<Known>,
    room: usize,
}
#[derive(Default)]
struct Known {
    bytes: usize,
    /// By the attribute of the one value and that of the others.
    tables: Vec<(String, String, FxHashMap<u32, Row>)>,
}
impl fmt::Debug for CommonValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommonValues({} of {} bytes)", self.known.lock().bytes, self.room)
    }
}
/// A facet of a segment.
#[derive(Clone, Copy)]
pub struct Facet<'a> {
    /// Its attribute.
    pub path: &'a str,
    /// Its values.
    pub column: FacetColumn<'a>,
}
impl CommonValues {
    /// Nothing yet, for a file of so many bytes.
    pub fn new(file_bytes: usize) -> CommonValues {
        CommonValues { known: Mutex::default(), room: (file_bytes / FILE_PART).min(BYTES_MAX) }
    }
    /// Adds to `counts`, by ordinal of `counted`, the documents that have a value of `of`; dead ones included.
    pub fn add(&self, of: Facet<'_>, value: u32, counted: Facet<'_>, counts: &mut [u64]) {
        if let Some(row) = self.row(of, value, counted) {
            row.iter().for_each(|&(ordinal, count)| counts[ordinal as usize] += u64::from(count));
            return;
        }
        let docs = of.column.docs_of(value);
        if docs.count() * DOCUMENTS_PART < of.column.documents() as u64 {
            add_each(docs, counted.column, counts);
            return;
        }
        let mut alone = vec![0; counts.len()];
        add_each(docs, counted.column, &mut alone);
        let found = alone.iter().enumerate().filter(|(_, count)| **count > 0);
        let row: Row = found.map(|(ordinal, &count)| (ordinal as u32, count as u32)).collect();
        counts.iter_mut().zip(&alone).for_each(|(count, more)| *count += more);
        self.keep(of, value, counted, row);
    }
    fn row(&self, of: Facet<'_>, value: u32, counted: Facet<'_>) -> Option<Row> {
        let known = self.known.lock();
        let (_, _, rows) = known.tables.iter().find(|(a, b, _)| a == of.path && b == counted.path)?;
        rows.get(&value).cloned()
    }
    fn keep(&self, of: Facet<'_>, value: u32, counted: Facet<'_>, row: Row) {
        let mut known = self.known.lock();
        let bytes = ROW_BYTES + row.len() * 8;
        if known.bytes + bytes > self.room {
            return;
        }
        known.bytes += bytes;
        let place = known.tables.iter().position(|(a, b, _)| a == of.path && b == counted.path);
        let place = place.unwrap_or_else(|| {
            known.tables.push((of.path.to_owned(), counted.path.to_owned(), FxHashMap::default()));
            known.tables.len() - 1
        });
        known.tables[place].2.insert(value, row);
    }
}
/// Adds the values of the documents.
fn add_each(docs: FacetDocs<'_>, column: FacetColumn<'_>, counts: &mut [u64]) {
    match docs {
        FacetDocs::Bitmap(bitmap, _) => {
            let walked = walk(&column, bitmap);
            counts.iter_mut().zip(walked).for_each(|(count, more)| *count += u64::from(more));
        }
        FacetDocs::List(docs) => {
            let ordinals = docs.iter().flat_map(|&doc| column.ords_of(doc));
            ordinals.for_each(|ordinal| counts[ordinal as usize] += 1);
        }
    }
}
