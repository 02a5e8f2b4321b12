//! Does a merge of many files read as a plain sort does, and does each event count once?

use super::*;
use crate::rows::tests::any_row;
use crate::segment::SegmentWriter;
use proptest::prelude::*;
use quorate_store::files::RealFiles;
use std::path::Path;
use std::sync::Arc;

fn segment(path: &Path, mut rows: Vec<EventRow>) -> Segment {
    rows.sort();
    let mut writer = SegmentWriter::create(&RealFiles, path).expect("created");
    rows.into_iter().for_each(|row| writer.push(row).expect("written"));
    let facts = writer.finish().expect("written");
    Segment::open(&RealFiles, path, Arc::new(facts)).expect("as written")
}
/// The same without files and heaps.
fn plain(
    mut rows: Vec<EventRow>,
    wanted: RowFilter<'_>,
    times_ms: &Range<u64>,
    forgotten: &Forgotten,
) -> Vec<EventRow> {
    rows.retain(|row| wanted.takes(row) && !forgotten.hides(row) && row.time_ms < times_ms.end);
    rows.sort();
    let repeats = |at: usize| {
        let is_same =
            |other: &EventRow| other.is_of_same_user(&rows[at]) && other.fingerprint == rows[at].fingerprint;
        rows[..at]
            .iter()
            .any(|other| is_same(other) && other.time_ms + REPEATED_WITHIN_MS >= rows[at].time_ms)
    };
    let counts = |at: &usize| rows[*at].time_ms >= times_ms.start && !repeats(*at);
    (0..rows.len()).filter(counts).map(|at| rows[at].clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn a_merge_is_a_sort(
        rows in prop::collection::vec((any_row(), 0..5_usize), 0..200),
        index in prop::option::of(0..3_u8),
        (from, length) in (0..900_u64, 1..900_u64),
        forget in prop::collection::vec((0..4_u8, 0..1_000_u64), 0..3),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        // half a second of these is a minute
        let rows: Vec<(EventRow, usize)> =
            rows.into_iter().map(|(row, at)| (EventRow { time_ms: row.time_ms * 1_000, ..row }, at)).collect();
        let of = |file: usize| rows.iter().filter(|(_, at)| *at == file).map(|(row, _)| row.clone()).collect::<Vec<_>>();
        let segments: Vec<Segment> = (1..5)
            .filter(|file| !of(*file).is_empty())
            .map(|file| segment(&folder.path().join(file.to_string()), of(file)))
            .collect();
        let mut memory = of(0);
        memory.sort();
        let name = index.map(|index| format!("index{index}"));
        let wanted = RowFilter { index: name.as_deref(), ..RowFilter::ALL };
        let mut forgotten = Forgotten::default();
        forget.iter().for_each(|(user, log_index)| forgotten.add(&format!("user{user}"), *log_index));
        let times_ms = from * 1_000..(from + length) * 1_000;
        let merged = Merged::new(&segments, &memory, wanted, times_ms.clone(), &forgotten).expect("opened");
        let merged: Vec<EventRow> = merged.collect::<Result<_>>().expect("read");
        let all = rows.iter().map(|(row, _)| row.clone()).collect();
        prop_assert!(merged == plain(all, wanted, &times_ms, &forgotten));
    }
}
