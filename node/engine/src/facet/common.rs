//! How many documents that have one facet value have another one, too? What was found is kept with the segment's file.
//!
//! Cost: the first time a walk of the value's documents, then a look-up.

use super::walk;
use crate::index::{CommonRow, CommonValues, FacetColumn, FacetDocs};

/// A row is kept when documents / this have its value: others are walked as quickly.
const DOCUMENTS_PART: u64 = 1_024;

/// A facet of a segment.
#[derive(Clone, Copy)]
pub struct Facet<'a> {
    /// Its attribute.
    pub path: &'a str,
    /// Its values.
    pub column: FacetColumn<'a>,
}
/// Adds to `counts`, by ordinal of `counted`, the documents that have a value of `of`; dead ones included.
pub fn add(kept: &CommonValues, of: Facet<'_>, value: u32, counted: Facet<'_>, counts: &mut [u64]) {
    if let Some(row) = kept.row(of.path, value, counted.path) {
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
    let row: CommonRow = found.map(|(ordinal, &count)| (ordinal as u32, count as u32)).collect();
    counts.iter_mut().zip(&alone).for_each(|(count, more)| *count += more);
    kept.keep(of.path, value, counted.path, row);
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
