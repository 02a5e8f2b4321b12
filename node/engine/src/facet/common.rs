//! How many documents that have one facet value have another one, too? What was found is kept with the segment's file.
//!
//! Cost: the first time a walk of the value's documents, then a look-up.

use super::matched::Documents;
use super::walk;
use crate::clock::Clock;
use crate::index::{CommonRow, CommonValues, FacetColumn, FacetDocs};

/// A row is kept when documents / this have its value: others are walked as quickly.
const DOCUMENTS_PART: u64 = 1_024;
/// Entries of a row that are added in the time of ranking a document.
const ENTRIES_PER_UNIT: u32 = 64;

/// A facet of a segment.
#[derive(Clone, Copy)]
pub struct Facet<'a> {
    /// Its attribute.
    pub path: &'a str,
    /// Its values.
    pub column: FacetColumn<'a>,
}
/// Adds to `counts`, by ordinal of `counted`, the documents that have a value of `of`; dead ones included. They are too few
/// when the clock rings.
pub fn add(
    kept: &CommonValues,
    of: Facet<'_>,
    value: u32,
    counted: Facet<'_>,
    counts: &mut [u64],
    clock: &mut Clock,
) {
    if let Some(row) = kept.row(of.path, value, counted.path) {
        if clock.spend(1 + row.len() as u32 / ENTRIES_PER_UNIT) {
            return;
        }
        row.iter().for_each(|&(ordinal, count)| counts[ordinal as usize] += u64::from(count));
        return;
    }
    let docs = of.column.docs_of(value);
    if docs.count() * DOCUMENTS_PART < of.column.documents() as u64 {
        add_each(docs, counted.column, counts, clock);
        return;
    }
    let mut alone = vec![0; counts.len()];
    add_each(docs, counted.column, &mut alone, clock);
    if clock.rang() {
        return;
    }
    let found = alone.iter().enumerate().filter(|(_, count)| **count > 0);
    let row: CommonRow = found.map(|(ordinal, &count)| (ordinal as u32, count as u32)).collect();
    counts.iter_mut().zip(&alone).for_each(|(count, more)| *count += more);
    kept.keep(of.path, value, counted.path, row);
}
/// Adds the values of the documents.
fn add_each(docs: FacetDocs<'_>, column: FacetColumn<'_>, counts: &mut [u64], clock: &mut Clock) {
    match docs {
        FacetDocs::Bitmap(bitmap, _) => {
            let walked = walk(&column, bitmap, clock);
            counts.iter_mut().zip(walked).for_each(|(count, more)| *count += u64::from(more));
        }
        FacetDocs::List(docs) => {
            docs.each(column.offsets(), clock, |doc| {
                column.ords_of(doc).for_each(|ordinal| counts[ordinal as usize] += 1);
            });
        }
    }
}
