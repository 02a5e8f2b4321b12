//! How are columns encoded? As differences where neighbours are alike, with a dictionary where the same comes again.
//!
//! Rows stand by user, so that users and their hashes are like those before them, and times and places in the log are within a
//! range. Whether queries and records shown are rather alike or the same depends on what they are called, and the first rows of a
//! file say it.

use crate::rows::EventRow;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;
use rustc_hash::FxHashSet;

/// How many parts in ten of a dictionary stay when it is compressed, about.
const DICTIONARY_STAYS: usize = 6;

/// Which texts are told by what they have beyond the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Alike {
    pub queries: bool,
    pub shown: bool,
}

impl Alike {
    /// Columns that say so.
    pub const COLUMNS: [&str; 2] = ["query", "shown"];

    /// What some rows say.
    pub fn of(rows: &[EventRow]) -> Alike {
        let searches = || rows.iter().filter_map(|row| row.search.as_deref());
        Alike {
            queries: are_alike(searches().map(|search| &*search.query)),
            shown: are_alike(searches().flat_map(|search| search.shown.iter())),
        }
    }
}

/// Whether texts take less when each is told by what it has beyond the one before, rather than with a dictionary.
fn are_alike<'t>(texts: impl Iterator<Item = &'t str>) -> bool {
    let (mut known, mut last): (FxHashSet<&str>, &str) = (FxHashSet::default(), "");
    let (mut count, mut beyond, mut dictionary) = (0, 0, 0);
    for text in texts {
        let same = text.bytes().zip(last.bytes()).take_while(|(one, other)| one == other).count();
        count += 1;
        beyond += text.len() - same;
        if known.insert(text) {
            dictionary += 4 + text.len();
        }
        last = text;
    }
    let bits = known.len().max(1).ilog2() as usize + 1;
    // each has some bits more that say how long it is
    10 * (beyond + count / 2) < DICTIONARY_STAYS * (dictionary + count * bits / 8)
}

/// How files are written for other programs.
pub(super) fn plain() -> WriterProperties {
    base().build()
}
/// How a store writes its own files.
pub(super) fn of_files(alike: Alike) -> WriterProperties {
    let texts = [("user", true), (Alike::COLUMNS[0], alike.queries), (Alike::COLUMNS[1], alike.shown)];
    let texts = texts.iter().filter(|(_, is_alike)| *is_alike);
    let different = texts.map(|(name, _)| (*name, Encoding::DELTA_BYTE_ARRAY)).chain([
        ("user_hash", Encoding::DELTA_BINARY_PACKED),
        ("time", Encoding::DELTA_BINARY_PACKED),
        ("log_index", Encoding::DELTA_BINARY_PACKED),
        // as good as random
        ("fingerprint", Encoding::PLAIN),
        ("query_id", Encoding::PLAIN),
        ("query_ids", Encoding::PLAIN),
    ]);
    let builder = different.fold(base(), |builder, (name, encoding)| {
        let path = ColumnPath::from(name);
        builder.set_column_dictionary_enabled(path.clone(), false).set_column_encoding(path, encoding)
    });
    // nothing is left to be compressed
    ["time", "fingerprint"].into_iter().fold(builder, not_compressed).build()
}
fn base() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_compression(Compression::LZ4_RAW)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_created_by("quorate rows 2".to_owned())
}
fn not_compressed(builder: WriterPropertiesBuilder, name: &str) -> WriterPropertiesBuilder {
    builder.set_column_compression(ColumnPath::from(name), Compression::UNCOMPRESSED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_begin_alike_are_told_from_those_that_come_again() {
        let is_alike = |texts: Vec<String>| are_alike(texts.iter().map(String::as_str));
        assert!(is_alike((0..5_000).map(|number| format!("product-{number}")).collect()));
        let few = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57;
        assert!(!is_alike((0..5_000).map(|number| format!("{:x}", few(number))).collect()));
        let many = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (1 << 40);
        assert!(!is_alike((0..5_000).map(|number| format!("{:x}", many(number / 3))).collect()));
        assert!(!is_alike(vec![]));
    }
}
