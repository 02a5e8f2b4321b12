//! How many documents that have one facet value have another one, too? Kept for the values that somebody filtered by.
//!
//! Cost: the first time a walk of the value's documents, then a look-up. It belongs to the segment's file, so that deletes
//! do not change it: they are counted in.

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::fmt;
use std::sync::Arc;

/// Values that occur together with one value, and in how many documents.
pub type Row = Arc<[(u32, u32)]>;
/// Rows take at most the bytes of the file / this.
const FILE_PART: usize = 64;
/// And at most this many.
const BYTES_MAX: usize = 4 << 20;
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
impl CommonValues {
    /// Nothing yet, for a file of so many bytes.
    pub fn new(file_bytes: usize) -> CommonValues {
        CommonValues { known: Mutex::default(), room: (file_bytes / FILE_PART).min(BYTES_MAX) }
    }
    /// The row of a value of the attribute `of` for those of `counted`, when it is kept.
    pub fn row(&self, of: &str, value: u32, counted: &str) -> Option<Row> {
        let known = self.known.lock();
        let (_, _, rows) = known.tables.iter().find(|(a, b, _)| a == of && b == counted)?;
        rows.get(&value).cloned()
    }
    /// Keeps a row while there is room.
    pub fn keep(&self, of: &str, value: u32, counted: &str, row: Row) {
        let mut known = self.known.lock();
        let bytes = ROW_BYTES + row.len() * 8;
        if known.bytes + bytes > self.room {
            return;
        }
        known.bytes += bytes;
        let place = known.tables.iter().position(|(a, b, _)| a == of && b == counted);
        let place = place.unwrap_or_else(|| {
            known.tables.push((of.to_owned(), counted.to_owned(), FxHashMap::default()));
            known.tables.len() - 1
        });
        known.tables[place].2.insert(value, row);
    }
}
